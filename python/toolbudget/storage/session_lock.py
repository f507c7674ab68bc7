"""The mark of a session in use: a shared lock that ends with the process that holds it."""

from __future__ import annotations

import errno
import logging
import os
import time
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import TYPE_CHECKING, Final

from toolbudget._mutex import Mutex
from toolbudget.storage._aside import write_new
from toolbudget.storage._files import POSIX, close_quietly, open_chain
from toolbudget.storage._session_files import RESULTS_NAME

if TYPE_CHECKING:
    from collections.abc import Iterator

    from toolbudget.storage._files import Durability, FileSystem

__all__ = ["LOCK_NAME", "SessionLock"]

LOCK_NAME: Final = "session.lock"
_SHARED: Final = b"tool-results was here before\n"
"""What a lock says that was made in a folder with results, which are another program's then."""

# A clean-up holds the lock alone while it looks at the session once more and moves it away: most
# often for milliseconds, with a huge transcript or thousands of files for seconds.
_TRIES: Final = 2000
_PAUSE_S: Final = 0.005

_OUT_OF_REACH: Final = (
    "cannot hold %s of session %s, so that a clean-up goes by the age of its files: %s"
)
_logger: Final = logging.getLogger("toolbudget")


class SessionLock:
    """Holds ``session.lock`` in a session's folder, so that a clean-up knows that it is in use.

    It guards no decision: those are taken under the lock of the record file. Where it cannot be had
    (a read-only disk, no locks, too many open files) the session works all the same, and the log
    says so once; a clean-up then goes by the age of its files.
    """

    __slots__ = (
        "_durability",
        "_files",
        "_handle",
        "_is_over",
        "_is_told",
        "_lent",
        "_name",
        "_process_id",
        "_root",
        "_taking",
    )

    def __init__(
        self, root: Path, name: str, *, durability: Durability = "full", files: FileSystem = POSIX
    ) -> None:
        """Name the session; nothing is touched yet."""
        # Of the folders that have to be made for it: whoever makes them has to sync them too, since
        # those who find them there look one level up only.
        self._durability = durability
        self._root = str(root)
        self._name = name
        self._files = files
        self._process_id = os.getpid()
        self._handle: int | None = None
        # Of sessions that this one has results of, where no record on disk says so.
        self._lent: list[SessionLock] = []
        self._taking = Mutex()
        self._is_over = False
        # Every decision tries again; one warning is enough.
        self._is_told = False

    def take(self, *, create: bool) -> None:
        """Take the lock unless it is held already; without ``create`` only in a folder that exists.

        A new session has nothing to be cleaned up before its first decision, so it makes no folder
        for a lock alone. If that folder has results but no lock, they are another program's: the
        lock then says so, and a clean-up takes none that no record of ours names.
        """
        # A decision and a message of the host's may come from two threads at once.
        with self._taking:
            if self._handle is not None or self._is_over:
                return
            try:
                self._handle = self._acquire(create=create)
            except OSError as error:
                is_new = isinstance(error, FileNotFoundError) and not create
                if not (is_new or self._is_told):
                    self._is_told = True
                    _logger.warning(_OUT_OF_REACH, LOCK_NAME, self._name, error)

    @property
    def is_held(self) -> bool:
        """Whether others can see that the session is in use."""
        return self._handle is not None

    def note_fork(self) -> None:
        """Let the session be as young as a fork of it.

        A clean-up that made its plan before the fork existed sees by that that somebody needs the
        session's results now.
        """
        if self._handle is None:
            return
        try:
            self._files.set_modified(self._handle, time.time())
        except OSError as error:
            _logger.debug("cannot touch %s of session %s: %s", LOCK_NAME, self._name, error)

    def lend_to(self, heir: SessionLock) -> None:
        """Let another lock hold this one too, and what was lent to it, until it is released."""
        for one in (self, *self._lent):
            heir.borrow(one)

    def borrow(self, lender: SessionLock) -> None:
        """Hold what another lock holds, by itself, until this one is released."""
        self._lent.append(lender.taken_again())

    def taken_again(self) -> SessionLock:
        """Return a lock of the same session, which is given back on its own."""
        again = SessionLock(
            Path(self._root), self._name, durability=self._durability, files=self._files
        )
        again._is_told = self._is_told
        again.take(create=False)
        return again

    def release(self) -> None:
        """Give the lock back, and those that were lent to it, for good; the file stays.

        Called again after an interrupt, it goes on where it was.
        """
        self._is_over = True
        while self._lent:
            self._lent[-1].release()
            del self._lent[-1]
        handle = self._handle
        if handle is None:
            return
        # Explicitly, not only by closing: a forked child may hold a copy of the handle. In that
        # child it would take the lock from the parent.
        if os.getpid() == self._process_id:
            with suppress(OSError):
                self._files.unlock(handle)
        close_quietly(self._files, handle)
        self._handle = None

    @contextmanager
    def given_back_on_failure(self) -> Iterator[None]:
        """Give the lock back if what is begun under it fails, so that nobody is left holding it."""
        try:
            yield
        except BaseException:
            self.release()
            raise

    def _acquire(self, *, create: bool) -> int:
        # Whoever holds it alone is moving the session away at this moment: what is opened after
        # that is what is left, so that no decision is read whose files are about to go.
        for _ in range(_TRIES):
            handle = self._open(create=create)
            try:
                self._files.lock(handle, exclusive=False, blocking=False)
                if self._is_in_place(handle):
                    return handle
            except BlockingIOError:
                time.sleep(_PAUSE_S)
            except BaseException:
                close_quietly(self._files, handle)
                raise
            close_quietly(self._files, handle)
        raise BlockingIOError(errno.EWOULDBLOCK, os.strerror(errno.EWOULDBLOCK), LOCK_NAME)

    def _open(self, *, create: bool) -> int:
        directory = self._open_directory(create=create)
        try:
            # With `create` a result of ours may have been stored before.
            if not create and self._is_anothers(directory):
                return self._create_shared(directory)
            return self._files.open_append(LOCK_NAME, parent=directory, create=True)
        finally:
            close_quietly(self._files, directory)

    def _is_anothers(self, directory: int) -> bool:
        """Whether there are results, but no lock."""
        names = self._files.names(directory)
        return LOCK_NAME not in names and RESULTS_NAME in names

    def _create_shared(self, directory: int) -> int:
        # Never without the words, not even if the process dies now: that would make all of the
        # folder ours.
        with suppress(FileExistsError):
            is_synced = self._durability != "process"
            write_new(self._files, directory, LOCK_NAME, [_SHARED], is_synced=is_synced)
        return self._files.open_append(LOCK_NAME, parent=directory, create=False)

    def _is_in_place(self, handle: int) -> bool:
        """Whether the file that was locked is still the session's."""
        files = self._files
        try:
            directory = self._open_directory(create=False)
            try:
                found = files.open_file(LOCK_NAME, parent=directory)
            finally:
                close_quietly(files, directory)
        except FileNotFoundError:
            return False
        try:
            return files.status(found).identity == files.status(handle).identity
        finally:
            close_quietly(files, found)

    def _open_directory(self, *, create: bool) -> int:
        return open_chain(
            self._files, self._root, (self._name,), create=create, durability=self._durability
        )
