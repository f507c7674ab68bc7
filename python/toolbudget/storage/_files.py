"""The one door to the disk.

Every file operation of this package goes through a :class:`FileSystem`: one system call per
method, ``OSError`` on failure, descriptors as plain integers. Tests put a faulty or an in-memory
one in place of :data:`POSIX`, so each failure can be tried at each step.

Names are relative to an open directory and never followed through a symbolic link, but for those of
files that an agent reads as it would in a shell. Directories are
0700 and files 0600 from the moment they exist; modes of what was there before are left alone.

Linux is the first platform; on macOS files are made under a temporary name because ``O_TMPFILE`` is
missing there. Windows is not supported at present: it has neither directory descriptors nor
``fcntl``, so importing this module fails there.
"""

from __future__ import annotations

import contextlib
import errno
import fcntl
import os
import stat
import sys
from typing import Final, TypeAlias

from toolbudget import _core as core
from toolbudget.storage._directories import close_quietly, open_below, open_chain, write_all
from toolbudget.storage._filesystem import (
    Durability,
    Entry,
    EntryKind,
    FileSystem,
    InspectableFileSystem,
    ReadableFileSystem,
    RemovingFileSystem,
    Status,
)
from toolbudget.storage._handle import close, is_closed, open_owned

if core.NAME == "native":
    # Once and for all: at the end of a process nothing can be imported.
    from toolbudget._core import _native

__all__ = [
    "POSIX",
    "Durability",
    "Entry",
    "FileSystem",
    "InspectableFileSystem",
    "PlacedText",
    "PosixFileSystem",
    "ReadableFileSystem",
    "RemovingFileSystem",
    "Status",
    "close_quietly",
    "has_short_way",
    "is_surely_missing",
    "open_below",
    "open_chain",
    "open_closed_streams",
    "place_texts",
    "write_all",
]

_DIRECTORY_MODE: Final = 0o700
_FILE_MODE: Final = 0o600
_PERMISSIONS: Final = 0o777

_DIRECTORY_FLAGS: Final = os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC
# O_NONBLOCK: opening a planted FIFO must not wait for its other end.
_FILE_FLAGS: Final = os.O_NOFOLLOW | os.O_NONBLOCK | os.O_NOCTTY | os.O_CLOEXEC
_EXCLUSIVE_FLAGS: Final = os.O_RDWR | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC

# Zero where the platform has no such flag or command.
_O_TMPFILE: Final[int] = getattr(os, "O_TMPFILE", 0)
_O_PATH: Final[int] = getattr(os, "O_PATH", 0)
_F_FULLFSYNC: Final[int] = getattr(fcntl, "F_FULLFSYNC", 0)

_NO_SUCH_COMMAND: Final = frozenset({errno.ENOTSUP, errno.ENOTTY, errno.EINVAL})

_KINDS: Final[dict[int, EntryKind]] = {
    stat.S_IFREG: "file",
    stat.S_IFDIR: "directory",
    stat.S_IFLNK: "symbolic link",
    stat.S_IFIFO: "FIFO",
    stat.S_IFSOCK: "socket",
}

# A file that is made and removed by others between two calls is met again this often.
_CREATE_TRIES: Final = 8


class PosixFileSystem:
    """The real file system. It holds no state, so one instance serves all threads."""

    def open_root(self, path: str) -> int:
        return open_owned(path, _DIRECTORY_FLAGS)

    def make_root(self, path: str) -> None:
        _make_private_directory(path, parent=None)

    def open_directory(self, name: str, *, parent: int) -> int:
        return open_owned(name, _DIRECTORY_FLAGS | os.O_NOFOLLOW, parent=parent)

    def make_directory(self, name: str, *, parent: int) -> None:
        _make_private_directory(name, parent=parent)

    def create_unnamed(self, *, parent: int) -> int:
        if not _O_TMPFILE:
            raise OSError(errno.EOPNOTSUPP, os.strerror(errno.EOPNOTSUPP))
        handle = open_owned(".", _O_TMPFILE | os.O_RDWR | os.O_CLOEXEC, _FILE_MODE, parent=parent)
        try:
            _ensure_file_mode(handle)
        except BaseException:
            close(handle)
            raise
        return handle

    def create_exclusive(self, name: str, *, parent: int) -> int:
        return _create_private_file(name, _EXCLUSIVE_FLAGS, parent=parent)

    def open_file(self, name: str, *, parent: int) -> int:
        return open_owned(name, os.O_RDONLY | _FILE_FLAGS, parent=parent)

    def open_append(self, name: str, *, parent: int, create: bool) -> int:
        flags = os.O_RDWR | os.O_APPEND | _FILE_FLAGS
        if not create:
            return open_owned(name, flags, parent=parent)
        for _ in range(_CREATE_TRIES):
            # A plain `try`: each turn of a session comes by here.
            try:
                return open_owned(name, flags, parent=parent)
            except FileNotFoundError:
                pass
            # Exclusively, so that only a file made here gets its mode corrected; whoever loses
            # the race opens the winner's file in the next round.
            with contextlib.suppress(FileExistsError):
                return _create_private_file(name, flags | os.O_CREAT | os.O_EXCL, parent=parent)
        raise FileExistsError(errno.EEXIST, "file keeps appearing and vanishing", name)

    def link_unnamed(self, handle: int, name: str, *, parent: int) -> None:
        # Needs no privilege, unlike linkat with AT_EMPTY_PATH.
        os.link(_descriptor_path(handle), name, dst_dir_fd=parent, follow_symlinks=True)

    def link(self, source: str, name: str, *, source_parent: int, parent: int) -> None:
        os.link(source, name, src_dir_fd=source_parent, dst_dir_fd=parent, follow_symlinks=False)

    def replace(self, source: str, name: str, *, parent: int) -> None:
        os.replace(source, name, src_dir_fd=parent, dst_dir_fd=parent)

    def unlink(self, name: str, *, parent: int) -> None:
        os.unlink(name, dir_fd=parent)

    def remove_directory(self, name: str, *, parent: int) -> None:
        os.rmdir(name, dir_fd=parent)

    def write(self, handle: int, data: bytes | memoryview) -> int:
        return os.write(handle, data)

    def read(self, handle: int, max_bytes: int, *, offset: int) -> bytes:
        return os.pread(handle, max_bytes, offset)

    def truncate(self, handle: int, size_bytes: int) -> None:
        os.ftruncate(handle, size_bytes)

    def status(self, handle: int) -> Status:
        found = os.fstat(handle)
        return Status(
            size_bytes=found.st_size,
            is_regular=stat.S_ISREG(found.st_mode),
            is_directory=stat.S_ISDIR(found.st_mode),
            mode=stat.S_IMODE(found.st_mode),
            device=found.st_dev,
            inode=found.st_ino,
            modified_s=found.st_mtime,
        )

    def set_modified(self, handle: int, time_s: float) -> None:
        os.utime(handle, (time_s, time_s))

    def names(self, handle: int) -> list[str]:
        return os.listdir(handle)

    def sync(self, handle: int) -> None:
        _flush(handle)

    def sync_data(self, handle: int) -> None:
        if _F_FULLFSYNC:
            _flush(handle)
        else:
            os.fdatasync(handle)

    def sync_directory(self, handle: int) -> None:
        try:
            _flush(handle)
        except OSError as error:
            # The answer of file systems that have no such operation (some of FUSE and SMB).
            if error.errno != errno.EINVAL:
                raise

    def lock(self, handle: int, *, exclusive: bool, blocking: bool = True) -> None:
        # flock belongs to the open file: it also holds between threads, and closing another
        # descriptor of the same file does not drop it as it would with lockf.
        operation = fcntl.LOCK_EX if exclusive else fcntl.LOCK_SH
        fcntl.flock(handle, operation if blocking else operation | fcntl.LOCK_NB)

    def unlock(self, handle: int) -> None:
        # An interrupted release begins again, and may have closed it.
        if not is_closed(handle):
            fcntl.flock(handle, fcntl.LOCK_UN)

    close = staticmethod(close)

    def look(self, name: str, *, parent: int) -> Entry:
        found = os.stat(name, dir_fd=parent, follow_symlinks=False)
        return Entry(
            kind=_KINDS.get(stat.S_IFMT(found.st_mode), "device"),
            size_bytes=found.st_size,
            mode=stat.S_IMODE(found.st_mode),
            owner=found.st_uid,
            device=found.st_dev,
            inode=found.st_ino,
            modified_s=found.st_mtime,
        )

    def change_mode(self, handle: int, mode: int) -> None:
        os.fchmod(handle, mode)

    def open_anywhere(self, path: str) -> int:
        return open_owned(path, os.O_RDONLY | (_FILE_FLAGS & ~os.O_NOFOLLOW))

    def user(self) -> int:
        return os.geteuid()


POSIX: Final = PosixFileSystem()

PlacedText: TypeAlias = tuple[int, str, bool]
"""Size in bytes, XXH3-128 as 32 hex digits, and whether the file is new."""


def has_short_way(files: FileSystem) -> bool:
    """Tell whether :func:`place_texts` does anything."""
    return core.NAME == "native" and type(files) is PosixFileSystem


def place_texts(
    files: FileSystem,
    texts: list[tuple[str, str | bytes]],
    *,
    parent: int,
    expects_free: bool,
) -> list[PlacedText | None]:
    """Store texts under their names in one call, as far as that goes without a hitch.

    The native core makes the system calls that :class:`PosixFileSystem` would be asked for, in the
    same order for each text. What it could not do is ``None``, as if it had not been tried: then,
    and for any other file system or core, the way of single calls tells what is wrong.

    Args:
        files: The file system.
        texts: File names, each with an ASCII text or the bytes to store; nothing is synced.
        parent: The open directory.
        expects_free: Write without looking first at what the names hold.
    """
    if has_short_way(files):
        # A defect of the short way must not cost a result.
        with contextlib.suppress(Exception):
            return _native._place_texts(parent, texts, expects_free)  # noqa: SLF001 - no core
    return [None] * len(texts)


def is_surely_missing(files: FileSystem, path: str, *, parent: int) -> bool:
    """Tell in one call that nothing stands at a path of several names; ``False`` says nothing.

    Links to directories are followed on the way: where nothing is found even so, there is nothing
    for those who open one directory after the other and follow none.
    """
    if type(files) is not PosixFileSystem:
        return False
    try:
        os.stat(path, dir_fd=parent, follow_symlinks=False)
    except FileNotFoundError:
        return True
    except OSError:
        return False
    return False


def open_closed_streams() -> None:
    """Let what is printed to a closed standard stream go nowhere.

    Otherwise the next file to be opened takes its number, and whatever writes to the standard
    streams writes into that file.
    """
    for number in (0, 1, 2):
        try:
            os.fstat(number)
        except OSError:
            os.open(os.devnull, os.O_RDWR)  # takes the lowest number that is free
    for number, name in ((1, "stdout"), (2, "stderr")):
        if getattr(sys, name) is None:
            setattr(sys, name, os.fdopen(number, "w", encoding="utf-8"))


def _flush(handle: int) -> None:
    """Bring everything about an open file to the disk itself."""
    if not _F_FULLFSYNC:
        os.fsync(handle)
        return
    try:
        # Plain fsync leaves the bytes in the drive's cache on macOS.
        fcntl.fcntl(handle, _F_FULLFSYNC)
    except OSError as error:
        if error.errno not in _NO_SUCH_COMMAND:
            raise
        os.fsync(handle)


def _descriptor_path(handle: int) -> str:
    return f"/proc/self/fd/{handle}"


def _make_private_directory(name: str, *, parent: int | None) -> None:
    """Make a directory that is 0700 whatever the umask, without ever being more open than that."""
    os.mkdir(name, _DIRECTORY_MODE, dir_fd=parent)
    try:
        _grant_owner(name, parent=parent)
    except BaseException:
        with contextlib.suppress(OSError):
            os.rmdir(name, dir_fd=parent)
        raise


def _grant_owner(name: str, *, parent: int | None) -> None:
    """Give a directory just made the owner's bits that the umask or a default ACL took away."""
    if not _O_PATH:
        os.chmod(name, _DIRECTORY_MODE, dir_fd=parent, follow_symlinks=False)
        return
    # O_PATH opens what its owner may not read, and what is changed is what was looked at.
    handle = open_owned(name, _O_PATH | _DIRECTORY_FLAGS | os.O_NOFOLLOW, parent=parent)
    try:
        mode = stat.S_IMODE(os.fstat(handle).st_mode)
        if mode & _DIRECTORY_MODE != _DIRECTORY_MODE:
            os.chmod(_descriptor_path(handle), mode | _DIRECTORY_MODE)
    finally:
        close(handle)


def _create_private_file(name: str, flags: int, *, parent: int) -> int:
    """Create a file that is 0600 whatever the umask, without ever being more open than that."""
    handle = open_owned(name, flags, _FILE_MODE, parent=parent)
    try:
        _ensure_file_mode(handle)
    except BaseException:
        close(handle)
        with contextlib.suppress(OSError):
            os.unlink(name, dir_fd=parent)
        raise
    return handle


def _ensure_file_mode(handle: int) -> None:
    if os.fstat(handle).st_mode & _PERMISSIONS != _FILE_MODE:
        os.fchmod(handle, _FILE_MODE)
