from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from benches.workloads import WORKLOADS, Workload

if TYPE_CHECKING:
    from types import ModuleType

    from pytest_benchmark.fixture import BenchmarkFixture

every_workload = pytest.mark.parametrize("workload", WORKLOADS, ids=lambda workload: workload.name)


@every_workload
@pytest.mark.benchmark(group="plan, first pass")
def test_first_pass(benchmark: BenchmarkFixture, core: ModuleType, workload: Workload) -> None:
    """Everything is decided in one pass."""
    plan = benchmark(workload.first(core))
    assert len(plan.kept) + len(plan.choices) == workload.blocks


@every_workload
@pytest.mark.benchmark(group="plan, repeat pass")
def test_repeat_pass(benchmark: BenchmarkFixture, core: ModuleType, workload: Workload) -> None:
    """What is decided already is only put in again."""
    plan = benchmark(workload.repeat(core))
    assert not plan.decides
    assert plan.candidates == workload.blocks


@every_workload
@pytest.mark.benchmark(group="collect")
def test_collect(benchmark: BenchmarkFixture, core: ModuleType, workload: Workload) -> None:
    """Every result of the list becomes a candidate."""
    survey = benchmark(core.collect, workload.messages(), "Read".__eq__)
    assert sum(len(group.candidates) for group in survey.groups) == workload.blocks


@every_workload
@pytest.mark.benchmark(group="rewrite")
def test_rewrite(benchmark: BenchmarkFixture, core: ModuleType, workload: Workload) -> None:
    """Every result of the list is replaced."""
    messages = workload.messages()
    survey = core.collect(messages, "Read".__eq__)
    changes = [
        core.Change(candidate.message_index, candidate.block_index, "short")
        for group in survey.groups
        for candidate in group.candidates
    ]
    assert len(benchmark(core.rewrite, messages, changes)) == len(messages)
