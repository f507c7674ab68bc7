"""The report of ``toolbudget report`` as a page: one file, no script, nothing fetched."""

from __future__ import annotations

import itertools
from html import escape
from typing import TYPE_CHECKING, Any, Final

from toolbudget._core.pure.replacement import format_size
from toolbudget.cli.context_plot import require_library, without_extras
from toolbudget.cli.report_table import by_size, tools_by_chars
from toolbudget.cli.report_view import PREVIEWS_NOTE, other_format_note, percent
from toolbudget.cli.wording import count, grouped, printable

if TYPE_CHECKING:
    from collections.abc import Container, Iterable, Sequence

    from toolbudget.cli.report_survey import ReportSums

__all__ = ["page_of"]

_MAX_BARS: Final = 10
_BLUE, _ORANGE = "#2171b5", "#fd8d3c"
_STYLE: Final = """
:root { color-scheme: light dark; --ink: #1b1f24; --quiet: #57606a; --line: #d0d7de; --page: #fff; }
@media (prefers-color-scheme: dark) {
  :root { --ink: #e6edf3; --quiet: #9198a1; --line: #3d444d; --page: #0d1117; }
}
* { box-sizing: border-box; }
body { margin: 0 auto; padding: 1rem; max-width: 64rem; background: var(--page); color: var(--ink);
  font: 16px/1.5 system-ui, sans-serif; }
h1 { font-size: 1.5rem; margin: .5rem 0; }
h2 { font-size: 1.15rem; margin: 2rem 0 .5rem; }
p.quiet { color: var(--quiet); margin: .25rem 0; }
.numbers { display: flex; flex-wrap: wrap; gap: .75rem; margin: 1rem 0; }
.numbers div { flex: 1 1 9rem; border: 1px solid var(--line); border-radius: .5rem;
  padding: .75rem; }
.numbers b { display: block; font-size: 1.35rem; }
.numbers span { color: var(--quiet); font-size: .875rem; }
.wide { overflow-x: auto; }
table { border-collapse: collapse; width: 100%; font-variant-numeric: tabular-nums;
  font-size: .9rem; }
th, td { padding: .35rem .6rem; text-align: right; border-bottom: 1px solid var(--line); }
th:first-child, td:first-child, .text { text-align: left; }
td:first-child { overflow-wrap: anywhere; min-width: 7rem; }
td.text { overflow-wrap: anywhere; min-width: 12rem; }
figure { margin: 1rem 0; }
figure svg { width: 100%; height: auto; }
figure svg text { fill: var(--ink) !important; }
figure svg .background, figure svg .plot > .background { fill: transparent !important; }
figure svg .guide.line, figure svg .axis .line { stroke: var(--line) !important; }
"""


def page_of(sums: ReportSums) -> bytes:
    """Return the page, in UTF-8; the same numbers give the same bytes.

    Raises:
        CommandError: The package that draws is not installed.
    """
    parts = [
        "<!DOCTYPE html>",
        '<html lang="en">',
        '<head><meta charset="utf-8">',
        '<meta name="viewport" content="width=device-width, initial-scale=1">',
        f"<title>Tool results</title><style>{_STYLE}</style></head>",
        "<body><main>",
        *_summary(sums),
        *_tools(sums),
        *_sizes(sums),
        *_limits(sums),
        *_largest(sums),
        *_problems(sums),
        "</main></body></html>",
    ]
    return "\n".join(parts).encode("utf-8", "backslashreplace")


def _summary(sums: ReportSums) -> Iterable[str]:
    yield "<h1>Tool results</h1>"
    yield _quiet(f"{count(sums.transcripts, 'transcript')}, {format_size(sums.input_bytes)}")
    prefix = sums.prefix
    numbers = {
        "text results": grouped(sums.results),
        "characters": grouped(sums.chars),
        "tokens, estimated": grouped(sums.estimated_tokens),
        "messages over the default limit": grouped(sums.messages_over),
    }
    if prefix.requests:
        numbers["requests that kept the cached prefix"] = percent(prefix.kept, prefix.requests)
        numbers["tokens written to the cache again"] = grouped(prefix.lost_tokens)
    cells = [f"<div><b>{value}</b><span>{label}</span></div>" for label, value in numbers.items()]
    yield f'<div class="numbers">{"".join(cells)}</div>'


def _tools(sums: ReportSums) -> Iterable[str]:
    tools = tools_by_chars(sums)
    if not tools:
        return
    yield "<h2>By tool</h2>"
    chart = _chart("HorizontalBar", "characters by tool", _BLUE)
    shown = tools[:_MAX_BARS][::-1]
    chart.x_labels = [printable(name or "(call not there)") for name, _ in shown]
    chart.add("characters", [tool.chars for _, tool in shown])
    yield _figure(chart)
    yield _table(
        ("tool", "results", "characters", "share", "tokens, estimated", "largest"),
        [
            (
                printable(name or "(call not there)"),
                grouped(tool.results),
                grouped(tool.chars),
                percent(tool.chars, sums.chars),
                grouped(tool.estimated_tokens),
                grouped(tool.largest_chars),
            )
            for name, tool in tools
        ],
    )


def _sizes(sums: ReportSums) -> Iterable[str]:
    for heading, sizes in (("results", sums.sizes), ("messages", sums.message_sizes)):
        buckets = by_size(sizes)
        if not buckets:
            continue
        yield f"<h2>Sizes of {heading}</h2>"
        yield _quiet(f"How many {heading} have fewer characters than the label, and half or more.")
        chart = _chart("Bar", f"sizes of {heading}", _BLUE if heading == "results" else _ORANGE)
        chart.x_labels = [_short(below) for below, _ in buckets]
        chart.add(heading, [number for _, number in buckets])
        yield _figure(chart)


def _limits(sums: ReportSums) -> Iterable[str]:
    if not sums.results:
        return
    yield "<h2>What limits would have done</h2>"
    yield _quiet(f"In characters, {PREVIEWS_NOTE}; reckoned from sizes alone.")
    rows = []
    for pair, outcome in sums.limits.outcomes.items():
        saved_chars = sums.shown_chars - outcome.chars_after
        rows.append(
            (
                grouped(pair.result_chars),
                grouped(pair.message_chars),
                grouped(outcome.gated),
                grouped(outcome.budgeted),
                grouped(saved_chars),
                percent(saved_chars, sums.shown_chars),
                grouped(sums.tokens_of(saved_chars)),
                grouped(outcome.messages_over),
            )
        )
    yield _table(
        (
            "limit of a result",
            "limit of a message",
            "replaced at once",
            "replaced in their message",
            "characters saved",
            "share",
            "tokens saved, estimated",
            "messages still over",
        ),
        rows,
    )


def _largest(sums: ReportSums) -> Iterable[str]:
    if not sums.largest:
        return
    yield "<h2>Largest results</h2>"
    rows = [
        (
            printable(large.tool_name) or "(call not there)",
            grouped(large.chars),
            f"{printable(large.path)}:{large.position}",
        )
        for large in sums.largest
    ]
    yield _table(("tool", "characters", "where"), rows, text_columns={2})


def _problems(sums: ReportSums) -> Iterable[str]:
    if sums.other_format_messages:
        yield _quiet(f"{other_format_note(sums)}.")
    if sums.malformed:
        yield _quiet(f"{count(sums.malformed, 'line')} could not be read as a record.")
    if sums.unreadable:
        yield "<h2>Not read</h2>"
        rows = [(printable(path), printable(problem)) for path, problem in sums.unreadable]
        yield _table(("file", "problem"), rows, text_columns={0, 1})


def _quiet(text: str) -> str:
    return f'<p class="quiet">{escape(text)}</p>'


def _table(
    headings: Sequence[str], rows: Iterable[Sequence[str]], text_columns: Iterable[int] = ()
) -> str:
    texts = set(text_columns)
    body = "".join(_row("td", row, texts) for row in rows)
    return f'<div class="wide"><table>{_row("th", headings, texts)}{body}</table></div>'


def _row(tag: str, cells: Iterable[str], text_columns: Container[int]) -> str:
    kinds = (' class="text"' if number in text_columns else "" for number in itertools.count())
    written = (
        f"<{tag}{kind}>{escape(cell)}</{tag}>" for cell, kind in zip(cells, kinds, strict=False)
    )
    return f"<tr>{''.join(written)}</tr>"


def _chart(kind: str, label: str, color: str) -> Any:  # noqa: ANN401 - the library has no types
    pygal = require_library("pygal", "--html")
    style = pygal.style.Style(
        colors=(color,),
        background="transparent",
        plot_background="transparent",
        label_font_size=16,
        major_label_font_size=16,
        value_font_size=16,
        font_family="system-ui, sans-serif",
    )
    chart = getattr(pygal, kind)(
        js=[],
        show_legend=False,
        style=style,
        height=420,
        x_label_rotation=45 if kind == "Bar" else 0,
        value_formatter=_short,
        truncate_label=24,
        max_scale=6,
    )
    chart.uuid = label.replace(" ", "-")
    chart.add_xml_filter(without_extras)
    return chart


def _figure(chart: Any) -> str:  # noqa: ANN401 - of that library
    svg: str = chart.render(is_unicode=True, disable_xml_declaration=True)
    return f"<figure>{svg}</figure>"


def _short(number: float) -> str:
    """Write a number in few characters: ``512``, ``33K``, ``1.5M``."""
    for unit, letter in ((1e9, "G"), (1e6, "M"), (1e3, "K")):
        if number >= unit:
            return f"{number / unit:.3g}{letter}"
    return f"{number:.0f}"
