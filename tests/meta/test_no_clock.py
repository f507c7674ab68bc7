"""Tests measure no time."""

from __future__ import annotations

import ast
from pathlib import Path
from typing import Final

TESTS: Final = Path(__file__).parents[1]
CLOCKS: Final = {
    "perf_counter",
    "perf_counter_ns",
    "process_time",
    "process_time_ns",
    "thread_time",
}
# Says how long a call took beside how much memory; nothing is asked of it.
TELLS_ONLY: Final = TESTS / "faults" / "measuring.py"


def test_no_test_reads_a_clock_that_measures() -> None:
    """A busy machine fails a test of time; ``benches/growth.py`` counts instructions instead."""
    readers = [
        f"{path.relative_to(TESTS)}:{node.lineno}"
        for path in sorted(set(TESTS.rglob("*.py")) - {TELLS_ONLY})
        for node in ast.walk(ast.parse(path.read_text("utf-8")))
        if isinstance(node, ast.Attribute) and node.attr in CLOCKS
    ]
    assert readers == []
