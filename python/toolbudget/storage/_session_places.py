"""From a path that a user names to the sessions that are meant."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Final

from toolbudget.errors import ConfigError
from toolbudget.storage._files import POSIX, close_quietly
from toolbudget.storage._paths import absolute_path
from toolbudget.storage._session_files import (
    RESULTS_NAME,
    SESSION_MARKS,
    SUBAGENTS_NAME,
    SessionPlace,
)
from toolbudget.storage.names import is_name

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from toolbudget.storage._files import Entry, InspectableFileSystem

__all__ = ["NothingThereError", "find_sessions", "sessions_of_root"]

_SUFFIX: Final = ".jsonl"
_FOLDERS_INSIDE: Final = frozenset({RESULTS_NAME, SUBAGENTS_NAME})


class NothingThereError(ConfigError):
    """Nothing has the path that was named."""


def find_sessions(
    path: str | os.PathLike[str], *, files: InspectableFileSystem = POSIX
) -> tuple[Path, list[SessionPlace]]:
    """Return the folder of all sessions and the sessions that a path stands for.

    Args:
        path: A session's folder or transcript, something in the folder, or a folder of sessions,
            which stands for all of them.
        files: The file system.

    Raises:
        ConfigError: It is neither, or nothing is there.
        OSError: It cannot be looked at.

    Example:
        >>> from toolbudget import Session
        >>> with Session.open("sessions", "demo", durability="process") as session:
        ...     session.mark_seen(
        ...         [
        ...             {
        ...                 "role": "user",
        ...                 "content": [
        ...                     {"type": "tool_result", "tool_use_id": "t1", "content": "x"}
        ...                 ],
        ...             }
        ...         ]
        ...     )
        >>> [place.name for place in find_sessions("sessions")[1]]
        ['demo']
    """
    if not os.fspath(path):
        raise ConfigError(f"path names no folder: {path!r}")
    named = absolute_path(path)
    directory = _session_directory(named)
    found = _look(named, files)
    if found is not None and named.suffix == _SUFFIX and found.kind != "directory":
        return _one(directory, path)
    if directory != named and found is not None and _is_session(directory, files):
        return _one(directory, path)
    if _is_session(named, files):
        return _one(named, path)
    if found is None:
        raise NothingThereError(f"no such file or folder: {str(path)!r}")
    if found.kind not in {"directory", "symbolic link"}:
        raise ConfigError(f"neither a session nor a folder of sessions: {str(path)!r}")
    return named, sorted(_sessions_below(named, files))


def sessions_of_root(
    path: str | os.PathLike[str], *, files: InspectableFileSystem = POSIX
) -> tuple[Path, list[SessionPlace]]:
    """Return a folder of all sessions, and the sessions in it; one session alone is refused.

    Args:
        path: The folder; a symbolic link to it will do.
        files: The file system.

    Raises:
        ConfigError: It is no folder, or a session or part of one.
        OSError: It cannot be looked at.

    Example:
        >>> sessions_of_root("sessions/tool-results")
        Traceback (most recent call last):
            ...
        toolbudget.errors.ConfigError: part of one session, not the folder of all sessions: \
'sessions/tool-results'
    """
    if not os.fspath(path):
        raise ConfigError(f"path names no folder: {path!r}")
    named = absolute_path(path)
    if named.name in SESSION_MARKS or _has_marks(named, files):
        raise ConfigError(f"part of one session, not the folder of all sessions: {str(path)!r}")
    found = _look(named, files)
    if found is None:
        raise NothingThereError(f"no such file or folder: {str(path)!r}")
    if found.kind not in {"directory", "symbolic link"}:
        raise ConfigError(f"not a folder of all sessions: {str(path)!r}")
    return named, sorted(_sessions_below(named, files))


def _one(directory: Path, path: str | os.PathLike[str]) -> tuple[Path, list[SessionPlace]]:
    if not is_name(directory.name):
        raise ConfigError(f"no session can have this name: {str(path)!r}")
    return directory.parent, [SessionPlace(directory.parent, directory.name)]


def _session_directory(path: Path) -> Path:
    """Return the folder of the session that a path inside it, or its transcript, belongs to."""
    if path.parent.name in _FOLDERS_INSIDE:
        return path.parent.parent
    if path.name in _FOLDERS_INSIDE or path.name in SESSION_MARKS:
        return path.parent
    return path.with_suffix("") if path.suffix == _SUFFIX else path


def _sessions_below(root: Path, files: InspectableFileSystem) -> Iterator[SessionPlace]:
    handle = files.open_root(str(root))
    try:
        names = set(files.names(handle))
    finally:
        close_quietly(files, handle)
    for name in names:
        stem = name.removesuffix(_SUFFIX)
        if not is_name(stem):
            continue
        is_transcript = name != stem
        has_transcript = f"{stem}{_SUFFIX}" in names
        if is_transcript or (not has_transcript and _has_marks(root / stem, files)):
            yield SessionPlace(root, stem)


def _is_session(directory: Path, files: InspectableFileSystem) -> bool:
    transcript = directory.with_name(f"{directory.name}{_SUFFIX}") if directory.name else None
    if transcript is None:
        return False
    return _look(transcript, files) is not None or _has_marks(directory, files)


def _has_marks(directory: Path, files: InspectableFileSystem) -> bool:
    """Whether a folder holds something that only a session's folder does."""
    try:
        handle = files.open_root(str(directory))
    except OSError:
        return False
    try:
        return not SESSION_MARKS.isdisjoint(files.names(handle))
    except OSError:
        return False
    finally:
        close_quietly(files, handle)


def _look(path: Path, files: InspectableFileSystem) -> Entry | None:
    try:
        handle = files.open_root(str(path.parent))
    except (FileNotFoundError, NotADirectoryError):
        return None
    try:
        return files.look(path.name or ".", parent=handle)
    except FileNotFoundError:
        return None
    finally:
        close_quietly(files, handle)
