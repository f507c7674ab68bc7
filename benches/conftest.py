"""Fixtures of the benches: each core in turn, with the same names; and the table of ratios."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from toolbudget import _core

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from types import ModuleType

_RATIOS = pytest.StashKey[list[tuple[str, float, float]]]()
_SPEEDS = pytest.StashKey[list[tuple[str, int, dict[str, float]]]]()


@pytest.fixture(scope="session", params=["python", "native"])
def core(request: pytest.FixtureRequest) -> ModuleType:
    """Give each core in turn; one that is not built is an error, not a gap in the table."""
    return _core.load(request.param)


@pytest.fixture
def note_ratio(pytestconfig: pytest.Config) -> Callable[[str, float, float], None]:
    """Give a function that takes what a block costs on each core, for the table at the end."""
    ratios = pytestconfig.stash.setdefault(_RATIOS, [])
    return lambda name, pure_s, native_s: ratios.append((name, pure_s, native_s))


@pytest.fixture
def note_speed(
    pytestconfig: pytest.Config,
) -> Callable[[str, int, Mapping[str, float]], None]:
    """Give a function that takes the seconds of each way to work on so many bytes."""
    speeds = pytestconfig.stash.setdefault(_SPEEDS, [])
    return lambda name, size_bytes, seconds: speeds.append((name, size_bytes, dict(seconds)))


def pytest_terminal_summary(
    terminalreporter: pytest.TerminalReporter, config: pytest.Config
) -> None:
    """Write the tables."""
    _write_speeds(terminalreporter, config)
    _write_ratios(terminalreporter, config)


def _write_speeds(reporter: pytest.TerminalReporter, config: pytest.Config) -> None:
    speeds = config.stash.get(_SPEEDS, [])
    if not speeds:
        return
    reporter.section("bodies as bytes: GB/s, and how many times as fast as orjson.loads")
    for name, size_bytes, seconds in speeds:
        figures = [
            f"{way} {size_bytes / taken / 1e9:.2f} ({seconds['loads'] / taken:.1f} x)"
            for way, taken in seconds.items()
        ]
        reporter.write_line(f"{name:30} {'  '.join(figures)}")
        if "pipeline" in seconds:
            ways = ("again", "segments", "moved")
            ratios = [f"{way} {seconds['pipeline'] / seconds[way]:.1f} x" for way in ways]
            share = seconds["memchr"] / seconds["again"]
            reporter.write_line(f"{'':30} pipeline: {', '.join(ratios)}; memchr: {share:.2f}")


def _write_ratios(terminalreporter: pytest.TerminalReporter, config: pytest.Config) -> None:
    ratios = config.stash.get(_RATIOS, [])
    if not ratios:
        return
    terminalreporter.section("native core against the pure one, microseconds per result")
    for name, pure_s, native_s in ratios:
        costs = f"{pure_s * 1e6:8.2f} {native_s * 1e6:8.2f}"
        terminalreporter.write_line(f"{name:45} {costs} {pure_s / native_s:6.1f} x")
