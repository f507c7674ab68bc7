"""A command with its whole process group: started, read, and ended for certain.

The shell leads a session of its own, so that everything it starts can be ended with it. It is not
reaped before the end: until then its number, which is the group's, cannot become another's.
"""

from __future__ import annotations

import os
import selectors
import signal
import subprocess
import sys
import time
from contextlib import suppress
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final, Literal, TypeAlias

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

__all__ = ["Command", "Ending", "Stop", "Stream", "run_command"]

Stream: TypeAlias = Literal["stdout", "stderr"]
Stop: TypeAlias = Literal["timeout", "output_limit", "cancelled", "output_held_open"]

# What a pipe of Linux holds.
_READ_BYTES: Final = 1 << 16
# A test runner or a database needs about so long to put things in order.
GRACE_S: Final = 2.0
# What a process substitution of the shell still has to say comes in milliseconds.
_LINGER_S: Final = 0.5
_FIRST_PAUSE_S: Final = 0.0005
_LONGEST_PAUSE_S: Final = 0.05
# A process that the kernel cannot end yet (it waits for a dead disk) is left to it.
_REAP_S: Final = 5.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Command:
    """What is to be run, and when it is stopped.

    Attributes:
        arguments: The program and what it is told.
        cwd: Where it runs.
        env: Its whole environment; ``None`` is that of this process.
        timeout_s: After so long it is stopped.
        max_output_bytes: Beyond so much output it is stopped.
    """

    arguments: tuple[str | bytes, ...]
    cwd: str | None
    env: Mapping[str, str] | None
    timeout_s: float
    max_output_bytes: float


@dataclass(frozen=True, slots=True)
class Ending:
    """How it ended.

    Attributes:
        return_code: The exit code, or the negative number of the signal that ended it.
        stop: Why it was stopped, if it was.
    """

    return_code: int | None
    stop: Stop | None


def run_command(
    command: Command,
    take: Callable[[Stream, bytes], object],
    is_cancelled: Callable[[], bool],
) -> Ending:
    """Run a command to its end and hand on its output as it comes.

    Whatever happens, an interrupt too, no process of its group that was stopped runs on.

    Args:
        command: What to run.
        take: Told each piece of output.
        is_cancelled: Asked all the time.

    Raises:
        OSError: It cannot be started.
        ValueError: An argument or variable cannot be passed on.
    """
    running = _Running(command, take)
    try:
        stop = running.watch(command, is_cancelled)
        if stop is not None:
            running.end()
    except BaseException:
        running.end_at_once()
        raise
    finally:
        running.close()
    return Ending(running.return_code, stop)


class _Running:
    """The processes of one command."""

    def __init__(self, command: Command, take: Callable[[Stream, bytes], object]) -> None:
        self._take = take
        self._output_bytes = 0
        self._started_s = time.monotonic()
        self._selector = selectors.DefaultSelector()
        try:
            self._process = subprocess.Popen(  # noqa: S603 - to run commands is what it is for
                command.arguments,
                bufsize=0,
                stdin=subprocess.DEVNULL,
                stdout=subprocess.PIPE,
                stderr=subprocess.PIPE,
                cwd=command.cwd,
                env=command.env,
                start_new_session=True,
            )
        except BaseException:
            self._selector.close()
            raise
        for name, pipe in (("stdout", self._process.stdout), ("stderr", self._process.stderr)):
            if pipe is not None:
                self._selector.register(pipe, selectors.EVENT_READ, name)

    @property
    def return_code(self) -> int | None:
        """How the shell ended, once it is closed."""
        return self._process.returncode

    def watch(self, command: Command, is_cancelled: Callable[[], bool]) -> Stop | None:
        """Read until the shell has ended and nobody holds its output, or until it is to stop."""
        # An integer may be beyond every float.
        deadline_s = self._started_s + min(command.timeout_s, sys.float_info.max)
        linger_end_s = float("inf")
        pause_s = _FIRST_PAUSE_S
        while True:
            now_s = time.monotonic()
            if self._has_ended():
                if not self._is_reading():
                    return None
                linger_end_s = min(linger_end_s, now_s + _LINGER_S)
                if now_s >= linger_end_s:
                    return "output_held_open"
            elif now_s >= deadline_s:
                return "timeout"
            if self._output_bytes > command.max_output_bytes:
                return "output_limit"
            if is_cancelled():
                return "cancelled"
            has_read = self._read(max(0.0, min(pause_s, deadline_s - now_s)))
            pause_s = _FIRST_PAUSE_S if has_read else min(2 * pause_s, _LONGEST_PAUSE_S)

    def end(self) -> None:
        """End the whole group: first by asking, then by force."""
        for number, patience_s in ((signal.SIGTERM, GRACE_S), (signal.SIGKILL, _LINGER_S)):
            self._signal(number)
            deadline_s = time.monotonic() + patience_s
            while self._is_reading() or not self._has_ended():
                if time.monotonic() >= deadline_s:
                    break
                self._read(_LONGEST_PAUSE_S)

    def end_at_once(self) -> None:
        """End the whole group by force."""
        self._signal(signal.SIGKILL)

    def close(self) -> None:
        """Close the pipes and reap the shell."""
        for pipe in (self._process.stdout, self._process.stderr):
            if pipe is not None:
                pipe.close()
        self._selector.close()
        with suppress(subprocess.TimeoutExpired):
            self._process.wait(_REAP_S)

    def _is_reading(self) -> bool:
        return bool(self._selector.get_map())

    def _read(self, wait_s: float) -> bool:
        """Read what there is, or wait so long; tell whether there was anything."""
        if not self._is_reading():
            time.sleep(wait_s)
            return False
        events = self._selector.select(wait_s)
        for key, _ in events:
            # One system call, which returns what there is: the pipe is ready and unbuffered.
            chunk: bytes = key.fileobj.read(_READ_BYTES)  # type: ignore[union-attr]
            if chunk:
                self._output_bytes += len(chunk)
                self._take(key.data, chunk)
            else:
                self._selector.unregister(key.fileobj)
        return bool(events)

    def _has_ended(self) -> bool:
        """Tell whether the shell has ended, without reaping it."""
        if not hasattr(os, "waitid"):  # macOS before Python 3.13
            return self._process.poll() is not None
        try:
            options = os.WEXITED | os.WNOHANG | os.WNOWAIT
            return os.waitid(os.P_PID, self._process.pid, options) is not None
        except ChildProcessError:
            # The host ignores SIGCHLD, or waits for every child by itself.
            return True

    def _signal(self, number: signal.Signals) -> None:
        with suppress(ProcessLookupError, PermissionError):
            os.killpg(self._process.pid, number)
