"""New values in JSON text, with every byte around them left alone."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, NamedTuple

from toolbudget._core.pure.json.locate import Path, Span, locate
from toolbudget._core.pure.json.scan import skip_blanks, skip_value
from toolbudget.errors import InvalidMessageError

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

__all__ = ["Splice", "replace_contents", "splice"]


class Splice(NamedTuple):
    """Bytes to stand in the place of those from ``start`` up to ``end``."""

    start: int
    end: int
    data: bytes


def replace_contents(
    data: bytes, replacements: Mapping[Path, str], *, start: int = 0
) -> list[Splice]:
    r"""Work out how the contents of tool results change when texts are replaced in JSON text.

    A string becomes a string, a list one text block with the last ``cache_control`` of those it
    stands for; both are written in ASCII.

    Args:
        data: JSON text in UTF-8 that a parser has accepted.
        replacements: New texts by the path of the ``content`` that they replace.
        start: Where the outermost value, or white space before it, begins.

    Returns:
        The changes, in the order of the text.

    Raises:
        InvalidMessageError: The text is damaged, or has no value at one of the paths.

    Example:
        >>> body = b'{ "content" : "a long text", "n":1.0 }'
        >>> splice(body, replace_contents(body, {("content",): "caf\u00e9"}))
        b'{ "content" : "caf\\u00e9", "n":1.0 }'
    """
    spans = locate(data, replacements, start=start)
    splices = []
    for path, text in replacements.items():
        span = spans.get(path)
        if span is None:
            raise InvalidMessageError(f"JSON text has no value at: {path!r}")
        encoded = _encode(data, span, text)
        splices.append(Splice(span.start, span.end, encoded))
    return sorted(splices)


def splice(data: bytes, splices: Iterable[Splice]) -> bytes:
    """Return ``data`` with all changes made; they are in order and do not overlap.

    Example:
        >>> splice(b"0123456789", [Splice(1, 3, b"-"), Splice(9, 9, b"+")])
        b'0-345678+9'
    """
    parts: list[bytes] = []
    position = 0
    for change in splices:
        parts += (data[position : change.start], change.data)
        position = change.end
    return b"".join((*parts, data[position:]))


def _encode(data: bytes, content: Span, text: str) -> bytes:
    """Put ``text`` into the form that the content has.

    The content is not decoded: what it carries over is copied as it stands there, numbers of any
    length included.
    """
    encoded = json.dumps(text).encode("ascii")
    if data[content.start : content.start + 1] != b"[":
        return encoded
    block = b'{"type":"text","text":' + encoded
    cache_control = _last_cache_control(data, content)
    if cache_control is not None:
        block += b',"cache_control":' + cache_control
    return b"[" + block + b"}]"


def _last_cache_control(data: bytes, content: Span) -> bytes | None:
    """Return the last ``cache_control`` of the blocks of a list, unless it is ``null``."""
    paths = [(index, "cache_control") for index in range(_count_items(data, content.start))]
    spans = locate(data, paths, start=content.start)
    values = [data[span.start : span.end] for path in paths if (span := spans.get(path))]
    return next((value for value in reversed(values) if value != b"null"), None)


def _count_items(data: bytes, start: int) -> int:
    count = 0
    position = skip_blanks(data, start + 1)
    while data[position : position + 1] != b"]":
        count += 1
        position = skip_blanks(data, skip_value(data, position))
        if data[position : position + 1] == b",":
            position = skip_blanks(data, position + 1)
    return count
