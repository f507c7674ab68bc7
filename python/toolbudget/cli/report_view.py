"""The report of ``toolbudget report`` for a person."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from rich import box
from rich.table import Table
from rich.text import Text

from toolbudget._core.pure.replacement import format_size
from toolbudget.cli.console import open_console
from toolbudget.cli.failure import with_path
from toolbudget.cli.report_table import by_size, tools_by_chars
from toolbudget.cli.wording import count, grouped, other_format_results, printable, shorten
from toolbudget.limits import PREVIEW_SIZE_BYTES

if TYPE_CHECKING:
    from collections.abc import Sequence

    from rich.console import Console

    from toolbudget.cli.report_survey import ReportSums

__all__ = ["PREVIEWS_NOTE", "other_format_note", "percent", "show_report"]

_MAX_TOOLS: Final = 12
_MAX_LARGEST: Final = 8
_MAX_UNREADABLE: Final = 5
_NAME_COLUMNS: Final = 40
_FEWEST_NAME_COLUMNS: Final = 12
_NUMBER_COLUMNS: Final = 64
_LARGEST_COLUMNS: Final = 16
_NARROW: Final = 76
_VERY_NARROW: Final = 60
_BAR: Final = "█"
_BAR_COLUMNS: Final = 24
_BESIDE_BAR_COLUMNS: Final = 46
PREVIEWS_NOTE: Final = (
    f"with previews of {grouped(PREVIEW_SIZE_BYTES)} bytes, the most of any style"
)


def percent(part: float, whole: float) -> str:
    """Write a share.

    Example:
        >>> percent(1, 3), percent(1, 2000), percent(0, 0)
        ('33 %', '<1 %', '0 %')
    """
    if not whole or not part:
        return "0 %"
    share = 100 * part / whole
    return "<1 %" if share < 1 else f"{share:.0f} %"


def other_format_note(sums: ReportSums) -> str:
    """Say that there are messages whose results no number is about."""
    return f"Not counted: {other_format_results(sums.other_format_messages)}"


def show_report(sums: ReportSums) -> None:
    """Print the report: sums, tools, sizes, limits, the largest results, the prefix."""
    out = open_console()
    size = format_size(sums.input_bytes)
    out.print(Text(f"{count(sums.transcripts, 'transcript')}, {size}", "bold"))
    tokens = f"about {grouped(sums.estimated_tokens)} tokens"
    in_messages = f"in {count(sums.messages, 'message')}"
    results = f"{count(sums.results, 'text result')} {in_messages}"
    _line(out, f"{results}, {count(sums.chars, 'character')}, {tokens}")
    if sums.other_format_messages:
        _line(out, other_format_note(sums), "yellow")
    if sums.results:
        _tools(out, sums)
        _sizes(out, sums)
        _limits(out, sums)
        _largest(out, sums)
    _prefix(out, sums)
    _problems(out, sums)


def _tools(out: Console, sums: ReportSums) -> None:
    is_wide = out.width >= _NARROW
    name_columns = min(max(out.width - _NUMBER_COLUMNS, _FEWEST_NAME_COLUMNS), _NAME_COLUMNS)
    headings = ["results", "characters", "share", "tokens", "largest"]
    narrow_headings = ["results", "characters", "share"]
    table = _table(out, ["tool"], headings if is_wide else narrow_headings)
    tools = tools_by_chars(sums)
    for name, tool in tools[:_MAX_TOOLS]:
        cells = [grouped(tool.results), grouped(tool.chars), percent(tool.chars, sums.chars)]
        if is_wide:
            cells += [grouped(tool.estimated_tokens), grouped(tool.largest_chars)]
        shown = "(call not there)" if name is None else shorten(name, name_columns)
        table.add_row(Text(shown), *cells)
    out.print(table)
    if len(tools) > _MAX_TOOLS:
        _line(out, f"  and {count(len(tools) - _MAX_TOOLS, 'more tool')}; --json lists them", "dim")


def _sizes(out: Console, sums: ReportSums) -> None:
    table = _table(out, ["size in characters"], ["results", "messages"])
    table.add_column("", no_wrap=True)
    bar_columns = max(min(_BAR_COLUMNS, out.width - _BESIDE_BAR_COLUMNS), 0)
    results, messages = dict(by_size(sums.sizes)), dict(by_size(sums.message_sizes))
    most = max([1, *results.values()])
    for below in sorted({*results, *messages}):
        number = results.get(below, 0)
        bar = _BAR * -(-number * bar_columns // most)
        table.add_row(
            Text(f"below {grouped(below)}"),
            grouped(number),
            grouped(messages.get(below, 0)),
            Text("#" * len(bar) if out.options.ascii_only else bar, "cyan"),
        )
    out.print(table)


def _limits(out: Console, sums: ReportSums) -> None:
    headings = ["one result", "message", "replaced", "saved", "share", "tokens", "still over"]
    columns = 7 if out.width >= _NARROW else 5 if out.width >= _VERY_NARROW else 4
    table = _table(out, [], headings[:columns])
    for pair, outcome in sums.limits.outcomes.items():
        saved_chars = sums.shown_chars - outcome.chars_after
        cells = [
            grouped(pair.result_chars),
            grouped(pair.message_chars),
            grouped(outcome.gated + outcome.budgeted),
            grouped(saved_chars),
            percent(saved_chars, sums.shown_chars),
            grouped(sums.tokens_of(saved_chars)),
            grouped(outcome.messages_over),
        ]
        table.add_row(*cells[:columns])
    _line(out, "What limits would have done, in characters", "bold")
    _line(out, PREVIEWS_NOTE, "dim")
    out.print(table)


def _largest(out: Console, sums: ReportSums) -> None:
    if not sums.largest:
        return
    _line(out, "Largest results", "bold")
    for large in sums.largest[:_MAX_LARGEST]:
        columns = max(out.width - _LARGEST_COLUMNS, _FEWEST_NAME_COLUMNS)
        name = shorten(large.tool_name or "(call not there)", min(columns, _NAME_COLUMNS))
        where = f"{printable(large.path)}:{large.position}"
        _line(out, f"  {grouped(large.chars):>11}  {name}")
        _line(out, f"               {where}", "dim")
    out.print()


def _prefix(out: Console, sums: ReportSums) -> None:
    prefix = sums.prefix
    if not prefix.requests:
        _line(out, "Cached prefix: no response reports its usage", "dim")
        return
    kept = percent(prefix.kept, prefix.requests)
    told = f"Cached prefix kept in {kept} of {count(prefix.requests, 'request')}"
    if prefix.lost_tokens:
        told += f"; {count(prefix.lost_tokens, 'token')} had to be written again"
    if prefix.compactions:
        told += f"; {count(prefix.compactions, 'compaction')}"
    _line(out, told)


def _problems(out: Console, sums: ReportSums) -> None:
    if sums.malformed:
        _line(out, f"{count(sums.malformed, 'line')} could not be read as a record", "yellow")
    for path, problem in sums.unreadable[:_MAX_UNREADABLE]:
        _line(out, f"Not read: {printable(with_path(path, problem))}", "red")
    if len(sums.unreadable) > _MAX_UNREADABLE:
        more = len(sums.unreadable) - _MAX_UNREADABLE
        _line(out, f"and {count(more, 'more file')}; --json lists them", "red")


def _table(out: Console, left: Sequence[str], right: Sequence[str]) -> Table:
    """Begin a table; on a narrow terminal the last word of a heading has a line of its own."""
    table = Table(box=box.SIMPLE_HEAD, padding=(0, 1), header_style="bold")
    between = " " if out.width >= _NARROW else "\n"
    for heading in left:
        table.add_column(between.join(heading.rsplit(" ", 1)), no_wrap=True)
    for heading in right:
        table.add_column(between.join(heading.rsplit(" ", 1)), justify="right", no_wrap=True)
    return table


def _line(out: Console, text: str, style: str = "") -> None:
    out.print(Text(text, style), soft_wrap=True)
