"""The report of ``toolbudget context`` for a person."""

from __future__ import annotations

import textwrap
from typing import TYPE_CHECKING, Final

from rich import box
from rich.progress_bar import ProgressBar
from rich.table import Table
from rich.text import Text

from toolbudget.cli.reading import STANDARD_INPUT
from toolbudget.cli.wording import count, grouped, printable, shorten

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from rich.console import Console, JustifyMethod, RenderableType

    from toolbudget.cli.context_history import ToolShare, Turn
    from toolbudget.cli.context_report import ContextReport

__all__ = ["show_context"]

_MAX_TURNS: Final = 30
_MAX_TOOLS: Final = 10
_MAX_LISTED: Final = 10
_TOOL_CHARS: Final = 22
_WIDE_TOOL_CHARS: Final = 48
_BAR: Final = "bar"
_LARGEST: Final = "Largest result"
_WIDE_COLUMNS: Final = 120
# What is shown from so many columns of a line on, the widest layout first.
_TURN_LAYOUTS: Final = {
    _WIDE_COLUMNS: ("Turn", "Cached", "New", "Output", "Estimated", "Used", _BAR, "%", _LARGEST),
    78: ("Turn", "Cached", "New", "Output", "Estimated", "Used", _BAR, "%"),
    60: ("Turn", "Cached", "New", "Output", "Estimated", "Used", "%"),
    0: ("Turn", "Estimated", "Used", "%"),
}
_TOOL_LAYOUTS: Final = {
    _WIDE_COLUMNS: ("Tool", "Calls", "In calls", "Results", "In results", "Largest", "Tokens", "%"),
    78: ("Tool", "In calls", "Results", "In results", "Largest", "Tokens", "%"),
    60: ("Tool", "Results", "Largest", "Tokens", "%"),
    0: ("Tool", "Tokens", "%"),
}
# A bar takes what the numbers leave: of the columns it alone gives way.
_MIN_BAR_COLUMNS: Final = 12
_MAX_BAR_COLUMNS: Final = 40
_LABEL_COLUMNS: Final = 11
_MIN_TEXT_COLUMNS: Final = 20
_STYLES: Final = {"ok": "green", "near": "yellow", "over": "red"}
_NOTHING: Final = "-"


def show_context(report: ContextReport, console: Console, plot: str | None = None) -> None:
    """Print the report, with a plot that is already drawn."""
    is_piped = report.input_path == STANDARD_INPUT
    source = "standard input" if is_piped else report.input_path
    _line(console, Text(f"Context of {printable(source)}", "bold"))
    style = _STYLES[report.check.state]
    for part in textwrap.wrap(report.check.explain, console.width):
        _line(console, Text(part, style))
    console.print()
    if plot is not None:
        # It is as wide as the terminal, and has colours of its own.
        console.print(Text.from_ansi(plot), soft_wrap=True)
        console.print()
    if report.main.turns:
        _show_turns(report, console)
    else:
        _line(console, Text("No response of a model is in it."))
    console.print()
    shares = report.main.tool_shares()
    if shares:
        _show_tools(report, shares, console)
        console.print()
    for label, text in _facts(report):
        _show_fact(label, text, console)


def _show_turns(report: ContextReport, console: Console) -> None:
    turns = report.main.turns
    shown = _most_growing(turns)
    names = _TURN_LAYOUTS[_layout_of(console.width)]
    table = _table()
    for name in names:
        if name == _BAR:
            table.add_column("", min_width=_MIN_BAR_COLUMNS, max_width=_MAX_BAR_COLUMNS)
        else:
            justify: JustifyMethod = "left" if name == _LARGEST else "right"
            table.add_column(name, justify=justify, no_wrap=True)
    for turn in shown:
        cells = _turn_cells(report, turn)
        table.add_row(*(cells[name] for name in names))
    console.print(table)
    if len(shown) < len(turns):
        left_out = count(len(turns) - len(shown), "more turn")
        _note(console, f"and {left_out} that added less; --json has them all")


def _turn_cells(report: ContextReport, turn: Turn) -> dict[str, RenderableType]:
    available_tokens = report.check.available_tokens
    style = _STYLES[report.window.state_of(turn.used_tokens)]
    own = {"Cached": turn.cached_tokens, "New": turn.new_tokens, "Output": turn.output_tokens}
    return {
        "Turn": str(turn.number) + ("*" if turn.is_after_compaction else " "),
        **{name: grouped(tokens) if turn.is_reported else _NOTHING for name, tokens in own.items()},
        "Estimated": grouped(turn.estimated_tokens),
        "Used": grouped(turn.used_tokens),
        _BAR: ProgressBar(
            total=available_tokens,
            completed=min(turn.used_tokens, available_tokens),
            complete_style=style,
            finished_style=style,
        ),
        "%": Text(str(_percent(turn.used_tokens, available_tokens)), style),
        _LARGEST: _largest(report, turn),
    }


def _layout_of(columns: int) -> int:
    """Choose the widest layout that fits, else the narrowest there is."""
    return next((needed for needed in _TURN_LAYOUTS if needed <= columns), min(_TURN_LAYOUTS))


def _largest(report: ContextReport, turn: Turn) -> str:
    if not turn.largest_tokens:
        return ""
    name = report.main.largest_tool(turn) or "(unknown)"
    return f"{shorten(name, _TOOL_CHARS)} {grouped(turn.largest_tokens)}"


def _most_growing(turns: Sequence[Turn]) -> list[Turn]:
    """Choose the turns at which the context grew most, with the first, the last and the fullest."""
    if len(turns) <= _MAX_TURNS:
        return list(turns)
    used = [turn.used_tokens for turn in turns]
    growth = [after - before for before, after in zip([0, *used], used, strict=False)]
    needed = [0, len(turns) - 1, used.index(max(used))]
    needed += [index for index, turn in enumerate(turns) if turn.is_after_compaction]
    by_growth = sorted(range(len(turns)), key=lambda index: -growth[index])
    chosen = list(dict.fromkeys([*needed, *by_growth]))[:_MAX_TURNS]
    return [turns[index] for index in sorted(chosen)]


def _show_tools(report: ContextReport, shares: Sequence[ToolShare], console: Console) -> None:
    texts = report.main.text_tokens
    total_tokens = sum(share.tokens for share in shares) + texts.total()
    layout = _layout_of(console.width)
    names = _TOOL_LAYOUTS[layout]
    table = _table()
    for name in names:
        table.add_column(name, justify="left" if name == "Tool" else "right", no_wrap=True)
    tool_chars = _WIDE_TOOL_CHARS if layout == _WIDE_COLUMNS else _TOOL_CHARS
    for share in shares[:_MAX_TOOLS]:
        cells = {
            "Tool": shorten(share.tool_name or "(unknown)", tool_chars),
            "Calls": grouped(share.calls),
            "In calls": grouped(share.call_tokens),
            "Results": grouped(share.results),
            "In results": grouped(share.result_tokens),
            "Largest": grouped(share.largest_result_tokens),
            "Tokens": grouped(share.tokens),
            "%": str(_percent(share.tokens, total_tokens)),
        }
        table.add_row(*(cells[name] for name in names))
    for label, role in (("(user text)", "user"), ("(answers)", "assistant")):
        text_cells = {
            "Tool": label,
            "Tokens": grouped(texts[role]),
            "%": str(_percent(texts[role], total_tokens)),
        }
        table.add_row(*(text_cells.get(name, "") for name in names), style="dim")
    console.print(table)
    if len(shares) > _MAX_TOOLS:
        more = count(len(shares) - _MAX_TOOLS, "more tool")
        _note(console, f"and {more}; --json has them all")


def _table() -> Table:
    return Table(
        box=box.SIMPLE_HEAD,
        padding=(0, 1, 0, 0),
        pad_edge=False,
        show_edge=False,
        header_style="bold",
    )


def _facts(report: ContextReport) -> Iterator[tuple[str, str]]:
    """Yield each thing that there is to say beside the tables, under a label."""
    peak = report.peak
    if peak is not None:
        percent = _percent(peak.used_tokens, report.check.available_tokens)
        used = f"{count(peak.used_tokens, 'token')} ({percent} %)"
        yield "Peak", f"{used} at turn {grouped(peak.number)}"
    if report.main.compactions:
        times = count(report.main.compactions, "compaction")
        yield "Compacted", f"{times}; * marks the first turn behind one"
    if report.other_chains:
        others = count(report.other_chains, "sub-agent")
        each = "with" if report.other_chains == 1 else "each with"
        yield "Not shown", f"{others}, {each} a context of its own"
    for line in report.history.malformed[:_MAX_LISTED]:
        yield "Malformed", f"line {line.position}, passed over: {printable(line.problem)}"
    unlisted = report.history.malformed_count - min(len(report.history.malformed), _MAX_LISTED)
    if unlisted:
        yield "", f"and {count(unlisted, 'more line')}"
    yield "Estimates", "tokens by tool, and what no response has reported yet"


def _show_fact(label: str, text: str, console: Console) -> None:
    wrapped = textwrap.wrap(text, max(console.width - _LABEL_COLUMNS, _MIN_TEXT_COLUMNS))
    for index, part in enumerate(wrapped):
        shown_label = "" if index else label
        _line(console, Text.assemble((shown_label.ljust(_LABEL_COLUMNS), "dim"), part))


def _note(console: Console, text: str) -> None:
    for part in textwrap.wrap(text, console.width):
        _line(console, Text(part, "dim"))


def _line(console: Console, text: Text) -> None:
    # The terminal wraps it, so that what is copied from there has no line breaks of ours.
    console.print(text, soft_wrap=True)


def _percent(part: int, whole: int) -> int:
    return (200 * part + whole) // (2 * whole) if whole else 0
