"""What stands in the places of one session, seen without opening or following any of it."""

from __future__ import annotations

import re
from contextlib import suppress
from typing import TYPE_CHECKING, Final, Literal, NamedTuple

from toolbudget.storage._files import close_quietly, open_chain
from toolbudget.storage.names import is_name

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

    from toolbudget.storage._files import Entry, InspectableFileSystem

__all__ = [
    "DIRECTORY_ROLES",
    "RECORD_ROLES",
    "RESULTS_NAME",
    "SESSION_MARKS",
    "STORED_NAME",
    "SUBAGENTS_NAME",
    "TRASH_NAME",
    "Located",
    "Role",
    "SessionPlace",
    "entries_of",
    "expected_user",
    "open_in_session",
    "reason_of",
]

Role = Literal[
    "transcript",
    "folder",
    "sidecar",
    "lock",
    "output",
    "results",
    "result",
    "subagents",
    "agent",
    "temporary",
    "removed",
    "unknown",
]
"""What a name of a session is for."""

DIRECTORY_ROLES: Final = frozenset({"folder", "results", "subagents"})
RECORD_ROLES: Final = frozenset({"transcript", "sidecar", "agent"})

RESULTS_NAME: Final = "tool-results"
SUBAGENTS_NAME: Final = "subagents"
_SIDECAR_NAME: Final = "content-replacements.jsonl"
_ROLES: Final[dict[str, Role]] = {
    _SIDECAR_NAME: "sidecar",
    "session.lock": "lock",
    "applied.jsonl": "output",
    "applied.json": "output",
    RESULTS_NAME: "results",
    SUBAGENTS_NAME: "subagents",
}
SESSION_MARKS: Final = frozenset(_ROLES)
"""A folder that has one of these names in it is a session's."""

STORED_NAME: Final = re.compile(r"[A-Za-z0-9_-]+\.(?:txt|json)")
"""The form of every file name that a store makes."""
_TEMPORARY_NAME: Final = re.compile(r"\.tmp-[0-9a-f]{16}")
TRASH_NAME: Final = re.compile(r"\.trash-[0-9a-f]{16}")
"""The name under which a clean-up puts away what it is about to delete."""
_SUPERUSER: Final = 0
_AGENT_NAME: Final = re.compile(r"agent-(.+)\.jsonl", re.DOTALL)


class SessionPlace(NamedTuple):
    """Which session: the folder of all sessions, and the name of one in it."""

    root: Path
    name: str

    @property
    def directory(self) -> Path:
        """The session's folder."""
        return self.root / self.name

    @property
    def transcript(self) -> Path:
        """The session's transcript, also if records go elsewhere."""
        return self.root / f"{self.name}.jsonl"


class Located(NamedTuple):
    """One entry of a session.

    Attributes:
        path: Where it is.
        role: What it is for.
        entry: What stands there.
    """

    path: Path
    role: Role
    entry: Entry

    @property
    def is_in_place(self) -> bool:
        """Whether it is of the kind that its role asks for."""
        wanted = "directory" if self.role in DIRECTORY_ROLES else "file"
        return self.entry.kind == wanted

    @property
    def agent_name(self) -> str | None:
        """The agent whose transcript this is."""
        match = _AGENT_NAME.fullmatch(self.path.name) if self.role == "agent" else None
        return None if match is None else match[1]


def entries_of(
    place: SessionPlace, files: InspectableFileSystem, on_failure: Callable[[Path, OSError], object]
) -> Iterator[Located]:
    """Yield every entry of a session; of one that is no real directory, nothing below it."""
    transcript = _look(place.transcript, "transcript", place, files, on_failure)
    if transcript is not None:
        yield transcript
    folder = _look(place.directory, "folder", place, files, on_failure)
    if folder is None:
        return
    waiting = [folder]
    while waiting:
        located = waiting.pop()
        yield located
        if located.role in DIRECTORY_ROLES and located.is_in_place:
            for below in _entries_in(located, place, files, on_failure):
                if below.role in DIRECTORY_ROLES:
                    waiting.append(below)
                else:
                    yield below


def _entries_in(
    directory: Located,
    place: SessionPlace,
    files: InspectableFileSystem,
    on_failure: Callable[[Path, OSError], object],
) -> Iterator[Located]:
    try:
        handle = open_in_session(directory.path, place, files)
    except FileNotFoundError:
        return
    except OSError as error:
        on_failure(directory.path, error)
        return
    try:
        for name in sorted(files.names(handle)):
            # What is gone again by now was temporary.
            with suppress(FileNotFoundError):
                entry = files.look(name, parent=handle)
                yield Located(directory.path / name, _role_of(name, directory.role), entry)
    except OSError as error:
        on_failure(directory.path, error)
    finally:
        close_quietly(files, handle)


def _look(
    path: Path,
    role: Role,
    place: SessionPlace,
    files: InspectableFileSystem,
    on_failure: Callable[[Path, OSError], object],
) -> Located | None:
    try:
        handle = open_in_session(path.parent, place, files)
        try:
            return Located(path, role, files.look(path.name, parent=handle))
        finally:
            close_quietly(files, handle)
    except FileNotFoundError:
        return None
    except OSError as error:
        on_failure(path, error)
        return None


def open_in_session(directory: Path, place: SessionPlace, files: InspectableFileSystem) -> int:
    """Open a directory of a session, or the one that holds all sessions.

    Raises:
        OSError: It cannot be opened, or something on the way below the root is no real directory.
    """
    names = directory.relative_to(place.root).parts
    return open_chain(files, str(place.root), names, create=False, durability="process")


def _role_of(name: str, directory: Role) -> Role:
    if directory != "results" and TRASH_NAME.fullmatch(name):
        return "removed"
    if directory == "results":
        return "result" if STORED_NAME.fullmatch(name) else "unknown"
    if directory == "subagents":
        agent = _AGENT_NAME.fullmatch(name)
        return "agent" if agent and is_name(agent[1]) else "unknown"
    if _TEMPORARY_NAME.fullmatch(name):
        return "temporary"
    return _ROLES.get(name, "unknown")


def expected_user(place: SessionPlace, files: InspectableFileSystem) -> int:
    """Return the user that should own everything of a session.

    That is whoever runs this; the superuser may look after a session of someone else.

    Raises:
        OSError: The session cannot be looked at.
    """
    user = files.user()
    if user != _SUPERUSER:
        return user
    handle = open_in_session(place.root, place, files)
    try:
        for path in (place.directory, place.transcript):
            with suppress(FileNotFoundError):
                return files.look(path.name, parent=handle).owner
        return user
    finally:
        close_quietly(files, handle)


def reason_of(error: OSError) -> str:
    """Return the operating system's own words for an error."""
    return (error.strerror or str(error)).lower()
