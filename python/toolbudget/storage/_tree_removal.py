"""Deleting a tree of any depth, without following a link and without asking much of the process."""

from __future__ import annotations

import errno
import os
from contextlib import suppress
from typing import TYPE_CHECKING, NamedTuple

from toolbudget.storage._files import close_quietly

if TYPE_CHECKING:
    from toolbudget.storage._files import RemovingFileSystem
    from toolbudget.storage._filesystem import Identity

__all__ = ["remove_tree"]


class _Level(NamedTuple):
    """A directory on the way down: its name in the one above, which it is, what is left in it."""

    name: str
    identity: Identity
    directories: list[str]


def remove_tree(name: str, parent: int, files: RemovingFileSystem) -> None:
    """Remove a name with everything below it; links are removed, never followed.

    Whoever made the tree decides how deep it is: neither the stack nor the number of open
    directories grows with it. What somebody else removes meanwhile is gone too.

    Raises:
        OSError: Something cannot be removed.
    """
    if not _is_directory(name, parent, files):
        return
    levels: list[_Level] = []
    handle = _enter(name, parent, levels, files)
    try:
        while True:
            if levels[-1].directories:
                below = _enter(levels[-1].directories.pop(), handle, levels, files)
            elif len(levels) == 1:
                break
            else:
                below = _leave(handle, levels, files)
            close_quietly(files, handle)
            handle = below
    finally:
        close_quietly(files, handle)
    _remove_directory(name, parent, files)


def _is_directory(name: str, parent: int, files: RemovingFileSystem) -> bool:
    """Tell whether a name is a directory's; if it is anything else it is removed."""
    with suppress(FileNotFoundError):
        if files.look(name, parent=parent).kind == "directory":
            return True
        files.unlink(name, parent=parent)
    return False


def _enter(name: str, parent: int, levels: list[_Level], files: RemovingFileSystem) -> int:
    """Open a directory and remove all in it that is none."""
    handle = files.open_directory(name, parent=parent)
    try:
        names = files.names(handle)
        directories = [below for below in names if _is_directory(below, handle, files)]
        levels.append(_Level(name, files.status(handle).identity, directories))
    except BaseException:
        close_quietly(files, handle)
        raise
    return handle


def _leave(handle: int, levels: list[_Level], files: RemovingFileSystem) -> int:
    """Open the directory above, and remove the one that is empty now."""
    name = levels.pop().name
    above = files.open_directory("..", parent=handle)
    try:
        _require(files.status(above).identity == levels[-1].identity, name)
        _remove_directory(name, above, files)
    except BaseException:
        close_quietly(files, above)
        raise
    return above


def _require(is_in_place: bool, name: str) -> None:  # noqa: FBT001 - the check is the name
    """Refuse to go on where a directory has been moved to: nothing there is to be removed."""
    if not is_in_place:
        raise OSError(errno.ESTALE, os.strerror(errno.ESTALE), name)


def _remove_directory(name: str, parent: int, files: RemovingFileSystem) -> None:
    with suppress(FileNotFoundError):
        files.remove_directory(name, parent=parent)
