"""Removing one session from the disk, so that nobody ever sees a part of it without the rest.

Records go before the files that they name: a record without its file would be a promise that is
broken, a file without its record is only a file. Both are moved out of the way by a rename each,
while the session's lock is held alone; only then is anything deleted.
"""

from __future__ import annotations

import re
import secrets
from contextlib import ExitStack, suppress
from functools import partial
from typing import TYPE_CHECKING, Final, Protocol, Self

from toolbudget.errors import TranscriptError
from toolbudget.storage._files import close_quietly, open_chain
from toolbudget.storage._session_files import DIRECTORY_ROLES, RECORD_ROLES, entries_of
from toolbudget.storage.log_file import LogFile, Owner
from toolbudget.storage.names import session_name
from toolbudget.storage.records import parse_line
from toolbudget.storage.session_lock import LOCK_NAME
from toolbudget.storage.survey import summary_of

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

    from toolbudget.storage._files import RemovingFileSystem
    from toolbudget.storage._session_files import Located, SessionPlace
    from toolbudget.storage.survey import SessionSummary

    class _Act(Protocol):
        def __call__(self, name: str, /, *, parent: int) -> object: ...


__all__ = ["TRASH_NAME", "NotRemovedError", "remove_session", "remove_tree"]

_PREFIX: Final = ".trash-"
TRASH_NAME: Final = re.compile(r"\.trash-[0-9a-f]{16}")
"""The name under which something waits for its deletion."""


class NotRemovedError(Exception):
    """A session stays; the message says why."""


def remove_session(planned: SessionSummary, *, files: RemovingFileSystem) -> None:
    """Remove a session as it was looked at.

    Raises:
        NotRemovedError: It is in use, or has changed since.
        OSError: Something cannot be moved or deleted. What was moved waits for the next clean-up.
    """
    place = planned.place
    with ExitStack() as cleanup:
        root = files.open_root(str(place.root))
        cleanup.callback(close_quietly, files, root)
        _lock(place, root, files, cleanup)
        now = summary_of(place, files=files)
        # Its lock is held here, so that it says of itself that it is in use.
        if now.newest_s > planned.newest_s:
            raise NotRemovedError("it has been written since")
        if planned.is_foreign or planned.has_unknown:
            _remove_own(now, files)
            return
        for name in (place.transcript.name, place.name):
            _move_away(name, root, files, cleanup)
        files.sync_directory(root)


def _lock(place: SessionPlace, root: int, files: RemovingFileSystem, cleanup: ExitStack) -> None:
    """Hold the session's lock alone, so that nobody opens it meanwhile."""
    with suppress(FileExistsError):
        files.make_directory(place.name, parent=root)
        cleanup.push(_OnFailure(partial(files.remove_directory, place.name, parent=root)))
    directory = files.open_directory(place.name, parent=root)
    cleanup.callback(close_quietly, files, directory)
    if LOCK_NAME not in files.names(directory):
        cleanup.push(_OnFailure(partial(files.unlink, LOCK_NAME, parent=directory)))
    handle = files.open_append(LOCK_NAME, parent=directory, create=True)
    cleanup.callback(close_quietly, files, handle)
    try:
        files.lock(handle, exclusive=True, blocking=False)
    except BlockingIOError as error:
        raise NotRemovedError("it is in use") from error


class _OnFailure:
    """Takes back what was made only for the removal, if the session stays."""

    def __init__(self, take_back: Callable[[], object]) -> None:
        self._take_back = take_back

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, *_details: object) -> None:
        if kind is not None:
            with suppress(OSError):
                self._take_back()


def _move_away(name: str, root: int, files: RemovingFileSystem, cleanup: ExitStack) -> None:
    trash = f"{_PREFIX}{secrets.token_hex(8)}"
    with suppress(FileNotFoundError):
        files.replace(name, trash, parent=root)
        # When both are out of the way, and the lock is held no longer.
        cleanup.callback(remove_tree, trash, root, files)


def remove_tree(name: str, parent: int, files: RemovingFileSystem) -> None:
    """Remove a name with everything below it; links are removed, never followed.

    Raises:
        OSError: Something cannot be removed.
    """
    if files.look(name, parent=parent).kind != "directory":
        files.unlink(name, parent=parent)
        return
    handle = files.open_directory(name, parent=parent)
    try:
        for below in files.names(handle):
            remove_tree(below, handle, files)
    finally:
        close_quietly(files, handle)
    files.remove_directory(name, parent=parent)


def _remove_own(summary: SessionSummary, files: RemovingFileSystem) -> None:
    """Remove what is ours of a session whose folder another program, or somebody, uses too."""
    place = summary.place
    failures: list[OSError] = []
    located = list(entries_of(place, files, lambda _path, error: failures.append(error)))
    if failures:
        raise failures[0]
    recorded = set(_recorded_names(located, place, files)) if summary.is_foreign else None
    own = [one for one in located if _is_own(one, recorded, place, files)]
    for one in sorted(own, key=lambda one: one.role not in RECORD_ROLES):
        _in_directory(one.path, place, files, files.unlink)
    for one in reversed(located):
        if one.role in DIRECTORY_ROLES and one.is_in_place:
            # Others' files keep it.
            with suppress(OSError):
                _in_directory(one.path, place, files, files.remove_directory)


def _is_own(
    located: Located, recorded: set[str] | None, place: SessionPlace, files: RemovingFileSystem
) -> bool:
    if not located.is_in_place or located.role in DIRECTORY_ROLES | {"unknown"}:
        return False
    if located.role in RECORD_ROLES:
        return _belongs_to_us(located, place, files)
    return located.role != "result" or recorded is None or located.path.name in recorded


def _belongs_to_us(located: Located, place: SessionPlace, files: RemovingFileSystem) -> bool:
    log_file = LogFile(located.path, anchor=place.root, durability="process", files=files)
    try:
        return log_file.owner() is Owner.US
    except TranscriptError as error:
        raise NotRemovedError(str(error)) from error


def _recorded_names(
    located: list[Located], place: SessionPlace, files: RemovingFileSystem
) -> Iterator[str]:
    """Yield the names of the stored files that records of ours in this session are about."""
    for one in located:
        if one.role not in RECORD_ROLES or not one.is_in_place:
            continue
        log_file = LogFile(one.path, anchor=place.root, durability="process", files=files)
        with log_file.reading() as handle:
            lines = () if handle is None else log_file.lines(handle)
            for line in lines:
                parsed = () if line.data is None else parse_line(line.data).records
                for record in parsed:
                    home = record.inherited_from
                    if record.is_ours and (home is None or session_name(home) == place.name):
                        yield from (entry.file for entry in record.replacements if entry.file)


def _in_directory(path: Path, place: SessionPlace, files: RemovingFileSystem, act: _Act) -> None:
    names = path.parent.relative_to(place.root).parts
    parent = open_chain(files, str(place.root), names, create=False, durability="process")
    try:
        act(path.name, parent=parent)
    finally:
        close_quietly(files, parent)
