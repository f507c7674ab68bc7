from __future__ import annotations

import io
import sys
from typing import TYPE_CHECKING

from tests.builders import res
from tests.layer.cli.transcripts import to_lines, user, write

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    import pytest

    from tests.layer.cli.transcripts import Ran
from toolbudget.cli.progress import show_progress


class Terminal(io.StringIO):
    """A standard error that is a terminal."""

    def isatty(self) -> bool:
        """Say so."""
        return True


def test_a_terminal_shows_progress(monkeypatch: pytest.MonkeyPatch) -> None:
    """Each stage is named on standard error while it lasts."""
    terminal = Terminal()
    monkeypatch.setattr(sys, "stderr", terminal)
    monkeypatch.setenv("TERM", "xterm")
    with show_progress() as progress:
        progress.begin("Reading", 10)(10)
        progress.begin("Judging", 10)(5)
    assert "Judging" in terminal.getvalue()


def test_anything_else_shows_none(apply: Callable[..., Ran], tmp_path: Path) -> None:
    """Without a terminal nothing is printed but the report."""
    ran = apply(write(tmp_path / "in", to_lines(user(res("t1", "x" * 60_000)))))
    assert ran.err == ""
