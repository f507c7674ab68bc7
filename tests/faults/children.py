"""A forked child that says what it does, one JSON value a line, to the parent that may kill it."""

from __future__ import annotations

import json
import os
import select
import signal
import time
import traceback
from typing import TYPE_CHECKING, Any, Final

from tests.faults.system_calls import die_with_parent

if TYPE_CHECKING:
    from collections.abc import Callable

__all__ = ["Child"]

_READ_BYTES: Final = 1 << 20


class Child:
    """A copy of this process that does one thing and ends.

    It needs no import and opens nothing that this process has not opened, so that limits which it
    sets for itself touch only what it was forked for.
    """

    def __init__(self, work: Callable[[Callable[[Any], None]], object]) -> None:
        """Fork it; ``work`` gets the function by which the child speaks."""
        self._reader, writer = os.pipe()
        self._heard = b""
        self._pid: int | None = os.fork()
        if self._pid:
            os.close(writer)
            return
        die_with_parent()
        os.close(self._reader)
        os._exit(_do(work, writer))

    def listen(self, seconds: float | None = None, *, lines: int | None = None) -> None:
        """Hear what it says until it ends, for so long, or until so many lines were heard."""
        deadline_s = None if seconds is None else time.monotonic() + seconds
        while lines is None or self._heard.count(b"\n") < lines:
            left_s = None if deadline_s is None else max(deadline_s - time.monotonic(), 0.0)
            if not select.select([self._reader], [], [], left_s)[0]:
                return
            part = os.read(self._reader, _READ_BYTES)
            if not part:
                return
            self._heard += part

    @property
    def said(self) -> list[Any]:
        """Return what has been heard so far, a line that is not complete left out."""
        return [json.loads(line) for line in self._heard.split(b"\n")[:-1]]

    def end(self) -> str | None:
        """Let it come to its end; return what it died of, if it did."""
        self.listen()
        return self._collect()

    def kill(self) -> None:
        """End it at once; what it says from now on is not heard."""
        if self._pid is not None:
            os.kill(self._pid, signal.SIGKILL)
            self._collect()

    def _collect(self) -> str | None:
        pid, self._pid = self._pid, None
        if pid is None:
            return None
        os.close(self._reader)
        code = os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])
        if code < 0:
            return f"signal {-code}"
        return f"exit status {code}" if code else None


def _do(work: Callable[[Callable[[Any], None]], object], writer: int) -> int:
    def say(value: object) -> None:
        line = memoryview(json.dumps(value).encode() + b"\n")
        while line:
            line = line[os.write(writer, line) :]

    try:
        work(say)
    except BaseException as error:  # noqa: BLE001 - whatever ends the child is what is looked for
        where = traceback.extract_tb(error.__traceback__)[-1]
        say({"died": f"{error!r} in {where.name}"})
        return 1
    return 0
