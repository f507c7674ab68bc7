"""Opening and making directories one level at a time, and writing in full: only by the protocol."""

from __future__ import annotations

import contextlib
import errno
import time
from pathlib import Path
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Sequence

    from toolbudget.storage._filesystem import Durability, FileSystem

__all__ = ["close_quietly", "open_below", "open_chain", "write_all"]

# Under a umask that masks the owner's bits a new directory is closed to everyone until its maker
# has corrected the mode, which takes microseconds.
_PAUSES_FOR_A_NEW_DIRECTORY_S: Final = (0.001, 0.01)


def write_all(files: FileSystem, handle: int, data: bytes | memoryview) -> None:
    """Write everything, however short the single writes are.

    Raises:
        OSError: A write failed or took nothing; part of the data may be in the file.
    """
    rest = memoryview(data).cast("B")
    while rest:
        taken_bytes = files.write(handle, rest)
        if taken_bytes <= 0:
            raise OSError(errno.EIO, "write took no bytes")
        rest = rest[taken_bytes:]


def open_chain(
    files: FileSystem,
    root: str,
    names: Sequence[str],
    *,
    create: bool,
    durability: Durability,
    sync_existing: bool = False,
) -> int:
    """Open ``root`` and each named directory below it, and return the handle of the last one.

    No symbolic link is followed below ``root``. With ``create`` missing directories are made, also
    the missing parents of ``root``; each directory made has its parent synced unless the durability
    is ``"process"``. With ``sync_existing`` the parents of directories that were there already are
    synced too: whoever made them may have died before doing so. So is that of the nearest existing
    one if the root has to be made.

    Raises:
        FileNotFoundError: A directory is missing and ``create`` is false.
        OSError: A directory cannot be opened, made or synced; nothing is left open.
    """
    handle = _open_root(
        files, root, create=create, durability=durability, sync_existing=sync_existing
    )
    for name in names:
        try:
            below = open_below(
                files,
                name,
                parent=handle,
                create=create,
                durability=durability,
                sync_existing=sync_existing,
            )
        finally:
            close_quietly(files, handle)
        handle = below
    return handle


def open_below(
    files: FileSystem,
    name: str,
    *,
    parent: int,
    create: bool,
    durability: Durability,
    sync_existing: bool = False,
) -> int:
    """Open one directory below an open one, by the rules of :func:`open_chain`.

    Raises:
        FileNotFoundError: The directory is missing and ``create`` is false.
        OSError: It cannot be opened, made or synced; nothing new is left open.
    """
    if not create:
        return files.open_directory(name, parent=parent)
    needs_sync = sync_existing
    try:
        handle = _open_patiently(files, name, parent=parent)
    except FileNotFoundError:
        # Also if someone else was faster: they may not have synced it yet.
        needs_sync = True
        with contextlib.suppress(FileExistsError):
            files.make_directory(name, parent=parent)
        handle = _open_patiently(files, name, parent=parent)
    if needs_sync and durability != "process":
        try:
            files.sync_directory(parent)
        except BaseException:
            close_quietly(files, handle)
            raise
    return handle


def close_quietly(files: FileSystem, handle: int) -> None:
    """Close a handle whose bytes are already safe or given up, so that no error can matter."""
    try:
        files.close(handle)
    except OSError:
        return


def _open_patiently(files: FileSystem, name: str, *, parent: int) -> int:
    """Open a directory that another process may be making at this moment."""
    for pause_s in _PAUSES_FOR_A_NEW_DIRECTORY_S:
        try:
            return files.open_directory(name, parent=parent)
        except PermissionError:
            time.sleep(pause_s)
    return files.open_directory(name, parent=parent)


def _open_root(
    files: FileSystem, root: str, *, create: bool, durability: Durability, sync_existing: bool
) -> int:
    """Open the root; with ``create`` make it and whichever of its parents are missing."""
    handle, missing = _open_nearest(files, root) if create else (files.open_root(root), [])
    try:
        # Also before making the first one below it: then nobody later would know of any doubt.
        if create and (sync_existing or missing) and durability != "process":
            existing = str(Path(missing[-1]).parent) if missing else root
            _sync_parent(files, existing)
        for path in reversed(missing):
            with contextlib.suppress(FileExistsError):
                files.make_root(path)
            if durability != "process":
                files.sync_directory(handle)
            below = files.open_root(path)
            close_quietly(files, handle)
            handle = below
    except BaseException:
        close_quietly(files, handle)
        raise
    return handle


def _open_nearest(files: FileSystem, path: str) -> tuple[int, list[str]]:
    """Open the directory or its nearest ancestor; the missing ones are listed deepest first."""
    missing: list[str] = []
    while True:
        try:
            return files.open_root(path), missing
        except FileNotFoundError:
            above = str(Path(path).parent)
            if above == path:
                raise
        missing.append(path)
        path = above


def _sync_parent(files: FileSystem, path: str) -> None:
    """Sync the directory that holds ``path``, unless only its owner may open it."""
    try:
        handle = files.open_root(str(Path(path).parent))
    except PermissionError:
        return
    try:
        files.sync_directory(handle)
    finally:
        close_quietly(files, handle)
