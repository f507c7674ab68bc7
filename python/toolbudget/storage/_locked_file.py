"""A transcript while its lock is held: how a line is appended whole or not at all."""

from __future__ import annotations

import errno
import logging
from typing import TYPE_CHECKING, Final

from toolbudget.errors import TranscriptError
from toolbudget.storage._explained import explained, reason_of_failure
from toolbudget.storage._files import is_surely_missing
from toolbudget.storage._log_owner import Owner
from toolbudget.storage.line_reader import MAX_LINE_BYTES, read_exactly

if TYPE_CHECKING:
    from toolbudget.storage._filesystem import Identity
    from toolbudget.storage.log_file import LogFile

__all__ = ["LockedFile"]

_logger: Final = logging.getLogger("toolbudget")


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
        self.handle = handle
        """Open for reading and appending, as long as this is held."""
        self.ambiguous: OSError | None = None
        """Why a record that stands in the file may not outlive a power loss."""
        self._log_file = log_file
        self._files = log_file.files
        self._directory = directory

    def owner(self) -> Owner:
        """Whose file this is at the moment.

        Raises:
            TranscriptError: It cannot be read.
        """
        return self._log_file.owner_of(self.handle)

    def has_surely_no(self, path: str) -> bool:
        """Tell that nothing stands at a path below the file's directory; ``False`` says nothing."""
        return is_surely_missing(self._files, path, parent=self._directory)

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
            size_bytes = self._files.status(self.handle).size_bytes
            line_end = self._missing_line_end(size_bytes)
            is_first = owner is Owner.NOBODY
            data = line_end + (header if is_first else b"") + line
            return size_bytes, self._write(data, size_bytes, sync=sync or is_first)

    def _missing_line_end(self, size_bytes: int) -> bytes:
        if not size_bytes:
            return b""
        last = read_exactly(self._files, self.handle, 1, offset=size_bytes - 1)
        return b"" if last == b"\n" else b"\n"

    def _write(self, data: bytes, size_bytes: int, *, sync: bool) -> bytes:
        rest = memoryview(data)
        try:
            while rest:
                rest = rest[self._write_some(rest) :]
            if sync and self._log_file.durability != "process":
                self._log_file.sync(self.handle, self.identity, directory=self._directory)
        except OSError as error:
            # A record that lacks nothing but its line end is read as a whole one.
            is_readable = len(rest) <= 1
            if self._take_back(size_bytes, len(data)) or not is_readable:
                raise
            self.ambiguous = error
            _logger.warning(
                "record in transcript %s could neither be made durable nor be taken back: %s",
                self._log_file.path,
                reason_of_failure(error),
            )
        return data[: len(data) - len(rest)]

    def _write_some(self, data: memoryview) -> int:
        written_bytes = self._files.write(self.handle, data)
        if written_bytes <= 0:
            raise OSError(errno.EIO, "write took no bytes")
        return written_bytes

    def _take_back(self, size_bytes: int, appended_bytes: int) -> bool:
        try:
            if self._files.status(self.handle).size_bytes > size_bytes + appended_bytes:
                # A program that takes no locks has written behind this; its bytes stay.
                return False
            self._files.truncate(self.handle, size_bytes)
        except OSError:
            return False
        return True
