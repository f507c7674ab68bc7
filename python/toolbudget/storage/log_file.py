"""One JSON Lines file of a session: how it is opened, locked and synced, and whose it is.

A file of ours begins with a header. Anything else belongs to another program and is only read. The
file is opened anew for each use, so no handle outlives a call, and each opening has a lock of its
own, which therefore also holds between the threads of one process.
"""

from __future__ import annotations

import errno
import logging
from contextlib import contextmanager, suppress
from typing import TYPE_CHECKING, Final

from toolbudget.storage._existing import EXHAUSTED
from toolbudget.storage._explained import explained, reason_of_failure
from toolbudget.storage._files import close_quietly, open_chain
from toolbudget.storage._holding import Holding, hold
from toolbudget.storage._locked_file import LockedFile
from toolbudget.storage._log_owner import Owner, find_owner
from toolbudget.storage.line_reader import Line, read_lines

if TYPE_CHECKING:
    from collections.abc import Generator, Iterator
    from pathlib import Path

    from toolbudget.storage._files import Durability, FileSystem, Status
    from toolbudget.storage._filesystem import Identity

__all__ = ["LockedFile", "LogFile", "Owner", "explained"]

_logger: Final = logging.getLogger("toolbudget")

# A file that others keep replacing between opening and locking it is given up after so many tries.
_MAX_REOPENINGS: Final = 32


class _ForeignError(Exception):
    """The file belongs to another program."""


class LogFile:
    """Where one file is, and how it is opened, locked and synced."""

    def __init__(
        self, path: Path, *, anchor: Path, durability: Durability, files: FileSystem
    ) -> None:
        self.path = path
        self.files = files
        self.durability = durability
        self._anchor = str(anchor)
        self._directories = path.parent.relative_to(anchor).parts
        self._has_synced_directories = False
        self._synced_identity: Identity | None = None

    @contextmanager
    def reading(self) -> Iterator[int | None]:
        """Open for reading; ``None`` if there is no such file.

        Raises:
            TranscriptError: It cannot be opened or is no regular file.
        """
        with explained("open", self.path):
            handle = self._open_readable()
        try:
            yield handle
        finally:
            if handle is not None:
                close_quietly(self.files, handle)

    def hold(self) -> Generator[LockedFile, None, None]:
        """Yield it locked, see :func:`~toolbudget.storage._holding.hold`; waits for other holders.

        Raises:
            TranscriptError: It cannot be opened, made or locked, or is no regular file.
        """
        return hold(self.files, self.lock)

    def lock(self, holding: Holding) -> LockedFile:
        """Open for appending, made if missing, and lock it; waits for other holders.

        Raises:
            TranscriptError: It cannot be opened, made or locked, or is no regular file.
        """
        with explained("lock", self.path):
            return self._open_locked(holding)

    def lock_unless_foreign(self, holding: Holding) -> LockedFile | None:
        """Do what :meth:`lock` does, but leave another program's file alone and give ``None``.

        Raises:
            TranscriptError: It cannot be opened, made or locked, or is no regular file.
        """
        held = len(holding)
        with suppress(_ForeignError), explained("lock", self.path):
            return self._open_locked(holding, refuses_foreign=True)
        holding.release(down_to=held)
        return None

    def identity(self) -> Identity | None:
        """Which file it is; ``None`` if there is none.

        Raises:
            TranscriptError: It cannot be opened or is no regular file.
        """
        with explained("open", self.path):
            return self._identity_at_path()

    def exists(self) -> bool:
        """Whether anything has this path, be it no regular file."""
        with explained("look at", self.path), Holding(self.files) as holding:
            try:
                directory = self._open_directory(create=False, holding=holding)
            except (FileNotFoundError, NotADirectoryError):
                return False
            try:
                handle = self.files.open_file(self.path.name, parent=directory)
            except FileNotFoundError:
                return False
            except OSError as error:
                # These leave open whether there is such a file at all.
                if error.errno in EXHAUSTED | {errno.ESTALE, errno.EIO}:
                    raise
                return True  # a link, a socket, or nothing that may be read
            close_quietly(self.files, handle)
            return True

    def has_directory(self) -> bool:
        """Whether the directory of this file exists."""
        with explained("look at", self.path), Holding(self.files) as holding:
            try:
                self._open_directory(create=False, holding=holding)
            except FileNotFoundError:
                return False
            except NotADirectoryError:
                return True
        return True

    def owner(self) -> Owner:
        """Whose file this is at the moment.

        Raises:
            TranscriptError: It cannot be read or is no regular file.
        """
        with self.reading() as handle:
            return Owner.NOBODY if handle is None else self.owner_of(handle)

    def owner_of(self, handle: int) -> Owner:
        """Whose file an open handle stands for.

        Raises:
            TranscriptError: It cannot be read.
        """
        with explained("read", self.path):
            return find_owner(self.files, handle)

    def lines(self, handle: int, *, start: int = 0, end: int | None = None) -> Iterator[Line]:
        """Yield the lines of an open file.

        Raises:
            TranscriptError: A read failed.
        """
        with explained("read", self.path):
            yield from read_lines(self.files, handle, start=start, end=end)

    def settled_size_bytes(self, handle: int) -> int | None:
        """The size at a moment in which nobody appends; ``None`` where files cannot be locked.

        Without this a record may be read that its writer is about to take back.
        """
        try:
            self.files.lock(handle, exclusive=False)
            try:
                return self.files.status(handle).size_bytes
            finally:
                self.files.unlock(handle)
        except OSError:
            return None

    def sync_adopted(self, handle: int) -> None:
        """Make durable what another process wrote, who may have died before it did so.

        A failure changes nothing: the records stand in the file and the next process reads them.
        """
        if self.durability == "process":
            return
        try:
            with Holding(self.files) as holding:
                directory = self._open_directory(create=False, holding=holding)
                self.sync(handle, self.files.status(handle).identity, directory=directory)
        except OSError as error:
            _logger.warning("cannot sync transcript %s: %s", self.path, reason_of_failure(error))

    def sync(self, handle: int, identity: Identity, *, directory: int) -> None:
        """Make the file durable; its directory entry too, unless this instance has done so before.

        Raises:
            OSError: A sync failed.
        """
        if self.durability == "full":
            self.files.sync(handle)
        else:
            self.files.sync_data(handle)
        if identity != self._synced_identity:
            self.files.sync_directory(directory)
            self._synced_identity = identity

    def _open_readable(self) -> int | None:
        with Holding(self.files) as holding:
            try:
                directory = self._open_directory(create=False, holding=holding)
            except (FileNotFoundError, NotADirectoryError):
                # Something else in the place of a directory, a link too, holds no file of ours.
                return None
            try:
                handle = self.files.open_file(self.path.name, parent=directory)
            except FileNotFoundError:
                return None
            holding.add(handle)
            self._require_regular(handle)
            return holding.pop()

    def _open_locked(self, holding: Holding, *, refuses_foreign: bool = False) -> LockedFile:
        held = len(holding)
        for _ in range(_MAX_REOPENINGS):
            directory = self._open_directory(create=True, holding=holding)
            handle = self._open_append(directory, refuses_foreign=refuses_foreign)
            holding.add(handle, gets_lock=True)
            identity = self._require_regular(handle).identity
            if refuses_foreign:
                self._refuse_foreign(handle)
            self.files.lock(handle, exclusive=True)
            # While this waited for the lock the file may have been moved away or replaced.
            if self._identity_in(directory) == identity:
                if refuses_foreign:
                    self._refuse_foreign(handle)
                return LockedFile(self, handle, identity, directory)
            holding.release(down_to=held)
        raise OSError(errno.EBUSY, "file keeps being replaced")

    def _open_append(self, directory: int, *, refuses_foreign: bool) -> int:
        try:
            return self.files.open_append(self.path.name, parent=directory, create=True)
        except OSError as error:
            # Another program's file need not be one that may be written.
            if refuses_foreign and self.owner() is Owner.ANOTHER:
                raise _ForeignError from error
            raise

    def _refuse_foreign(self, handle: int) -> None:
        if find_owner(self.files, handle) is Owner.ANOTHER:
            raise _ForeignError

    def _identity_in(self, directory: int) -> Identity | None:
        try:
            return self.files.look(self.path.name, parent=directory).identity
        except FileNotFoundError:
            return None

    def _open_directory(self, *, create: bool, holding: Holding) -> int:
        directory = open_chain(
            self.files,
            self._anchor,
            self._directories,
            create=create,
            durability=self.durability,
            sync_existing=create and not self._has_synced_directories,
        )
        holding.add(directory)
        self._has_synced_directories = self._has_synced_directories or create
        return directory

    def _require_regular(self, handle: int) -> Status:
        status = self.files.status(handle)
        if not status.is_regular:
            raise OSError(errno.EINVAL, "not a regular file")
        return status

    def _identity_at_path(self) -> Identity | None:
        handle = self._open_readable()
        if handle is None:
            return None
        try:
            return self.files.status(handle).identity
        finally:
            close_quietly(self.files, handle)
