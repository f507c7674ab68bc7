"""Parsing in a process of its own.

The parsers are C code that is written for the text of editors. Random tokens have made one write
where it must not, and others take any amount of memory: in the host's own process that would end
the host. So the work is done by a child, which is started when it is needed first, is kept for
the next text, and is replaced if it dies. It knows no folder to import from but those that the
host itself could name in full, so that it runs nothing of the folder that the host works in.
"""

from __future__ import annotations

import atexit
import json
import logging
import os
import subprocess
import sys
import threading
from contextlib import suppress
from pathlib import Path
from typing import Final, NamedTuple

from toolbudget._mutex import Mutex
from toolbudget.pruning._entry import Entry
from toolbudget.pruning._walk import Outlined

__all__ = ["Answer", "outline_in_child"]

_PROGRAM: Final = """
import json, sys
sys.path[:] = json.loads(sys.stdin.buffer.readline())
from toolbudget.pruning._worker import serve
serve()
"""
_LOGGER: Final = logging.getLogger("toolbudget")
# It answers or dies of its own limits long before; this is for a child that is held up.
_MAX_WAIT_S: Final = 120.0
_MAX_END_S: Final = 5.0
# Where the library itself is, in case a relative entry of the import path led to it.
_OWN_FOLDER: Final = str(Path(__file__).parents[2])
# Then it is replaced, so that the memory of large texts is not kept.
_MAX_BYTES_OF_A_CHILD: Final = 4_000_000


class Answer(NamedTuple):
    """What the child found.

    Attributes:
        outline: The declarations.
        parsed_bytes: How many bytes of the text were parsed.
    """

    outline: Outlined
    parsed_bytes: int


class _Child:
    """One process that parses, started with the import path of this one."""

    def __init__(self) -> None:
        self.bytes_left = _MAX_BYTES_OF_A_CHILD
        self._process = subprocess.Popen(  # noqa: S603 - Python itself, with a program of ours
            [sys.executable, "-I", "-c", _PROGRAM],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            start_new_session=True,  # Ctrl-C is for the host to answer
        )
        self._send(json.dumps(_import_path()).encode() + b"\n")

    def _send(self, data: bytes) -> None:
        if self._process.stdin is not None:
            self._process.stdin.write(data)
            self._process.stdin.flush()

    def ask(self, language: str, source: bytes) -> bytes | None:
        """Give its answer; ``None`` if it died of the text."""
        self.bytes_left -= len(source)
        watchdog = threading.Timer(_MAX_WAIT_S, self._process.kill)
        watchdog.daemon = True
        watchdog.start()
        try:
            self._send(b"%s %d\n" % (language.encode(), len(source)) + source)
            output = self._process.stdout
            size = output.readline() if output is not None else b""
            return output.read(int(size)) if output is not None and size else None
        except OSError:  # it died while it was written to
            return None
        finally:
            watchdog.cancel()

    def close(self, *, is_stuck: bool) -> None:
        """End it, and forget it; unless it is stuck it ends by itself when there is no more."""
        with suppress(OSError), self._process:  # there may be something that it was not told
            if not is_stuck and self._process.stdin is not None:
                self._process.stdin.close()
                with suppress(subprocess.TimeoutExpired):
                    self._process.wait(_MAX_END_S)
            self._process.kill()

    def let_go(self) -> None:
        """Give up this process's ends of the pipes without a word to the child.

        Both are replaced by the ends of a pipe that leads nowhere, and not closed: what a thread
        was writing when it was forked away may still be flushed, and must not reach the child.
        """
        source, sink = os.pipe()
        for pipe, end in ((self._process.stdin, sink), (self._process.stdout, source)):
            if pipe is not None and not pipe.closed:
                os.dup2(end, pipe.fileno(), inheritable=False)
            os.close(end)


def _import_path() -> list[str]:
    """Give the import path without what depends on the folder that the host works in by now.

    That is often the folder of somebody else's code, and ``""`` would make it code to run.
    """
    path = [str(entry) for entry in sys.path if Path(str(entry)).is_absolute()]
    return path if _OWN_FOLDER in path else [*path, _OWN_FOLDER]


class _Children:
    """The child that is kept, for one thread at a time."""

    def __init__(self) -> None:
        self.lock = Mutex()
        self.child: _Child | None = None
        self._inherited: list[_Child] = []

    def close(self, *, is_stuck: bool = False) -> None:
        child, self.child = self.child, None
        if child is not None:
            child.close(is_stuck=is_stuck)

    def ask(self, language: str, source: bytes) -> bytes | None:
        with self.lock:
            was_kept = self.child is not None
            answer = self._ask(language, source)
            if answer is None and was_kept:
                # It may have ended before the text came, by a signal or for want of memory: only
                # a child of its own tells whether the text is to blame.
                answer = self._ask(language, source)
            if answer is None:
                _LOGGER.warning(
                    "the parser of %s ended on a text of %s bytes", language, len(source)
                )
            return answer

    def _ask(self, language: str, source: bytes) -> bytes | None:
        if self.child is None:
            self.child = _Child()
        answer = None
        try:
            answer = self.child.ask(language, source)
        finally:
            if answer is None or self.child.bytes_left <= 0:
                self.close(is_stuck=answer is None)
        return answer

    def forget(self) -> None:
        """Leave the child to the process that this one was forked from."""
        self.lock = Mutex()  # the other may be held by a thread that is not here
        if self.child is not None:
            # Kept, since the object ends what it stands for when it goes.
            self._inherited.append(self.child)
            self.child.let_go()
            self.child = None


_children: Final = _Children()
atexit.register(_children.close)
os.register_at_fork(after_in_child=_children.forget)


def outline_in_child(language: str, source: bytes) -> Answer | None:
    """Outline UTF-8 text of a language.

    Returns:
        ``None`` if the text is no program, if the parser died of it, or if no process of Python
        can be started here (as in a frozen application).
    """
    if getattr(sys, "frozen", False) or not sys.executable:
        return None
    try:
        answer = _children.ask(language, source)
    except OSError:  # no more processes, say
        return None
    if answer is None or answer == b"null":
        return None
    entries, title, error_lines, parsed_bytes = json.loads(answer)
    return Answer(Outlined([Entry(*entry) for entry in entries], title, error_lines), parsed_bytes)
