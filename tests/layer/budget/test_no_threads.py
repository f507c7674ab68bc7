"""Where no thread can be started the async twins still do what they are asked, once."""

from __future__ import annotations

import asyncio
import subprocess
import sys
import threading
from typing import TYPE_CHECKING

import pytest

from toolbudget._threads import in_thread

if TYPE_CHECKING:
    from pathlib import Path

AT_EXIT = """
import asyncio, atexit, sys
import toolbudget

session = toolbudget.Session.open(sys.argv[1], "a", limits=toolbudget.Limits(max_message_chars=1))
block = {"type": "tool_result", "tool_use_id": "t1", "content": "x" * 60_000}
{first}

@atexit.register
def last():
    message = asyncio.run(session.aenforce([{"role": "user", "content": [block]}]))[0]
    print(message["content"][0]["content"].splitlines()[0])
"""


def refuse(_thread: threading.Thread) -> None:
    """Fail as a system does that is out of threads."""
    raise RuntimeError("can't start new thread")


def test_a_call_is_made_once_without_threads(monkeypatch: pytest.MonkeyPatch) -> None:
    """The pool has taken the call before it fails: a later thread does not make it again."""
    calls: list[str] = []

    def note(name: str) -> int:
        calls.append(name)
        return len(calls)

    async def run() -> tuple[int, int]:
        with monkeypatch.context() as patch:
            patch.setattr(threading.Thread, "start", refuse)
            first = await in_thread(note, "first")
        # This one starts a thread, which finds the first call in the queue, too.
        return first, await in_thread(note, "second")

    assert asyncio.run(run()) == (1, 2)
    assert calls == ["first", "second"]


@pytest.mark.parametrize("error", [ValueError("no"), KeyboardInterrupt()])
def test_an_error_is_raised_without_threads(
    monkeypatch: pytest.MonkeyPatch, error: BaseException
) -> None:
    """What the call raises comes out, not that there are no threads."""

    def fail() -> None:
        raise error

    async def run() -> None:
        with monkeypatch.context() as patch:
            patch.setattr(threading.Thread, "start", refuse)
            await in_thread(fail)

    with pytest.raises(type(error)):
        asyncio.run(run())


@pytest.mark.parametrize("first", ["", "asyncio.run(session.aenforce([]))"])
def test_a_session_is_used_while_the_interpreter_ends(tmp_path: Path, first: str) -> None:
    """A hook at the end of a process may enforce once more, whether there were threads or not."""
    program = AT_EXIT.replace("{first}", first)
    finished = subprocess.run(
        [sys.executable, "-c", program, str(tmp_path)], check=False, capture_output=True, text=True
    )
    assert (finished.stdout, finished.stderr) == ("<persisted-output>\n", "")
