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
from toolbudget.cli import main
from toolbudget.cli.progress import show_progress


class Terminal(io.TextIOWrapper):
    """A standard error that is a terminal, with bytes below its text as a real one has."""

    def __init__(self) -> None:
        super().__init__(io.BytesIO(), "utf-8", write_through=True)

    def isatty(self) -> bool:
        """Say so."""
        return True

    def getvalue(self) -> str:
        """Return what was written."""
        assert isinstance(self.buffer, io.BytesIO)
        return self.buffer.getvalue().decode("utf-8")


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


def test_a_note_does_not_stand_behind_the_bar(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """The bar is erased first, and the note has a line of its own."""
    given = write(tmp_path / "in", b'{"type":"summary"}\n')
    terminal = Terminal()
    monkeypatch.setattr(sys, "stderr", terminal)
    monkeypatch.setenv("TERM", "xterm")
    assert main(["apply", str(given), "--root", str(tmp_path / "root")]) == 0
    before, note, after = terminal.getvalue().partition(
        f"{given} holds no messages; it is passed on as it is"
    )
    assert note
    assert before.endswith(("\n", "\x1b[2K"))
    assert after.startswith("\n")
