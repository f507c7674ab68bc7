from __future__ import annotations

import random
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from types import ModuleType

    from pytest_benchmark.fixture import BenchmarkFixture

TEXTS = {
    "ascii": "a line of a log that says what was done\n" * 25_000,
    "wide": "ein Prüfprotokoll, Zeile für Zeile: 日本語 😀\n" * 25_000,
}


@pytest.fixture(params=TEXTS)
def text(request: pytest.FixtureRequest) -> str:
    """Give a text of about a million characters."""
    return TEXTS[request.param]


@pytest.mark.benchmark(group="cut_preview")
def test_cut_preview(benchmark: BenchmarkFixture, core: ModuleType, text: str) -> None:
    """A preview costs what its window costs, whatever the length of the text."""
    preview, has_more = benchmark(core.cut_preview, text, 2_000)
    assert has_more
    assert len(preview.encode()) <= 2_000


@pytest.mark.benchmark(group="utf8_length")
def test_utf8_length(benchmark: BenchmarkFixture, core: ModuleType, text: str) -> None:
    """Bytes are counted without a second copy of the text."""
    assert benchmark(core.utf8_length, text) == len(text.encode())


@pytest.mark.benchmark(group="select_largest")
def test_select_largest(benchmark: BenchmarkFixture, core: ModuleType) -> None:
    """A few of very many results are taken."""
    sizes = random.Random(7).choices(range(50_000), k=100_000)  # noqa: S311  # a workload, no secret
    total = sum(sizes)
    taken = benchmark(core.select_largest, sizes, total, total * 0.98)
    assert total - sum(sizes[index] for index in taken) <= total * 0.98
