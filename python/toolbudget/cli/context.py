"""``toolbudget context``: how the context window filled up over a session."""

from __future__ import annotations

import json
import os
import re
from typing import TYPE_CHECKING, Final, cast, get_args

import click

from toolbudget.cli.context_history import read_history
from toolbudget.cli.context_report import ContextReport
from toolbudget.cli.failure import EXIT_DONE, CommandError
from toolbudget.cli.option_types import read_path
from toolbudget.cli.overview import refuse_without_records
from toolbudget.cli.progress import show_progress
from toolbudget.cli.reading import STANDARD_INPUT, open_input
from toolbudget.cli.source import Format, open_source
from toolbudget.cli.workspace import default_root
from toolbudget.errors import ConfigError
from toolbudget.tokens.window import ContextWindow

if TYPE_CHECKING:
    from toolbudget.cli.progress import Progress

__all__ = ["command"]

_SVG_SUFFIX = ".svg"
_ARGUMENT: Final = re.compile(r"^([a-z_]+) \(argument\)")


@click.command("context", short_help="Show how the context window of a session filled up.")
@click.argument("input_path", metavar="TRANSCRIPT", callback=read_path)
@click.option("--json", "as_json", is_flag=True, help="Print the report as one JSON object.")
@click.option(
    "--plot",
    "plot_path",
    metavar="FILE.svg|-",
    help="Draw the turns into an SVG file, or with - into the report. Needs the"
    " package pygal, for - plotille.",
)
@click.option(
    "--format",
    "form",
    type=click.Choice(get_args(Format)),
    help="Read the input as this, whatever it looks like.",
)
@click.option(
    "--size",
    metavar="TOKENS",
    type=int,
    default=200_000,
    show_default=True,
    help="The whole window.",
)
@click.option(
    "--reserve-output",
    metavar="TOKENS",
    type=int,
    default=20_000,
    show_default=True,
    help="What of it is kept free for the answer.",
)
@click.option(
    "--near",
    metavar="SHARE",
    type=float,
    default=0.8,
    show_default=True,
    help="Part of the rest from which it counts as nearly full.",
)
@click.option(
    "--over",
    metavar="SHARE",
    type=float,
    default=0.92,
    show_default=True,
    help="Part of the rest from which it is time to summarise.",
)
def command(
    *,
    input_path: str,
    as_json: bool,
    plot_path: str | None,
    form: str | None,
    size: int,
    reserve_output: int,
    near: float,
    over: float,
) -> int:
    """Show how the context window filled up over a session, turn by turn.

    TRANSCRIPT is a Claude Code session (JSON lines), the JSON body of a request, or a JSON list of
    messages; - reads standard input. A turn is one response, with what came behind it until the
    next request: tokens read from the prompt cache, new ones, those of the answer, an estimate of
    what no response has reported yet, and all of them together. Below stands what each tool
    brought, estimated.

    Shown is the main chain: a sub-agent has a context of its own, in a transcript of its own.

    \b
    Example:
      toolbudget context session.jsonl --plot context.svg

    Exit codes: 0 done, 1 the input cannot be read or holds no messages, or the plot is not drawn,
    2 wrong usage.
    """  # noqa: D301 - click's mark for lines that stay as they are
    try:
        window = ContextWindow(size, reserve_output, near, over)
    except ConfigError as error:
        raise click.UsageError(_ARGUMENT.sub(_as_option, str(error))) from error
    _check_plot(plot_path, as_json=as_json)
    with show_progress() as progress:
        report = _read(input_path, cast("Format | None", form), window, progress)
    if plot_path is not None and plot_path != STANDARD_INPUT:
        from toolbudget.cli.context_plot import write_svg

        write_svg(report, plot_path)
    if as_json:
        click.echo(json.dumps(report.to_json(), indent=2))
    else:
        _show(report, is_plotted=plot_path == STANDARD_INPUT)
    return EXIT_DONE


def _check_plot(path: str | None, *, as_json: bool) -> None:
    """Refuse what cannot be drawn before anything is read."""
    if path is None:
        return
    if path == STANDARD_INPUT:
        if as_json:
            raise click.UsageError("--plot - and --json both print to standard output: '-'")
    elif not path.lower().endswith(_SVG_SUFFIX):
        raise click.UsageError(f"--plot must name an .svg file, or be '-': {path!r}")
    from toolbudget.cli.context_plot import require_library

    require_library("plotille" if path == STANDARD_INPUT else "pygal", "--plot")


def _read(
    path: str, form: Format | None, window: ContextWindow, progress: Progress
) -> ContextReport:
    spool = os.path.abspath(default_root())  # noqa: PTH100 - no symlink is to be resolved
    with open_input(path, spool_directory=spool) as opened:
        source = open_source(opened, form)
        history = read_history(source, progress.begin("Reading", opened.size_bytes))
        refuse_without_records(opened.name, history.records, history.malformed)
        if history.records and not history.chains:
            # A wrong file looks just like a context with all its room left.
            raise CommandError(f"{opened.name} holds no messages")
        return ContextReport(path, source.format, source.unit, window, history)


def _show(report: ContextReport, *, is_plotted: bool) -> None:
    from toolbudget.cli.console import open_console
    from toolbudget.cli.context_view import show_context

    console = open_console()
    plot = None
    if is_plotted and report.main.turns:
        from toolbudget.cli.context_plot import draw_text

        has_colors = console.color_system is not None and not console.no_color
        plot = draw_text(
            report,
            columns=console.width,
            has_colors=has_colors,
            is_ascii=console.options.ascii_only,
        )
    show_context(report, console, plot)


def _as_option(argument: re.Match[str]) -> str:
    """Return an argument of the library as the option that stands for it."""
    return f"--{argument[1].replace('_', '-')}"
