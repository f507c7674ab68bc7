"""The plan of a clean-up, and what became of it, for a person."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from rich.text import Text

from toolbudget._core.pure.replacement import format_size
from toolbudget.cli.console import open_console
from toolbudget.cli.sessions_view import age_words, session_table
from toolbudget.cli.wording import count, grouped, printable, shorten

if TYPE_CHECKING:
    from collections.abc import Sequence

    from toolbudget.storage.cleanup import (
        CleanupPlan,
        KeptReason,
        PlannedRemoval,
        RemovalReason,
        Removed,
    )

__all__ = ["show_plan"]

_MAX_LISTED: Final = 40
_REASONS: Final[dict[RemovalReason, str]] = {
    "age": "old",
    "session-quota": "too large",
    "total-quota": "over the total",
}
_KEPT: Final[dict[KeptReason, str]] = {
    "in-use": "in use",
    "young": "too young",
    "needed": "with results that others need",
    "within-quota": "within the limits",
    "not-ours": "of other programs",
    "unreadable": "that could not be read in full",
}


def show_plan(plan: CleanupPlan, done: Sequence[Removed] | None, *, max_bytes: int | None) -> None:
    """Print a table of what goes, what stays and why, and how to go on."""
    out = open_console()
    outcomes = {one.planned.summary.place.name: one for one in done or ()}
    if plan.removals:
        table, name_columns = session_table(out.width, "results", "size", "age", "why")
        for one in plan.removals[:_MAX_LISTED]:
            newest_s = one.summary.newest_s
            table.add_row(
                Text(shorten(one.summary.place.name, name_columns)),
                grouped(one.summary.stored_files),
                format_size(one.summary.total_bytes),
                age_words(plan.now_s - newest_s) if newest_s else "",
                _outcome_text(one, outcomes.get(one.summary.place.name)),
            )
        out.print(table)
        if len(plan.removals) > _MAX_LISTED:
            more = grouped(len(plan.removals) - _MAX_LISTED)
            out.print(Text(f"  and {more} more; --json lists them", "dim"))
    gone = plan.removals if done is None else [one.planned for one in done if one.problem is None]
    freed_bytes = sum(one.summary.total_bytes for one in gone)
    verb = "would be removed" if done is None else "removed"
    size = format_size(freed_bytes)
    if plan.removals:
        out.print(Text(f"  {count(len(gone), 'session')} {verb}, {size} freed", "bold"))
    else:
        out.print(Text(f"Nothing to remove in {printable(str(plan.root))}"), soft_wrap=True)
    for reason, number in plan.kept.items():
        out.print(Text(f"  {count(number, 'session')} {_KEPT[reason]} {_verb(number)}", "dim"))
    left_bytes = plan.kept_bytes + plan.freed_bytes - freed_bytes
    if max_bytes is not None and left_bytes > max_bytes:
        over = format_size(left_bytes - max_bytes)
        out.print(Text(f"  What stays is {over} over the total: none of it may go", "yellow"))
    if done is None and plan.removals:
        out.print(Text("  Nothing has been changed; --yes does it"))


def _outcome_text(planned: PlannedRemoval, outcome: Removed | None) -> Text:
    if outcome is None or outcome.problem is None:
        return Text(_REASONS[planned.reason])
    verb = "gone, but not deleted" if outcome.is_gone else "stays"
    return Text(f"{verb}: {outcome.problem}", "red")


def _verb(number: int) -> str:
    return "stays" if number == 1 else "stay"
