"""How ``toolbudget context`` draws what it shows."""

from __future__ import annotations

import os
import subprocess
import sys
from itertools import pairwise
from typing import TYPE_CHECKING
from xml.etree import ElementTree as ET

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.layer.cli.talk import TALK, said, used
from tests.layer.cli.transcripts import to_lines, write
from toolbudget.cli.context_history import Turn
from toolbudget.cli.context_plot import sampled

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from tests.layer.cli.transcripts import Ran

SVG = "{http://www.w3.org/2000/svg}"


def test_the_plot_is_a_picture_of_every_part(context: Callable[..., Ran], tmp_path: Path) -> None:
    """It is well-formed, complete in itself, and takes the place of an earlier one."""
    path = tmp_path / "out.svg"
    path.write_text("old")
    ran = context(TALK, "--plot", path, "--json")
    assert (ran.code, ran.report["used_tokens"]) == (0, 420)
    picture = ET.fromstring(path.read_bytes())  # noqa: S314 - our own
    words = {element.text for element in picture.iter(f"{SVG}text")}
    assert {"cached", "new", "output", "estimated", "near 144,000", "over 165,600"} <= words
    assert not list(picture.iter(f"{SVG}script"))
    first = path.read_bytes()
    context(TALK, "--plot", path)
    assert path.read_bytes() == first


def test_the_plot_goes_nowhere_else(context: Callable[..., Ran], tmp_path: Path) -> None:
    """A folder that is missing is not made."""
    ran = context(TALK, "--plot", tmp_path / "missing" / "out.svg")
    assert (ran.code, ran.out) == (1, "")
    assert "no such file or directory" in ran.err
    assert not (tmp_path / "missing").exists()


def test_the_plot_in_the_terminal(context: Callable[..., Ran]) -> None:
    """It shows the turns and the thresholds, without colours where none are wanted."""
    ran = context(TALK, "--plot", "-")
    assert ran.code == 0
    assert "over 165,600" in ran.out
    assert "\x1b" not in ran.out
    assert max(map(len, ran.out.splitlines())) <= 100


@pytest.mark.parametrize("turns", [2, 4, 9, 12, 13, 58, 300])
@pytest.mark.parametrize("columns", [20, 80, 81, 120])
def test_the_turns_of_the_plot_are_evenly_apart(
    context: Callable[..., Ran], monkeypatch: pytest.MonkeyPatch, turns: int, columns: int
) -> None:
    """The axis does not say 1, 2, 2, 3, 3, nor 1, 3, 5, 7, 10, and goes as far as the turns."""
    monkeypatch.setenv("COLUMNS", str(columns))
    ran = context([said(f"m{turn}", used(0, 9, 1)) for turn in range(turns)], "--plot", "-")
    axis = next(line for line in ran.out.splitlines() if line.lstrip().startswith("| 1 "))
    numbers = [int(number) for number in axis.replace("|", " ").split()]
    assert len(numbers) >= min(turns, 4 if columns > 20 else 2)
    step = numbers[1] - numbers[0]
    assert numbers == list(range(1, numbers[-1] + 1, step))
    assert turns - step < numbers[-1] <= turns
    places = [axis.index(f" {number} ") for number in numbers[:-1]]
    assert len({after - before for before, after in pairwise(places)}) <= 1


def test_the_plot_without_unicode(tmp_path: Path) -> None:
    """A terminal that knows only ASCII gets a picture of ASCII."""
    write(tmp_path / "in.jsonl", to_lines(*TALK))
    command = [sys.executable, "-m", "toolbudget", "context", "in.jsonl", "--plot", "-"]
    ran = subprocess.run(
        command,
        check=True,
        capture_output=True,
        env={**os.environ, "PYTHONIOENCODING": "ascii"},
        cwd=tmp_path,
    )
    assert ran.stdout.isascii()
    assert b"\\u" not in ran.stdout
    assert b"over 165,600***" in ran.stdout


@pytest.mark.parametrize(("path", "library"), [("out.svg", "pygal"), ("-", "plotille")])
def test_a_missing_extra_is_named(
    context: Callable[..., Ran], path: str, library: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Whoever lacks the library is told what to install, before anything is read."""
    monkeypatch.setitem(sys.modules, library, None)
    ran = context(b"not read", "--plot", path)
    assert (ran.code, ran.out) == (1, "")
    assert ran.err == (
        f"Error: --plot needs {library}, which is not installed: pip install {library}\n"
    )


@given(tokens=st.lists(st.integers(0, 100), max_size=50), max_points=st.integers(1, 20))
def test_no_peak_is_lost_in_a_plot(tokens: list[int], max_points: int) -> None:
    """A long session is drawn with few points, each of them the fullest nearby."""
    turns = [
        Turn(number, number, None, is_after_compaction=False, estimated_tokens=used_tokens)
        for number, used_tokens in enumerate(tokens)
    ]
    chosen = sampled(turns, max_points)
    assert len(chosen) <= max_points
    assert [turn.number for turn in chosen] == sorted(turn.number for turn in chosen)
    assert max((turn.used_tokens for turn in chosen), default=0) == max(tokens, default=0)
