"""Repairing what a check of a session found, where nothing can be lost by it.

Results and records are never removed or changed. Each place is looked at again, since it may have
changed after the check, and what is not exactly as expected is left alone.
"""

from __future__ import annotations

import errno
import time
from contextlib import ExitStack, suppress
from dataclasses import replace
from typing import TYPE_CHECKING, Final, NamedTuple

from toolbudget.errors import TranscriptError
from toolbudget.storage._files import POSIX, close_quietly, write_all
from toolbudget.storage._findings import Finding
from toolbudget.storage._session_files import expected_user, open_in_session, reason_of
from toolbudget.storage.inspection import LEFTOVER_AGE_S
from toolbudget.storage.line_reader import read_exactly
from toolbudget.storage.log_file import LogFile, Owner

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from toolbudget.storage._files import Entry, InspectableFileSystem
    from toolbudget.storage.inspection import SessionPlace, SessionReport

__all__ = ["Repair", "repair_session", "without_repaired"]

_OTHERS: Final = 0o077


class Repair(NamedTuple):
    """One repair, or the attempt.

    Attributes:
        code: The kind of finding that it is about.
        path: The file or folder.
        action: What was done, or was to be done.
        error: Why it was not done.
    """

    code: str
    path: Path
    action: str
    error: str | None = None


class _LeftAloneError(Exception):
    """A place is not, or no longer, what a repair is for."""


def repair_session(
    report: SessionReport,
    *,
    files: InspectableFileSystem = POSIX,
    now_s: float | None = None,
) -> tuple[Repair, ...]:
    """Repair what can be repaired without losing anything; never raises.

    Files of the session are made private, temporary files that nobody has written for an hour are
    removed, and a last line without a line end gets one. A file that a running session has locked
    is left alone.

    Args:
        report: What the check found.
        files: The file system.
        now_s: The time now, in seconds since the epoch.

    Example:
        >>> from toolbudget import Session
        >>> from toolbudget.storage.inspection import find_sessions, inspect_session
        >>> with Session.open("sessions", "demo", durability="process") as session:
        ...     block = {"type": "tool_result", "tool_use_id": "t1", "content": "x" * 60_000}
        ...     small = session.gate(block, tool_name="Fetch")
        >>> _, [place] = find_sessions("sessions")
        >>> place.directory.chmod(0o755)
        >>> [repair.action for repair in repair_session(inspect_session(place))]
        ['mode 0755 made 0700']
    """
    now_s = time.time() if now_s is None else now_s
    repairs = _Repairs(report.place, files, now_s)
    methods: dict[str, Callable[[Path], str]] = {
        "leftover-file": repairs.remove_leftover,
        "open-permissions": repairs.make_private,
    }
    leftovers = _paths_of(report, "leftover-file")
    done = [
        _attempt(code, path, repair)
        for code, repair in methods.items()
        for path in _paths_of(report, code)
        # What is to be removed need not be made private first.
        if code == "leftover-file" or path not in leftovers
    ]
    done += [
        _attempt("unterminated-line", found.path, repairs.end_last_line)
        for found in report.record_files
        if found.is_ours and found.is_unterminated
    ]
    return tuple(done)


def without_repaired(report: SessionReport, repairs: tuple[Repair, ...]) -> SessionReport:
    """Return a report that leaves out what was repaired."""
    repaired = {(repair.code, repair.path) for repair in repairs if repair.error is None}
    # What is gone is open to nobody any more.
    repaired |= {("open-permissions", path) for code, path in repaired if code == "leftover-file"}
    remaining = []
    for finding in report.findings:
        items = tuple(
            item for item in finding.items if (finding.kind.code, item.path) not in repaired
        )
        count = finding.count - len(finding.items) + len(items)
        if count:
            remaining.append(Finding(finding.kind, count, items))
    return replace(report, findings=tuple(remaining))


def _paths_of(report: SessionReport, code: str) -> dict[Path, None]:
    """Return where findings of a kind are, each place once."""
    items = (
        item for finding in report.findings if finding.kind.code == code for item in finding.items
    )
    return dict.fromkeys(item.path for item in items)


def _attempt(code: str, path: Path, repair: Callable[[Path], str]) -> Repair:
    try:
        return Repair(code, path, repair(path))
    except BlockingIOError:
        reason = "it is in use"
    except OSError as error:
        reason = reason_of(error)
    except (_LeftAloneError, TranscriptError) as error:
        reason = str(error)
    return Repair(code, path, "left as it is", reason)


class _Repairs:
    """The single repairs; each returns what it did, or raises."""

    def __init__(self, place: SessionPlace, files: InspectableFileSystem, now_s: float) -> None:
        self._place = place
        self._files = files
        self._now_s = now_s
        self._user: int | None = None
        with suppress(OSError):
            self._user = expected_user(place, files)

    def make_private(self, path: Path) -> str:
        """Take every right of others away."""
        with ExitStack() as cleanup:
            parent = self._open_parent(path, cleanup)
            entry = self._look_at_own(path, parent)
            is_directory = entry.kind == "directory"
            open_entry = self._files.open_directory if is_directory else self._files.open_file
            handle = open_entry(path.name, parent=parent)
            cleanup.callback(close_quietly, self._files, handle)
            self._require_same(handle, entry)
            mode = entry.mode & ~_OTHERS
            self._files.change_mode(handle, mode)
            return f"mode {entry.mode:04o} made {mode:04o}"

    def remove_leftover(self, path: Path) -> str:
        """Remove a temporary file that nobody has written for an hour and nobody has locked."""
        with ExitStack() as cleanup:
            parent = self._open_parent(path, cleanup)
            entry = self._look_at_own(path, parent)
            if self._now_s - entry.modified_s <= LEFTOVER_AGE_S:
                raise _LeftAloneError("it has been written since")
            handle = self._files.open_file(path.name, parent=parent)
            cleanup.callback(close_quietly, self._files, handle)
            self._require_same(handle, entry)
            self._lock_where_possible(handle)
            self._files.unlink(path.name, parent=parent)
            return f"removed ({entry.size_bytes} bytes)"

    def end_last_line(self, path: Path) -> str:
        """Do what the next append would do first: put a line end behind the last line."""
        log_file = LogFile(path, anchor=self._place.root, durability="process", files=self._files)
        with ExitStack() as cleanup:
            parent = self._open_parent(path, cleanup)
            entry = self._look_at_own(path, parent)
            handle = self._files.open_append(path.name, parent=parent, create=False)
            cleanup.callback(close_quietly, self._files, handle)
            # Not to wait for it: whoever holds the lock ends the line by itself.
            self._files.lock(handle, exclusive=True, blocking=False)
            self._require_same(handle, entry)
            if log_file.owner_of(handle) is not Owner.US:
                raise _LeftAloneError("it belongs to another program")
            size_bytes = self._files.status(handle).size_bytes
            last = read_exactly(self._files, handle, 1, offset=max(size_bytes - 1, 0))
            if last == b"\n":
                return "line end is there already"
            write_all(self._files, handle, b"\n")
            self._files.sync_data(handle)
            return "line end added"

    def _open_parent(self, path: Path, cleanup: ExitStack) -> int:
        handle = open_in_session(path.parent, self._place, self._files)
        cleanup.callback(close_quietly, self._files, handle)
        return handle

    def _look_at_own(self, path: Path, parent: int) -> Entry:
        entry = self._files.look(path.name, parent=parent)
        if entry.kind not in {"file", "directory"}:
            raise _LeftAloneError(f"it has become a {entry.kind}")
        if entry.owner != self._user:
            raise _LeftAloneError("it belongs to another user")
        return entry

    def _require_same(self, handle: int, entry: Entry) -> None:
        """Make sure that what was opened is what was looked at."""
        status = self._files.status(handle)
        if (status.device, status.inode) != (entry.device, entry.inode):
            raise _LeftAloneError("it has been replaced meanwhile")

    def _lock_where_possible(self, handle: int) -> None:
        try:
            self._files.lock(handle, exclusive=True, blocking=False)
        except OSError as error:
            # Other errors are those of file systems without locks.
            if error.errno in {errno.EWOULDBLOCK, errno.EAGAIN}:
                raise
