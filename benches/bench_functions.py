"""Functions too short to be measured through Python: `cargo bench` measures them itself."""

from __future__ import annotations

import json
import subprocess
from typing import TYPE_CHECKING, Any

from benches.measuring import Comparison

if TYPE_CHECKING:
    from collections.abc import Callable

_UNITS = {"selection": "result", "counting": "byte"}


def test_functions_of_the_core(note: Callable[[Comparison], None]) -> None:
    """P1 and C1: what a result to choose among costs, and how many bytes are counted."""
    entries = measured()
    for entry in entries:
        group, name, units = entry["group"], entry["name"], entry["units"]
        seconds = {"native": entry["seconds"]}
        unit = _UNITS[group]
        note(Comparison(group=group, name=name, seconds=seconds, unit=unit, units=units))
    assert {entry["group"] for entry in entries} == set(_UNITS)


def measured() -> list[dict[str, Any]]:
    """Run the bench of the Rust core, and read its lines."""
    command = "cargo bench --locked --quiet --package toolbudget-core --bench functions"
    finished = subprocess.run(command.split(), check=True, capture_output=True, text=True)  # noqa: S603 - ours
    return [json.loads(line) for line in finished.stdout.splitlines() if line.startswith("{")]
