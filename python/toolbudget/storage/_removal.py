"""Removing one session from the disk, so that nobody ever sees a part of it without the rest.

Records go before the files that they name: a record without its file would be a promise that is
broken, a file without its record is only a file. Both are moved out of the way by a rename each,
while the session's lock is held alone; only then is anything deleted.
"""

from __future__ import annotations

import secrets
from contextlib import ExitStack, suppress
from functools import partial
from typing import TYPE_CHECKING, Final, Protocol, Self

from toolbudget.storage._files import close_quietly, open_chain
from toolbudget.storage._session_files import DIRECTORY_ROLES, RECORD_ROLES, entries_of
from toolbudget.storage._tree_removal import remove_tree
from toolbudget.storage.json_lines import MARKER
from toolbudget.storage.log_file import LogFile, Owner
from toolbudget.storage.names import session_name
from toolbudget.storage.records import parse_line
from toolbudget.storage.session_lock import LOCK_NAME
from toolbudget.storage.survey import summary_of

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence
    from pathlib import Path

    from toolbudget.storage._files import RemovingFileSystem
    from toolbudget.storage._session_files import Located, SessionPlace
    from toolbudget.storage.survey import SessionSummary

    class _Act(Protocol):
        def __call__(self, *, parent: int) -> object: ...


__all__ = ["NotDeletedError", "NotRemovedError", "remove_session"]

_PREFIX: Final = ".trash-"
"""How a :data:`~toolbudget.storage._session_files.TRASH_NAME` begins."""


class NotRemovedError(Exception):
    """A session stays; the message says why."""


class NotDeletedError(Exception):
    """A session is gone from view, but not from the disk; the message is the OS's reason."""


def remove_session(planned: SessionSummary, *, files: RemovingFileSystem) -> None:
    """Remove a session as it was looked at.

    Raises:
        NotRemovedError: It is in use, or has changed since.
        TranscriptError: Its records cannot be read.
        NotDeletedError: It is out of sight, and waits for the next clean-up to be deleted.
        OSError: Something cannot be moved.
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
        if now.failures:
            raise NotRemovedError(now.failures[0])
        if now.is_foreign or now.shares_results or now.has_unknown:
            recorded = _put_records_away(place, files)
            try:
                _remove_own(now, recorded, files)
            except OSError as error:
                raise _not_deleted(error) from error
            return
        moved = _move_away((place.transcript.name, place.name), root, files)
        # When the lock is held no longer.
        cleanup.callback(_delete, moved, root, files)


def _lock(place: SessionPlace, root: int, files: RemovingFileSystem, cleanup: ExitStack) -> None:
    """Hold the session's lock alone, so that nobody opens it meanwhile."""
    with suppress(FileExistsError):
        files.make_directory(place.name, parent=root)
        cleanup.push(_OnFailure(partial(files.remove_directory, place.name, parent=root)))
    directory = files.open_directory(place.name, parent=root)
    cleanup.callback(close_quietly, files, directory)
    is_new = LOCK_NAME not in files.names(directory)
    if is_new:
        cleanup.push(_OnFailure(partial(files.unlink, LOCK_NAME, parent=directory)))
    handle = files.open_append(LOCK_NAME, parent=directory, create=True)
    cleanup.callback(close_quietly, files, handle)
    if is_new:
        # Made for the removal alone, it must not make the session young.
        files.set_modified(handle, 0)
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


def _move_away(names: Sequence[str], root: int, files: RemovingFileSystem) -> list[str]:
    """Move names out of sight, all or none; return what they are called now."""
    moved: list[str] = []
    with ExitStack() as take_back:
        for name in names:
            trash = f"{_PREFIX}{secrets.token_hex(8)}"
            with suppress(FileNotFoundError):
                files.replace(name, trash, parent=root)
                take_back.callback(_put_back, trash, name, root, files)
                moved.append(trash)
        files.sync_directory(root)
        take_back.pop_all()
    return moved


def _put_back(trash: str, name: str, root: int, files: RemovingFileSystem) -> None:
    with suppress(OSError):
        files.replace(trash, name, parent=root)


def _delete(moved: Sequence[str], root: int, files: RemovingFileSystem) -> None:
    """Delete what was moved, as far as it can be.

    Raises:
        NotDeletedError: Some of it is left.
    """
    failures: list[OSError] = []
    for trash in moved:
        try:
            remove_tree(trash, root, files)
        except OSError as error:
            failures.append(error)
    if failures:
        raise _not_deleted(failures[0]) from failures[0]


def _not_deleted(error: OSError) -> NotDeletedError:
    return NotDeletedError(error.strerror or str(error))


def _remove_own(summary: SessionSummary, recorded: set[str], files: RemovingFileSystem) -> None:
    """Remove what is ours of a session whose folder another program, or somebody, uses too.

    Its records have been put away, among them those that named the files in ``recorded``.
    """
    place = summary.place
    located = _entries(place, files)
    going = None
    if summary.is_foreign or summary.shares_results:
        going = _names_that_go(located, place, files, recorded)
    # The records put away name what is still to go, and the lock tells the next run whose it is.
    own = sorted(
        (one for one in located if _is_own(one, going)),
        key=lambda one: (one.role == "lock", one.role == "removed"),
    )
    for one in own:
        _in_directory(one.path.parent, place, files, partial(files.unlink, one.path.name))
    for one in reversed(located):
        if one.role in DIRECTORY_ROLES and one.is_in_place:
            # Others' files keep it.
            with suppress(OSError):
                remove = partial(files.remove_directory, one.path.name)
                _in_directory(one.path.parent, place, files, remove)


def _put_records_away(place: SessionPlace, files: RemovingFileSystem) -> set[str]:
    """Take every record of ours out of sight, before any file that one names.

    Those in the folder get another name each: a run that is killed on the way leaves them to the
    next one, which learns of them what is ours.

    Returns:
        The stored files that the transcript named, which is gone.
    """
    changed = set()
    recorded = set[str]()
    for one in _entries(place, files):
        if not (one.is_in_place and _is_record_file_of_ours(one, place, files)):
            continue
        name, directory = one.path.name, one.path.parent
        trash = f"{_PREFIX}{secrets.token_hex(8)}"
        # Where the transcript is ours every result is, most often; where not, a run that is killed
        # leaves files that nobody can tell from another program's, and they stay.
        is_last = one.role == "transcript"
        if is_last:
            recorded.update(_recorded_names(one, place, files))
        act = partial(files.unlink, name) if is_last else partial(files.replace, name, trash)
        _in_directory(directory, place, files, act)
        changed.add(directory)
    for directory in changed:
        _in_directory(directory, place, files, partial(_sync, files))
    return recorded


def _sync(files: RemovingFileSystem, *, parent: int) -> None:
    files.sync_directory(parent)


def _entries(place: SessionPlace, files: RemovingFileSystem) -> list[Located]:
    failures: list[OSError] = []
    located = list(entries_of(place, files, lambda _path, error: failures.append(error)))
    if failures:
        raise failures[0]
    return located


def _is_own(located: Located, recorded: set[str] | None) -> bool:
    others = DIRECTORY_ROLES | RECORD_ROLES | {"unknown"}
    if not located.is_in_place or located.role in others:
        return False
    return located.role != "result" or recorded is None or located.path.name in recorded


def _is_record_file_of_ours(
    located: Located, place: SessionPlace, files: RemovingFileSystem
) -> bool:
    if located.role not in RECORD_ROLES:
        return False
    log_file = LogFile(located.path, anchor=place.root, durability="process", files=files)
    owner = log_file.owner()
    # Nobody else makes a file of the sidecar's name.
    return owner is Owner.US or (owner is Owner.NOBODY and located.role == "sidecar")


def _names_that_go(
    located: list[Located], place: SessionPlace, files: RemovingFileSystem, recorded: set[str]
) -> set[str]:
    """Return the stored files that records put away are about, and none that stays is."""
    going, staying = set(recorded), set[str]()
    for one in located:
        if one.is_in_place and one.role == "removed":
            going.update(_recorded_names(one, place, files))
        elif one.is_in_place and one.role in RECORD_ROLES:
            staying.update(_recorded_names(one, place, files))
    return going - staying


def _recorded_names(
    located: Located, place: SessionPlace, files: RemovingFileSystem
) -> Iterator[str]:
    """Yield the names of this session's stored files that records of ours in a file are about."""
    log_file = LogFile(located.path, anchor=place.root, durability="process", files=files)
    with log_file.reading() as handle:
        for line in () if handle is None else log_file.lines(handle):
            if line.data is None or MARKER not in line.data:
                continue
            for record in parse_line(line.data).records:
                home = record.inherited_from
                if record.is_ours and (home is None or session_name(home) == place.name):
                    yield from (entry.file for entry in record.replacements if entry.file)


def _in_directory(
    directory: Path, place: SessionPlace, files: RemovingFileSystem, act: _Act
) -> None:
    names = directory.relative_to(place.root).parts
    parent = open_chain(files, str(place.root), names, create=False, durability="process")
    try:
        act(parent=parent)
    finally:
        close_quietly(files, parent)
