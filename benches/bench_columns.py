"""Audits of very many results: what columns cost in time and in memory."""

from __future__ import annotations

import gc
import sys
import time
from typing import TYPE_CHECKING, Any, Final

import numpy as np
import pytest

from benches.measuring import Comparison, Figure
from benches.workloads import Workload
from tests.faults.measuring import MIB, measured
from toolbudget import collect

if TYPE_CHECKING:
    from collections.abc import Callable
    from types import ModuleType

    from pytest_benchmark.fixture import BenchmarkFixture

FEWER: Final = Workload("10,000 turns of 10 x 100", 10_000, 10, 100)
MANY: Final = (
    Workload("100,000 turns of 10 x 100", 100_000, 10, 100),
    # Every result has a group and a message id of its own.
    Workload("1,000,000 turns of 1 x 100", 1_000_000, 1, 100),
)
GOAL_BYTES_PER_ROW: Final = 64
LIMITS: Final = 50
ROUNDS: Final = 5


@pytest.mark.benchmark(group="columns of 100,000 results")
def test_columns(benchmark: BenchmarkFixture, core: ModuleType) -> None:
    """Every result becomes a row, on each core."""
    messages = FEWER.messages()
    columns = benchmark(core.columns, messages, None, "Read".__eq__)
    assert len(columns.standing) == FEWER.blocks


@pytest.mark.skipif(sys.platform != "linux", reason="only Linux tells the peak since a moment")
@pytest.mark.parametrize("workload", MANY, ids=lambda workload: workload.name)
def test_a_million_results(workload: Workload, note: Callable[[Comparison | Figure], None]) -> None:
    """Time by the clock and of the processor, and the peak of memory; that one has to hold."""
    collect(FEWER.messages(), exempt_tools={"Read"})  # everything is imported
    messages = workload.messages()
    gc.collect()
    cost = measured(lambda: collect(messages, exempt_tools={"Read"}))
    bytes_per_row = cost.peak_mib * MIB / workload.blocks
    columns = cost.result
    seconds: dict[str, list[float]] = {"collect": [], "collect, processor": [], "what_if": []}
    limits = np.linspace(100, 2_000, LIMITS)
    for _ in range(ROUNDS):
        started_s, processor_s = time.perf_counter(), time.process_time()
        collect(messages, exempt_tools={"Read"})
        seconds["collect"].append(time.perf_counter() - started_s)
        seconds["collect, processor"].append(time.process_time() - processor_s)
        started_s = time.perf_counter()
        told = columns.what_if(limits)
        seconds["what_if"].append(time.perf_counter() - started_s)
        assert told.chars_after[-1] == workload.blocks * workload.size_chars
    note(Comparison(group="columns", name=workload.name, seconds=seconds))
    values: dict[str, Any] = {"peak of a row": bytes_per_row}
    note(Figure(group="memory of columns", name=workload.name, values=values, unit="byte"))
    assert bytes_per_row <= GOAL_BYTES_PER_ROW
