from __future__ import annotations

import re
from itertools import pairwise
from typing import TYPE_CHECKING, Any, Final
from xml.etree import ElementTree as ET

import pytest

from benches.curves import growth_curve
from benches.goals import GOALS, Goal
from benches.measuring import Comparison, Figure, Notes, Spread
from benches.report import goal_table, report, write_curves
from benches.report_tables import duration

if TYPE_CHECKING:
    from pathlib import Path

UNKNOWN: Final = Comparison(
    group="something new", name="a case", seconds={"slow": [4.0, 8.0, 6.0], "fast": [2.0, 2.0, 2.0]}
)
RESULTS: Final[dict[str, Any]] = {
    "datetime": "2026-01-31T12:00:00+00:00",
    "benchmarks": [
        {
            "group": "measured by the plugin",
            "name": "test_one",
            "stats": {"min": 0.5, "median": 0.75, "iqr": 0.25, "rounds": 3},
        }
    ],
    "comparisons": [],
    "figures": [],
}


def noted(*notes: Comparison | Figure) -> Notes:
    """Keep notes as a run does."""
    kept = Notes()
    for note in notes:
        kept.add(note)
    return kept


def goal(**changes: Any) -> Goal:  # noqa: ANN401 - fields of the goal
    """Make a goal about the comparison above."""
    fields: dict[str, Any] = {
        "number": "G1",
        "measure": "slow / fast",
        "group": "something new",
        "name": "a case",
        "of": ("slow", "fast"),
        "is_bound": "at least",
        "bound": 2.0,
    }
    return Goal(**(fields | changes))


def test_a_group_that_nobody_registered_gets_a_table() -> None:
    """A bench needs no entry anywhere to be in the report."""
    text = report(RESULTS | noted(UNKNOWN).to_json(), [["processor", "any"]], {})
    assert "| a case | 6 s (5 s to 7 s) | 2 s |" in text
    assert "| test_one | 500 ms | 750 ms | 250 ms | 3 |" in text
    assert "| processor | any |" in text
    assert "Measured on 2026-01-31." in text


def test_notes_survive_the_results_file() -> None:
    """What is read from a results file is what was noted."""
    figure = Figure(group="memory", name="a case", values={"pure": 1.5}, unit="MiB")
    notes = noted(UNKNOWN, figure)
    assert Notes.from_json(notes.to_json()) == notes
    assert Notes.from_json({}) == Notes()


@pytest.mark.parametrize(
    ("changes", "is_met", "share"),
    [
        ({}, True, 1.5),
        ({"bound": 6.0}, False, 0.5),
        ({"is_bound": "at most", "bound": 6.0}, True, 2.0),
        ({"is_bound": "at most", "bound": 1.5}, False, 0.5),
        ({"of": "fast", "is_bound": "at most", "bound": 1.0, "unit": "s"}, False, 0.5),
        ({"of": "fast", "bound": 0.25e-9, "unit": "GB/s"}, True, 2.0),
    ],
)
def test_a_goal_is_met_on_the_right_side_of_its_bound(
    changes: dict[str, Any], *, is_met: bool, share: float
) -> None:
    """The median of the ratios of the rounds decides, or the median of one way."""
    reached = goal(**changes).measured(noted(UNKNOWN))
    assert reached is not None
    assert (reached.is_met, reached.share) == (is_met, share)


def test_a_bound_may_depend_on_the_instructions_of_the_machine() -> None:
    """Where there is no AVX-512 the bound for AVX2 counts, if there is one."""
    one, other = goal(bound_avx2=1.5), goal()
    assert [one.on(name).bound for name in ("AVX-512", "AVX2", "NEON")] == [2.0, 1.5, 1.5]
    assert other.on("AVX2") == other


def test_a_ratio_is_taken_round_by_round() -> None:
    """A round in which the machine was slow counts as one round, for both ways."""
    assert UNKNOWN.ratio("slow", "fast") == Spread(3.0, 2.5, 3.5)


def test_the_distance_to_the_floor_is_of_the_same_run() -> None:
    """Where the prototype ran beside it, the report says how many times as long ours takes."""
    seconds = dict(UNKNOWN.seconds) | {"floor": [0.5, 0.5, 0.5]}
    beside = Comparison(group="something new", name="a case", seconds=seconds)
    reached = goal().measured(noted(beside))
    assert reached is not None
    assert reached.times_floor == 4.0


def test_what_no_bench_measures_is_said() -> None:
    """A goal without a bench in the run is named, not left out; one that is missed is marked."""
    table = goal_table(noted(UNKNOWN), [goal(bound=6.0), goal(number="G2", name="another case")])
    assert "**not met**" in table[2]
    assert table[-1] == "No bench of this run measures: G2 (slow / fast)."


def test_each_goal_is_registered_once() -> None:
    """No two goals are about the same figure."""
    figures = [(one.group, one.name, one.of) for one in GOALS]
    assert len(set(figures)) == len(figures)


def test_a_group_with_sizes_gets_a_curve(tmp_path: Path) -> None:
    """Three sizes make a picture in the folder, which the report shows."""
    sizes = [
        Comparison(group="next turn", name=str(size), seconds={"pure": [size / 1e6]}, size=size)
        for size in (20, 200, 2_000)
    ]
    names = write_curves(noted(*sizes, UNKNOWN), tmp_path)
    assert names == {"next turn": "growth-next-turn.svg"}
    assert (tmp_path / names["next turn"]).is_file()
    text = report(RESULTS | noted(*sizes).to_json(), [], names)
    assert "![next turn](growth-next-turn.svg)" in text


def test_a_line_rises_with_the_time() -> None:
    """The picture is XML; ten times the size and the time is the same step each time."""
    points = [(10.0, 1e-5), (100.0, 1e-4), (1_000.0, 1e-3)]
    root = ET.fromstring(growth_curve("a & b", {"pure": points}))  # noqa: S314 - our own
    line = next(element for element in root.iter() if element.tag.endswith("polyline"))
    places = [tuple(map(float, pair.split(","))) for pair in line.attrib["points"].split()]
    steps = {
        (round(right[0] - left[0]), round(left[1] - right[1])) for left, right in pairwise(places)
    }
    assert len(steps) == 1
    assert all(step > 0 for step in steps.pop())


def test_durations_are_shown_in_the_unit_that_fits() -> None:
    """Three digits that count, whatever the size."""
    shown = [duration(seconds) for seconds in (2.0, 0.0125, 3.456e-6, 5e-10)]
    assert shown == ["2 s", "12.5 ms", "3.46 µs", "0.5 ns"]
    assert all(re.fullmatch(r"[\d.]+ (s|ms|µs|ns)", text) for text in shown)
