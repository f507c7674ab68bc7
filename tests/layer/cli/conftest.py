"""Running the command inside the test's process."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from tests.layer.cli.transcripts import Ran, to_lines, write
from toolbudget.cli import main

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from pathlib import Path


@pytest.fixture(autouse=True)
def _quick_and_narrow(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """Sync nothing, print as a terminal of 100 columns without colours would show it."""
    monkeypatch.setenv("TOOLBUDGET_DURABILITY", "process")
    monkeypatch.setenv("COLUMNS", "100")
    monkeypatch.chdir(tmp_path)


@pytest.fixture
def run(capsys: pytest.CaptureFixture[str]) -> Callable[..., Ran]:
    """Give a function that runs the command with the words it is called with."""

    def run_command(*words: object) -> Ran:
        capsys.readouterr()
        code = main([str(word) for word in words])
        return Ran(code, *capsys.readouterr())

    return run_command


@pytest.fixture
def apply(run: Callable[..., Ran], tmp_path: Path) -> Callable[..., Ran]:
    """Give a function that applies the budget to a file, over ``root`` in the test's folder."""

    def run_apply(path: object, *options: object) -> Ran:
        return run("apply", path, "--root", tmp_path / "root", "--json", *options)

    return run_apply


@pytest.fixture
def context(run: Callable[..., Ran], tmp_path: Path) -> Callable[..., Ran]:
    """Give a function that shows the context of an input: records, or its bytes."""

    def run_context(given: Sequence[object] | bytes, *options: object) -> Ran:
        data = given if isinstance(given, bytes) else to_lines(*given)
        return run("context", write(tmp_path / "in.jsonl", data), *options)

    return run_context
