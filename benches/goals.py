"""The goals of the hot path, each with the bench that measures it.

A goal names a group, a comparison or figure in it, and what is taken from it: a ratio of two ways,
or the value of one way. Where a bench is not part of a run, the report says so.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Final, Literal, Self

from benches.bodies import HOSTILE
from benches.machine import AVX512
from benches.measuring import Spread

if TYPE_CHECKING:
    from benches.measuring import Comparison, Notes

__all__ = ["GOALS", "Goal", "Reached"]

Way = str
GIGA: Final = 1e9
MICROSECOND: Final = 1e-6
NANOSECOND: Final = 1e-9


@dataclass(frozen=True, kw_only=True)
class Goal:
    """One figure that is to be reached."""

    number: str
    measure: str
    group: str
    name: str
    of: Way | tuple[Way, Way]
    """The way whose value counts; or two, and it is the first one's time by the second one's."""
    is_bound: Literal["at least", "at most"]
    bound: float
    bound_avx2: float | None = None
    """The bound where the machine has no AVX-512, if it is another one."""
    unit: Literal["x", "s", "MiB", "byte", "GB/s"] = "x"
    prototype: float | None = None
    """What the throw-away prototypes reached on the machine that the goals were set on."""
    has_floor: bool = True
    """Whether the prototype does the same work."""
    limit: str = ""
    """What bounds it physically."""

    def on(self, instruction_set: str) -> Self:
        """Give the goal of a machine with such vector instructions."""
        if self.bound_avx2 is None or instruction_set == AVX512:
            return self
        return replace(self, bound=self.bound_avx2)

    def measured(self, notes: Notes) -> Reached | None:
        """Find what this run measured; ``None`` if it has no such bench."""
        for comparison in notes.comparisons:
            if (comparison.group, comparison.name) == (self.group, self.name):
                return self._of_comparison(comparison)
        for figure in notes.figures:
            is_same = (figure.group, figure.name) == (self.group, self.name)
            if is_same and isinstance(self.of, str) and self.of in figure.values:
                return Reached(self, Spread.of([figure.values[self.of]]), None)
        return None

    def _of_comparison(self, comparison: Comparison) -> Reached | None:
        ways = (self.of,) if isinstance(self.of, str) else self.of
        if not all(way in comparison.seconds for way in ways):
            return None
        if self.unit == "GB/s" and isinstance(self.of, str):
            value = comparison.per_second(self.of, GIGA)
        elif isinstance(self.of, str):
            value = comparison.per_unit(self.of)
        else:
            value = comparison.ratio(*self.of)
        fast = ways[-1]
        has_floor = self.has_floor and "floor" in comparison.seconds
        floor = comparison.ratio(fast, "floor").median if has_floor else None
        return Reached(self, value, floor)


@dataclass(frozen=True)
class Reached:
    """What was measured for a goal."""

    goal: Goal
    value: Spread
    times_floor: float | None
    """How many times as long as the prototype in the same run it takes."""

    @property
    def is_met(self) -> bool:
        """Whether the median is on the right side of the bound."""
        if self.goal.is_bound == "at least":
            return self.value.median >= self.goal.bound
        return self.value.median <= self.goal.bound

    @property
    def share(self) -> float:
        """How much of the goal is reached; 1 and more is all of it."""
        if self.goal.is_bound == "at least":
            return self.value.median / self.goal.bound
        return self.goal.bound / self.value.median


def _wall_clock(name: str, bound: float, prototype: float, limit: str) -> Goal:
    return Goal(
        number="D3",
        measure=f"objects, {name}: pure / native",
        group="whole calls",
        name=name,
        of=("pure", "native"),
        is_bound="at least",
        bound=bound,
        prototype=prototype,
        limit=limit,
    )


def _decoded(workload: str) -> Goal:
    return Goal(
        number="D4",
        measure=f"objects, {workload}: decoded by orjson / literal",
        group="whole calls",
        name=f"{workload}, decoded, repeat pass",
        of=("decoded", "literal"),
        is_bound="at most",
        bound=1.2,
        prototype=1.15,
        limit="keys are compared as text once",
    )


def _next_turn(messages: int) -> Goal:
    return Goal(
        number="S",
        measure=f"next turn, verified, after {messages:,} messages: pure / native",
        group="next turn",
        name=f"after {messages:,} messages, woken",
        of=("pure", "native"),
        is_bound="at least",
        bound=6,
        has_floor=False,
        limit="everything is looked at",
    )


# In microseconds S1 and S2 are about turns that follow each other in one process, as they were
# measured when the goals were set. A process that slept has to fetch what it works with from memory
# first; of those turns the ratio to the pure core counts, and the seconds stand in the table.
def _append_only(messages: int, bound_us: float, prototype_us: float) -> Goal:
    return Goal(
        number="S1 S2",
        measure=f"next turn, append_only, after {messages:,} messages, warm",
        group="warm next turn",
        name=f"after {messages:,} messages, warm",
        of="append_only",
        is_bound="at most",
        bound=bound_us * MICROSECOND,
        unit="s",
        prototype=prototype_us * MICROSECOND,
        limit="comparing pointers",
    )


def _append_only_ratio(
    messages: int, pace: Literal["warm", "woken"], bound: float, prototype: float
) -> Goal:
    return Goal(
        number="S1 S2",
        measure=f"next turn, append_only, after {messages:,} messages, {pace}: pure / append_only",
        group="warm next turn" if pace == "warm" else "next turn",
        name=f"after {messages:,} messages, {pace}",
        of=("pure", "append_only"),
        is_bound="at least",
        bound=bound,
        prototype=prototype,
        limit="comparing pointers",
    )


def _bytes(
    number: str,
    name: str,
    of: tuple[Way, Way],
    bound: float,
    prototype: float | None = None,
    *,
    bound_avx2: float | None = None,
    limit: str = "memchr",
) -> Goal:
    return Goal(
        number=number,
        measure=f"bytes, {name}: {of[0]} / {of[1]}",
        group="bodies as bytes",
        name=name,
        of=of,
        is_bound="at least",
        bound=bound,
        bound_avx2=bound_avx2,
        prototype=prototype,
        limit=limit,
    )


def _hostile(name: str) -> Goal:
    return Goal(
        number="J6",
        measure=f"bytes, 1 MB, {name}: scan",
        group="bodies as bytes",
        name=name,
        of="scan",
        is_bound="at least",
        bound=0.7,
        unit="GB/s",
    )


def _selection(count: str, share: str) -> Goal:
    return Goal(
        number="P1",
        measure=f"selection of {share} among {count}, for each of all",
        group="selection",
        name=f"{share} of the volume of {count.replace(',', '')}",
        of="native",
        is_bound="at most",
        bound=3 * NANOSECOND,
        unit="s",
        prototype=2.6 * NANOSECOND,
        limit="reading keys two or three times",
    )


def _small(name: str, bound_s: float) -> Goal:
    return Goal(
        number="7",
        measure=name,
        group="small calls",
        name=name,
        of="time",
        is_bound="at most",
        bound=bound_s,
        unit="s",
        limit="a call into an extension: 16 to 28 ns",
    )


def _beside(name: str) -> Goal:
    return Goal(
        number="O1",
        measure=f"another thread: beside {name} of 20 MB / alone",
        group="another thread",
        name="bodies of 20 MB",
        of=(f"beside {name}", "alone"),
        is_bound="at most",
        bound=1.05,
        prototype=1.01,
        limit="looking up decisions holds the lock" if name == "enforce_json" else "",
    )


def _counting(text: str, bound: float, prototype: float) -> Goal:
    return Goal(
        number="C1",
        measure=f"counting characters, {text}",
        group="counting",
        name=text,
        of="native",
        is_bound="at least",
        bound=bound,
        unit="GB/s",
        prototype=prototype,
    )


def _storing(number: str, count: str, way: Way, bound: float, prototype: float) -> Goal:
    return Goal(
        number=number,
        measure=f"storing {count} x 50 KB, {way} / plain files",
        group="storing",
        name=f"{count} results of 50,000 characters",
        of=(way, "plain"),
        is_bound="at most",
        bound=bound,
        prototype=prototype,
        limit="copying into the page cache" if number == "F1" else "the device",
    )


_DISTINCT_DICTS: Final = "copying dicts, replacement text"
_PACES: Final[tuple[Literal["warm", "woken"], ...]] = ("warm", "woken")
_KEPT: Final = "10 x 4,000, kept"
_HALF: Final = "10 x 40,000, half replaced"
_SMALL: Final = "10 x 400, kept"

GOALS: Final = (
    _wall_clock("200 turns of 5 x 1,000, first pass", 7, 8.0, "looking up keys"),
    _wall_clock("200 turns of 5 x 1,000, repeat pass", 7, 7.5, "looking up keys"),
    _wall_clock("one message of 10 x 40,000, first pass", 5.5, 7.3, _DISTINCT_DICTS),
    _wall_clock("one message of 10 x 40,000, repeat pass", 5.5, 5.7, _DISTINCT_DICTS),
    _wall_clock("one message of 1,000 x 2,000, first pass", 5.5, 6.1, _DISTINCT_DICTS),
    _wall_clock("one message of 1,000 x 2,000, repeat pass", 5.5, 5.8, _DISTINCT_DICTS),
    _wall_clock("2,000 turns of 5 x 1,000, first pass", 3, 3.6, "latency of L3"),
    _wall_clock("2,000 turns of 5 x 1,000, repeat pass", 3, 4.2, "latency of L3"),
    _wall_clock("one message of 100,000 x 100, first pass", 3, 3.6, "latency of memory"),
    _wall_clock("one message of 100,000 x 100, repeat pass", 3, 3.8, "latency of memory"),
    _decoded("200 turns of 5 x 1,000"),
    _decoded("one message of 1,000 x 2,000"),
    *(_next_turn(messages) for messages in (20, 200, 2_000, 20_000)),
    _append_only(2_000, 12, 7),
    _append_only(20_000, 120, 80),
    *(_append_only_ratio(2_000, pace, 250, 301) for pace in _PACES),
    *(_append_only_ratio(20_000, pace, 300, 450) for pace in _PACES),
    _bytes("J1", f"1 MB, {_KEPT}", ("loads", "again"), 9, 11.0, bound_avx2=7.5),
    _bytes("J1", f"1 MB, {_KEPT}", ("pipeline", "again"), 15, 18.3, bound_avx2=12),
    _bytes("J1", f"20 MB, {_KEPT}", ("loads", "again"), 18, 20, bound_avx2=15),
    _bytes("J1", f"20 MB, {_KEPT}", ("pipeline", "again"), 27, 29, bound_avx2=22),
    _bytes("J2", f"20 MB, {_KEPT}", ("memchr", "again"), 0.25, 0.3),
    _bytes("J2", f"200 MB, {_KEPT}", ("memchr", "again"), 0.45, 0.56),
    _bytes("J3", f"1 MB, {_HALF}", ("pipeline", "again"), 4.5, 4.9, bound_avx2=3.3),
    _bytes("J3", f"20 MB, {_HALF}", ("pipeline", "segments"), 11, 12.5, bound_avx2=8),
    _bytes("J4", f"1 MB, {_SMALL}", ("pipeline", "again"), 10, 11.0),
    *(_hostile(name) for name in HOSTILE),
    _bytes("J7", "1 MB of records", ("loads", "again"), 15, 19),
    _bytes(
        "J", "20 MB, first pass, hashing", ("loads", "first"), 5, limit="decoding and hashing texts"
    ),
    _counting("code", 10, 12),
    *(_selection(count, share) for count in ("1,000", "100,000") for share in ("a tenth", "half")),
    _beside("scan_json"),
    _beside("enforce_json"),
    _storing("F1", "10", "enforce, process", 1.6, 1.25),
    _storing("F1", "10", "next turn, process", 1.6, 1.25),
    _storing("F1", "1,000", "enforce, process", 1.6, 1.7),
    _storing("F1", "1,000", "already there", 0.2, 0.17),
    _storing("F2", "1,000", "enforce, full", 5, 4.5),
    _small("gate, 300 characters", 1 * MICROSECOND),
    _small("native core, no messages", 0.2 * MICROSECOND),
    _small("enforce, no messages", 0.2 * MICROSECOND),
    _small("import, native core", 0.030),
    Goal(
        number="V4",
        measure="1,000,000 results in columns",
        group="columns",
        name="100,000 turns of 10 x 100",
        of="collect",
        is_bound="at most",
        bound=0.6,
        unit="s",
        limit="latency of memory",
    ),
    Goal(
        number="V4",
        measure="1,000,000 results in columns, a row at the peak",
        group="memory of columns",
        name="1,000,000 turns of 1 x 100",
        of="peak of a row",
        is_bound="at most",
        bound=64,
        unit="byte",
        limit="25 bytes of columns, two ids",
    ),
    Goal(
        number="memory",
        measure="one result of 64 MiB stored, beyond its own size",
        group="peak memory",
        name="one result of 64 MiB stored",
        of="native, resident",
        is_bound="at most",
        bound=16,
        unit="MiB",
        limit="a text in ASCII is its own bytes",
    ),
)
