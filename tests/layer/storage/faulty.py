"""File systems that fail, or are poorer than the real one, where a test says so."""

from __future__ import annotations

import errno
import os
import threading
from typing import TYPE_CHECKING, Any, cast

from toolbudget.storage._files import POSIX, FileSystem, PosixFileSystem

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable


class UnsyncedFiles(PosixFileSystem):
    """The real file system, except that nobody waits for the disk."""

    def sync(self, handle: int) -> None:
        """Check the handle only."""
        self.status(handle)

    def sync_data(self, handle: int) -> None:
        """Check the handle only."""
        self.status(handle)

    def sync_directory(self, handle: int) -> None:
        """Check the handle only."""
        self.status(handle)


class FaultyFiles:
    """Passes every call on to the real file system, except those that are to fail.

    ``calls`` lists the methods called, in order. ``close`` closes also when it fails, as it does on
    Linux; every other method that fails does nothing.
    """

    def __init__(self, inner: FileSystem = POSIX) -> None:
        self.calls: list[str] = []
        self._inner = inner
        # A session that is garbage closes its files in the middle of any call, this object's too.
        self._lock = threading.RLock()
        self._faults: list[Callable[[str, int], OSError | None]] = []
        self._actions: list[tuple[str, Callable[[], object]]] = []
        self._max_write_bytes: int | None = None

    @property
    def files(self) -> FileSystem:
        """The same object, as what it is used for."""
        return cast("FileSystem", self)

    def fail_call(self, number: int, error: int, *, and_all_after: bool = False) -> None:
        """Let the N-th call of any method fail, counted from 1 and from now on."""
        with self._lock:
            target = len(self.calls) + number

        def fault(_method: str, index: int) -> OSError | None:
            is_hit = index >= target if and_all_after else index == target
            return OSError(error, os.strerror(error)) if is_hit else None

        self._faults.append(fault)

    def fail_method(
        self, methods: str | Iterable[str], error: int, *, times: int | None = None
    ) -> None:
        """Let all calls of these methods fail, or only the next so many."""
        names = {methods} if isinstance(methods, str) else set(methods)
        left = times

        def fault(method: str, _index: int) -> OSError | None:
            nonlocal left
            if method not in names or left == 0:
                return None
            if left is not None:
                left -= 1
            return OSError(error, os.strerror(error))

        self._faults.append(fault)

    def write_at_most(self, max_bytes: int) -> None:
        """Let every write be a short one."""
        self._max_write_bytes = max_bytes

    def before(self, method: str, action: Callable[[], object]) -> None:
        """Do something just before the next call of a method, as another process might."""
        self._actions.append((method, action))

    def heal(self) -> None:
        """Let nothing fail any more."""
        self._faults.clear()
        self._max_write_bytes = None

    def count(self, method: str) -> int:
        """How often a method was called."""
        return self.calls.count(method)

    def write(self, handle: int, data: bytes | memoryview) -> int:
        """Write, if need be only the beginning."""
        self._note("write")
        return self._inner.write(handle, data[: self._max_write_bytes])

    def close(self, handle: int) -> None:
        """Close in any case."""
        self._inner.close(handle)
        self._note("close")

    def __getattr__(self, method: str) -> Callable[..., Any]:
        inner = getattr(self._inner, method)

        def call(*arguments: object, **options: object) -> object:
            self._note(method)
            return inner(*arguments, **options)

        return call

    def _note(self, method: str) -> None:
        with self._lock:
            self.calls.append(method)
            due = [entry for entry in self._actions if entry[0] == method]
            self._actions = [entry for entry in self._actions if entry[0] != method]
            for _, action in due:
                action()
            for fault in self._faults:
                error = fault(method, len(self.calls))
                if error is not None:
                    raise error


def without_unnamed_files(inner: FileSystem = POSIX) -> FaultyFiles:
    """Give a file system without ``O_TMPFILE``, as on macOS or FUSE."""
    faulty = FaultyFiles(inner)
    faulty.fail_method("create_unnamed", errno.EOPNOTSUPP)
    return faulty


class CaseBlindFiles(FaultyFiles):
    """A file system on which names that differ only in case are one name."""

    def __getattr__(self, method: str) -> Callable[..., Any]:
        call = super().__getattr__(method)

        def call_lowered(*arguments: object, **options: object) -> object:
            lowered = [part.lower() if isinstance(part, str) else part for part in arguments]
            return call(*lowered, **options)

        return call if "root" in method else call_lowered
