"""``toolbudget gc``: remove sessions that are old, or more than fit."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import click

from toolbudget.cli.failure import EXIT_DONE, EXIT_FAILED
from toolbudget.cli.option_types import read_age, read_path, read_size
from toolbudget.cli.progress import show_count
from toolbudget.cli.sessions import summary_json
from toolbudget.storage.cleanup import Removed, carry_out, plan_cleanup

if TYPE_CHECKING:
    from toolbudget.storage.cleanup import CleanupPlan, PlannedRemoval

__all__ = ["command"]


@click.command("gc", short_help="Remove old sessions; shows a plan unless told --yes.")
@click.argument("root", metavar="ROOT", callback=read_path)
@click.option(
    "--older-than",
    "older_than_s",
    metavar="AGE",
    callback=read_age,
    help="Remove sessions that nobody has written for longer than this: 30d, 12h, 2w.",
)
@click.option(
    "--max-bytes",
    metavar="SIZE",
    callback=read_size,
    help="Remove the oldest sessions until all together take at most this: 10GB.",
)
@click.option(
    "--max-session-bytes",
    metavar="SIZE",
    callback=read_size,
    help="Remove sessions that take more than this: 500MB.",
)
@click.option("--yes", "should_remove", is_flag=True, help="Do it; else nothing is changed.")
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object.")
def command(
    *,
    root: str,
    older_than_s: float | None,
    max_bytes: int | None,
    max_session_bytes: int | None,
    should_remove: bool,
    as_json: bool,
) -> int:
    """Remove sessions below ROOT by age and by size; shows what would go unless told --yes.

    A session goes whole or not at all. It stays while a process has it open, while one of its files
    or its transcript is younger than the age (one day, if only sizes are given), and while another
    session that stays has results of it. Transcripts of other programs stay.

    \b
    Examples:
      toolbudget gc ~/agent/sessions --older-than 30d
      toolbudget gc ~/agent/sessions --max-bytes 10GB --yes
    """  # noqa: D301 - click's mark for lines that stay as they are
    if older_than_s is None and max_bytes is None and max_session_bytes is None:
        wanted = "give --older-than, --max-bytes or --max-session-bytes"
        raise click.UsageError(f"nothing says which sessions are too many: {wanted}")
    with show_count("Looking at sessions") as advance:
        plan = plan_cleanup(
            root,
            older_than_s=older_than_s,
            max_bytes=max_bytes,
            max_session_bytes=max_session_bytes,
            on_looked_at=lambda _summary: advance(),
        )
    done = _remove(plan) if should_remove else None
    if as_json:
        click.echo(json.dumps(_to_json(plan, done, max_bytes), indent=2))
    else:
        from toolbudget.cli.gc_view import show_plan

        show_plan(plan, done, max_bytes=max_bytes)
    return EXIT_FAILED if done and any(one.problem for one in done) else EXIT_DONE


def _remove(plan: CleanupPlan) -> list[Removed]:
    done = []
    with show_count("Removing sessions", len(plan.removals)) as advance:
        for removed in carry_out(plan):
            done.append(removed)
            advance()
    return done


def _to_json(
    plan: CleanupPlan, done: list[Removed] | None, max_bytes: int | None
) -> dict[str, object]:
    """Return the plan and what became of it.

    Keys: ``root``; ``done``, whether anything was to be removed; ``older_than_s``; ``removals``,
    each a session with ``reason`` (``age``, ``session-quota``, ``total-quota``) and, if done,
    ``gone``, whether nobody finds it any more, and ``problem`` (null if nothing is left of it);
    ``freed_bytes``; ``kept``, numbers of sessions by the reason (``in-use``, ``young``, ``needed``,
    ``within-quota``, ``not-ours``, ``unreadable``); ``kept_bytes``; ``over_bytes``, by how much
    what stays is over the total, null without one; ``leftovers`` of an earlier clean-up.
    """
    outcomes = {
        one.planned.summary.place.name: {"gone": one.is_gone, "problem": one.problem}
        for one in done or ()
    }
    gone = plan.removals if done is None else [one.planned for one in done if one.problem is None]
    freed_bytes = sum(one.summary.total_bytes for one in gone)
    left_bytes = plan.kept_bytes + plan.freed_bytes - freed_bytes
    return {
        "root": str(plan.root),
        "done": done is not None,
        "older_than_s": plan.older_than_s,
        "removals": [
            _removal_json(one, plan.now_s) | outcomes.get(one.summary.place.name, {})
            for one in plan.removals
        ],
        "freed_bytes": freed_bytes,
        "kept": plan.kept,
        "kept_bytes": left_bytes,
        "over_bytes": None if max_bytes is None else max(left_bytes - max_bytes, 0),
        "leftovers": list(plan.leftovers),
    }


def _removal_json(planned: PlannedRemoval, now_s: float) -> dict[str, object]:
    return {**summary_json(planned.summary, now_s), "reason": planned.reason}
