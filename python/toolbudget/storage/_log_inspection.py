"""Checking the files of records of one session."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from toolbudget.errors import TranscriptError
from toolbudget.storage._findings import Item
from toolbudget.storage._log_scan import scan_lines
from toolbudget.storage._session_files import reason_of
from toolbudget.storage.log_file import LogFile, Owner
from toolbudget.storage.names import session_name

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from toolbudget.storage._files import InspectableFileSystem
    from toolbudget.storage._findings import Collector
    from toolbudget.storage._log_scan import Damage, ScannedLine
    from toolbudget.storage._references import ReferenceBook
    from toolbudget.storage._session_files import Located, SessionPlace
    from toolbudget.storage.records import ParsedRecord

__all__ = ["LogInspector", "RecordFile"]

_OUR_VERSION: Final = 1
_CODES: Final[dict[Damage, str]] = {"torn": "torn-line", "unterminated": "unterminated-line"}


@dataclass(slots=True)
class RecordFile:
    """A transcript or sidecar, as far as it was read.

    Attributes:
        path: Where it is.
        is_ours: Whether this library may write it; otherwise another program owns it.
        lines: How many lines it has.
        records: How many records of decisions count in it.
        is_unterminated: Whether its last line lacks a line end.
    """

    path: Path
    is_ours: bool
    lines: int = 0
    records: int = 0
    is_unterminated: bool = False


class LogInspector:
    """Reads files of records, and gathers the references in them.

    Args:
        place: The session.
        files: The file system.
        collector: Takes what is found.
        book: Takes the references.
        now_s: The time now, in seconds since the epoch.
        on_read: Told the number of bytes of each line read.
    """

    def __init__(
        self,
        place: SessionPlace,
        files: InspectableFileSystem,
        *,
        collector: Collector,
        book: ReferenceBook,
        now_s: float,
        on_read: Callable[[int], object],
    ) -> None:
        self._place = place
        self._files = files
        self._collector = collector
        self._book = book
        self._now_s = now_s
        self._on_read = on_read

    def inspect(self, located: Located) -> RecordFile | None:
        """Check one file; ``None`` if it is gone or cannot be read from its beginning."""
        log_file = LogFile(
            located.path, anchor=self._place.root, durability="process", files=self._files
        )
        found: RecordFile | None = None
        try:
            with log_file.reading() as handle:
                if handle is None:
                    return None
                is_ours = log_file.owner_of(handle) is not Owner.ANOTHER
                found = RecordFile(located.path, is_ours)
                is_first = True
                for line in scan_lines(log_file, handle, now_s=self._now_s):
                    if is_first and not line.is_blank:
                        is_first = False
                        self._check_header(line, located)
                    self._take(line, located, found)
        except (TranscriptError, OSError) as error:
            self._collector.add("unreadable", Item(located.path, detail=_reason(error)))
        return found

    def _take(self, line: ScannedLine, located: Located, found: RecordFile) -> None:
        found.lines = line.number
        found.is_unterminated = not line.is_terminated
        self._on_read(line.size_bytes)
        where = Item(located.path, line=line.number, offset=line.offset)
        if line.damage is not None:
            code = _CODES.get(line.damage, "damaged-line") if found.is_ours else "foreign-damage"
            self._collector.add(code, where._replace(detail=line.damage))
        if line.parsed.dropped_entries:
            code = "unusable-entry" if found.is_ours else "foreign-damage"
            detail = f"{line.parsed.dropped_entries} malformed in this line"
            self._collector.add(code, where._replace(detail=detail))
        for record in line.parsed.records:
            if not self._is_about(record, located):
                code = "other-session" if record.is_ours else "foreign-session"
                self._collector.add(code, where._replace(detail=_subject(record)))
                continue
            found.records += 1
            if record.is_ours:
                self._book.add_record(record, where)

    def _check_header(self, line: ScannedLine, located: Located) -> None:
        header = line.header
        if header is None:
            return
        where = Item(located.path, line=line.number, offset=line.offset)
        if header.version > _OUR_VERSION:
            detail = f"version {header.version}"
            self._collector.add("newer-version", where._replace(detail=detail))
        if session_name(header.session_id) != self._place.name:
            detail = f"session {header.session_id[:100]!r}"
            self._collector.add("other-header", where._replace(detail=detail))

    def _is_about(self, record: ParsedRecord, located: Located) -> bool:
        """Whether a record counts in the file where it stands."""
        if record.session_id is not None and session_name(record.session_id) != self._place.name:
            return False
        if record.agent_id is None or located.role == "sidecar":
            return True
        return located.agent_name == session_name(record.agent_id)


def _subject(record: ParsedRecord) -> str:
    session = f"session {(record.session_id or '')[:100]!r}"
    return session if record.agent_id is None else f"{session}, agent {record.agent_id[:100]!r}"


def _reason(error: TranscriptError | OSError) -> str:
    cause = error if isinstance(error, OSError) else error.__cause__
    return reason_of(cause) if isinstance(cause, OSError) else str(error)
