"""``toolbudget apply``: a transcript or request in, its messages within the budget out."""

from __future__ import annotations

import json
import logging
from contextlib import contextmanager
from typing import TYPE_CHECKING

import click

from toolbudget.budget.report import Failure
from toolbudget.cli.apply_run import ApplyOptions, run
from toolbudget.cli.failure import EXIT_DONE, EXIT_FAILED
from toolbudget.cli.option_types import (
    read_file,
    read_folder,
    read_limit,
    read_output,
    read_path,
)
from toolbudget.cli.progress import show_progress
from toolbudget.cli.wording import printable
from toolbudget.limits.environment import PREVIEW_STYLES

if TYPE_CHECKING:
    from collections.abc import Iterator

    from toolbudget.cli.progress import Progress
    from toolbudget.cli.source import Format
    from toolbudget.limits import PreviewStyle, Unit

__all__ = ["command"]


@click.command("apply", short_help="Apply the budget to a transcript or request.")
@click.argument("input_path", metavar="INPUT", callback=read_path)
@click.option(
    "--root",
    metavar="DIR",
    callback=read_folder,
    help="Folder of all sessions; the user's data folder by default. Another one starts anew.",
)
@click.option(
    "--session",
    "session_id",
    metavar="ID",
    help="The conversation, if the input's records do not name it; else a hash of the input.",
)
@click.option("--out", metavar="FILE", callback=read_output, help="Where the messages go.")
@click.option("--json", "as_json", is_flag=True, help="Print the report as one JSON object.")
@click.option(
    "--format",
    "form",
    type=click.Choice(["jsonl", "body", "messages"]),
    help="What the input is; by default told by what it holds.",
)
@click.option(
    "--no-exempt",
    metavar="TOOL",
    multiple=True,
    help="Judge the results of a tool that is exempt, such as Read. May be repeated.",
)
@click.option(
    "--max-result-chars",
    metavar="N|off",
    callback=read_limit,
    help="What one result may have, in the --unit, if its tool does not declare less; else"
    " TOOLBUDGET_MAX_RESULT_CHARS, else 50000 characters.",
)
@click.option(
    "--max-message-chars",
    metavar="N|off",
    callback=read_limit,
    help="What all results of one API message may have together, in the --unit; else"
    " TOOLBUDGET_MAX_MESSAGE_CHARS, else 200000 characters.",
)
@click.option(
    "--unit",
    "limit_unit",
    type=click.Choice(["chars", "tokens", "bytes"]),
    help="What the limits count, else what --config says, else chars; tokens are an estimate,"
    " with defaults of 12500 and 50000.",
)
@click.option(
    "--config",
    "config_path",
    metavar="FILE",
    callback=read_file,
    help="Limits for what neither an option nor the environment sets; TOML, or JSON as .json.",
)
@click.option(
    "--preview-style",
    type=click.Choice(PREVIEW_STYLES),
    help="How previews are chosen; else TOOLBUDGET_PREVIEW_STYLE, else head.",
)
@click.option("--force", is_flag=True, help="Overwrite an output that holds something else.")
def command(
    *,
    input_path: str,
    root: str | None,
    session_id: str | None,
    out: str | None,
    as_json: bool,
    form: Format | None,
    no_exempt: tuple[str, ...],
    max_result_chars: float | None,
    max_message_chars: float | None,
    limit_unit: Unit | None,
    config_path: str | None,
    preview_style: PreviewStyle | None,
    force: bool,
) -> int:
    """Store the large tool results of INPUT and replace them by previews.

    INPUT is a Claude Code session (JSON lines), the JSON body of a request, or a JSON list of
    messages; - reads standard input. Each result passes the gate, then the results of each API
    message share its budget. Nothing else changes: a line without a replaced result is passed on
    byte for byte.

    The messages go to ROOT/SESSION/applied.jsonl (.json), the full texts to
    ROOT/SESSION/tool-results. Decisions are recorded under the root: a later run over it, with
    whatever limits, gives the same bytes.

    \b
    Examples:
      toolbudget apply session.jsonl --root ~/agent/sessions
      toolbudget apply - --max-message-chars 50000 --json < body.json
    """  # noqa: D301 - click's mark for lines that stay as they are
    options = ApplyOptions(
        input_path=input_path,
        root=root,
        session_id=session_id,
        out=out,
        format=form,
        no_exempt=no_exempt,
        max_result_chars=max_result_chars,
        max_message_chars=max_message_chars,
        limit_unit=limit_unit,
        config_path=config_path,
        preview_style=preview_style,
        force=force,
    )
    with show_progress() as progress, _warnings_shown(progress):
        report = run(options, progress)
    if as_json:
        click.echo(json.dumps(report.to_json(), indent=2))
    else:
        from toolbudget.cli.apply_view import show_report

        show_report(report)
    return EXIT_FAILED if report.results.failures else EXIT_DONE


class _Warnings(logging.Handler):
    """Shows each warning of the library once; failures are in the report."""

    def __init__(self, progress: Progress) -> None:
        super().__init__(logging.WARNING)
        self._progress = progress
        self._shown: set[str] = set()

    def emit(self, record: logging.LogRecord) -> None:
        is_failure = isinstance(record.args, tuple) and any(
            isinstance(argument, Failure) for argument in record.args
        )
        message = record.getMessage()
        if not is_failure and message not in self._shown:
            self._shown.add(message)
            self._progress.say(f"Warning: {printable(message)}")


@contextmanager
def _warnings_shown(progress: Progress) -> Iterator[None]:
    logger = logging.getLogger("toolbudget")
    handler = _Warnings(progress)
    logger.addHandler(handler)
    try:
        yield
    finally:
        logger.removeHandler(handler)
