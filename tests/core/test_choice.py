from __future__ import annotations

import os
import subprocess
import sys

import pytest

from toolbudget import _core

HIDE_NATIVE = "import sys; sys.modules['toolbudget._core._native'] = None;"
SHOW_NAME = "from toolbudget import _core; print(_core.NAME, _core.cut_preview.__module__)"


def run_with(core_variable: str | None, code: str) -> subprocess.CompletedProcess[str]:
    """Run ``code`` in a new interpreter with ``TOOLBUDGET_CORE`` set so."""
    environment = {name: value for name, value in os.environ.items() if name != "TOOLBUDGET_CORE"}
    if core_variable is not None:
        environment["TOOLBUDGET_CORE"] = core_variable
    return subprocess.run(
        [sys.executable, "-c", code],
        check=False,
        capture_output=True,
        text=True,
        env=environment,
    )


@pytest.mark.parametrize(
    ("core_variable", "hidden", "active"),
    [
        (None, "", "native toolbudget._core._native"),
        (None, HIDE_NATIVE, "python toolbudget._core.pure.preview"),
        ("native", "", "native toolbudget._core._native"),
        ("python", "", "python toolbudget._core.pure.preview"),
        ("python", HIDE_NATIVE, "python toolbudget._core.pure.preview"),
    ],
)
def test_the_active_core(core_variable: str | None, hidden: str, active: str) -> None:
    """The variable decides; without it the native core is taken where it is built."""
    finished = run_with(core_variable, hidden + SHOW_NAME)
    assert finished.stdout.strip() == active, finished.stderr


def test_a_native_core_that_is_not_built_is_an_error() -> None:
    """There is no silent fall-back: the error names the variable and its value."""
    finished = run_with("native", HIDE_NATIVE + SHOW_NAME)
    last_line = finished.stderr.strip().splitlines()[-1]
    assert last_line.startswith("ImportError: TOOLBUDGET_CORE (environment) asks for a core")
    assert last_line.endswith(": 'native'")


@pytest.mark.parametrize("value", ["rust", "", "Native", "auto"])
def test_an_unknown_core_is_an_error(value: str) -> None:
    """Another value is refused by name, an empty one too."""
    finished = run_with(value, SHOW_NAME)
    assert finished.stderr.strip().splitlines()[-1] == (
        "toolbudget.errors.ConfigError: "
        f"TOOLBUDGET_CORE (environment) must be 'python' or 'native': {value!r}"
    )


def test_both_cores_have_the_same_names() -> None:
    """Code that runs on one core finds all it needs in the other."""
    python, native = _core.load("python"), _core.load("native")
    names = set(python.__all__)
    assert names <= set(vars(native))
    assert names <= set(_core.__all__)
