"""The replaced results of one session on disk, as its records name them.

Only reads, takes no lock, and may look at a session in use.
"""

from __future__ import annotations

import time
from contextlib import suppress
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Final, NamedTuple

from toolbudget.errors import TranscriptError
from toolbudget.storage._files import POSIX, close_quietly, open_chain
from toolbudget.storage._log_scan import scan_lines
from toolbudget.storage._session_files import (
    RECORD_ROLES,
    RESULTS_NAME,
    STORED_NAME,
    SessionPlace,
    entries_of,
)
from toolbudget.storage.log_file import LogFile
from toolbudget.storage.names import session_name

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

    from toolbudget.storage._files import InspectableFileSystem
    from toolbudget.storage._session_files import Located
    from toolbudget.storage.entries import ContentReplacementRecord
    from toolbudget.storage.records import ParsedRecord

__all__ = ["ReplacedResult", "replaced_results"]

_CLEARED: Final = "cleared"
_KEPT_ORIGINAL: Final = "original"


@dataclass(frozen=True, slots=True, kw_only=True)
class ReplacedResult:
    """One result that was replaced, cleared, or stored before it left the history.

    Attributes:
        tool_use_id: Its id.
        size_chars: Characters of its text; ``None`` if another program replaced it.
        file: The name of its file; ``None`` if no record names one that a store can have made.
        session: The name of the session whose folder holds that file: this one, or the one that it
            was inherited from.
        file_bytes: How large the file is; ``None`` if there is none.
        recorded_at: The timestamp of the record, as it stands there.
        agent: The sub-agent that it was first decided for.
        style: The form of its preview; ``None`` for the beginning of the text.
        is_replaced: Whether a preview stands in its place, or stood there before it was cleared.
        is_cleared: Whether it was cleared since.
        records_path: The file of the record.
        line: The record's line there, from 1.
    """

    tool_use_id: str
    size_chars: int | None
    file: str | None
    session: str
    file_bytes: int | None = None
    recorded_at: str | None = None
    agent: str | None = None
    style: str | None = None
    is_replaced: bool = False
    is_cleared: bool = False
    records_path: Path
    line: int

    @property
    def is_missing(self) -> bool:
        """Whether a record names a file that is not there."""
        return self.file is not None and self.file_bytes is None


class _Key(NamedTuple):
    tool_use_id: str
    size_chars: int | None
    text_hash: str | None
    file: str | None


def replaced_results(
    place: SessionPlace,
    *,
    files: InspectableFileSystem = POSIX,
    on_failure: Callable[[Path, Exception], object],
) -> list[ReplacedResult]:
    """Return the replaced results of a session and its sub-agents, in the order of their records.

    Args:
        place: Which session.
        files: The file system.
        on_failure: Told of what cannot be read.

    Example:
        >>> from toolbudget import Session
        >>> from toolbudget.storage.inspection import find_sessions
        >>> with Session.open("sessions", "demo", durability="process") as session:
        ...     block = {"type": "tool_result", "tool_use_id": "t1", "content": "x" * 60_000}
        ...     small = session.gate(block, tool_name="Fetch")
        >>> _, [place] = find_sessions("sessions")
        >>> [found] = replaced_results(place, on_failure=print)
        >>> found.tool_use_id, found.file, found.file_bytes
        ('t1', 't1.txt', 60000)
    """
    listing = _Listing(place)
    for located in entries_of(place, files, on_failure):
        if located.role in RECORD_ROLES and located.is_in_place:
            try:
                for record, line in _records_of(located, place, files):
                    listing.add(record, located, line)
            except (TranscriptError, OSError) as error:
                on_failure(located.path, error)
    sizes = _Sizes(place.root, files, on_failure)
    try:
        return [replace(found, file_bytes=sizes.of(found)) for found in listing.found.values()]
    finally:
        sizes.close()


def _records_of(
    located: Located, place: SessionPlace, files: InspectableFileSystem
) -> Iterator[tuple[ParsedRecord, int]]:
    log_file = LogFile(located.path, anchor=place.root, durability="process", files=files)
    with log_file.reading() as handle:
        if handle is None:
            return
        for line in scan_lines(log_file, handle, now_s=time.time()):
            for record in line.parsed.records:
                if record.session_id is None or session_name(record.session_id) == place.name:
                    yield record, line.number


class _Listing:
    """Puts together what several records say about one result."""

    def __init__(self, place: SessionPlace) -> None:
        self.found: dict[_Key, ReplacedResult] = {}
        self._place = place

    def add(self, record: ParsedRecord, located: Located, line: int) -> None:
        home = record.inherited_from
        timestamp = record.raw.get("timestamp")
        for entry in record.replacements:
            key = _Key(entry.tool_use_id, entry.size, entry.hash, _stored_name(entry))
            # What a sub-agent or a later record repeats was decided where it stands first.
            known = self.found.get(key) or ReplacedResult(
                tool_use_id=entry.tool_use_id,
                size_chars=entry.size,
                file=key.file,
                session=self._place.name if home is None else session_name(home),
                recorded_at=timestamp if isinstance(timestamp, str) else None,
                agent=record.agent_id or located.agent_name,
                style=entry.style,
                records_path=located.path,
                line=line,
            )
            self.found[key] = replace(
                known,
                is_replaced=known.is_replaced or entry.kind not in {_CLEARED, _KEPT_ORIGINAL},
                is_cleared=known.is_cleared or entry.kind == _CLEARED,
            )


class _Sizes:
    """Looks up stored files; each folder of results is opened once."""

    def __init__(
        self,
        root: Path,
        files: InspectableFileSystem,
        on_failure: Callable[[Path, Exception], object],
    ) -> None:
        self._root = root
        self._files = files
        self._on_failure = on_failure
        self._folders: dict[str, int | None] = {}

    def of(self, found: ReplacedResult) -> int | None:
        """Return the size of a result's file; ``None`` if it is not there, or no file."""
        if found.file is None:
            return None
        if found.session not in self._folders:
            self._folders[found.session] = self._open(found.session)
        folder = self._folders[found.session]
        if folder is None:
            return None
        with suppress(OSError):
            entry = self._files.look(found.file, parent=folder)
            return entry.size_bytes if entry.kind == "file" else None
        return None

    def _open(self, session: str) -> int | None:
        names = [session, RESULTS_NAME]
        try:
            return open_chain(
                self._files, str(self._root), names, create=False, durability="process"
            )
        except FileNotFoundError:
            return None
        except OSError as error:
            self._on_failure(self._root.joinpath(*names), error)
            return None

    def close(self) -> None:
        """Close the folders."""
        for folder in self._folders.values():
            if folder is not None:
                close_quietly(self._files, folder)


def _stored_name(entry: ContentReplacementRecord) -> str | None:
    """Return the name of a file that a store can have made; a record is input."""
    return entry.file if entry.file is not None and STORED_NAME.fullmatch(entry.file) else None
