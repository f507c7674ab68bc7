"""The report of ``toolbudget apply`` for a person."""

from __future__ import annotations

import textwrap
from itertools import zip_longest
from typing import TYPE_CHECKING, Final, NamedTuple

from rich import box
from rich.table import Table
from rich.text import Text

from toolbudget._core.pure.replacement import format_size
from toolbudget.cli.apply_report import failure_text
from toolbudget.cli.console import open_console
from toolbudget.cli.wording import count, grouped, other_format_results, printable, shorten

if TYPE_CHECKING:
    from collections.abc import Iterator

    from rich.console import Console

    from toolbudget.cli.apply_report import ApplyReport
    from toolbudget.cli.judging import ReplacedResult

__all__ = ["show_report"]

_MAX_LISTED: Final = 10
_NOUNS: Final = {"chars": "character", "tokens": "estimated token", "bytes": "byte"}
_MAX_ROWS: Final = 40
# Between two columns of the table.
_GAP_COLUMNS: Final = 2
_MIN_TOOL_CHARS: Final = 8
_ENOUGH_TOOL_CHARS: Final = 14
# With sizes in bytes or without, and which columns to leave out: the first that fits is taken.
_LAYOUTS: Final = (
    (True, ()),
    (False, ()),
    (False, ("Decided by",)),
    (False, ("Decided by", "Results")),
)
_LABEL_COLUMNS: Final = 11
_MIN_TEXT_COLUMNS: Final = 20

_ORIGINS: Final = {
    "gate": "result limit",
    "budget": "message limit",
    "earlier_run": "earlier run",
    "this_run": "same result",
    "other_program": "other program",
}
_REASONS: Final = {
    "not_text": "with images or other blocks",
    "reference": "already a reference",
    "empty": "empty",
    "malformed": "malformed",
    "object": "malformed",
}


class _Row(NamedTuple):
    """Replaced results of one tool in one group that were decided by the same rule."""

    position: int
    tool_name: str | None
    origin: str
    results: list[ReplacedResult]

    @property
    def saved_chars(self) -> int:
        """Characters that the replacements have less."""
        return sum(item.size_chars - item.replacement_chars for item in self.results)


class _Fact(NamedTuple):
    """Something to say, under a label."""

    label: str
    text: str
    style: str = ""


def show_report(report: ApplyReport, console: Console | None = None) -> None:
    """Print the report to standard output."""
    console = console or open_console()
    results = report.results
    where = f"{count(results.results, 'tool result')} in {count(results.groups, 'API message')}"
    _line(console, Text.assemble((f"Session {printable(report.session_id)}", "bold")))
    source = "standard input" if report.input_path == "-" else report.input_path
    _line(console, Text(f"{where} of {printable(source)}"))
    console.print()
    if results.replaced:
        console.print(_table(report, console.width))
    else:
        _line(console, Text("No result had to be replaced."))
    console.print()
    for fact in _facts(report):
        _show_fact(fact, console)
    _show_files(report, console)


def _show_fact(fact: _Fact, console: Console) -> None:
    wrapped = textwrap.wrap(fact.text, max(console.width - _LABEL_COLUMNS, _MIN_TEXT_COLUMNS))
    for label, text in zip_longest([fact.label], wrapped, fillvalue=""):
        _line(console, Text.assemble((label.ljust(_LABEL_COLUMNS), "dim"), (text, fact.style)))


def _line(console: Console, text: Text) -> None:
    # The terminal wraps it, so that what is copied from there has no line breaks of ours.
    console.print(text, soft_wrap=True)


def _table(report: ApplyReport, columns: int) -> Table:
    rows = _rows(report)
    position = "Line" if report.unit == "line" else "Message"
    shown = _fit(_most_saving(rows), position, columns)
    table = Table(
        box=box.SIMPLE_HEAD,
        padding=(0, 1, 0, 0),
        pad_edge=False,
        show_edge=False,
        header_style="bold",
        caption_style="dim",
        caption_justify="left",
    )
    for name in shown[0]:
        table.add_column(
            name,
            no_wrap=True,
            justify="left" if name in {"Tool", "Decided by"} else "right",
            style="green" if name == "After" else "",
        )
    for cells in shown:
        table.add_row(*cells.values())
    if len(rows) > len(shown):
        table.caption = f"and {count(len(rows) - len(shown), 'more row')}; --json has them all"
    return table


def _fit(rows: list[_Row], position: str, columns: int) -> list[dict[str, str]]:
    """Write the rows with as many columns as fit into a line, and no tool's name cut too short."""
    cells: list[dict[str, str]] = []
    room_chars = 0
    for with_bytes, left_out in _LAYOUTS:
        cells = [
            {
                name: text
                for name, text in _cells(row, position, with_bytes=with_bytes).items()
                if name not in left_out
            }
            for row in rows
        ]
        longest_chars = max(len(row["Tool"]) for row in cells)
        room_chars = _room_for_tools(cells, columns)
        if room_chars >= min(longest_chars, _ENOUGH_TOOL_CHARS):
            break
    tool_chars = max(room_chars, _MIN_TOOL_CHARS)
    return [row | {"Tool": shorten(row["Tool"], tool_chars)} for row in cells]


def _cells(row: _Row, position: str, *, with_bytes: bool) -> dict[str, str]:
    before = grouped(sum(item.size_chars for item in row.results))
    after = grouped(sum(item.replacement_chars for item in row.results))
    if with_bytes:
        before += f" ({format_size(sum(item.size_bytes for item in row.results))})"
        after += f" ({format_size(sum(item.replacement_bytes for item in row.results))})"
    return {
        position: str(row.position),
        "Tool": printable(row.tool_name or "(unknown)"),
        "Results": str(len(row.results)),
        "Before": before,
        "After": after,
        "Decided by": _ORIGINS[row.origin],
    }


def _room_for_tools(rows: list[dict[str, str]], columns: int) -> int:
    """Return how many characters of a line the other columns leave for a tool's name."""
    others = [name for name in rows[0] if name != "Tool"]
    widths = [max(len(name), *(len(row[name]) for row in rows)) for name in others]
    return columns - sum(widths) - _GAP_COLUMNS * len(others)


def _most_saving(rows: list[_Row]) -> list[_Row]:
    """Choose the rows that save most, in the order of the input."""
    numbers = sorted(range(len(rows)), key=lambda number: -rows[number].saved_chars)
    return [rows[number] for number in sorted(numbers[:_MAX_ROWS])]


def _rows(report: ApplyReport) -> list[_Row]:
    rows: dict[tuple[int, str | None, str], _Row] = {}
    for item in report.results.replaced:
        key = (item.group, item.tool_name, item.origin)
        row = rows.setdefault(key, _Row(item.position, item.tool_name, item.origin, []))
        row.results.append(item)
    return list(rows.values())


def _facts(report: ApplyReport) -> Iterator[_Fact]:
    """Yield each thing that there is to say about the results."""
    results = report.results
    yield _Fact("Saved", _saved(report))
    if results.kept:
        yield _Fact("Kept", f"{count(results.kept, 'result')} as given")
    skipped = _skipped(report)
    if skipped:
        yield _Fact("Skipped", skipped)
    yield from _input_facts(report)
    if results.decided_earlier:
        earlier = f"{grouped(results.decided_earlier)} of {count(results.results, 'result')}"
        whoever = "had been decided by an earlier run over this root, whatever the limits are now"
        yield _Fact("Earlier", f"{earlier} {whoever}; another --root starts anew")
    if results.over_limit_chars:
        over = (
            f"{count(results.over_limit_chars, _NOUNS[report.limit_unit])} over the message limit"
        )
        yield _Fact("Over", f"{over}: nothing that is left can be replaced", "yellow")
    for failure in results.failures[:_MAX_LISTED]:
        yield _Fact("Failed", printable(failure_text(failure)), "red")
    if len(results.failures) > _MAX_LISTED:
        yield _Fact("", f"and {grouped(len(results.failures) - _MAX_LISTED)} more", "red")


def _saved(report: ApplyReport) -> str:
    chars_before = report.results.chars_before
    if not report.saved_chars:
        return f"nothing: all {count(chars_before, 'character')} of text stay as they are"
    percent = round(100 * report.saved_chars / chars_before)
    return (
        f"{grouped(report.saved_chars)} of {count(chars_before, 'character')} ({percent} %),"
        f" about {count(report.estimated_tokens_saved, 'token')} (an estimate)"
    )


def _skipped(report: ApplyReport) -> str:
    results = report.results
    parts = []
    if results.exempt:
        by_tool = ", ".join(
            f"{printable(name or '(unknown)')} {grouped(number)}"
            for name, number in results.exempt.most_common()
        )
        exempt = f"{grouped(results.exempt.total())} exempt"
        parts.append(f"{exempt} ({by_tool}; --no-exempt TOOL judges them)")
    for reason, wording in _REASONS.items():
        if results.skipped[reason]:
            parts.append(f"{grouped(results.skipped[reason])} {wording}")
    return ", ".join(parts)


def _input_facts(report: ApplyReport) -> Iterator[_Fact]:
    """Yield each thing that there is to say about the input itself."""
    overview = report.overview
    for line in overview.malformed[:_MAX_LISTED]:
        problem = f"line {line.position}, passed on as it is: {printable(line.problem)}"
        yield _Fact("Malformed", problem, "yellow")
    unlisted = overview.malformed_count - min(len(overview.malformed), _MAX_LISTED)
    if unlisted:
        yield _Fact("", f"and {count(unlisted, 'more line')}", "yellow")
    if overview.other_format_messages:
        passed_over = other_format_results(overview.other_format_messages)
        yield _Fact("Not judged", passed_over, "yellow")
    if overview.copies:
        copies = f"{grouped(overview.copies)} under toolUseResult"
        chars = count(overview.copies_chars, "character")
        yield _Fact("Copies", f"{copies} ({chars}) left alone: they are not sent")
    if report.unused_session_id is not None:
        unused = printable(report.unused_session_id)
        yield _Fact("Session", f"the records name it; --session {unused} was not used", "yellow")


def _show_files(report: ApplyReport, console: Console) -> None:
    paths = [item.path for item in report.results.replaced if item.path is not None]
    if paths:
        console.print()
        _line(console, Text(f"Full texts ({_stored(report)})", "bold"))
        listed = dict.fromkeys(paths)
        for path in list(listed)[:_MAX_LISTED]:
            _line(console, Text(f"  {printable(path)}"))
        if len(listed) > _MAX_LISTED:
            more = grouped(len(listed) - _MAX_LISTED)
            _line(console, Text(f"  and {more} more in {printable(str(report.results_directory))}"))
    console.print()
    state = "written" if report.is_output_new else "had these bytes already"
    _line(console, Text(f"Messages ({state})", "bold"))
    _line(console, Text(f"  {printable(str(report.output))}"))


def _stored(report: ApplyReport) -> str:
    if not report.new_files:
        return "stored before"
    return f"{count(report.new_files, 'new file')}, {format_size(report.new_bytes)}"
