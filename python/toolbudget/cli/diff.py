"""``toolbudget diff``: whether one saved request begins with another, and where it does not."""

from __future__ import annotations

import contextlib
import json
import os
from typing import TYPE_CHECKING

import click

from toolbudget.budget.prefix_compare import (
    Comparison,
    Difference,
    Place,
    compare,
    difference_at,
    excerpt,
    path_of,
)
from toolbudget.budget.prefix_finding import kind_of, token_counts
from toolbudget.cli.diff_side import Side, read_side
from toolbudget.cli.diff_view import DiffReport, SideReport, show_diff
from toolbudget.cli.failure import EXIT_DONE, EXIT_FAILED
from toolbudget.cli.option_types import read_path
from toolbudget.cli.reading import STANDARD_INPUT, open_input
from toolbudget.cli.workspace import default_root

if TYPE_CHECKING:
    from toolbudget.budget.prefix_json import Path

__all__ = ["command"]


@click.command("diff", short_help="Tell whether one saved request begins with another.")
@click.argument("path_a", metavar="A", callback=read_path)
@click.argument("path_b", metavar="B", callback=read_path)
@click.option("--json", "as_json", is_flag=True, help="Print the report as one JSON object.")
def command(*, path_a: str, path_b: str, as_json: bool) -> int:
    """Tell whether request B begins with all of A, or where they first differ.

    A and B are JSON bodies of requests, JSON lists of messages, or Claude Code sessions (JSON
    lines); - reads one of them from standard input. What a prompt cache could have used of A is
    what comes before the first difference.

    Compared is what the provider reads: model, tools and system, then other parameters of the
    prompt, then the messages; white space and escapes do not count, the order of keys does. Markers
    (cache_control) may move. Of a session only the messages in its lines count; lines that cannot
    be read are named and passed over. Parameters are compared if both are bodies.

    Exit codes: 0 B begins with all of A, 1 it does not or one cannot be read, 2 wrong usage.

    \b
    Example:
      toolbudget diff request-41.json request-42.json
    """  # noqa: D301 - click's mark for lines that stay as they are
    if path_a == path_b == STANDARD_INPUT:
        raise click.UsageError("only one of A and B can be standard input: '-'")
    spool = os.path.abspath(default_root())  # noqa: PTH100 - no symlink is to be resolved
    with contextlib.ExitStack() as opened:
        before, now = (
            read_side(opened.enter_context(open_input(path, spool_directory=spool)))
            for path in (path_a, path_b)
        )
        report = _report(before, now)
    if as_json:
        click.echo(json.dumps(report.to_json(), indent=2))
    else:
        show_diff(report)
    return EXIT_DONE if report.begins else EXIT_FAILED


def _report(before: Side, now: Side) -> DiffReport:
    comparison = compare(before.snapshot, now.snapshot)
    kept_tokens, lost_tokens = token_counts(comparison)
    place = comparison.first_place
    found = _difference(comparison, before, now)
    return DiffReport(
        kind=kind_of(comparison),
        parameter=place.parameter if place else None,
        message_index=place.message_index if place else None,
        block_index=place.block_index if place else None,
        has_moved_markers=comparison.marker_place is not None,
        kept_tokens=kept_tokens,
        lost_tokens=lost_tokens,
        before=_side_report(before, place, found, is_earlier=True),
        now=_side_report(now, place, found, is_earlier=False),
    )


def _difference(comparison: Comparison, before: Side, now: Side) -> Difference | None:
    """Find the difference in the place where it is; a marker's place says enough."""
    place = comparison.place
    if place is None:
        return None
    return difference_at(place, before.part_at(place.key), now.part_at(place.key))


def _side_report(
    side: Side, place: Place | None, found: Difference | None, *, is_earlier: bool
) -> SideReport:
    whole = SideReport(
        side.name,
        side.format,
        len(side.snapshot.messages),
        malformed=tuple(side.malformed),
        malformed_count=side.malformed_count,
    )
    if place is None:
        return whole
    below: Path = ()
    text, offset_chars = None, 0
    if found is not None:
        below, text = (found.path_before, found.before) if is_earlier else (found.path, found.now)
        offset_chars = found.offset_chars
    # A parameter stands in the body itself, a message in the list there.
    path = path_of(place, side.part_at(place.key), below)
    if place.parameter is None:
        path = (*side.prefix, *path)
    position = side.position_of(path, offset_chars)
    return whole._replace(
        path=path,
        line=position.line,
        byte=position.byte,
        excerpt=None if text is None else excerpt(text, offset_chars),
    )
