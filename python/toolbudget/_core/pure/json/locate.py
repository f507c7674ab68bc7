"""Finding where chosen values stand in JSON text."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, NamedTuple, TypeAlias

from toolbudget._core.pure.json.scan import damaged, read_key, skip_blanks, skip_value

if TYPE_CHECKING:
    from collections.abc import Iterable

__all__ = ["Path", "Span", "locate"]

Path: TypeAlias = "tuple[str | int, ...]"
"""Keys and indices from the outermost value to the one that is meant."""


class Span(NamedTuple):
    """Where a value stands: from the first byte of its token to the one behind its last."""

    start: int
    end: int


@dataclass(slots=True)
class _Wanted:
    """A value to be found, or one that holds some."""

    is_wanted: bool = False
    below: dict[str | int, _Wanted] = field(default_factory=dict)


def locate(data: bytes, paths: Iterable[Path], *, start: int = 0) -> dict[Path, Span]:
    r"""Find values in one pass over JSON text.

    Of a key that occurs twice in an object the last occurrence counts, as for ``json.loads``.

    Args:
        data: JSON text in UTF-8 that a parser has accepted.
        paths: Which values.
        start: Where the outermost value, or white space before it, begins.

    Returns:
        The spans by path; what is not there is left out.

    Raises:
        InvalidMessageError: The text is damaged; the message names the byte.

    Example:
        >>> locate(b'{"a": 1, "b": [true, "x"]}', [("b", 1), ("c",)])
        {('b', 1): Span(start=21, end=24)}
    """
    wanted = _Wanted()
    for path in paths:
        node = wanted
        for key in path:
            node = node.below.setdefault(key, _Wanted())
        node.is_wanted = True
    found: dict[Path, Span] = {}
    _find(data, skip_blanks(data, start), wanted, (), found)
    return found


def _find(data: bytes, start: int, wanted: _Wanted, path: Path, found: dict[Path, Span]) -> int:
    """Note what is wanted in the value that begins at ``start``; return where the value ends."""
    opening = data[start : start + 1]
    if wanted.below and opening == b"{":
        end = _find_in_container(data, start, wanted, path, found, is_object=True)
    elif wanted.below and opening == b"[":
        end = _find_in_container(data, start, wanted, path, found, is_object=False)
    else:
        end = skip_value(data, start)
    if wanted.is_wanted:
        found[path] = Span(start, end)
    return end


def _find_in_container(
    data: bytes,
    start: int,
    wanted: _Wanted,
    path: Path,
    found: dict[Path, Span],
    *,
    is_object: bool,
) -> int:
    closing = b"}" if is_object else b"]"
    by_key: dict[str | int, dict[Path, Span]] = {}
    index = 0
    position = skip_blanks(data, start + 1)
    while data[position : position + 1] != closing:
        key: str | int = index
        if is_object:
            key, position = read_key(data, position)
        child = wanted.below.get(key)
        if child is None:
            position = skip_value(data, position)
        else:
            by_key[key] = {}
            position = _find(data, position, child, (*path, key), by_key[key])
        position = _skip_separator(data, position, closing)
        index += 1
    for found_below in by_key.values():
        found.update(found_below)
    return position + 1


def _skip_separator(data: bytes, start: int, closing: bytes) -> int:
    """Return the position of the next member, or of the closing bracket."""
    position = skip_blanks(data, start)
    separator = data[position : position + 1]
    if separator == b",":
        return skip_blanks(data, position + 1)
    if separator != closing:
        raise damaged(data, position)
    return position
