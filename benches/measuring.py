"""Measuring several ways to do the same work in turn, and what the benches note about it."""

from __future__ import annotations

import gc
import statistics
import time
from dataclasses import asdict, dataclass, field
from typing import TYPE_CHECKING, Any, Self

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence

__all__ = ["Comparison", "Figure", "Spread", "in_turn", "measure", "repeated"]


@dataclass(frozen=True, kw_only=True)
class Comparison:
    """Seconds of several ways to do the same work, measured in turn: one entry for each round."""

    group: str
    name: str
    seconds: Mapping[str, Sequence[float]]
    unit: str = "call"
    units: int = 1
    """How many units one round works on; costs are shown for each of them."""
    size: float | None = None
    """Where the work is on the axis of a growth curve, if its group is one."""

    def per_unit(self, way: str) -> Spread:
        """Give what a unit costs that way."""
        return Spread.of(seconds / self.units for seconds in self.seconds[way])

    def per_second(self, way: str, scale: float) -> Spread:
        """Give how many units are done in a second that way, in multiples of ``scale``."""
        return Spread.of(self.units / seconds / scale for seconds in self.seconds[way])

    def ratio(self, slow: str, fast: str) -> Spread:
        """Give how many times as long the first way takes, round by round."""
        rounds = zip(self.seconds[slow], self.seconds[fast], strict=True)
        return Spread.of(slow_s / fast_s for slow_s, fast_s in rounds)


@dataclass(frozen=True, kw_only=True)
class Figure:
    """Values that are no seconds, such as bytes, one for each way."""

    group: str
    name: str
    values: Mapping[str, float]
    unit: str


@dataclass(frozen=True)
class Spread:
    """The median of some values, and the quartiles around it."""

    median: float
    low: float
    high: float

    @classmethod
    def of(cls, values: Iterable[float]) -> Self:
        """Summarise values; a single one is its own spread."""
        known = sorted(values)
        if len(known) == 1:
            return cls(known[0], known[0], known[0])
        low, median, high = statistics.quantiles(known, n=4, method="inclusive")
        return cls(median, low, high)


@dataclass
class Notes:
    """Everything that the benches of one run noted."""

    comparisons: list[Comparison] = field(default_factory=list)
    figures: list[Figure] = field(default_factory=list)

    def add(self, note: Comparison | Figure) -> None:
        """Keep a note for the report."""
        if isinstance(note, Comparison):
            self.comparisons.append(note)
        else:
            self.figures.append(note)

    def to_json(self) -> dict[str, Any]:
        """Give what stands in the results file beside pytest-benchmark's own."""
        return asdict(self)

    @classmethod
    def from_json(cls, results: Mapping[str, Any]) -> Self:
        """Read what a results file holds; one without notes has none."""
        return cls(
            [Comparison(**entry) for entry in results.get("comparisons", [])],
            [Figure(**entry) for entry in results.get("figures", [])],
        )


def measure(work: Callable[[], object]) -> float:
    """Give the seconds of one call, without what the collector does about other objects."""
    gc.collect()
    started_s = time.perf_counter()
    work()
    return time.perf_counter() - started_s


def in_turn(
    works: Mapping[str, Callable[[], object]], rounds: int, *, warm_up: bool = True
) -> dict[str, list[float]]:
    """Give the seconds of each way in each round; in a round every way has its turn.

    What slows the machine for a while so slows all of them.
    """
    if warm_up:
        for work in works.values():
            work()
    seconds: dict[str, list[float]] = {way: [] for way in works}
    for _ in range(rounds):
        for way, work in works.items():
            seconds[way].append(measure(work))
    return seconds


def repeated(work: Callable[[], object], times: int) -> Callable[[], None]:
    """Make a work of many calls out of one that is too short for the clock."""

    def run() -> None:
        for _ in range(times):
            work()

    return run
