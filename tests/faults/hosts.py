"""What a host does before it is killed: it says what it has sent, and ends if it is let."""

from __future__ import annotations

import json
import os
import select
import signal
import time
from typing import TYPE_CHECKING, Any, Final, NoReturn, TypeAlias

from tests.faults.opening import open_session
from tests.faults.workload import LIMITS, SESSION_ID, Sent, run_turns

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from toolbudget import Session
    from toolbudget.storage._files import Durability, FileSystem

__all__ = ["ALIVE", "ENDED", "Victim", "Work", "branch", "talk", "talk_and_resume"]

ALIVE: Final = "alive"
ENDED: Final = "ended"
_READ_BYTES: Final = 1 << 20
_PATIENCE_S: Final = 60.0

Say: TypeAlias = "Callable[[Any], object]"
Work: TypeAlias = "Callable[[Say], None]"


class Victim:
    """A host in a process of its own, which may be killed at any moment."""

    def __init__(self, work: Work) -> None:
        """Fork it from this process, so that it has nothing to import."""
        self._mouth, writer = os.pipe()
        self._heard = b""
        self._process_id = os.fork()
        if not self._process_id:
            os.close(self._mouth)
            _work_and_exit(work, writer)
        os.close(writer)

    def wait_for_a_word(self, seconds: float) -> None:
        """Wait until it says something or ends, but not for longer."""
        select.select([self._mouth], [], [], seconds)

    def listen(self, seconds: float) -> bool:
        """Hear what it says for so long; tell whether it has ended."""
        deadline_s = time.monotonic() + seconds
        while select.select([self._mouth], [], [], max(deadline_s - time.monotonic(), 0.0))[0]:
            part = os.read(self._mouth, _READ_BYTES)
            if not part:
                return True
            self._heard += part
        return False

    def kill(self) -> bool:
        """Kill it and hear its last words; tell whether that found it at work."""
        os.kill(self._process_id, signal.SIGKILL)
        return self.end()

    def end(self) -> bool:
        """Let it come to its end; tell whether it was killed at work."""
        if not self.listen(_PATIENCE_S):
            os.kill(self._process_id, signal.SIGKILL)
            self._heard += b'{"died": "it hangs"}\n'
        os.close(self._mouth)
        code = os.waitstatus_to_exitcode(os.waitpid(self._process_id, 0)[1])
        return code == -signal.SIGKILL and ENDED not in self.said

    @property
    def said(self) -> list[Any]:
        """Return what has been heard so far, a line that is not complete left out."""
        return [json.loads(line) for line in self._heard.split(b"\n")[:-1]]


def _work_and_exit(work: Work, writer: int) -> NoReturn:
    def say(word: object) -> None:
        line = memoryview(json.dumps(word).encode() + b"\n")
        while line:
            line = line[os.write(writer, line) :]

    try:
        work(say)
    except BaseException as error:  # noqa: BLE001 - no exception at all may reach a host
        say({"died": repr(error)})
    finally:
        os._exit(0)


def talk(
    root: Path, first_turn: int, turns: int, *, durability: Durability, files: FileSystem
) -> Work:
    """Go on with the conversation for some turns."""

    def work(say: Say) -> None:
        say(ALIVE)
        with _open(root, durability, files) as session:
            _take_turns(session, first_turn, first_turn + turns, say, name="")
        say(ENDED)

    return work


def talk_and_resume(
    root: Path, first_turn: int, *, durability: Durability, files: FileSystem
) -> Work:
    """Take one turn, and another one after a resume."""

    def work(say: Say) -> None:
        say(ALIVE)
        for turn in (first_turn, first_turn + 1):
            with _open(root, durability, files) as session:
                _take_turns(session, turn, turn + 1, say, name="")
        say(ENDED)

    return work


def branch(
    root: Path, first_turn: int, name: str, *, durability: Durability, files: FileSystem
) -> Work:
    """Take a turn, begin a fork and a sub-agent, and let all three go on for a turn."""

    def work(say: Say) -> None:
        say(ALIVE)
        turn = first_turn + 1
        with _open(root, durability, files) as session:
            _take_turns(session, first_turn, turn, say, name="")
            say({"begins": f"fork-{name}"})
            with session.fork(f"fork-{name}") as fork:
                _take_turns(fork, turn, turn + 1, say, name=f"fork-{name}")
            say({"begins": f"agent-{name}"})
            with session.subagent(f"agent-{name}") as agent:
                _take_turns(agent, turn, turn + 1, say, name=f"agent-{name}")
            _take_turns(session, turn, turn + 1, say, name="")
        say(ENDED)

    return work


def _open(root: Path, durability: Durability, files: FileSystem) -> Session:
    return open_session(root, SESSION_ID, files=files, limits=LIMITS, durability=durability)


def _take_turns(session: Session, first_turn: int, end: int, say: Say, *, name: str) -> None:
    def say_sent(sent: Sent) -> None:
        say({"sent": sent, "name": name})

    for _ in run_turns(session, first_turn, end, say_sent):
        pass
