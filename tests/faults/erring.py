"""A file system that fails at a chosen call, in each of the ways in which disks do."""

from __future__ import annotations

import errno
import os
import threading
from collections import Counter
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final, Literal, TypeAlias, cast

if TYPE_CHECKING:
    from collections.abc import Callable

    from toolbudget.storage._files import FileSystem
    from toolbudget.storage._filesystem import Identity

__all__ = ["ErringFiles", "Fault", "Kind"]

Kind: TypeAlias = Literal[
    "once",
    "sticky",
    "dead",
    "after",
    "stuck",
    "short",
    "nothing",
    "short then error",
    "torn",
]
"""How a call fails.

once: this call fails; it did nothing, except that a handle is closed even so.
sticky: this call and all later ones of the method fail.
dead: this call and all later ones of any method fail.
after: the call does what it should, then fails.
stuck: this call fails, and so does every attempt to cut a file.
short: a write takes half of the bytes, as it may.
nothing: a write takes no bytes and names no error.
short then error: a write takes half of the bytes, and the next one fails.
torn: the same, and every attempt to cut a file fails too.
"""

_TRUNCATE: Final = "truncate"


@dataclass(frozen=True, slots=True)
class Fault:
    """What fails: the N-th call of some methods, or of any if none is named."""

    methods: tuple[str, ...]
    number: int
    error: int
    kind: Kind

    def __str__(self) -> str:
        what = " or ".join(self.methods) or "any call"
        return f"{what} {self.number} {errno.errorcode[self.error]} {self.kind}"


class ErringFiles:
    """Passes every call on, except where a fault says otherwise, and watches the syncs.

    Attributes:
        calls: How often each method was called since the last fault was set.
        has_fired: Whether the fault was met.
        repeated_syncs: Files of results that were synced again after a sync of theirs had failed.
    """

    def __init__(self, inner: FileSystem) -> None:
        """Begin without a fault."""
        self.calls: Counter[str] = Counter()
        self.has_fired = False
        self.repeated_syncs: list[str] = []
        self._inner = inner
        self._fault: Fault | None = None
        self._lock = threading.Lock()
        self._unsynced: set[Identity] = set()
        self._logs: set[Identity] = set()

    @property
    def files(self) -> FileSystem:
        """The same object, as what it is used for."""
        return cast("FileSystem", self)

    def set_fault(self, fault: Fault | None) -> None:
        """Let this fail from now on, and nothing else; count calls anew."""
        self._fault = fault
        self.calls.clear()
        self.has_fired = False

    def heal(self) -> None:
        """Let nothing fail any more; the counts stay."""
        self._fault = None

    def __getattr__(self, method: str) -> Callable[..., Any]:
        inner = getattr(self._inner, method)

        def call(*arguments: object, **options: object) -> object:
            when = self._moment_of_failure(method)
            if when == "before" and method != "close":
                raise self._error()
            outcome: object = inner(*arguments, **options)
            if when is not None:
                raise self._error()
            self._note_opened(method, arguments, outcome)
            return outcome

        return call

    def write(self, handle: int, data: bytes | memoryview) -> int:
        """Write all, a part or nothing."""
        kind = None if self._fault is None else self._fault.kind
        when = self._moment_of_failure("write")
        if when == "before" and kind == "nothing":
            return 0
        if when == "part":
            return self._inner.write(handle, data[: len(data) // 2])
        if when == "before":
            raise self._error()
        taken_bytes = self._inner.write(handle, data)
        if when == "after":
            raise self._error()
        return taken_bytes

    def sync(self, handle: int) -> None:
        """Sync, and remember for which file that failed."""
        self._sync("sync", handle)

    def sync_data(self, handle: int) -> None:
        """Sync, and remember for which file that failed."""
        self._sync("sync_data", handle)

    def _sync(self, method: str, handle: int) -> None:
        identity = self._inner.status(handle).identity
        if identity in self._unsynced - self._logs:
            self.repeated_syncs.append(f"file synced again after a failed {method}")
        when = self._moment_of_failure(method)
        if when is not None:
            self._unsynced.add(identity)
            raise self._error()
        getattr(self._inner, method)(handle)

    def _moment_of_failure(self, method: str) -> Literal["before", "after", "part"] | None:
        with self._lock:
            self.calls[method] += 1
            fault = self._fault
            if fault is None:
                return None
            if self.has_fired and fault.kind in {"stuck", "torn"} and method == _TRUNCATE:
                return "before"
            if fault.methods and method not in fault.methods:
                return None
            counted = fault.methods or tuple(self.calls)
            number = sum(self.calls[name] for name in counted) - fault.number
            self.has_fired |= number >= 0
            return _moment(fault.kind, number)

    def _error(self) -> OSError:
        number = errno.EIO if self._fault is None else self._fault.error
        return OSError(number, os.strerror(number))

    def _note_opened(self, method: str, arguments: tuple[object, ...], outcome: object) -> None:
        """Tell logs, whose bytes after a failed sync are new ones, from files of results."""
        if method not in {"create_unnamed", "create_exclusive", "open_file", "open_append"}:
            return
        identity = self._inner.status(cast("int", outcome)).identity
        if method.startswith("create"):
            # A number that the file system has used before.
            self._unsynced.discard(identity)
            self._logs.discard(identity)
        elif str(arguments[0]).endswith(".jsonl"):
            self._logs.add(identity)


def _moment(kind: Kind, calls_since: int) -> Literal["before", "after", "part"] | None:
    """Say how the call fails that is the fatal one (0), or so many calls after it."""
    if calls_since < 0:
        return None
    if kind in {"sticky", "dead"}:
        return "before"
    if kind in {"short then error", "torn"}:
        return ("part", "before", None)[min(calls_since, 2)]
    if calls_since:
        return None
    if kind == "short":
        return "part"
    return "after" if kind == "after" else "before"
