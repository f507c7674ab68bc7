"""``toolbudget sessions``: what sessions take on disk, and how old they are."""

from __future__ import annotations

import json
import time
from typing import TYPE_CHECKING, Final

import click

from toolbudget.cli.failure import EXIT_DONE, EXIT_FAILED
from toolbudget.cli.option_types import read_path
from toolbudget.cli.progress import show_count
from toolbudget.storage.survey import summaries

if TYPE_CHECKING:
    from collections.abc import Callable

    from toolbudget.storage.survey import SessionSummary

__all__ = ["command", "summary_json"]

_ORDERS: Final[dict[str, Callable[[SessionSummary], tuple[float | str, str]]]] = {
    "age": lambda one: (-one.newest_s, one.place.name),
    "size": lambda one: (-one.total_bytes, one.place.name),
    "name": lambda one: (one.place.name, ""),
}


@click.command("sessions", short_help="List sessions on disk: sizes, counts, ages.")
@click.argument("path", metavar="ROOT", callback=read_path)
@click.option(
    "--sort",
    "order",
    type=click.Choice(list(_ORDERS)),
    default="age",
    show_default=True,
    help="The youngest, the largest, or the first name at the top.",
)
@click.option(
    "--limit",
    "max_rows",
    metavar="N",
    type=click.IntRange(min=1),
    help="Show at most so many sessions.",
)
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object.")
def command(*, path: str, order: str, max_rows: int | None, as_json: bool) -> int:
    """List the sessions below ROOT: stored results, bytes, age, and whether one is in use.

    Only reads. The sizes are those of the files; a transcript that another program owns does not
    count. ROOT may also be one session.

    \b
    Example:
      toolbudget sessions ~/agent/sessions --sort size --limit 20
    """  # noqa: D301 - click's mark for lines that stay as they are
    now_s = time.time()
    with show_count("Looking at sessions") as advance:
        found = []
        for summary in summaries(path):
            found.append(summary)
            advance()
    found.sort(key=_ORDERS[order])
    if as_json:
        shown = [summary_json(one, now_s) for one in found[:max_rows]]
        click.echo(json.dumps({**_totals_json(found), "sessions": shown}, indent=2))
    else:
        from toolbudget.cli.sessions_view import show_sessions

        show_sessions(path, found, now_s=now_s, max_rows=max_rows)
    return EXIT_FAILED if any(one.failures for one in found) else EXIT_DONE


def _totals_json(found: list[SessionSummary]) -> dict[str, object]:
    """Return the sums: ``count``, ``in_use``, ``stored_files``, ``total_bytes``."""
    return {
        "count": len(found),
        "in_use": sum(one.is_in_use for one in found),
        "stored_files": sum(one.stored_files for one in found),
        "total_bytes": sum(one.total_bytes for one in found),
    }


def summary_json(summary: SessionSummary, now_s: float) -> dict[str, object]:
    """Return one session.

    Keys: ``name``, ``directory``, ``transcript``; ``stored_files``, ``stored_bytes``,
    ``record_bytes``, ``other_bytes``, ``total_bytes``; ``age_s`` since its youngest file was
    written, null without files; ``in_use``, ``foreign`` (another program owns the transcript),
    ``ours``; ``parents``, the names of sessions that it has results of; ``failures``.
    """
    return {
        "name": summary.place.name,
        "directory": str(summary.place.directory),
        "transcript": str(summary.place.transcript),
        "stored_files": summary.stored_files,
        "stored_bytes": summary.stored_bytes,
        "record_bytes": summary.record_bytes,
        "other_bytes": summary.other_bytes,
        "total_bytes": summary.total_bytes,
        "age_s": round(max(now_s - summary.newest_s, 0), 3) if summary.newest_s else None,
        "in_use": summary.is_in_use,
        "foreign": summary.is_foreign,
        "ours": summary.is_ours,
        "parents": sorted(summary.parents),
        "failures": list(summary.failures),
    }
