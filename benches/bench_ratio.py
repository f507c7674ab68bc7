"""How many times the native core is as fast as the pure one, measured in turn in one process."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

import orjson
import pytest

from benches import floor
from benches.measuring import Comparison, in_turn, repeated
from benches.workloads import LARGE_WORKLOADS, WORKLOADS, Workload
from toolbudget import _core

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

# What the native core is for: below this it would not be worth its keep.
LEAST_RATIO: Final = 3.0
ROUNDS: Final = 9
LARGE_ROUNDS: Final = 3
# So many results at least in one round: shorter ones would measure cold caches and the clock.
LEAST_RESULTS: Final = 1_000
GROUP: Final = "whole calls"

both_phases = pytest.mark.parametrize("phase", ["first", "repeat"])


def named(workload: Workload) -> str:
    """Give a parameter's name."""
    return workload.name


@pytest.mark.parametrize("workload", WORKLOADS, ids=named)
@both_phases
def test_the_native_core_pays(
    workload: Workload, phase: str, note: Callable[[Comparison], None]
) -> None:
    """On whole calls the native core is several times as fast; medians of rounds in turn."""
    comparison = compared(workload, phase, ROUNDS)
    note(comparison)
    assert comparison.ratio("pure", "native").median >= LEAST_RATIO


@pytest.mark.parametrize("workload", LARGE_WORKLOADS, ids=named)
@both_phases
def test_at_full_size(workload: Workload, phase: str, note: Callable[[Comparison], None]) -> None:
    """Histories that fit into no cache still gain."""
    comparison = compared(workload, phase, LARGE_ROUNDS)
    note(comparison)
    assert comparison.ratio("pure", "native").median > 1


@pytest.mark.parametrize("workload", WORKLOADS, ids=named)
def test_decoded_messages(workload: Workload, note: Callable[[Comparison], None]) -> None:
    """Messages whose keys a JSON library decoded, which are not interned, cost about the same."""
    native = _core.load("native")
    works = {
        "literal": workload.repeat(native),
        "decoded": workload.repeat(native, orjson.loads(orjson.dumps(workload.messages()))),
    }
    name = f"{workload.name}, decoded, repeat pass"
    note(result_costs(workload, name, works, ROUNDS))


def compared(workload: Workload, phase: str, rounds: int) -> Comparison:
    """Measure both cores, and the floor if there is one, in turn."""
    works = {
        "pure": getattr(workload, phase)(_core.load("python")),
        "native": getattr(workload, phase)(_core.load("native")),
    }
    prototype = floor.load("dict_proto")
    if prototype is not None:
        works["floor"] = floor_of(prototype, workload.messages(), phase)
    return result_costs(workload, f"{workload.name}, {phase} pass", works, rounds)


def result_costs(
    workload: Workload, name: str, works: Mapping[str, Callable[[], object]], rounds: int
) -> Comparison:
    """Measure what a result costs in each way."""
    calls = max(1, LEAST_RESULTS // workload.blocks)
    seconds = in_turn({way: repeated(work, calls) for way, work in works.items()}, rounds)
    return Comparison(
        group=GROUP, name=name, seconds=seconds, unit="result", units=workload.blocks * calls
    )


def floor_of(prototype: Any, messages: list[Any], phase: str) -> Callable[[], object]:  # noqa: ANN401 - no types
    """Give the prototype's pass; it decides by ids alone and hashes no text."""
    if phase == "first":
        return lambda: prototype.Own().enforce(messages)
    known = prototype.Own()
    known.enforce(messages)
    return lambda: known.enforce(messages)
