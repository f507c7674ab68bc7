"""Fixtures of the benches: each core in turn, and the notes that go into the results file."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from benches.measuring import Comparison, Figure, Notes
from benches.report_tables import comparison_tables, figure_tables
from toolbudget import _core

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from types import ModuleType

_NOTES = pytest.StashKey[Notes]()


@pytest.fixture(scope="session", params=["python", "native"])
def core(request: pytest.FixtureRequest) -> ModuleType:
    """Give each core in turn; one that is not built is an error, not a gap in the table."""
    return _core.load(request.param)


@pytest.fixture
def note(pytestconfig: pytest.Config) -> Callable[[Comparison | Figure], None]:
    """Give a function that takes what was measured, for the report and the table at the end."""
    return _notes(pytestconfig).add


@pytest.fixture
def note_speed(
    pytestconfig: pytest.Config,
) -> Callable[[str, int, Mapping[str, float]], None]:
    """Give a function that takes the median seconds of each way to work on so many bytes."""

    def add(name: str, size_bytes: int, seconds: Mapping[str, float]) -> None:
        rounds = {way: [median_s] for way, median_s in seconds.items()}
        _notes(pytestconfig).add(
            Comparison(
                group="bodies as bytes", name=name, seconds=rounds, unit="byte", units=size_bytes
            )
        )

    return add


def pytest_benchmark_update_json(
    config: pytest.Config, benchmarks: object, output_json: dict[str, Any]
) -> None:
    """Write the notes into the results file, beside what pytest-benchmark measured itself."""
    del benchmarks
    output_json |= _notes(config).to_json()


def pytest_terminal_summary(
    terminalreporter: pytest.TerminalReporter, config: pytest.Config
) -> None:
    """Show the tables of what was noted."""
    notes = _notes(config)
    for group, lines in (comparison_tables(notes) | figure_tables(notes)).items():
        terminalreporter.section(group)
        for line in lines:
            terminalreporter.write_line(line)


def _notes(config: pytest.Config) -> Notes:
    return config.stash.setdefault(_NOTES, Notes())
