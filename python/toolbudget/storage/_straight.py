"""The short way of plain texts that wait for no disk: all of them in one call of the native core.

Nearly every text takes it. Whatever does not go straight is left to the batch, which takes the same
steps one by one and knows what to do about each failure.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from toolbudget.storage._files import place_texts
from toolbudget.storage.encoding import plain_data
from toolbudget.storage.names import extension_of, result_name

if TYPE_CHECKING:
    from collections.abc import Sequence

    from toolbudget.storage._files import FileSystem, PlacedText
    from toolbudget.storage.encoding import Content

__all__ = ["place_straight"]

# What is not ASCII is encoded first: so many bytes may lie in memory besides the texts.
_MAX_WAITING_BYTES: Final = 1 << 20
_EXTENSION: Final = extension_of(is_json=False)


def place_straight(
    files: FileSystem, items: Sequence[tuple[str, Content]], *, results: int
) -> list[tuple[str, PlacedText] | None]:
    """Store what can be stored straight.

    Of several results with one name all but the first are left, so that the first has it.

    Args:
        files: The file system.
        items: Ids, each with the content to store, without waiting for the disk.
        results: The open directory of the results.

    Returns:
        For each the name of its file and what is in it; ``None`` if it is left.
    """
    way = _Way(files, results, len(items))
    names: set[str] = set()
    for index, (tool_use_id, content) in enumerate(items):
        try:
            name = result_name(tool_use_id) + _EXTENSION
            if name not in names:
                names.add(name)
                data = plain_data(content)
                if data is not None:
                    way.add(index, name, data)
        except Exception:  # noqa: BLE001, S112 - a host's blocks may raise anything, and will again
            continue
    way.go()
    return way.placed


class _Way:
    """What waits to be stored in the next call.

    Attributes:
        placed: What has been stored, in the order of the items.
    """

    def __init__(self, files: FileSystem, results: int, count: int) -> None:
        self.placed: list[tuple[str, PlacedText] | None] = [None] * count
        self._files = files
        self._results = results
        self._indexes: list[int] = []
        self._texts: list[tuple[str, str | bytes]] = []
        self._waiting_bytes = 0
        self._expects_free = False

    def add(self, index: int, name: str, data: str | bytes) -> None:
        """Take the text of an item along."""
        self._indexes.append(index)
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
        for index, (name, _), found in zip(self._indexes, self._texts, placed, strict=True):
            if found is not None:
                self.placed[index] = name, found
        last = placed[-1]
        self._expects_free = last is not None and last[2]
        self._indexes, self._texts, self._waiting_bytes = [], [], 0
