"""``toolbudget report``: what tool results come to, and what limits would have done."""

from __future__ import annotations

import json
import os
from typing import TYPE_CHECKING

import click

from toolbudget.cli.failure import EXIT_DONE, EXIT_FAILED, CommandError, with_path
from toolbudget.cli.option_types import read_output
from toolbudget.cli.progress import show_progress
from toolbudget.cli.reading import open_input
from toolbudget.cli.report_inputs import find_transcripts
from toolbudget.cli.report_survey import ReportSums
from toolbudget.cli.source import open_source
from toolbudget.cli.workspace import default_root
from toolbudget.cli.writing import named_output, write_named

if TYPE_CHECKING:
    from collections.abc import Sequence

    from toolbudget.cli.report_inputs import Found

__all__ = ["command"]


@click.command("report", short_help="Sum up the tool results of many transcripts.")
@click.argument("paths", metavar="PATHS...", nargs=-1, required=True)
@click.option(
    "--html",
    "html_path",
    metavar="FILE",
    callback=read_output,
    help="Write a page with charts, complete in one file. Needs the package pygal.",
)
@click.option(
    "--csv", "csv_path", metavar="FILE", callback=read_output, help="Write the table of tools."
)
@click.option("--json", "as_json", is_flag=True, help="Print the report as one JSON object.")
def command(
    *, paths: tuple[str, ...], html_path: str | None, csv_path: str | None, as_json: bool
) -> int:
    """Sum up the tool results of transcripts: by tool, by size, by message, the largest ones.

    PATHS are transcripts, request bodies or lists of messages, or folders, which stand for every
    .jsonl file below them. Nothing is stored or changed.

    A table shows what other limits would have done: how many results would have been replaced, and
    what that would have saved, reckoned without making a preview. How stable the cached prefix was
    is told by the usage that responses report.

    \b
    Example:
      toolbudget report ~/.claude/projects --html report.html
    """  # noqa: D301 - click's mark for lines that stay as they are
    if csv_path is not None and html_path is not None:
        _refuse_one_for_both(csv_path, html_path)
    if html_path is not None:
        from toolbudget.cli.context_plot import require_library

        require_library("pygal", "--html")
    sums = ReportSums()
    found = find_transcripts(paths, lambda *problem: sums.unreadable.append(problem))
    if not found and not sums.unreadable:
        raise CommandError(f"no .jsonl file below {', '.join(paths)}")
    inputs = {one.identity for one in found}
    for output in (csv_path, html_path):
        if output is not None:
            named_output(output).refuse(inputs)
    _read(found, sums)
    if not sums.transcripts:
        raise CommandError(with_path(*sums.unreadable[0]))
    if csv_path is not None:
        from toolbudget.cli.report_table import tools_csv

        write_named(csv_path, tools_csv(sums))
    if html_path is not None:
        from toolbudget.cli.report_html import page_of

        write_named(html_path, page_of(sums))
    if as_json:
        from toolbudget.cli.report_table import to_json

        click.echo(json.dumps(to_json(sums), indent=2))
    else:
        from toolbudget.cli.report_view import show_report

        show_report(sums)
    return EXIT_FAILED if sums.unreadable else EXIT_DONE


def _refuse_one_for_both(csv_path: str, html_path: str) -> None:
    if named_output(csv_path).path == named_output(html_path).path:
        raise click.UsageError(f"--csv and --html name the same file: {csv_path!r}")


def _read(found: Sequence[Found], sums: ReportSums) -> None:
    spool = os.path.abspath(default_root())  # noqa: PTH100 - no symlink is to be resolved
    # Each is read twice.
    total_bytes = 2 * sum(one.size_bytes for one in found)
    with show_progress() as progress:
        on_read = progress.begin("Reading", total_bytes)
        for one in found:
            try:
                with open_input(one.path, spool_directory=spool) as opened:
                    sums.add(one.path, open_source(opened, None), on_read)
                    sums.input_bytes += opened.size_bytes
            except CommandError as error:
                sums.unreadable.append((one.path, error.message))
