"""Files and directories in memory that know what of them would be left after a loss of power.

Stricter than any real disk: nothing lasts until its own sync. Of what has not been synced, each
change of a directory lasts or not, whatever became of the others, and each write is absent, whole,
torn or zero-filled. A crash is a matter of choosing among these possibilities.
"""

from __future__ import annotations

import time
from itertools import count, product
from typing import TYPE_CHECKING, ClassVar, Final, NamedTuple, TypeAlias

if TYPE_CHECKING:
    from collections.abc import Sequence

    from toolbudget.storage._filesystem import EntryKind

__all__ = ["Directory", "File", "Node", "SymbolicLink"]

# Of so many writes of one file each may be torn; of those before them each is whole or absent.
_TORN_WRITES: Final = 3

_inodes: Final = count(2)


class _Write(NamedTuple):
    """Bytes put at a position; what is missing before it reads as zeros."""

    offset: int
    data: bytes

    def apply(self, content: bytes) -> bytes:
        """Return the content with this change."""
        before = content[: self.offset].ljust(self.offset, b"\0")
        return before + self.data + content[self.offset + len(self.data) :]

    def outcomes(self) -> tuple[_Change | None, ...]:
        """Return what may become of it, nothing first."""
        offset, data = self
        torn = (data[: len(data) // 2], data[:-1], bytes(len(data)))
        return None, self, *(_Write(offset, part) for part in torn)


class _Cut(NamedTuple):
    """A new size."""

    size_bytes: int

    def apply(self, content: bytes) -> bytes:
        """Return the content with this change."""
        return content[: self.size_bytes].ljust(self.size_bytes, b"\0")

    def outcomes(self) -> tuple[_Change | None, ...]:
        """Return what may become of it, nothing first."""
        return None, self


_Change: TypeAlias = _Write | _Cut


class _Base:
    """What every node has."""

    kind: ClassVar[EntryKind]

    def __init__(self, permissions: int) -> None:
        self.inode = next(_inodes)
        self.permissions = permissions
        self.modified_s = time.time()


class File(_Base):
    """A regular file: its content now, the one on the disk, and the changes between them."""

    kind: ClassVar[EntryKind] = "file"

    def __init__(self, content: bytes = b"") -> None:
        super().__init__(0o600)
        self.content = content
        self.names = 0
        self.is_linkable = False
        """Whether it may get a name although it has none."""
        self._durable = content
        self._changes: list[_Change] = []

    def write(self, offset: int, data: bytes) -> None:
        """Put bytes at a position."""
        self._change(_Write(offset, data))

    def truncate(self, size_bytes: int) -> None:
        """Cut or extend it."""
        self._change(_Cut(size_bytes))

    def sync(self) -> None:
        """Bring the content to the disk."""
        self._durable = self.content
        self._changes.clear()

    def possibilities(self) -> list[bytes]:
        """Return each content that a crash may leave; that of the last sync comes first."""
        plain, torn = self._changes[:-_TORN_WRITES], self._changes[-_TORN_WRITES:]
        choices: list[Sequence[_Change | None]] = [(None, change) for change in plain]
        choices += [change.outcomes() for change in torn]
        return list(dict.fromkeys(map(self._with, product(*choices))))

    def _change(self, change: _Change) -> None:
        self.content = change.apply(self.content)
        self._changes.append(change)
        self.modified_s = time.time()

    def _with(self, changes: Sequence[_Change | None]) -> bytes:
        content = self._durable
        for change in changes:
            content = content if change is None else change.apply(content)
        return content


class SymbolicLink(_Base):
    """A link to a path; planted by a test, so it is on the disk from the beginning."""

    kind: ClassVar[EntryKind] = "symbolic link"

    def __init__(self, target: str) -> None:
        super().__init__(0o777)
        self.target = target


class Directory(_Base):
    """Names: those that are there now, those on the disk, and the changes between them."""

    kind: ClassVar[EntryKind] = "directory"

    def __init__(self) -> None:
        super().__init__(0o700)
        self.entries: dict[str, Node] = {}
        self.is_removed = False
        self._durable: dict[str, Node] = {}
        self._changes: list[tuple[str, Node | None]] = []

    def put(self, name: str, node: Node | None) -> None:
        """Let a name stand for a node from now on, or for nothing."""
        before = self.entries.pop(name, None)
        if isinstance(before, File):
            before.names -= 1
        if node is not None:
            self.entries[name] = node
        if isinstance(node, File):
            node.names += 1
        self._changes.append((name, node))
        self.modified_s = time.time()

    def sync(self) -> None:
        """Bring the names to the disk."""
        self._durable = dict(self.entries)
        self._changes.clear()

    def possibilities(self) -> dict[str, list[Node | None]]:
        """Return for each name what a crash may leave there; that of the last sync comes first."""
        found: dict[str, list[Node | None]] = {name: [node] for name, node in self._durable.items()}
        for name, node in self._changes:
            options = found.setdefault(name, [None])
            if not any(node is option for option in options):
                options.append(node)
        return found


Node: TypeAlias = File | Directory | SymbolicLink
