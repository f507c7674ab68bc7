"""Sessions as a table for a person."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from rich import box
from rich.table import Table
from rich.text import Text

from toolbudget._core.pure.replacement import format_size
from toolbudget.cli.console import open_console
from toolbudget.cli.wording import count, grouped, printable, shorten

if TYPE_CHECKING:
    from collections.abc import Sequence

    from toolbudget.storage.survey import SessionSummary

__all__ = ["age_words", "session_table", "show_sessions", "state_words"]

_MAX_NAME_COLUMNS: Final = 44
_MIN_NAME_COLUMNS: Final = 12
_OTHER_COLUMNS: Final = 44
_STEPS: Final = ((604_800, "w"), (86_400, "d"), (3600, "h"), (60, "m"), (1, "s"))
# An age is told in the largest unit of which it has two.
_FEWEST: Final = 2


def age_words(age_s: float) -> str:
    """Write an age for a reader.

    Example:
        >>> age_words(30 * 86_400), age_words(100), age_words(0.2)
        ('4w', '100s', 'now')
    """
    for unit_s, unit in _STEPS:
        if age_s >= _FEWEST * unit_s or (unit_s == 1 and age_s >= 1):
            return f"{int(age_s // unit_s)}{unit}"
    return "now"


def state_words(summary: SessionSummary) -> str:
    """Say in a few words what is special about a session."""
    if summary.failures:
        return "unreadable"
    if summary.is_in_use:
        return "in use"
    if not summary.is_ours:
        return "not ours"
    return "shared" if summary.is_foreign else ""


def session_table(width: int, *headings: str) -> tuple[Table, int]:
    """Return an empty table of sessions and how wide a name may be in it."""
    name_columns = max(min(width - _OTHER_COLUMNS, _MAX_NAME_COLUMNS), _MIN_NAME_COLUMNS)
    table = Table(box=box.SIMPLE_HEAD, padding=(0, 1), header_style="bold")
    table.add_column("session", no_wrap=True)
    for heading in headings:
        is_number = heading in {"results", "size", "age"}
        table.add_column(heading, justify="right" if is_number else "left", no_wrap=True)
    return table, name_columns


def show_sessions(
    path: str, found: Sequence[SessionSummary], *, now_s: float, max_rows: int | None
) -> None:
    """Print sessions in the order given, and what all of them come to."""
    out = open_console()
    if not found:
        out.print(Text(f"No sessions in {printable(path)}"), soft_wrap=True)
        return
    table, name_columns = session_table(out.width, "results", "size", "age", "")
    for one in found[:max_rows]:
        table.add_row(
            Text(shorten(one.place.name, name_columns)),
            grouped(one.stored_files),
            format_size(one.total_bytes),
            age_words(now_s - one.newest_s) if one.newest_s else "",
            Text(state_words(one), "yellow"),
        )
    out.print(table)
    hidden = len(found) - len(found[:max_rows])
    if hidden:
        out.print(Text(f"  and {grouped(hidden)} more", "dim"))
    for one in found[:max_rows]:
        for failure in one.failures:
            out.print(Text(f"  cannot look at {printable(failure)}", "red"), soft_wrap=True)
    stored_files = sum(one.stored_files for one in found)
    size = format_size(sum(one.total_bytes for one in found))
    sums = f"{count(len(found), 'session')}, {count(stored_files, 'stored result')}, {size}"
    out.print(Text(f"  {sums}", "bold"))
