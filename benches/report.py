"""Writes the report of a bench run from pytest-benchmark's results file.

python -m benches.report build/bench.json benches/RESULTS.md
"""

from __future__ import annotations

import argparse
import json
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from benches import floor
from benches.curves import growth_curve
from benches.goals import GOALS
from benches.machine import instruction_set, machine_rows
from benches.measuring import Notes
from benches.report_tables import (
    benchmark_tables,
    comparison_tables,
    duration,
    figure_tables,
    markdown_table,
    number,
    spread,
)

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from benches.goals import Goal, Reached
    from benches.measuring import Comparison, Spread

__all__ = ["goal_rows", "report", "write_curves"]

LEAST_POINTS: Final = 3
HOW_TO_READ: Final = """\
Made by `make bench`; [README.md](README.md) says how to make it anew.
Times are medians of rounds in which every way had its turn, with the quartiles in brackets; a ratio
is taken round by round. *Reached* is the share of the goal: 1 and more is all of it. *Prototype* is
what throw-away code that checks less reached when the goals were set; *times floor* is how many
times as long as that code the library took in this very run, where a floor was at hand. J1 and J3
have lower bounds where there is no AVX-512."""


def main() -> None:
    """Write the report and its curves."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("results", type=Path)
    parser.add_argument("report", type=Path)
    arguments = parser.parse_args()
    results = json.loads(arguments.results.read_text("utf-8"))
    notes = Notes.from_json(results)
    curves = write_curves(notes, arguments.report.parent)
    has_floor = any("floor" in comparison.seconds for comparison in notes.comparisons)
    machine = [
        *machine_rows(results),
        ["floor in this run", "yes" if has_floor else floor.missing() or "no"],
    ]
    text = report(results, machine, curves)
    arguments.report.write_text(text, "utf-8")


def report(
    results: Mapping[str, Any], machine: Iterable[Sequence[str]], curves: Mapping[str, str]
) -> str:
    """Give the whole report; ``curves`` are the files of groups that have one."""
    notes = Notes.from_json(results)
    day = datetime.fromisoformat(results["datetime"]).date()
    lines = ["# Results", "", f"Measured on {day}. {HOW_TO_READ}", "", "## Machine", ""]
    lines += markdown_table(["what", "value"], machine)
    lines += ["", "## Goals", "", *goal_table(notes)]
    for title, tables in (
        ("Ways beside each other", comparison_tables(notes)),
        ("Figures", figure_tables(notes)),
        ("Single functions", benchmark_tables(results)),
    ):
        if tables:
            lines += ["", f"## {title}"]
        for group, table in tables.items():
            lines += ["", *table]
            if group in curves:
                lines += ["", f"![{group}]({curves[group]})"]
    return "\n".join(lines) + "\n"


def goal_table(notes: Notes, goals: Sequence[Goal] = GOALS) -> list[str]:
    """Give the table of goals, and below it those that nothing in this run measured."""
    heads = ["goal", "measured", "bound", "reached", "times floor", "prototype", "bound by"]
    on_this_machine = [goal.on(instruction_set()) for goal in goals]
    found = [(goal, goal.measured(notes)) for goal in on_this_machine]
    table = markdown_table(heads, (goal_rows(reached) for _, reached in found if reached))
    absent = [f"{goal.number} ({goal.measure})" for goal, reached in found if reached is None]
    if absent:
        table += ["", f"No bench of this run measures: {'; '.join(absent)}."]
    return table


def goal_rows(reached: Reached) -> list[str]:
    """Give a goal's line of the table."""
    goal = reached.goal
    mark = "" if reached.is_met else " **not met**"
    return [
        f"{goal.number}: {goal.measure}",
        _spread_in(goal.unit, reached.value),
        f"{'≥' if goal.is_bound == 'at least' else '≤'} {_in_unit(goal.unit, goal.bound)}",
        f"{number(reached.share)}{mark}",
        "" if reached.times_floor is None else number(reached.times_floor),
        "" if goal.prototype is None else _in_unit(goal.unit, goal.prototype),
        goal.limit,
    ]


def write_curves(notes: Notes, folder: Path) -> dict[str, str]:
    """Write the curve of each group that has sizes; give their file names."""
    names = {}
    for group in dict.fromkeys(comparison.group for comparison in notes.comparisons):
        points = [one for one in notes.comparisons if one.group == group and one.size is not None]
        if len(points) < LEAST_POINTS:
            continue
        names[group] = f"growth-{group.replace(' ', '-')}.svg"
        (folder / names[group]).write_text(growth_curve(group, _lines(points)), "utf-8")
    return names


def _lines(points: Sequence[Comparison]) -> dict[str, list[tuple[float, float]]]:
    """Give the points of each way: size and seconds."""
    lines: dict[str, list[tuple[float, float]]] = {}
    for point in points:
        for way in point.seconds:
            if point.size is not None:
                lines.setdefault(way, []).append((point.size, point.per_unit(way).median))
    return lines


def _in_unit(unit: str, value: float) -> str:
    return duration(value) if unit == "s" else f"{number(value)} {unit}"


def _spread_in(unit: str, value: Spread) -> str:
    if unit != "s":
        return f"{spread(value)} {unit}"
    return f"{duration(value.median)} ({duration(value.low)} to {duration(value.high)})"


if __name__ == "__main__":
    main()
