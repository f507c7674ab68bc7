"""The short way of plain texts that wait for no disk: all of them in one call of the native core.

Nearly every text takes it. Whatever does not go straight is left to the batch, which takes the same
steps one by one and knows what to do about each failure.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from toolbudget.storage._files import place_texts
from toolbudget.storage.encoding import Measured

if TYPE_CHECKING:
    from collections.abc import Sequence

    from toolbudget.storage._batch import Item
    from toolbudget.storage._files import FileSystem

__all__ = ["place_straight"]

# What is not ASCII is encoded first: so many bytes may lie in memory besides the texts.
_MAX_WAITING_BYTES: Final = 1 << 20


def place_straight(files: FileSystem, items: Sequence[Item], *, results: int) -> list[Item]:
    """Store what can be stored straight, and return the other items, in order.

    Of several items with one name all but the first are left, so that the first has it.

    Args:
        files: The file system.
        items: What to store, without waiting for the disk.
        results: The open directory of the results.
    """
    way = _Way(files, results)
    for item in items:
        way.add(item)
    way.go()
    return [item for item in items if id(item) not in way.placed]


class _Way:
    """What waits to be stored in the next call.

    Attributes:
        placed: The addresses of the items that have been stored.
    """

    def __init__(self, files: FileSystem, results: int) -> None:
        self.placed: set[int] = set()
        self._files = files
        self._results = results
        self._names: set[str] = set()
        self._items: list[Item] = []
        self._texts: list[tuple[str, str | bytes]] = []
        self._waiting_bytes = 0
        self._expects_free = False

    def add(self, item: Item) -> None:
        """Take an item along, if it can go this way."""
        name = item.plain_name
        if name in self._names:
            return
        self._names.add(name)
        try:
            data = item.plain_data()
        except Exception:  # noqa: BLE001 - a host's blocks may raise anything
            return  # and will again, where it is noted
        if data is None:
            return
        self._items.append(item)
        self._texts.append((name, data))
        if isinstance(data, bytes):
            self._waiting_bytes += len(data)
            if self._waiting_bytes > _MAX_WAITING_BYTES:
                self.go()

    def go(self) -> None:
        """Store what waits."""
        if not self._texts:
            return
        placed = place_texts(
            self._files, self._texts, parent=self._results, expects_free=self._expects_free
        )
        for item, (name, _), found in zip(self._items, self._texts, placed, strict=True):
            if found is not None:
                size_bytes, digest, item.is_new = found
                item.measured = Measured(size_bytes, digest)
                item.file_name = name
                self.placed.add(id(item))
        last = placed[-1]
        self._expects_free = last is not None and last[2]
        self._items, self._texts, self._waiting_bytes = [], [], 0
