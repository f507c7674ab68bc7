"""Imports: each module by itself, and the package within its time."""

from __future__ import annotations

import os
import pkgutil
import subprocess
import sys
from typing import Final

import pytest

import toolbudget

# What only the command or only some calls need is imported there.
UNUSED_BY_A_HOST: Final = [
    "click",
    "numpy",
    "platformdirs",
    "rich",
    "snowballstemmer",
    "tree_sitter",
]
HEAVY_MODULES: Final = [*UNUSED_BY_A_HOST, "asyncio", "orjson", "xxhash"]
MODULES: Final = sorted(
    module.name for module in pkgutil.walk_packages(toolbudget.__path__, "toolbudget.")
)


def run_fresh(code: str) -> str:
    """Run ``code`` in a new interpreter, with warnings as errors, and give what it printed."""
    finished = subprocess.run(
        [sys.executable, "-W", "error", "-c", code],
        check=False,
        capture_output=True,
        text=True,
        # A measured interpreter has imported more, and slower.
        env={name: value for name, value in os.environ.items() if "COVERAGE" not in name},
    )
    assert finished.returncode == 0, finished.stderr
    return finished.stdout


@pytest.mark.parametrize("name", MODULES)
def test_each_module_is_importable_first(name: str) -> None:
    """No module relies on another one having been imported before it."""
    if name.endswith(".__main__"):
        pytest.skip("it is a program: to import it is to run it")
    run_fresh(f"import {name}")


@pytest.mark.parametrize(
    ("statement", "absent"),
    [("import toolbudget", HEAVY_MODULES), ("from toolbudget import Session", UNUSED_BY_A_HOST)],
    ids=["package", "session"],
)
def test_nothing_heavy_is_imported_with_it(statement: str, absent: list[str]) -> None:
    """Heavy modules wait until something needs them, a session's host too."""
    code = f"import sys; {statement}; print([n for n in {absent} if n in sys.modules])"
    assert run_fresh(code).strip() == "[]"
