"""What this package asks of a file system: a protocol, so that tests can stand in for the disk."""

from __future__ import annotations

from typing import Literal, NamedTuple, Protocol

__all__ = [
    "Durability",
    "Entry",
    "EntryKind",
    "FileSystem",
    "Identity",
    "InspectableFileSystem",
    "ReadableFileSystem",
    "RemovingFileSystem",
    "Status",
]

Durability = Literal["full", "data", "process"]
"""What a store or transcript outlives: power loss everywhere, power loss on common file systems
("data": directories are not synced), or only the end of the process."""


Identity = tuple[int, int]
"""Device and inode: which file it is, whatever its name."""


class Status(NamedTuple):
    """What is known about an open file or directory."""

    size_bytes: int
    is_regular: bool
    is_directory: bool
    mode: int
    """Permission bits, as in ``stat.S_IMODE``."""
    device: int
    inode: int
    modified_s: float
    """Seconds since the epoch."""

    @property
    def identity(self) -> Identity:
        """Which file this is about: what tells it from one that took its place."""
        return self.device, self.inode


EntryKind = Literal["file", "directory", "symbolic link", "FIFO", "socket", "device"]


class Entry(NamedTuple):
    """What stands under a name, seen without opening or following it."""

    kind: EntryKind
    size_bytes: int
    mode: int
    """Permission bits, as in ``stat.S_IMODE``."""
    owner: int
    """Number of the user it belongs to."""
    device: int
    inode: int
    modified_s: float
    """Seconds since the epoch."""

    @property
    def identity(self) -> Identity:
        """Which file it is, as of :attr:`Status.identity`."""
        return self.device, self.inode


class FileSystem(Protocol):
    """System calls, one per method; each raises ``OSError`` on failure. Handles are descriptors."""

    def open_root(self, path: str) -> int:
        """Open an existing directory by its absolute path; symbolic links in it are followed."""
        ...

    def make_root(self, path: str) -> None:
        """Make one directory, 0700, by its absolute path."""
        ...

    def open_directory(self, name: str, *, parent: int) -> int:
        """Open a directory below an open one; a symbolic link is an error."""
        ...

    def make_directory(self, name: str, *, parent: int) -> None:
        """Make a directory, 0700, below an open one."""
        ...

    def create_unnamed(self, *, parent: int) -> int:
        """Create a file without a name, 0600; ``EOPNOTSUPP`` or the like where there is none."""
        ...

    def create_exclusive(self, name: str, *, parent: int) -> int:
        """Create a file, 0600; ``FileExistsError`` if the name is taken by anything."""
        ...

    def open_file(self, name: str, *, parent: int) -> int:
        """Open for reading; neither follows a symbolic link nor waits for a FIFO."""
        ...

    def open_append(self, name: str, *, parent: int, create: bool) -> int:
        """Open for reading and appending; with ``create`` a missing file is made, 0600."""
        ...

    def link_unnamed(self, handle: int, name: str, *, parent: int) -> None:
        """Give a file of ``create_unnamed`` its name; ``FileExistsError`` if that is taken."""
        ...

    def link(self, source: str, name: str, *, source_parent: int, parent: int) -> None:
        """Give a file a second name; ``FileExistsError`` if that is taken."""
        ...

    def replace(self, source: str, name: str, *, parent: int) -> None:
        """Give a file another name in its directory; what had that name before is gone."""
        ...

    def unlink(self, name: str, *, parent: int) -> None:
        """Remove a name that is not a directory's."""
        ...

    def write(self, handle: int, data: bytes | memoryview) -> int:
        """Write at the end or the handle's position and return how many bytes were taken."""
        ...

    def read(self, handle: int, max_bytes: int, *, offset: int) -> bytes:
        """Read from a position; the result may be shorter, and is empty at the end of the file."""
        ...

    def truncate(self, handle: int, size_bytes: int) -> None:
        """Cut or extend the file to a size."""
        ...

    def status(self, handle: int) -> Status:
        """What the handle stands for."""
        ...

    def look(self, name: str, *, parent: int) -> Entry:
        """Say what stands under a name; neither opens nor follows it."""
        ...

    def set_modified(self, handle: int, time_s: float) -> None:
        """Let the open file have been written at a time, in seconds since the epoch."""
        ...

    def names(self, handle: int) -> list[str]:
        """The names in an open directory, in no particular order."""
        ...

    def sync(self, handle: int) -> None:
        """Return when the file's bytes and metadata are on the disk itself."""
        ...

    def sync_data(self, handle: int) -> None:
        """Return when the file's bytes, and what is needed to read them, are on the disk."""
        ...

    def sync_directory(self, handle: int) -> None:
        """Return when the directory's names are on the disk."""
        ...

    def lock(self, handle: int, *, exclusive: bool, blocking: bool = True) -> None:
        """Lock the open file; ``BlockingIOError`` if taken and not ``blocking``."""
        ...

    def unlock(self, handle: int) -> None:
        """Give the lock back; closing the handle does so too."""
        ...

    def close(self, handle: int, /) -> None:
        """Close; the handle is gone even if this fails."""
        ...


class InspectableFileSystem(FileSystem, Protocol):
    """What a check of sessions asks beyond that; stores and transcripts do without it."""

    def change_mode(self, handle: int, mode: int) -> None:
        """Set the permission bits of an open file or directory."""
        ...

    def user(self) -> int:
        """Return the number of the user whose rights this process has."""
        ...


class RemovingFileSystem(InspectableFileSystem, Protocol):
    """What a clean-up asks beyond that."""

    def remove_directory(self, name: str, *, parent: int) -> None:
        """Remove an empty directory."""
        ...


class ReadableFileSystem(FileSystem, Protocol):
    """What a reader of any file asks beyond that."""

    def open_anywhere(self, path: str) -> int:
        """Open for reading by any path; symbolic links are followed, a FIFO is not waited for."""
        ...
