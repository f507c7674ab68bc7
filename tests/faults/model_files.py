"""A file system in memory that keeps to POSIX, counts what changes it, and can die at any step."""

from __future__ import annotations

import copy
import errno
import stat
import threading
from contextlib import contextmanager
from typing import TYPE_CHECKING, Final, NamedTuple

from tests.faults.model_nodes import Directory, File, Node, SymbolicLink
from tests.faults.model_rules import (
    check_name,
    entry,
    error,
    linkable,
    not_a_link,
    require_directory,
    require_free,
    require_replaceable,
    require_text,
    size_bytes,
    walk,
)
from toolbudget.storage._filesystem import Entry, InspectableFileSystem, Status

if TYPE_CHECKING:
    from collections.abc import Iterator

__all__ = ["Crash", "ModelFiles"]

_DEVICE: Final = 1
_USER: Final = 1_000
_FIRST_HANDLE: Final = 3


class Crash(BaseException):
    """The machine has stopped; nothing of the program may run on."""


class _Open:
    """An open file or directory."""

    def __init__(self, node: Node, *, can_write: bool = False, appends: bool = False) -> None:
        self.node = node
        self.can_write = can_write
        self.appends = appends
        self.position = 0


class _Lock(NamedTuple):
    handle: int
    is_exclusive: bool


class ModelFiles(InspectableFileSystem):
    """Stands in for the disk; one instance serves all threads.

    Calls that change something are counted. Once :meth:`crash_at` has come true every call raises
    :class:`Crash`, except those that only give back what a dead process no longer holds.

    Args:
        top: The directory ``/``; an empty one if not given.
        has_unnamed: Whether files without a name can be made here.
    """

    def __init__(self, top: Directory | None = None, *, has_unnamed: bool = True) -> None:
        self.top = Directory() if top is None else top
        self.has_unnamed = has_unnamed
        self.operations = 0
        """How many calls have changed something."""
        self.is_dead = False
        self._crash_at: int | None = None
        self._tears_last_write = False
        self._opened: dict[int, _Open] = {}
        self._next_handle = _FIRST_HANDLE
        self._locks: dict[int, list[_Lock]] = {}
        self._changed = threading.Condition()

    def crash_at(self, operation: int, *, tears_write: bool = False) -> None:
        """Die at the N-th call that changes something, counted from 1 and from the beginning.

        The call does nothing; with ``tears_write`` a write takes half of its bytes.
        """
        self._crash_at = operation
        self._tears_last_write = tears_write

    def restarted(self) -> ModelFiles:
        """Return the same disk after the end of every process: no handle and no lock is left."""
        return ModelFiles(copy.deepcopy(self.top), has_unnamed=self.has_unnamed)

    def plant_link(self, target: str, name: str, *, parent: int) -> None:
        """Make a symbolic link, as someone else might."""
        with self._changed:
            self._free_name(name, parent).put(name, SymbolicLink(target))

    def open_root(self, path: str) -> int:
        """Open an existing directory."""
        with self._living():
            return self._add(_Open(require_directory(walk(self.top, path), path)))

    def make_root(self, path: str) -> None:
        """Make one directory."""
        above, _, name = path.rstrip("/").rpartition("/")
        with self._living():
            parent = require_directory(walk(self.top, above), path)
            require_free(parent, name)
            self._step()
            parent.put(name, Directory())

    def open_directory(self, name: str, *, parent: int) -> int:
        """Open a directory below an open one."""
        with self._living():
            return self._add(_Open(require_directory(self._at(name, parent), name)))

    def make_directory(self, name: str, *, parent: int) -> None:
        """Make a directory below an open one."""
        with self._living():
            directory = self._free_name(name, parent)
            self._step()
            directory.put(name, Directory())

    def create_unnamed(self, *, parent: int) -> int:
        """Create a file without a name, where there is such a thing."""
        with self._living():
            directory = self._directory(parent)
            if not self.has_unnamed:
                raise error(errno.EOPNOTSUPP)
            if directory.is_removed:
                raise error(errno.ENOENT)
            self._step()
            file = File()
            file.is_linkable = True
            return self._add(_Open(file, can_write=True))

    def create_exclusive(self, name: str, *, parent: int) -> int:
        """Create a file unless the name is taken."""
        with self._living():
            return self._create(name, parent, appends=False)

    def open_file(self, name: str, *, parent: int) -> int:
        """Open for reading."""
        with self._living():
            return self._add(_Open(not_a_link(self._at(name, parent), name)))

    def open_append(self, name: str, *, parent: int, create: bool) -> int:
        """Open for reading and appending."""
        with self._living():
            try:
                node = not_a_link(self._at(name, parent), name)
            except FileNotFoundError:
                if not create:
                    raise
                return self._create(name, parent, appends=True)
            if isinstance(node, Directory):
                raise error(errno.EISDIR, name)
            return self._add(_Open(node, can_write=True, appends=True))

    def link_unnamed(self, handle: int, name: str, *, parent: int) -> None:
        """Give an open file a name."""
        with self._living():
            require_text(name)
            opened = self._opened.get(handle)
            if opened is None:
                raise error(errno.ENOENT, name)
            directory = self._free_name(name, parent)
            file = linkable(opened.node, name)
            if not (file.names or file.is_linkable):
                raise error(errno.ENOENT, name)
            self._step()
            directory.put(name, file)

    def link(self, source: str, name: str, *, source_parent: int, parent: int) -> None:
        """Give a file a second name."""
        with self._living():
            require_text(source, name)
            node = self._at(source, source_parent)
            directory = self._free_name(name, parent)
            if isinstance(node, Directory):
                raise error(errno.EPERM, name)
            self._step()
            directory.put(name, node)

    def replace(self, source: str, name: str, *, parent: int) -> None:
        """Give a file another name in its directory."""
        with self._living():
            require_text(source, name)
            directory = self._named_in(parent, source)
            self._named_in(parent, name)
            node = self._at(source, parent)
            check_name(name)
            before = directory.entries.get(name)
            if before is node:
                return
            require_replaceable(node, before, name)
            self._step()
            if isinstance(before, Directory):
                before.is_removed = True
            directory.put(name, node)
            directory.put(source, None)

    def unlink(self, name: str, *, parent: int) -> None:
        """Remove a name that is not a directory's."""
        with self._living():
            if isinstance(self._at(name, parent), Directory):
                raise error(errno.EISDIR, name)
            self._step()
            self._directory(parent).put(name, None)

    def write(self, handle: int, data: bytes | memoryview) -> int:
        """Write at the end or the handle's position."""
        with self._living():
            opened = self._handle(handle)
            if not opened.can_write or not isinstance(opened.node, File):
                raise error(errno.EBADF)
            taken = bytes(data)
            if not taken:
                return 0
            file = opened.node
            offset = len(file.content) if opened.appends else opened.position
            self._step(file, offset, taken)
            file.write(offset, taken)
            opened.position = offset + len(taken)
            return len(taken)

    def read(self, handle: int, max_bytes: int, *, offset: int) -> bytes:
        """Read from a position."""
        with self._living():
            node = self._handle(handle).node
            if not isinstance(node, File):
                raise error(errno.EISDIR)
            return node.content[offset : offset + max_bytes]

    def truncate(self, handle: int, size_bytes: int) -> None:
        """Cut or extend the file."""
        with self._living():
            opened = self._handle(handle)
            if not opened.can_write or not isinstance(opened.node, File) or size_bytes < 0:
                raise error(errno.EINVAL)
            self._step()
            opened.node.truncate(size_bytes)

    def status(self, handle: int) -> Status:
        """Say what the handle stands for."""
        with self._living():
            node = self._handle(handle).node
            return Status(
                size_bytes=size_bytes(node),
                is_regular=isinstance(node, File),
                is_directory=isinstance(node, Directory),
                mode=node.permissions,
                device=_DEVICE,
                inode=node.inode,
                modified_s=node.modified_s,
            )

    def names(self, handle: int) -> list[str]:
        """List the names in an open directory."""
        with self._living():
            return list(self._directory(handle).entries)

    def sync(self, handle: int) -> None:
        """Bring a file, or a directory's names, to the disk."""
        self._flush(handle)

    def sync_data(self, handle: int) -> None:
        """Do the same: this model has no other metadata that could be lost."""
        self._flush(handle)

    def sync_directory(self, handle: int) -> None:
        """Bring a directory's names to the disk."""
        self._flush(handle)

    def lock(self, handle: int, *, exclusive: bool, blocking: bool = True) -> None:
        """Lock the open file as ``flock`` does: an old lock is given up before a new one is had."""
        with self._living():
            inode = self._handle(handle).node.inode
            wanted = _Lock(handle, exclusive)
            if wanted in self._locks.get(inode, ()):
                return
            self._drop_lock(handle)
            while any(exclusive or lock.is_exclusive for lock in self._locks.get(inode, ())):
                if not blocking:
                    raise error(errno.EWOULDBLOCK)
                self._changed.wait()
                self._require_life()
            self._locks.setdefault(inode, []).append(wanted)

    def unlock(self, handle: int) -> None:
        """Give the lock back."""
        with self._changed:
            if not self.is_dead:
                self._handle(handle)
                self._drop_lock(handle)

    def close(self, handle: int) -> None:
        """Close the handle, which gives its lock back."""
        with self._changed:
            if not self.is_dead:
                self._handle(handle)
                self._drop_lock(handle)
                del self._opened[handle]

    def look(self, name: str, *, parent: int) -> Entry:
        """Say what stands under a name."""
        with self._living():
            node = self._at(name, parent)
            return Entry(
                kind=node.kind,
                size_bytes=size_bytes(node),
                mode=node.permissions,
                owner=_USER,
                device=_DEVICE,
                inode=node.inode,
                modified_s=node.modified_s,
            )

    def change_mode(self, handle: int, mode: int) -> None:
        """Set the permission bits; the model lets everyone in all the same."""
        with self._living():
            node = self._handle(handle).node
            self._step()
            node.permissions = stat.S_IMODE(mode)

    def set_modified(self, handle: int, time_s: float) -> None:
        """Set the time of the last write."""
        with self._living():
            self._handle(handle).node.modified_s = time_s

    def user(self) -> int:
        """Return the user that everything here belongs to."""
        return _USER

    @contextmanager
    def _living(self) -> Iterator[None]:
        with self._changed:
            self._require_life()
            yield

    def _require_life(self) -> None:
        if self.is_dead:
            raise Crash

    def _step(self, file: File | None = None, offset: int = 0, data: bytes = b"") -> None:
        """Count a call that is about to change something, and die if it is the last one."""
        self.operations += 1
        if self.operations != self._crash_at:
            return
        if file is not None and self._tears_last_write and len(data) > 1:
            file.write(offset, data[: len(data) // 2])
        self.is_dead = True
        self._changed.notify_all()
        raise Crash

    def _add(self, opened: _Open) -> int:
        handle = self._next_handle
        self._next_handle += 1
        self._opened[handle] = opened
        return handle

    def _handle(self, handle: int) -> _Open:
        opened = self._opened.get(handle)
        if opened is None:
            raise error(errno.EBADF)
        return opened

    def _directory(self, handle: int) -> Directory:
        return require_directory(self._handle(handle).node)

    def _named_in(self, handle: int, name: str) -> Directory:
        require_text(name)
        if not name:
            raise error(errno.ENOENT, name)
        return self._directory(handle)

    def _at(self, name: str, parent: int) -> Node:
        directory = self._named_in(parent, name)
        check_name(name)
        return directory if name == "." else entry(directory, name)

    def _free_name(self, name: str, parent: int) -> Directory:
        directory = self._named_in(parent, name)
        require_free(directory, name)
        return directory

    def _create(self, name: str, parent: int, *, appends: bool) -> int:
        directory = self._free_name(name, parent)
        self._step()
        file = File()
        directory.put(name, file)
        return self._add(_Open(file, can_write=True, appends=appends))

    def _flush(self, handle: int) -> None:
        with self._living():
            node = self._handle(handle).node
            self._step()
            if not isinstance(node, SymbolicLink):
                node.sync()

    def _drop_lock(self, handle: int) -> None:
        locks = self._locks.get(self._opened[handle].node.inode, [])
        locks[:] = [lock for lock in locks if lock.handle != handle]
        self._changed.notify_all()
