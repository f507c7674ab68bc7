"""New values in JSON text, with every byte around them left alone."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, NamedTuple

from toolbudget._core.pure.json.locate import Path, locate
from toolbudget._core.pure.rewrite import replace_content
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
        encoded = _encode(data[span.start : span.end], text)
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


def _encode(content: bytes, text: str) -> bytes:
    """Put ``text`` into the form that ``content`` has; integers of any size stay what they are."""
    try:
        replaced = replace_content(json.loads(content), text)
        return json.dumps(replaced, separators=(",", ":")).encode("ascii")
    except (RecursionError, ValueError) as error:
        raise InvalidMessageError(f"content of a tool result cannot be read: {error}") from error
