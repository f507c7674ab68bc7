"""How many times the native core is as fast as the pure one, measured in turn in one process."""

from __future__ import annotations

import gc
import statistics
import time
from typing import TYPE_CHECKING, Final

import pytest

from benches.workloads import WORKLOADS, Workload
from toolbudget import _core

if TYPE_CHECKING:
    from collections.abc import Callable

# What the native core is for: below this it would not be worth its keep.
LEAST_RATIO: Final = 3.0
ROUNDS: Final = 9


@pytest.mark.parametrize("workload", WORKLOADS, ids=lambda workload: workload.name)
@pytest.mark.parametrize("phase", ["first", "repeat"])
def test_the_native_core_pays(
    workload: Workload, phase: str, note_ratio: Callable[[str, float, float], None]
) -> None:
    """On whole calls the native core is several times as fast; medians of rounds in turn."""
    works = [getattr(workload, phase)(_core.load(name)) for name in ("python", "native")]
    seconds: list[list[float]] = [[], []]
    for _ in range(ROUNDS):
        for work, measured in zip(works, seconds, strict=True):
            measured.append(measure(work))
    pure_s, native_s = map(statistics.median, seconds)
    note_ratio(
        f"{workload.name}, {phase} pass", pure_s / workload.blocks, native_s / workload.blocks
    )
    assert pure_s / native_s >= LEAST_RATIO


def measure(work: Callable[[], object]) -> float:
    """Give the seconds of one call, without what the collector does about other objects."""
    gc.collect()
    started_s = time.perf_counter()
    work()
    return time.perf_counter() - started_s
