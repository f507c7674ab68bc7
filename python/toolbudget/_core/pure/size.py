"""Sizes of text: characters are ``len(str)``, bytes are UTF-8 with ``surrogatepass``."""

from __future__ import annotations

__all__ = ["ENCODING_CHUNK_CHARS", "utf8_length"]

# Text is encoded piece by piece, so that no second copy of a huge string appears.
ENCODING_CHUNK_CHARS = 1 << 16


def utf8_length(text: str) -> int:
    """Count the bytes of ``text`` in UTF-8; a lone surrogate takes three.

    Example:
        >>> utf8_length("a中😀")
        8
    """
    text = str.__str__(text)  # methods of a subclass take no part
    if text.isascii():
        return len(text)
    return sum(
        len(text[start : start + ENCODING_CHUNK_CHARS].encode("utf-8", "surrogatepass"))
        for start in range(0, len(text), ENCODING_CHUNK_CHARS)
    )
