"""Fingerprints: with its id, the fingerprint says *which* result a decision is about."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import xxhash

from toolbudget._core.pure.size import ENCODING_CHUNK_CHARS

if TYPE_CHECKING:
    from collections.abc import Iterable

__all__ = ["Fingerprint", "fingerprint", "text_identity"]


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


def text_identity(texts: tuple[object, ...]) -> int | tuple[int, ...]:
    """Identify a text by its string objects; it holds as long as they are kept alive."""
    return id(texts[0]) if len(texts) == 1 else tuple(map(id, texts))
