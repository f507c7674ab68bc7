"""Audits of very many results: what columns cost in time and in memory."""

from __future__ import annotations

import gc
import statistics
import time
from typing import TYPE_CHECKING, Any, Final

import numpy as np
import pytest

from benches.workloads import Workload
from tests.faults.measuring import MIB, measured
from toolbudget import _core, collect

if TYPE_CHECKING:
    from types import ModuleType

    from pytest_benchmark.fixture import BenchmarkFixture

    from toolbudget import CandidateColumns

MANY: Final = Workload("100,000 turns of 10 x 100", 100_000, 10, 100)
FEWER: Final = Workload("10,000 turns of 10 x 100", 10_000, 10, 100)
GOAL_BYTES_PER_ROW: Final = 64
GOAL_S: Final = 0.6
ROUNDS: Final = 5


@pytest.fixture(scope="module")
def many_messages() -> list[Any]:
    """Make a million results with their calls once."""
    return MANY.messages()


@pytest.mark.benchmark(group="columns of 100,000 results")
def test_columns(benchmark: BenchmarkFixture, core: ModuleType) -> None:
    """Every result becomes a row, on each core."""
    messages = FEWER.messages()
    columns = benchmark(core.columns, messages, None, "Read".__eq__)
    assert len(columns.standing) == FEWER.blocks


def test_a_million_results(many_messages: list[Any], record_property: Any) -> None:  # noqa: ANN401
    """The peak of memory stays below the goal for a row; the time is told beside its goal."""
    core = _core.load("native")
    core.columns(FEWER.messages(), None, "Read".__eq__)  # everything is imported
    gc.collect()
    peak_mib = measured(lambda: core.columns(many_messages, None, "Read".__eq__)).peak_mib
    seconds = []
    for _ in range(ROUNDS):
        started_s = time.perf_counter()
        core.columns(many_messages, None, "Read".__eq__)
        seconds.append(time.perf_counter() - started_s)
    bytes_per_row = peak_mib * MIB / MANY.blocks
    median_s = statistics.median(seconds)
    record_property("bytes_per_row", bytes_per_row)
    record_property("seconds", median_s)
    print(  # noqa: T201  # a figure to be read, with `-s`
        f"\n{MANY.blocks:,} results: {median_s:.2f} s (goal {GOAL_S}; best {min(seconds):.2f}),"
        f" {bytes_per_row:.0f} bytes a row at the peak (goal {GOAL_BYTES_PER_ROW})"
    )
    assert bytes_per_row <= GOAL_BYTES_PER_ROW


@pytest.mark.benchmark(group="what if, 1,000,000 results, 50 limits")
def test_what_if(benchmark: BenchmarkFixture, many_messages: list[Any]) -> None:
    """Many limits are answered from one set of columns."""
    columns: CandidateColumns = collect(many_messages)
    told = benchmark(columns.what_if, np.linspace(100, 2_000, 50))
    assert told.groups_over[0] == MANY.turns
    assert told.groups_over[-1] == 0
