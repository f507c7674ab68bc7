"""Fixtures of the benches: each core in turn, with the same names; and the table of ratios."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from toolbudget import _core

if TYPE_CHECKING:
    from collections.abc import Callable
    from types import ModuleType

_RATIOS = pytest.StashKey[list[tuple[str, float, float]]]()


@pytest.fixture(scope="session", params=["python", "native"])
def core(request: pytest.FixtureRequest) -> ModuleType:
    """Give each core in turn; one that is not built is an error, not a gap in the table."""
    return _core.load(request.param)


@pytest.fixture
def note_ratio(pytestconfig: pytest.Config) -> Callable[[str, float, float], None]:
    """Give a function that takes what a block costs on each core, for the table at the end."""
    ratios = pytestconfig.stash.setdefault(_RATIOS, [])
    return lambda name, pure_s, native_s: ratios.append((name, pure_s, native_s))


def pytest_terminal_summary(
    terminalreporter: pytest.TerminalReporter, config: pytest.Config
) -> None:
    """Write the table of ratios."""
    ratios = config.stash.get(_RATIOS, [])
    if not ratios:
        return
    terminalreporter.section("native core against the pure one, microseconds per result")
    for name, pure_s, native_s in ratios:
        costs = f"{pure_s * 1e6:8.2f} {native_s * 1e6:8.2f}"
        terminalreporter.write_line(f"{name:45} {costs} {pure_s / native_s:6.1f} x")
