"""``toolbudget apply`` over messages of another wire format: passed on, and said so."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

from tests.builders import turn
from tests.layer.cli.transcripts import write

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from tests.layer.cli.transcripts import Ran

OPENAI = [
    {"role": "user", "content": "What fails?"},
    {"role": "assistant", "content": None, "tool_calls": [{"id": "c1", "type": "function"}]},
    {"role": "tool", "tool_call_id": "c1", "content": "x" * 90_000},
]


def test_results_of_another_format_are_told(run: Callable[..., Ran], tmp_path: Path) -> None:
    """Zero characters of text would be taken for the truth; the messages stay byte for byte."""
    path = write(tmp_path / "openai.json", json.dumps(OPENAI).encode())
    out = tmp_path / "out.json"
    ran = run("apply", path, "--root", tmp_path / "root", "--out", out)
    words = " ".join(ran.out.split())
    assert "Not judged results in 2 messages of another wire format, such as OpenAI's" in words
    assert out.read_bytes() == path.read_bytes()
    ran = run("apply", path, "--root", tmp_path / "root", "--out", out, "--json")
    assert json.loads(ran.out)["other_format_messages"] == 2


def test_nothing_is_told_of_messages_that_are_judged(
    run: Callable[..., Ran], tmp_path: Path
) -> None:
    """A note that always stands there is read by nobody."""
    path = write(tmp_path / "own.json", json.dumps(turn("Fetch", t1="x" * 90_000)).encode())
    ran = run("apply", path, "--root", tmp_path / "root")
    assert (ran.code, "Not judged" in ran.out) == (0, False)
