"""Checking a session on disk: what is damaged, missing, or not as private as it should be.

Reading only: takes no lock, makes nothing and changes nothing, so a session may be in use
meanwhile. What stands on disk is taken for hostile: no link is followed, no FIFO or device is
opened, and nothing that a record says is ever used as a path.
"""

from __future__ import annotations

import time
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from toolbudget.storage._files import POSIX, close_quietly
from toolbudget.storage._findings import Collector, Finding, Item, Kind, Severity
from toolbudget.storage._log_inspection import LogInspector, RecordFile
from toolbudget.storage._references import ReferenceBook, ReferenceCheck
from toolbudget.storage._session_files import (
    DIRECTORY_ROLES,
    RECORD_ROLES,
    Located,
    SessionPlace,
    entries_of,
    expected_user,
    reason_of,
)
from toolbudget.storage._session_places import find_sessions

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from pathlib import Path

    from toolbudget.storage._files import InspectableFileSystem

__all__ = [
    "LEFTOVER_AGE_S",
    "Finding",
    "Item",
    "Kind",
    "RecordFile",
    "SessionPlace",
    "SessionReport",
    "Severity",
    "find_sessions",
    "inspect_root",
    "inspect_session",
]

LEFTOVER_AGE_S: Final = 3600.0
"""A temporary file that nobody has written for so long was left over."""

_DIRECTORY_MODE: Final = 0o700
_FILE_MODE: Final = 0o600
_OTHERS: Final = 0o077
_OTHERS_WRITE: Final = 0o022
_STICKY: Final = 0o1000


@dataclass(frozen=True, slots=True)
class SessionReport:
    """What a check of one session found.

    Attributes:
        place: Which session.
        record_files: Its transcripts and sidecar, as far as they could be read.
        replacements: Replaced results that its records name.
        stored_files: Files in its folder of results.
        checked_files: How many of those that records name were read and compared.
        checked_bytes: How many bytes they have.
        findings: What was found, the most serious first.
    """

    place: SessionPlace
    record_files: tuple[RecordFile, ...]
    replacements: int
    stored_files: int
    checked_files: int
    checked_bytes: int
    findings: tuple[Finding, ...]

    def count(self, severity: Severity) -> int:
        """How many findings are of a severity."""
        return sum(finding.kind.severity == severity for finding in self.findings)

    @property
    def is_healthy(self) -> bool:
        """Whether there are no findings, or only notes."""
        return all(finding.kind.severity == "note" for finding in self.findings)


def inspect_session(
    place: SessionPlace,
    *,
    files: InspectableFileSystem = POSIX,
    now_s: float | None = None,
    progress: Callable[[int], Callable[[int], object]] | None = None,
) -> SessionReport:
    """Check one session; never raises for anything that is wrong with it.

    Args:
        place: Which session.
        files: The file system.
        now_s: The time now, in seconds since the epoch.
        progress: Called with the number of bytes that will be read at most; what it returns is
            called with the size of each piece read.

    Example:
        >>> from toolbudget import Session
        >>> with Session.open("sessions", "demo", durability="process") as session:
        ...     block = {"type": "tool_result", "tool_use_id": "t1", "content": "x" * 60_000}
        ...     small = session.gate(block, tool_name="Fetch")
        >>> _, [place] = find_sessions("sessions")
        >>> inspect_session(place).is_healthy
        True
        >>> (place.directory / "tool-results" / "t1.txt").unlink()
        >>> [finding.kind.code for finding in inspect_session(place).findings]
        ['missing-file']
    """
    collector = Collector()

    def on_failure(path: Path, error: OSError) -> None:
        collector.add("unreadable", Item(path, detail=reason_of(error)))

    # The names come before the records: what is stored meanwhile is then no file without a record.
    entries = list(entries_of(place, files, on_failure))
    on_read = _ignore if progress is None else progress(_total_bytes(entries))
    now_s = time.time() if now_s is None else now_s
    book = ReferenceBook(place, collector)
    logs = LogInspector(place, files, collector=collector, book=book, now_s=now_s, on_read=on_read)
    record_files = tuple(
        record_file
        for located in entries
        if located.role in RECORD_ROLES and located.is_in_place
        if (record_file := logs.inspect(located)) is not None
    )
    _check_record_files(place, record_files, collector)
    references = ReferenceCheck(place, files, collector, on_read)
    for reference in book:
        references.check(reference)
    references.finish()
    try:
        user = expected_user(place, files)
    except OSError as error:
        on_failure(place.root, error)
    else:
        judge = _EntryJudge(place, record_files, book.names(), collector, user=user, now_s=now_s)
        for located in entries:
            judge.judge(located)
    _check_that_there_are_records(record_files, entries, collector)
    return SessionReport(
        place=place,
        record_files=record_files,
        replacements=book.replacements,
        stored_files=sum(located.role == "result" for located in entries),
        checked_files=references.checked_files,
        checked_bytes=references.checked_bytes,
        findings=collector.findings(),
    )


def inspect_root(root: Path, *, files: InspectableFileSystem = POSIX) -> tuple[Finding, ...]:
    """Check the folder of all sessions itself.

    Raises:
        OSError: It cannot be looked at.
    """
    collector = Collector()
    handle = files.open_root(str(root))
    try:
        mode = files.status(handle).mode
    finally:
        close_quietly(files, handle)
    # In a sticky folder nobody can replace what belongs to others.
    if mode & _OTHERS_WRITE and not mode & _STICKY:
        collector.add("writable-root", Item(root, detail=f"mode {mode:04o}"))
    return collector.findings()


class _EntryJudge:
    """Judges what stands under the names of a session: kind, owner, permissions, age, purpose."""

    def __init__(
        self,
        place: SessionPlace,
        record_files: Sequence[RecordFile],
        recorded_names: set[str],
        collector: Collector,
        *,
        user: int,
        now_s: float,
    ) -> None:
        self._collector = collector
        self._recorded_names = recorded_names
        self._now_s = now_s
        self._foreign = {found.path for found in record_files if not found.is_ours}
        self._is_shared = place.transcript in self._foreign
        self._user = user

    def judge(self, located: Located) -> None:
        """Judge one entry."""
        path, role, entry = located
        if role == "unknown":
            self._collector.add("unknown-file", Item(path, detail=entry.kind))
            return
        if not located.is_in_place:
            self._collector.add("wrong-kind", Item(path, detail=entry.kind))
            return
        if role == "result" and path.name not in self._recorded_names:
            self._collector.add("unrecorded-file", Item(path))
            if self._is_shared:
                # It may be the other program's.
                return
        if role == "temporary" and self._now_s - entry.modified_s > LEFTOVER_AGE_S:
            self._collector.add("leftover-file", Item(path))
        if path in self._foreign:
            return
        if entry.owner != self._user:
            self._collector.add("other-owner", Item(path, detail=f"user {entry.owner}"))
        self._judge_mode(located)

    def _judge_mode(self, located: Located) -> None:
        wanted = _DIRECTORY_MODE if located.role in DIRECTORY_ROLES else _FILE_MODE
        mode = located.entry.mode
        item = Item(located.path, detail=f"mode {mode:04o}")
        if mode & _OTHERS:
            is_theirs = self._is_shared and located.role in {"folder", "subagents"}
            self._collector.add("shared-folder" if is_theirs else "open-permissions", item)
        elif mode & wanted != wanted and located.role in DIRECTORY_ROLES | RECORD_ROLES:
            self._collector.add("narrow-permissions", item)


def _check_record_files(
    place: SessionPlace, record_files: Sequence[RecordFile], collector: Collector
) -> None:
    ours = {found.path for found in record_files if found.is_ours and found.records}
    sidecars = [path for path in ours if path.parent == place.directory]
    if place.transcript in ours and sidecars:
        collector.add("two-record-files", Item(sidecars[0]))


def _check_that_there_are_records(
    record_files: Sequence[RecordFile], entries: Sequence[Located], collector: Collector
) -> None:
    # Other programs store in the same folder, and keep no records of ours.
    if any(found.records or not found.is_ours for found in record_files):
        return
    if collector.has("unreadable"):
        return  # there may be some
    for located in entries:
        if located.role == "result":
            collector.add("no-records", Item(located.path))


def _total_bytes(entries: Sequence[Located]) -> int:
    return sum(
        located.entry.size_bytes
        for located in entries
        if located.role in RECORD_ROLES | {"result"} and located.is_in_place
    )


def _ignore(_size_bytes: int) -> None:
    """Be told, and do nothing."""
