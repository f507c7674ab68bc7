"""Running sessions in processes of their own, since a process has one core.

A child is *woken* for each turn by a line that it reads, so that every way has its turn in each
round; what it works with has left the processor's caches by then. Or it is *warm*: it takes turns
one after another, in each of them one of every of its ways.

    python -m benches.turns 2000 woken append_only
    python -m benches.turns 2000 warm append_only prototype
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
    from collections.abc import Callable, Iterator, Sequence

__all__ = ["WARM_WAYS", "WAYS", "RunningSession", "running", "take_warm_turns"]

# Name of the way, the core of its process, and the mode of its session.
WAYS: Final = {
    "pure": ("python", "verified"),
    "native": ("native", "verified"),
    "append_only": ("native", "append_only"),
    "floor": ("native", "prototype"),
}
# Which of them share a process whose turns follow each other: the fast ones touch few objects, so
# that neither takes the other's place in the caches.
WARM_WAYS: Final = (("pure",), ("append_only", "floor"))
# The first pass, and with `append_only` the one that finds out what is closed.
WARM_UP_TURNS: Final = 3
RESULTS_IN_A_TURN: Final = 5
RESULT_CHARS: Final = 200
LARGE_RESULT_CHARS: Final = 250_000
MOST_TURNS: Final = 60
# By then CPython has specialised what every turn runs.
WARM_ROUNDS: Final = 30


class RunningSession:
    """A child process that makes turns on demand."""

    def __init__(self, process: subprocess.Popen[str]) -> None:
        """Take over a process that was started for it."""
        self._process = process

    @classmethod
    def start(cls, way: str, history_messages: int) -> Self:
        """Start a session with a history, and wait until its first passes are made."""
        core, mode = WAYS[way]
        command = [sys.executable, "-m", "benches.turns", str(history_messages), "woken", mode]
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


def take_warm_turns(ways: Sequence[str], history_messages: int) -> dict[str, list[float]]:
    """Give the seconds of turns that follow each other in one process, for each of its ways."""
    [core] = {WAYS[way][0] for way in ways}
    modes = [WAYS[way][1] for way in ways]
    command = [sys.executable, "-m", "benches.turns", str(history_messages), "warm", *modes]
    environment = {**os.environ, "TOOLBUDGET_CORE": core}
    child = subprocess.run(  # noqa: S603 - our own child
        command, text=True, env=environment, stdout=subprocess.PIPE, check=True
    )
    rounds = [[float(taken_s) for taken_s in line.split()] for line in child.stdout.splitlines()]
    columns = zip(*rounds, strict=True)
    return {way: list(column) for way, column in zip(ways, columns, strict=True)}


def main() -> None:
    """Take turns, in the child process."""
    history_messages, pace, *modes = int(sys.argv[1]), *sys.argv[2:]
    every = turns(history_messages // 2 + MOST_TURNS, RESULTS_IN_A_TURN, RESULT_CHARS)
    every[1]["content"][0]["content"] = "a line of a large result\n" * (LARGE_RESULT_CHARS // 25)
    histories = [every[:length] for length in range(history_messages, len(every), 2)]
    with tempfile.TemporaryDirectory() as root:
        works = [_prototype() if mode == "prototype" else _session(root, mode) for mode in modes]
        gc.disable()
        gc.freeze()
        if pace == "woken":
            for history, _ in zip(histories, sys.stdin, strict=False):
                _show([_timed(work, history) for work in works])
        else:
            rounds = [[_timed(work, history) for work in works] for history in histories]
            for seconds in rounds[-WARM_ROUNDS:]:
                _show(seconds)


def _timed(work: Callable[[list[Any]], list[Any]], history: list[Any]) -> float:
    started_s = time.perf_counter()
    output = work(history)
    taken_s = time.perf_counter() - started_s
    if len(output) != len(history):
        raise AssertionError(f"{len(history)} messages became {len(output)}")
    return taken_s


def _show(seconds: list[float]) -> None:
    sys.stdout.write(" ".join(map(str, seconds)) + "\n")
    sys.stdout.flush()


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
