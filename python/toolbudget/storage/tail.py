"""What has been read of a log file so far, and what is new in it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, Self

from toolbudget.storage.line_reader import read_exactly
from toolbudget.storage.log_file import Owner, explained
from toolbudget.storage.records import SKIPPED, parse_foreign_line, parse_line

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from toolbudget.storage._filesystem import Identity
    from toolbudget.storage.line_reader import Line
    from toolbudget.storage.log_file import LockedFile, LogFile
    from toolbudget.storage.records import ParsedLine, ParsedRecord

__all__ = ["Tail"]

# Our records end in a checksum, so these bytes are hardly ever the same in another file.
_SEAM_BYTES: Final = 32


class Tail:
    """Follows one log file: each reading goes on where the one before ended.

    A file that has been replaced or cut is read from its beginning again. A last line without a
    line end counts if it can be read. If only a part of it can, that part counts, and the line is
    looked at again next time, when more of it may be there; its records then come once more.

    A copy (``copy.copy``) goes on by itself, so that a reading that fails can be forgotten.
    """

    def __init__(self, log_file: LogFile) -> None:
        self.log_file = log_file
        self.has_lost_records = False
        """Whether what was read before is no longer in the file, or may not be."""
        self.holds_own_records = False
        """Whether a record with a valid checksum was read in it, or written to it, by its owner."""
        self._identity: Identity | None = None
        self.restart()

    def __copy__(self) -> Self:
        """Give a copy that goes on by itself; how it is done by default takes ten times as long."""
        copied = object.__new__(type(self))
        copied.__dict__.update(self.__dict__)
        return copied

    def restart(self) -> None:
        """Forget what has been read."""
        self.holds_own_records = False
        self._offset = 0
        self._seam = b""  # the bytes before the offset
        self._seen_size_bytes = 0  # beyond the offset if the last line is torn
        self._skipped_lines = 0
        self._dropped_entries = 0

    @property
    def skipped_lines(self) -> int:
        """Lines that could not be read, or not in full; a torn last one included."""
        return self._skipped_lines + (self._seen_size_bytes > self._offset)

    @property
    def dropped_entries(self) -> int:
        """Malformed entries of records that could be read otherwise."""
        return self._dropped_entries

    def read(self, *, wait_for_writers: bool) -> Iterator[ParsedRecord]:
        """Yield the records that are new since the last reading.

        Args:
            wait_for_writers: Look at the file only up to where it ended when nobody was appending.

        Raises:
            TranscriptError: The file cannot be read or is no regular file.
        """
        log_file = self.log_file
        with log_file.reading() as handle:
            if handle is None:
                self._begin_again()
                return
            is_foreign = log_file.owner_of(handle) is Owner.ANOTHER
            is_settled = wait_for_writers and not is_foreign
            end = log_file.settled_size_bytes(handle) if is_settled else None
            yield from self._read_open(handle, is_foreign=is_foreign, end=end)

    def read_locked(self, file: LockedFile, *, is_foreign: bool) -> Iterator[ParsedRecord]:
        """Do what :meth:`read` does while the file is locked, by the handle of the lock.

        Raises:
            TranscriptError: The file cannot be read.
        """
        return self._read_open(file.handle, is_foreign=is_foreign, end=None)

    def read_nothing(self) -> Iterator[ParsedRecord]:
        """Do what :meth:`read` does about a file that is missing."""
        self._begin_again()
        return iter(())

    def pass_over(self, written: bytes, *, start: int, identity: Identity) -> None:
        """Take note of what this process has appended, which is not to be read back.

        If something stands before it that has not been read yet, it is read together with that.
        """
        if self._identity not in {None, identity} or self._seen_size_bytes != start:
            return
        self._skipped_lines = self.skipped_lines
        self._identity = identity
        self._move(start + len(written), written)

    def _read_open(
        self, handle: int, *, is_foreign: bool, end: int | None
    ) -> Iterator[ParsedRecord]:
        with explained("read", self.log_file.path):
            size_bytes, continues = self._follow(handle)
        if not continues:
            self._begin_again()
        if size_bytes == self._offset:
            self._seen_size_bytes = size_bytes
            return
        parse = parse_foreign_line if is_foreign else parse_line
        has_ours = False
        for record in self._read_new(handle, parse, end):
            has_ours = has_ours or record.is_ours
            yield record
        if has_ours:
            self.log_file.sync_adopted(handle)

    def _begin_again(self) -> None:
        self.has_lost_records |= self._offset > 0
        self.restart()

    def _follow(self, handle: int) -> tuple[int, bool]:
        """Tell the file's size, and whether it is the one read before with all of that in it."""
        files = self.log_file.files
        status = files.status(handle)
        before, self._identity = self._identity, status.identity
        if before != self._identity or status.size_bytes < self._offset:
            return status.size_bytes, False
        seam_offset = self._offset - len(self._seam)
        seam = read_exactly(files, handle, len(self._seam), offset=seam_offset)
        return status.size_bytes, seam == self._seam

    def _read_new(
        self, handle: int, parse: Callable[[bytes], ParsedLine], end: int | None
    ) -> Iterator[ParsedRecord]:
        self._seen_size_bytes = self._offset
        for line in self.log_file.lines(handle, start=self._offset, end=end):
            parsed = SKIPPED if line.data is None else parse(line.data)
            if _is_torn(line, parsed):
                self._seen_size_bytes = line.end_offset
            else:
                self._skipped_lines += parsed.skipped_lines
                self._dropped_entries += parsed.dropped_entries
                line_end = b"\n" if line.is_terminated else b""
                self._move(line.end_offset, (line.data or b"")[-_SEAM_BYTES:] + line_end)
            yield from parsed.records

    def _move(self, offset: int, line: bytes) -> None:
        self._offset = self._seen_size_bytes = offset
        self._seam = line[-_SEAM_BYTES:]


def _is_torn(line: Line, parsed: ParsedLine) -> bool:
    """Whether a line may still be completed; one that is too long is not read again for that."""
    return not line.is_terminated and parsed.skipped_lines > 0 and line.data is not None
