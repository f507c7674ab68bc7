"""Tables of a results file in Markdown: one for each group, known to the report or not."""

from __future__ import annotations

from itertools import groupby
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from benches.measuring import Comparison, Notes, Spread

__all__ = [
    "benchmark_tables",
    "comparison_tables",
    "duration",
    "figure_tables",
    "markdown_table",
    "number",
    "spread",
]

_SCALES = ((1.0, "s"), (1e-3, "ms"), (1e-6, "µs"), (1e-9, "ns"))


def number(value: float) -> str:
    """Show a number with three digits that count, or all of a whole one."""
    if abs(value) >= 100:
        return f"{value:,.0f}"
    return f"{value:.3g}"


def duration(seconds: float) -> str:
    """Show seconds in the unit that fits."""
    scale, unit = next((pair for pair in _SCALES if seconds >= pair[0]), _SCALES[-1])
    return f"{number(seconds / scale)} {unit}"


def spread(values: Spread) -> str:
    """Show the median, and the quartiles if there are any."""
    if values.low == values.high:
        return number(values.median)
    return f"{number(values.median)} ({number(values.low)} to {number(values.high)})"


def markdown_table(heads: Sequence[str], rows: Iterable[Sequence[str]]) -> list[str]:
    """Write a table; all columns but the first one are figures."""
    lines = [heads, ["---"] + ["--:"] * (len(heads) - 1), *rows]
    return [f"| {' | '.join(line)} |" for line in lines]


def comparison_tables(notes: Notes) -> dict[str, list[str]]:
    """Give a table for each group of comparisons: what a unit costs in each way."""
    tables = {}
    for group, comparisons in _grouped(notes.comparisons):
        ways = _ways(comparison.seconds for comparison in comparisons)
        rows = [
            [comparison.name, *(_cost(comparison, way) for way in ways)]
            for comparison in comparisons
        ]
        units = sorted({comparison.unit for comparison in comparisons})
        shown = "GB/s" if units == ["byte"] else f"for each {' or '.join(units)}"
        tables[group] = markdown_table([f"{group}: {shown}", *ways], rows)
    return tables


def figure_tables(notes: Notes) -> dict[str, list[str]]:
    """Give a table for each group of figures."""
    tables = {}
    for group, figures in _grouped(notes.figures):
        ways = _ways(figure.values for figure in figures)
        rows = [
            [
                f"{figure.name}, {figure.unit}",
                *(number(figure.values[way]) if way in figure.values else "" for way in ways),
            ]
            for figure in figures
        ]
        tables[group] = markdown_table([group, *ways], rows)
    return tables


def benchmark_tables(results: Mapping[str, Any]) -> dict[str, list[str]]:
    """Give a table for each group that pytest-benchmark measured itself."""
    tables = {}
    benchmarks = results.get("benchmarks", [])
    names = sorted({entry["group"] or "without a group" for entry in benchmarks})
    for group in names:
        rows = [
            [
                entry["name"],
                duration(entry["stats"]["min"]),
                duration(entry["stats"]["median"]),
                duration(entry["stats"]["iqr"]),
                str(entry["stats"]["rounds"]),
            ]
            for entry in benchmarks
            if (entry["group"] or "without a group") == group
        ]
        heads = [group, "least", "median", "between the quartiles", "rounds"]
        tables[group] = markdown_table(heads, rows)
    return tables


def _cost(comparison: Comparison, way: str) -> str:
    if way not in comparison.seconds:
        return ""
    cost = comparison.per_unit(way)
    if comparison.unit == "byte":
        return number(1e-9 / cost.median)
    if cost.low == cost.high:
        return duration(cost.median)
    return f"{duration(cost.median)} ({duration(cost.low)} to {duration(cost.high)})"


def _ways(columns: Iterable[Mapping[str, object]]) -> list[str]:
    """Give every way that occurs, in the order of its first occurrence."""
    return list(dict.fromkeys(way for column in columns for way in column))


def _grouped(notes: Sequence[Any]) -> list[tuple[str, list[Any]]]:
    ordered = sorted(notes, key=lambda note: str(note.group))
    return [(group, list(members)) for group, members in groupby(ordered, lambda note: note.group)]
