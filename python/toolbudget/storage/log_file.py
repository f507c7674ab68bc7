"""One JSON Lines file of a session: whose it is, and how a line is appended whole or not at all.

A file of ours begins with a header. Anything else belongs to another program and is only read. The
file is opened anew for each use, so no handle outlives a call, and each opening has a lock of its
own, which therefore also holds between the threads of one process.
"""

from __future__ import annotations

import enum
import errno
import logging
from contextlib import ExitStack, contextmanager, suppress
from typing import TYPE_CHECKING, Final

from toolbudget.errors import TranscriptError
from toolbudget.storage._existing import EXHAUSTED
from toolbudget.storage._files import close_quietly, open_chain
from toolbudget.storage.json_lines import BYTE_ORDER_MARK, JUNK, without_junk
from toolbudget.storage.line_reader import MAX_LINE_BYTES, Line, read_exactly, read_lines
from toolbudget.storage.records import HEADER_PREFIX, is_header

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from toolbudget.storage._files import Durability, FileSystem, Status
    from toolbudget.storage._filesystem import Identity

__all__ = ["LockedFile", "LogFile", "Owner", "explained"]

_logger: Final = logging.getLogger("toolbudget")

_BEGINNING_BYTES: Final = 4096
# A file that others keep replacing between opening and locking it is given up after so many tries.
_MAX_REOPENINGS: Final = 32


class Owner(enum.Enum):
    """Who a file belongs to."""

    NOBODY = "missing, empty, or nothing but NULs and blanks"
    US = "begins with our header"
    ANOTHER = "begins with something else"


@contextmanager
def explained(action: str, path: Path) -> Iterator[None]:
    """Turn an error of the operating system into one that says what was tried, and where.

    Raises:
        TranscriptError: In place of an ``OSError``, or of the ``ValueError`` for an unusable path.
    """
    try:
        yield
    except (OSError, ValueError) as error:
        raise TranscriptError(f"cannot {action} transcript {path}: {_reason(error)}") from error


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

    @contextmanager
    def locked(self) -> Iterator[LockedFile]:
        """Open for appending, made if missing, and hold its lock; waits for other holders.

        Raises:
            TranscriptError: It cannot be opened, made or locked, or is no regular file.
        """
        # One stack from the first handle to the last use: whatever interrupts this, even Ctrl-C,
        # what was opened is closed, and with it the lock is given back.
        with ExitStack() as cleanup:
            with explained("lock", self.path):
                locked = self._open_locked(cleanup)
            yield locked

    def identity(self) -> Identity | None:
        """Which file it is; ``None`` if there is none.

        Raises:
            TranscriptError: It cannot be opened or is no regular file.
        """
        with explained("open", self.path):
            return self._identity_at_path()

    def exists(self) -> bool:
        """Whether anything has this path, be it no regular file."""
        with explained("look at", self.path), ExitStack() as cleanup:
            try:
                directory = self._open_directory(create=False, cleanup=cleanup)
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
        with explained("look at", self.path), ExitStack() as cleanup:
            try:
                self._open_directory(create=False, cleanup=cleanup)
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
            return _find_owner(self.files, handle)

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
            with ExitStack() as cleanup:
                directory = self._open_directory(create=False, cleanup=cleanup)
                self.sync(handle, self.files.status(handle).identity, directory=directory)
        except OSError as error:
            _logger.warning("cannot sync transcript %s: %s", self.path, _reason(error))

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
        with ExitStack() as cleanup:
            try:
                directory = self._open_directory(create=False, cleanup=cleanup)
            except (FileNotFoundError, NotADirectoryError):
                # Something else in the place of a directory, a link too, holds no file of ours.
                return None
            try:
                handle = self.files.open_file(self.path.name, parent=directory)
            except FileNotFoundError:
                return None
            with ExitStack() as on_failure:
                on_failure.callback(close_quietly, self.files, handle)
                self._require_regular(handle)
                on_failure.pop_all()
            return handle

    def _open_locked(self, cleanup: ExitStack) -> LockedFile:
        for _ in range(_MAX_REOPENINGS):
            directory = self._open_directory(create=True, cleanup=cleanup)
            handle = self.files.open_append(self.path.name, parent=directory, create=True)
            cleanup.callback(close_quietly, self.files, handle)
            status = self._require_regular(handle)
            cleanup.callback(_unlock_quietly, self.files, handle)
            self.files.lock(handle, exclusive=True)
            # While this waited for the lock the file may have been moved away or replaced.
            identity = status.identity
            if self._identity_at_path() == identity:
                return LockedFile(self, handle, identity, directory)
            cleanup.close()
        raise OSError(errno.EBUSY, "file keeps being replaced")

    def _open_directory(self, *, create: bool, cleanup: ExitStack) -> int:
        directory = open_chain(
            self.files,
            self._anchor,
            self._directories,
            create=create,
            durability=self.durability,
            sync_existing=create and not self._has_synced_directories,
        )
        cleanup.callback(close_quietly, self.files, directory)
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


class LockedFile:
    """A file of ours that nobody else appends to as long as this is held."""

    def __init__(
        self,
        log_file: LogFile,
        handle: int,
        identity: Identity,
        directory: int,
    ) -> None:
        self.identity = identity
        self.ambiguous: OSError | None = None
        """Why a record that stands in the file may not outlive a power loss."""
        self._log_file = log_file
        self._files = log_file.files
        self._handle = handle
        self._directory = directory

    def owner(self) -> Owner:
        """Whose file this is at the moment.

        Raises:
            TranscriptError: It cannot be read.
        """
        return self._log_file.owner_of(self._handle)

    def append(self, line: bytes, *, header: bytes, sync: bool) -> tuple[int, bytes]:
        """Append one line in a single write, on a line of its own, behind a header if it is first.

        The first line of a file is always synced, later ones if ``sync``, unless the durability is
        ``"process"``. If writing or syncing fails, the line is taken back; if that fails too and
        the line stands there whole, then it counts, since the next process will read it, and
        :attr:`ambiguous` says why it may not last.

        Returns:
            The position where the write began, and the bytes that were written.

        Raises:
            TranscriptError: The file belongs to another program, or the line could not be appended
                and is not in the file.
        """
        path = self._log_file.path
        if len(line) > MAX_LINE_BYTES:
            raise TranscriptError(f"record is too long for transcript {path}: {len(line)} bytes")
        owner = self.owner()
        if owner is Owner.ANOTHER:
            raise TranscriptError(f"transcript belongs to another program: {path}")
        with explained("append to", path):
            size_bytes = self._files.status(self._handle).size_bytes
            line_end = self._missing_line_end(size_bytes)
            is_first = owner is Owner.NOBODY
            data = line_end + (header if is_first else b"") + line
            return size_bytes, self._write(data, size_bytes, sync=sync or is_first)

    def _missing_line_end(self, size_bytes: int) -> bytes:
        if not size_bytes:
            return b""
        last = read_exactly(self._files, self._handle, 1, offset=size_bytes - 1)
        return b"" if last == b"\n" else b"\n"

    def _write(self, data: bytes, size_bytes: int, *, sync: bool) -> bytes:
        rest = memoryview(data)
        try:
            while rest:
                rest = rest[self._write_some(rest) :]
            if sync and self._log_file.durability != "process":
                self._log_file.sync(self._handle, self.identity, directory=self._directory)
        except OSError as error:
            # A record that lacks nothing but its line end is read as a whole one.
            is_readable = len(rest) <= 1
            if self._take_back(size_bytes, len(data)) or not is_readable:
                raise
            self.ambiguous = error
            _logger.warning(
                "record in transcript %s could neither be made durable nor be taken back: %s",
                self._log_file.path,
                _reason(error),
            )
        return data[: len(data) - len(rest)]

    def _write_some(self, data: memoryview) -> int:
        written_bytes = self._files.write(self._handle, data)
        if written_bytes <= 0:
            raise OSError(errno.EIO, "write took no bytes")
        return written_bytes

    def _take_back(self, size_bytes: int, appended_bytes: int) -> bool:
        try:
            if self._files.status(self._handle).size_bytes > size_bytes + appended_bytes:
                # A program that takes no locks has written behind this; its bytes stay.
                return False
            self._files.truncate(self._handle, size_bytes)
        except OSError:
            return False
        return True


def _find_owner(files: FileSystem, handle: int) -> Owner:
    start = _first_text_offset(files, handle)
    if start is None:
        return Owner.NOBODY
    # The first line of another program's file may be huge; it is not read at each append.
    if read_exactly(files, handle, len(HEADER_PREFIX), offset=start) != HEADER_PREFIX:
        return Owner.ANOTHER
    line = next(read_lines(files, handle, start=start, chunk_bytes=_BEGINNING_BYTES), None)
    is_ours = line is not None and line.data is not None and is_header(without_junk(line.data))
    return Owner.US if is_ours else Owner.ANOTHER


def _first_text_offset(files: FileSystem, handle: int) -> int | None:
    """Where the first line that is not blank begins; ``None`` if there is none."""
    position = 0
    while beginning := files.read(handle, _BEGINNING_BYTES, offset=position):
        position += len(beginning)
        text = beginning.lstrip(JUNK).removeprefix(BYTE_ORDER_MARK).lstrip(JUNK)
        if text:
            return position - len(text)
    return None


def _unlock_quietly(files: FileSystem, handle: int) -> None:
    # Explicitly, not only by closing: a forked child may hold a copy of the handle.
    with suppress(OSError):
        files.unlock(handle)


def _reason(error: OSError | ValueError) -> str:
    return (isinstance(error, OSError) and error.strerror) or str(error)
