"""How many bytes a folder of results may hold, and how many it does: one sum for all its stores."""

from __future__ import annotations

import contextlib
import errno
import weakref
from typing import TYPE_CHECKING, Final
from weakref import WeakValueDictionary

from toolbudget._mutex import Mutex
from toolbudget.errors import StoreQuotaError
from toolbudget.storage._directories import close_quietly

if TYPE_CHECKING:
    from toolbudget.storage._filesystem import FileSystem, Identity

__all__ = ["Quota"]


class _StoredBytes:
    """The bytes in one folder: what was found there once, and what this process has added since."""

    def __init__(self, files: FileSystem, results: int) -> None:
        self.files = files  # as long as it lives no other one can have its identity
        # Nor can another folder have this one's, as long as it is open: the number of one that
        # was removed is mostly given to the next.
        with contextlib.suppress(OSError):
            handle = files.open_directory(".", parent=results)
            weakref.finalize(self, close_quietly, files, handle)
        self.lock = Mutex()
        self.total_bytes = sum(
            entry.size_bytes
            for name in files.names(results)
            if (entry := files.look(name, parent=results)).kind == "file"
        )


# Sub-agents have stores of their own in the folder of their session.
_FOLDERS: Final[WeakValueDictionary[tuple[int, Identity], _StoredBytes]] = WeakValueDictionary()
_FOLDERS_LOCK: Final = Mutex()


class Quota:
    """What a store may write into its folder.

    The folder is looked through at the first result that is written; from then on a sum is kept,
    which all stores of this process in that folder share. What other processes add to it, or
    anybody removes from it, is known to the next process only. A folder that was removed and made
    anew is another one.

    Args:
        max_bytes: What all files there may have together.
        files: The file system.
    """

    def __init__(self, max_bytes: float, files: FileSystem) -> None:
        self._max_bytes = max_bytes
        self._files = files
        self._folder: tuple[Identity, _StoredBytes] | None = None

    def reserve(self, size_bytes: int, results: int) -> None:
        """Count bytes that are about to be written.

        Args:
            size_bytes: How many.
            results: The folder, open.

        Raises:
            StoreQuotaError: They are too many; nothing is counted.
            OSError: The folder cannot be looked through.
        """
        stored = self._stored(results)
        with stored.lock:
            if stored.total_bytes + size_bytes > self._max_bytes:
                held = f"{stored.total_bytes:,} of at most {self._max_bytes:,} bytes are taken"
                raise StoreQuotaError(
                    errno.EDQUOT, f"quota of stored results: {held}, {size_bytes:,} more do not fit"
                )
            stored.total_bytes += size_bytes

    def give_back(self, size_bytes: int) -> None:
        """Take back what :meth:`reserve` counted: it was not stored after all."""
        if self._folder is not None:
            _, stored = self._folder
            with stored.lock:
                stored.total_bytes -= size_bytes

    def _stored(self, results: int) -> _StoredBytes:
        identity = self._files.status(results).identity
        if self._folder is not None and self._folder[0] == identity:
            return self._folder[1]
        key = (id(self._files), identity)
        with _FOLDERS_LOCK:
            stored = _FOLDERS.get(key)
            if stored is None:
                stored = _FOLDERS[key] = _StoredBytes(self._files, results)
        self._folder = identity, stored
        return stored
