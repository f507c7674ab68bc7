"""Fingerprints: with its id, the fingerprint says *which* result a decision is about."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import xxhash

from toolbudget._core.pure.size import ENCODING_CHUNK_CHARS

if TYPE_CHECKING:
    from collections.abc import Iterable

__all__ = ["Fingerprint", "FingerprintCache", "fingerprint"]


class Fingerprint(NamedTuple):
    """Size in characters and XXH3-128 (32 hex digits) of a text in UTF-8 with ``surrogatepass``.

    Example:
        >>> fingerprint(["abc"])
        Fingerprint(size_chars=3, hash='06b05ab6733a618578af5f94892f3950')
    """

    size_chars: int
    hash: str


def fingerprint(parts: Iterable[str]) -> Fingerprint:
    """Fingerprint the text that ``parts`` make when they are joined, without joining them.

    Example:
        >>> fingerprint(["ab", "c"]) == fingerprint(["abc"])
        True
    """
    state = xxhash.xxh3_128()
    size_chars = 0
    for part in map(str.__str__, parts):  # methods of a subclass take no part
        size_chars += len(part)
        for start in range(0, len(part), ENCODING_CHUNK_CHARS):
            chunk = part[start : start + ENCODING_CHUNK_CHARS]
            state.update(chunk.encode("utf-8", "surrogatepass"))
    return Fingerprint(size_chars, state.hexdigest())


class FingerprintCache:
    """Fingerprints of the texts of one call, for the next one.

    A text is found by the very string objects that it comes from. They are kept alive here, so that
    no other object can have their place in memory.

    Example:
        >>> cache = FingerprintCache()
        >>> cache.find(("some text",)) is None
        True
    """

    __slots__ = ("_entries", "_measured")

    def __init__(self) -> None:
        """Start without any text."""
        self._entries: dict[tuple[int, ...], tuple[tuple[object, ...], Fingerprint]] = {}
        self._measured: dict[tuple[int, ...], tuple[str, int]] = {}

    def find(self, texts: tuple[object, ...], /) -> Fingerprint | None:
        """Return the fingerprint of a text, given as the objects that hold it."""
        entry = self._entries.get(tuple(map(id, texts)))
        return None if entry is None else entry[1]

    def keep(self, texts: tuple[object, ...], fingerprint: Fingerprint) -> None:
        """Remember a text."""
        self._entries[tuple(map(id, texts))] = (texts, fingerprint)

    def find_size(self, texts: tuple[object, ...], unit: str) -> int | None:
        """Return the size of a text in a unit, if it is known."""
        known_unit, size = self._measured.get(tuple(map(id, texts)), ("", 0))
        return size if known_unit == unit else None

    def keep_size(self, texts: tuple[object, ...], unit: str, size: int) -> None:
        """Remember the size of a text that is kept here."""
        self._measured[tuple(map(id, texts))] = (unit, size)

    def __len__(self) -> int:
        """Count the texts."""
        return len(self._entries)
