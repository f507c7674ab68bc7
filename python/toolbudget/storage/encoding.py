"""The exact bytes that a result's content is stored as.

One text is stored as itself, so that it can be searched and paged by lines; anything else as the
JSON list, so that nothing is lost. Bytes come in bounded chunks: a huge text never exists twice.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Final, NamedTuple

import xxhash

__all__ = [
    "Content",
    "Measured",
    "Measurement",
    "encode_content",
    "encode_small",
    "is_stored_as_json",
    "measure_bytes",
    "measure_chunks",
    "plain_data",
]

Content = str | Sequence[Mapping[str, object]]
"""What a tool returned: a text, or a list (or tuple) of content blocks."""

_CHUNK_BYTES: Final = 1 << 20
_MAX_BYTES_PER_CHARACTER: Final = 4
_GATHERED_CHARS: Final = _CHUNK_BYTES // _MAX_BYTES_PER_CHARACTER

# Where a cache breakpoint stands is about the request, not about the result.
_KEYS_OF_PLAIN_TEXT: Final = frozenset({"type", "text", "cache_control"})


class Measured(NamedTuple):
    """Size and hash of stored bytes."""

    size_bytes: int
    digest: str
    """XXH3-128 as 32 hex digits."""


class Measurement:
    """Size and hash of bytes that go by in chunks."""

    def __init__(self) -> None:
        self._size_bytes = 0
        self._hasher = xxhash.xxh3_128()

    def add(self, chunk: bytes) -> None:
        """Count one more chunk."""
        self._size_bytes += len(chunk)
        self._hasher.update(chunk)

    def result(self) -> Measured:
        """Return size and hash of all chunks so far."""
        return Measured(self._size_bytes, self._hasher.hexdigest())


def is_stored_as_json(content: Content) -> bool:
    """Tell whether content is stored as a JSON list rather than as its text.

    Example:
        >>> is_stored_as_json("text")
        False
        >>> is_stored_as_json([{"type": "text", "text": "one"}, {"type": "text", "text": "two"}])
        True
    """
    return not isinstance(content, str) and _only_text(content) is None


def encode_content(content: Content) -> Iterator[bytes]:
    """Yield the bytes to store in chunks of at most 1 MiB.

    Text is UTF-8 with lone surrogates kept (``surrogatepass``), without any change to line ends.

    Raises:
        TypeError: The content is neither text nor a list, or holds a value that JSON has no form
            for.
        ValueError: It holds NaN, an infinity, or itself.
        RecursionError: It is nested too deeply.

    Example:
        >>> b"".join(encode_content([{"type": "text", "text": "one"}]))
        b'one'
    """
    text = _only_text(content)
    return _encode_blocks(content) if text is None else _encode_text(text)


def measure_bytes(stored: bytes) -> Measured:
    """Return size and hash of stored bytes that are at hand as a whole.

    Example:
        >>> measure_bytes(b"text") == measure_chunks([b"text"])
        True
    """
    return Measured(len(stored), xxhash.xxh3_128_hexdigest(stored))


def encode_small(content: Content) -> bytes | None:
    """Return the bytes that :func:`encode_content` yields if that is one chunk of plain text.

    Example:
        >>> encode_small("text"), encode_small([]), encode_small("x" * 2_000_000)
        (b'text', None, None)
    """
    text = _only_text(content)
    # Longer ones may be several chunks, by their characters.
    if text is None or len(text) > _GATHERED_CHARS:
        return None
    return text.encode("utf-8", "surrogatepass")


def plain_data(content: Content) -> str | bytes | None:
    r"""Return what :func:`encode_content` yields, without a copy if it is an ASCII text.

    Returns:
        The text if it is ASCII, its bytes if it is another one of one chunk, else ``None``.

    Example:
        >>> plain_data("text"), plain_data("caf\u00e9"), plain_data([])
        ('text', b'caf\xc3\xa9', None)
    """
    text = _only_text(content)
    return text if text is not None and text.isascii() else encode_small(content)


def measure_chunks(chunks: Iterable[bytes]) -> Measured:
    """Return size and hash of bytes that come in chunks.

    Example:
        >>> measure_chunks([b"te", b"xt"]).size_bytes
        4
    """
    measurement = Measurement()
    for chunk in chunks:
        measurement.add(chunk)
    return measurement.result()


def _only_text(content: object) -> str | None:
    """Return the text that stands for the whole content, if there is one."""
    if isinstance(content, str):
        # A subclass may override `encode`: what counts are the characters it holds.
        return str.__str__(content)
    if not isinstance(content, Sequence) or len(content) != 1:
        return None
    block: object = content[0]
    if not isinstance(block, Mapping) or block.get("type") != "text":
        return None
    text: object = block.get("text")
    if not isinstance(text, str) or not _KEYS_OF_PLAIN_TEXT.issuperset(block):
        return None
    return str.__str__(text)


def _encode_text(text: str) -> Iterator[bytes]:
    chunk_chars = _CHUNK_BYTES if text.isascii() else _CHUNK_BYTES // _MAX_BYTES_PER_CHARACTER
    if len(text) <= chunk_chars:
        yield text.encode("utf-8", "surrogatepass")
        return
    for start in range(0, len(text), chunk_chars):
        yield text[start : start + chunk_chars].encode("utf-8", "surrogatepass")


def _encode_blocks(content: object) -> Iterator[bytes]:
    if not isinstance(content, Sequence) or isinstance(content, bytes | bytearray | memoryview):
        raise TypeError(f"content is neither text nor a list of blocks: {type(content).__name__}")
    encoder = json.JSONEncoder(
        ensure_ascii=False, allow_nan=False, separators=(",", ":"), default=_plain_form
    )
    # Small pieces are gathered, so that a million blocks are not a million writes.
    gathered: list[str] = []
    gathered_chars = 0
    for piece in _json_pieces(content, encoder):
        if gathered_chars + len(piece) > _GATHERED_CHARS:
            yield from _encode_text("".join(gathered))
            yield from _encode_text(piece)
            gathered, gathered_chars = [], 0
        else:
            gathered.append(piece)
            gathered_chars += len(piece)
        del piece  # it may be a copy of a huge text: there is one at a time
    yield from _encode_text("".join(gathered))


def _json_pieces(content: Sequence[object], encoder: json.JSONEncoder) -> Iterator[str]:
    for index, block in enumerate(content):
        yield "," if index else "["
        # Piece by piece is slow, and as a whole there are two copies for a moment.
        if _has_large_text(block):
            yield from encoder.iterencode(block)
        else:
            yield encoder.encode(block)
    yield "]" if content else "[]"


def _has_large_text(block: object) -> bool:
    if not isinstance(block, Mapping):
        return False
    return any(isinstance(value, str) and len(value) > _GATHERED_CHARS for value in block.values())


def _plain_form(value: object) -> dict[object, object]:
    if isinstance(value, Mapping):
        return dict(value)
    raise TypeError(f"a value of type {type(value).__name__} has no JSON form")
