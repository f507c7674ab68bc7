"""A transcript: an append-only JSON Lines file of messages and records."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from toolbudget.errors import ConfigError
from toolbudget.storage._files import POSIX
from toolbudget.storage._paths import path_from_root
from toolbudget.storage.json_lines import UNREADABLE, decode_line
from toolbudget.storage.log_file import LogFile, Owner
from toolbudget.storage.records import (
    SKIPPED,
    encode_record,
    header_line,
    parse_foreign_line,
    parse_line,
)

if TYPE_CHECKING:
    import os
    from collections.abc import Iterator, Mapping

    from toolbudget.storage._files import Durability, FileSystem
    from toolbudget.storage.records import ParsedRecord

__all__ = ["Transcript"]

# No set: what another program wrote there may be a list, which has no hash.
_MESSAGE_TYPES: Final = ("user", "assistant")


class Transcript:
    """Reads any transcript, and appends to those that this package has begun.

    No file stays open between calls, so one instance serves several threads, and several processes
    may append to the same file. Reading streams: memory does not grow with the file.

    Args:
        path: The file; it and its directories are made at the first append.
        session_id: Whose records :meth:`records` gives, and what the header of a new file names.
            ``None``: the records of all sessions; the header names the session of the first record,
            or else the file.
        durability: What an appended record outlives.
        files: The file system.
        anchor: The directory below which no symbolic link is followed, the directory of the file
            by default.

    Raises:
        ConfigError: The path cannot be used, or is not below the anchor.

    Example:
        >>> transcript = Transcript("s1.jsonl")
        >>> transcript.append({"type": "user", "message": {"role": "user", "content": "hi"}})
        >>> [record["message"]["content"] for record in transcript.messages()]
        ['hi']
    """

    def __init__(
        self,
        path: str | os.PathLike[str],
        *,
        session_id: str | None = None,
        durability: Durability = "full",
        files: FileSystem = POSIX,
        anchor: str | os.PathLike[str] | None = None,
    ) -> None:
        self.path = path_from_root(path, "path (argument)", kind="file")
        self.session_id = session_id
        above = self.path.parent if anchor is None else anchor
        top = path_from_root(above, "anchor (argument)", kind="folder")
        if not self.path.parent.is_relative_to(top):
            raise ConfigError(f"transcript must be below {top}: {self.path}")
        self._log_file = LogFile(self.path, anchor=top, durability=durability, files=files)
        self._skipped_lines = 0

    @property
    def skipped(self) -> int:
        """Lines that the last complete reading had to skip, or could read in part only."""
        return self._skipped_lines

    def append(self, record: Mapping[str, object]) -> None:
        """Append one record as a line of its own, durably.

        Raises:
            TranscriptError: The record is no JSON, or the file belongs to another program or cannot
                be written. The record is not in the file.
        """
        line = encode_record(record)
        header = header_line(self._header_session_id(record))
        lock = self._log_file.hold()
        try:
            next(lock).append(line, header=header, sync=True)
        finally:
            lock.close()

    def records(self) -> Iterator[Mapping[str, object]]:
        """Yield the ``content-replacement`` records that can be trusted to be whole.

        Those with a ``check`` have been verified by it; those without are another program's.

        Raises:
            TranscriptError: The file cannot be read or is no regular file; a missing one is empty.
        """
        skipped_lines = 0
        for data, is_foreign in self._lines():
            parse = parse_foreign_line if is_foreign else parse_line
            parsed = SKIPPED if data is None else parse(data)
            skipped_lines += parsed.skipped_lines
            yield from (record.raw for record in parsed.records if self._is_wanted(record))
        self._skipped_lines = skipped_lines

    def messages(self) -> Iterator[Mapping[str, object]]:
        """Yield the records of user and assistant messages, every number exactly as written.

        Raises:
            TranscriptError: The file cannot be read or is no regular file; a missing one is empty.
        """
        skipped_lines = 0
        for data, _ in self._lines():
            decoded = UNREADABLE if data is None else decode_line(data, exact_integers=True)
            skipped_lines += decoded.is_damaged
            values = (found.value for found in decoded.objects)
            yield from (value for value in values if value.get("type") in _MESSAGE_TYPES)
        self._skipped_lines = skipped_lines

    def _lines(self) -> Iterator[tuple[bytes | None, bool]]:
        """Yield the lines of the file, ``None`` for one too long, and whether it is foreign."""
        with self._log_file.reading() as handle:
            if handle is None:
                return
            is_foreign = self._log_file.owner_of(handle) is Owner.ANOTHER
            for line in self._log_file.lines(handle):
                yield line.data, is_foreign

    def _is_wanted(self, record: ParsedRecord) -> bool:
        return self.session_id is None or record.session_id in {None, self.session_id}

    def _header_session_id(self, record: Mapping[str, object]) -> str:
        session_id = record.get("sessionId") if self.session_id is None else self.session_id
        return session_id if isinstance(session_id, str) else self.path.stem
