"""What the sessions below a root take on disk, how old they are, and which one others need.

Only reads: one session after the other, so that a root of any size is looked at in the memory of
one. Nothing but a lock that is given back at once shows that anybody looked.
"""

from __future__ import annotations

import errno
from contextlib import suppress
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final

from toolbudget.errors import TranscriptError
from toolbudget.storage._files import POSIX, close_quietly
from toolbudget.storage._session_files import RECORD_ROLES, entries_of, open_in_session
from toolbudget.storage._session_places import find_sessions
from toolbudget.storage.json_lines import MARKER
from toolbudget.storage.log_file import LogFile, Owner
from toolbudget.storage.names import session_name
from toolbudget.storage.records import parse_line
from toolbudget.storage.session_lock import LOCK_NAME

if TYPE_CHECKING:
    import os
    from collections.abc import Iterator
    from pathlib import Path

    from toolbudget.storage._files import InspectableFileSystem
    from toolbudget.storage._session_files import Located, Role, SessionPlace

__all__ = ["SessionSummary", "is_in_use", "summaries", "summary_of"]

_INHERITED: Final = b'"inheritedFrom"'
_OWN_ROLES: Final[frozenset[Role]] = frozenset({"lock", "removed"})


@dataclass(frozen=True, slots=True)
class SessionSummary:
    """One session on disk.

    Attributes:
        place: Which session.
        stored_files: Files in its folder of results.
        stored_bytes: How many bytes they have.
        record_bytes: Bytes of its transcripts and records, those of sub-agents too; a transcript
            that another program owns is not counted.
        other_bytes: Bytes of everything else in its folder.
        newest_s: When the youngest of its files, or its transcript, was written, or the session
            was forked, in seconds since the epoch; 0 if it has no file at all.
        is_in_use: Whether a process holds its lock.
        is_foreign: Whether its transcript belongs to another program.
        is_ours: Whether there is anything that only this library leaves: a transcript or another
            file of records that begins with its header, or a lock that shares no folder.
        shares_results: Whether another program's results stood in its folder before its lock.
        has_unknown: Whether something stands in its folder that no session puts there.
        parents: Names of the sessions whose results its records refer to.
        failures: What could not be looked at, and why.
    """

    place: SessionPlace
    stored_files: int = 0
    stored_bytes: int = 0
    record_bytes: int = 0
    other_bytes: int = 0
    newest_s: float = 0.0
    is_in_use: bool = False
    is_foreign: bool = False
    is_ours: bool = False
    shares_results: bool = False
    has_unknown: bool = False
    parents: frozenset[str] = frozenset()
    failures: tuple[str, ...] = ()

    @property
    def total_bytes(self) -> int:
        """Bytes of everything that belongs to it."""
        return self.stored_bytes + self.record_bytes + self.other_bytes


def summaries(
    path: str | os.PathLike[str], *, files: InspectableFileSystem = POSIX
) -> Iterator[SessionSummary]:
    """Yield a summary of each session that a path stands for, by name.

    Args:
        path: A folder of sessions, or one session.
        files: The file system.

    Raises:
        ConfigError: It is neither.
        OSError: The folder cannot be looked at.

    Example:
        >>> from toolbudget import Session
        >>> with Session.open("sessions", "demo", durability="process") as session:
        ...     block = {"type": "tool_result", "tool_use_id": "t1", "content": "x" * 60_000}
        ...     small = session.gate(block, tool_name="Fetch")
        ...     [(one.place.name, one.stored_bytes, one.is_in_use) for one in summaries("sessions")]
        [('demo', 60000, True)]
    """
    _, places = find_sessions(path, files=files)
    for place in places:
        yield summary_of(place, files=files)


def summary_of(place: SessionPlace, *, files: InspectableFileSystem = POSIX) -> SessionSummary:
    """Return the summary of one session; never raises for what is wrong with it."""
    counts = _Counts()
    for located in entries_of(place, files, counts.note_failure):
        counts.add(located, place, files)
    return SessionSummary(
        place=place,
        stored_files=counts.stored_files,
        stored_bytes=counts.stored_bytes,
        record_bytes=counts.record_bytes,
        other_bytes=counts.other_bytes,
        newest_s=counts.newest_s,
        is_in_use=is_in_use(place, files=files),
        is_foreign=counts.is_foreign,
        is_ours=counts.is_ours,
        shares_results=counts.shares_results,
        has_unknown=counts.has_unknown,
        parents=frozenset(counts.parents - {place.name}),
        failures=tuple(counts.failures),
    )


def is_in_use(place: SessionPlace, *, files: InspectableFileSystem = POSIX) -> bool:
    """Tell whether a process has a session open.

    One whose lock cannot be tried for another reason than that there is none counts as in use.
    """
    try:
        directory = open_in_session(place.directory, place, files)
    except OSError as error:
        return error.errno not in {errno.ENOENT, errno.ENOTDIR, errno.ELOOP}
    try:
        handle = files.open_file(LOCK_NAME, parent=directory)
    except OSError as error:
        return error.errno != errno.ENOENT
    finally:
        close_quietly(files, directory)
    try:
        files.lock(handle, exclusive=True, blocking=False)
    except OSError:
        return True
    else:
        with suppress(OSError):
            files.unlock(handle)
        return False
    finally:
        close_quietly(files, handle)


@dataclass(slots=True)
class _Counts:
    """Adds up the entries of one session."""

    stored_files: int = 0
    stored_bytes: int = 0
    record_bytes: int = 0
    other_bytes: int = 0
    newest_s: float = 0.0
    is_foreign: bool = False
    is_ours: bool = False
    shares_results: bool = False
    has_unknown: bool = False
    parents: set[str] = field(default_factory=set)
    failures: list[str] = field(default_factory=list)

    def note_failure(self, path: Path, error: Exception) -> None:
        reason = (error.strerror if isinstance(error, OSError) else None) or str(error)
        self.failures.append(f"{path}: {reason}")

    def add(self, located: Located, place: SessionPlace, files: InspectableFileSystem) -> None:
        role, entry = located.role, located.entry
        if entry.kind == "directory" and located.is_in_place:
            return
        # That of the lock is when the session was first held, or last forked.
        self.newest_s = max(self.newest_s, entry.modified_s)
        is_file = entry.kind == "file"
        size_bytes = entry.size_bytes if is_file else 0
        self.has_unknown |= role == "unknown" or not located.is_in_place
        says_shared = role == "lock" and size_bytes > 0
        self.shares_results |= says_shared
        self.is_ours |= is_file and role in _OWN_ROLES and not says_shared
        if role in RECORD_ROLES and is_file:
            self._add_records(located, place, files)
        elif role == "result":
            self.stored_files += 1
            self.stored_bytes += size_bytes
        else:
            self.other_bytes += size_bytes

    def _add_records(
        self, located: Located, place: SessionPlace, files: InspectableFileSystem
    ) -> None:
        log_file = LogFile(located.path, anchor=place.root, durability="process", files=files)
        try:
            with log_file.reading() as handle:
                if handle is None:
                    return
                owner = log_file.owner_of(handle)
                if owner is Owner.ANOTHER:
                    self.is_foreign |= located.role == "transcript"
                    self.has_unknown |= located.role == "agent"
                    return
                self.is_ours |= owner is Owner.US
                self.record_bytes += located.entry.size_bytes
                self.parents |= _parents_in(log_file, handle)
        except (TranscriptError, OSError) as error:
            self.note_failure(located.path, error)


def _parents_in(log_file: LogFile, handle: int) -> set[str]:
    """Return the names of the sessions that records in a file inherited from."""
    parents = set()
    for line in log_file.lines(handle):
        if line.data is None or _INHERITED not in line.data or MARKER not in line.data:
            continue
        for record in parse_line(line.data).records:
            if record.is_ours and record.inherited_from is not None:
                parents.add(session_name(record.inherited_from))
    return parents
