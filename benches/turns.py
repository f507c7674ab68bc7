"""A running session in a process of its own: each line that it reads is one more turn.

Cores cannot be changed in a running process, so each has its own; turns are taken alternately.

    python -m benches.turns 2000 append_only
"""

from __future__ import annotations

import gc
import os
import subprocess
import sys
import tempfile
import time
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, Final, Self

from benches import floor
from benches.workloads import turns
from toolbudget import Session

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

__all__ = ["WAYS", "RunningSession", "running"]

# Name of the way, the core of its process, and the mode of its session.
WAYS: Final = {
    "pure": ("python", "verified"),
    "native": ("native", "verified"),
    "append_only": ("native", "append_only"),
    "floor": ("native", "prototype"),
}
# The first pass, and with `append_only` the one that finds out what is closed.
WARM_UP_TURNS: Final = 3
RESULTS_IN_A_TURN: Final = 5
RESULT_CHARS: Final = 200
LARGE_RESULT_CHARS: Final = 250_000
MOST_TURNS: Final = 60


class RunningSession:
    """A child process that makes turns on demand."""

    def __init__(self, process: subprocess.Popen[str]) -> None:
        """Take over a process that was started for it."""
        self._process = process

    @classmethod
    def start(cls, way: str, history_messages: int) -> Self:
        """Start a session with a history, and wait until its first passes are made."""
        core, mode = WAYS[way]
        command = [sys.executable, "-m", "benches.turns", str(history_messages), mode]
        environment = {**os.environ, "TOOLBUDGET_CORE": core}
        pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE}
        started = cls(subprocess.Popen(command, text=True, env=environment, **pipes))  # type: ignore[call-overload]  # noqa: S603  # our own child
        for _ in range(WARM_UP_TURNS):
            started.turn()
        return started

    def turn(self) -> float:
        """Make a turn in the child, and give its seconds."""
        if self._process.stdin is None or self._process.stdout is None:
            raise RuntimeError("the child has no pipes")
        self._process.stdin.write("\n")
        self._process.stdin.flush()
        return float(self._process.stdout.readline())

    def stop(self) -> None:
        """Let the child end."""
        self._process.communicate()


@contextmanager
def running(ways: list[str], history_messages: int) -> Iterator[dict[str, RunningSession]]:
    """Give sessions with the same history, one for each way."""
    sessions = {way: RunningSession.start(way, history_messages) for way in ways}
    try:
        yield sessions
    finally:
        for session in sessions.values():
            session.stop()


def main() -> None:
    """Make a turn for each line of the standard input; the child's side."""
    history_messages, mode = int(sys.argv[1]), sys.argv[2]
    every = turns(history_messages // 2 + MOST_TURNS, RESULTS_IN_A_TURN, RESULT_CHARS)
    every[1]["content"][0]["content"] = "a line of a large result\n" * (LARGE_RESULT_CHARS // 25)
    history = every[:history_messages]
    with tempfile.TemporaryDirectory() as root:
        work = _prototype() if mode == "prototype" else _session(root, mode)
        gc.disable()
        gc.freeze()
        for _ in sys.stdin:
            started_s = time.perf_counter()
            output = work(history)
            taken_s = time.perf_counter() - started_s
            sys.stdout.write(f"{taken_s}\n")
            sys.stdout.flush()
            if len(output) != len(history):
                raise AssertionError(f"{len(history)} messages became {len(output)}")
            history = every[: len(history) + 2]


def _session(root: str, mode: str) -> Callable[[list[Any]], list[Any]]:
    history: Any = mode
    options: dict[str, Any] = {"ephemeral": True, "durability": "process"}
    return Session.open(root, "turns", history=history, **options).enforce


def _prototype() -> Callable[[list[Any]], list[Any]]:
    prototype = floor.load("dict_proto")
    if prototype is None:
        raise RuntimeError(floor.missing())
    step = prototype.Session().step
    return lambda history: step(history, 0)[0]


if __name__ == "__main__":
    main()
