"""One page of a text too long to be shown at once, and where the next one begins.

A page is cut from bytes that are read as they are needed: memory does not grow with the text, nor
with a line of it. A page ends at the end of a line; one line that is longer than a page is cut
between characters, and goes on by a position in bytes.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final, Protocol

from toolbudget._display import shown
from toolbudget.errors import ToolInputError
from toolbudget.storage._numbers import check_whole_number

if TYPE_CHECKING:
    from toolbudget.storage.text_encoding import TextEncoding

__all__ = ["MAX_PAGE_CHARS", "TextPage", "TextSource", "read_page"]

MAX_PAGE_CHARS: Final = 50_000
"""What a reader shows at once unless it is told otherwise: as much as one result may have (L1)."""

_CHUNK_BYTES: Final = 1 << 18
_LAST_OFFSET_BYTES: Final = (1 << 63) - 1
_MAX_CHARACTER_BYTES: Final = 4


class TextSource(Protocol):
    """Bytes of a text that can be read from any position."""

    encoding: TextEncoding
    size_bytes: int
    """As it was when the source was opened."""

    def read(self, start_byte: int, max_bytes: int) -> bytes:
        """Return bytes from a position, fewer than asked for only at the end."""
        ...


@dataclass(frozen=True, slots=True, kw_only=True)
class TextPage:
    """A part of a text.

    Attributes:
        text: The part, as it can be sent.
        start_byte: Where it begins in the file.
        end_byte: Where it ends: the first byte behind it.
        size_bytes: How many bytes the whole file has.
        start_line: The number of the line it begins in, from 1; ``None`` if it was asked for by
            its position in bytes.
        end_line: The number of the line it ends in.
        next_start_line: The line that the next page begins with, if lines were asked for.
        next_start_byte: Where the next page begins, if it begins within a line, or bytes were asked
            for. If both are ``None`` there is none.
        encoding: The encoding of the file.
        is_exact: Whether the text is just what the file holds: it has no bytes that cannot be
            decoded, no NUL and no lone surrogates.
    """

    text: str
    start_byte: int
    end_byte: int
    size_bytes: int
    start_line: int | None
    end_line: int | None
    next_start_line: int | None
    next_start_byte: int | None
    encoding: str
    is_exact: bool

    @property
    def has_more(self) -> bool:
        """Whether there is a next page of what was asked for."""
        return self.next_start_line is not None or self.next_start_byte is not None


def read_page(
    source: TextSource,
    *,
    start_line: int | None = None,
    end_line: int | None = None,
    start_byte: int | None = None,
    max_chars: int = MAX_PAGE_CHARS,
) -> TextPage:
    """Read one page.

    Args:
        source: The text.
        start_line: First line, from 1; by default the first one.
        end_line: Last line, which is shown too; by default that of the text.
        start_byte: Where to begin instead, in bytes; within a character it is the next one.
        max_chars: The most characters of a page. What cannot be decoded counts as it is shown.

    Raises:
        ToolInputError: A number is out of its bounds, the two ways to say where to begin are mixed,
            or nothing stands there.
        OSError: It cannot be read.
    """
    _check_range(start_line, end_line, start_byte, max_chars)
    if start_byte is not None:
        return _page_by_bytes(source, start_byte, max_chars)
    first = 1 if start_line is None else start_line
    begin, found = _find_line(source, first)
    if found < first or (first > 1 and not source.read(begin, 1)):
        last = found - 1 if _ends_a_line(source, begin) else found
        raise ToolInputError(f"start_line is past the last line, {last}: {shown(first)}")
    return _page_by_lines(source, begin, first, end_line, max_chars)


def _page_by_bytes(source: TextSource, start_byte: int, max_chars: int) -> TextPage:
    # Where no file reaches, none can be asked.
    if start_byte > _LAST_OFFSET_BYTES or (start_byte > 0 and not source.read(start_byte, 1)):
        raise ToolInputError(
            f"start_byte is past the end, {source.size_bytes}: {shown(start_byte)}"
        )
    begin = _align(source, start_byte)
    text, end, is_all = _take(source, begin, max_chars, None)
    return _page(source, text, begin, end, next_start_byte=None if is_all else end)


def _page_by_lines(
    source: TextSource, begin: int, first: int, end_line: int | None, max_chars: int
) -> TextPage:
    max_lines = None if end_line is None else end_line - first + 1
    text, end, is_all = _take(source, begin, max_chars, max_lines)
    is_whole_line = text.endswith("\n")
    last = first + text.count("\n") - (1 if is_whole_line else 0)
    # What follows the lines asked for is no next page of them.
    is_last = is_all or (is_whole_line and last == end_line)
    return _page(
        source,
        text,
        begin,
        end,
        start_line=first,
        end_line=last,
        next_start_line=last + 1 if not is_last and is_whole_line else None,
        next_start_byte=None if is_last or is_whole_line else end,
    )


def _page(
    source: TextSource,
    text: str,
    begin: int,
    end: int,
    *,
    start_line: int | None = None,
    end_line: int | None = None,
    next_start_line: int | None = None,
    next_start_byte: int | None = None,
) -> TextPage:
    return TextPage(
        text=text,
        start_byte=begin,
        end_byte=end,
        size_bytes=max(source.size_bytes, end),
        start_line=start_line,
        end_line=end_line,
        next_start_line=next_start_line,
        next_start_byte=next_start_byte,
        encoding=source.encoding.label,
        is_exact=source.encoding.is_exact(source.read(begin, end - begin)),
    )


def _take(
    source: TextSource, begin: int, max_chars: int, max_lines: int | None
) -> tuple[str, int, bool]:
    """Return the text of a page, where it ends, and whether the source ends there too."""
    parts: list[str] = []
    room_chars, room_lines, position = max_chars, max_lines, begin
    while True:
        data = source.read(position, _CHUNK_BYTES)
        is_end = len(data) < _CHUNK_BYTES
        if not is_end:
            data = data[: source.encoding.whole_bytes(data, _CHUNK_BYTES - _MAX_CHARACTER_BYTES)]
        kept = _fit_lines(source.encoding, data, room_lines)
        fitting = _fit_chars(source.encoding, data[:kept], room_chars, is_first=not parts)
        text = source.encoding.decode(data[:fitting])
        parts.append(text)
        position += fitting
        if fitting < kept:
            return _cut_at_line(source, "".join(parts), begin, position)
        if kept < len(data) or is_end:
            return "".join(parts), position, is_end and kept == len(data)
        room_chars -= len(text)
        room_lines = None if room_lines is None else room_lines - text.count("\n")


def _cut_at_line(source: TextSource, text: str, begin: int, position: int) -> tuple[str, int, bool]:
    """Drop the beginning of a line that does not fit, unless nothing else is there."""
    kept_chars = text.rfind("\n") + 1
    if kept_chars in {0, len(text)}:
        return text, position, False
    encoding, end = source.encoding, position
    # How many bytes the text has is only known from the bytes, which may be gone by now.
    while end > begin:
        start = max(end - _CHUNK_BYTES, begin)
        data = source.read(start, end - start)
        count = encoding.count_line_ends(data)
        if count:
            return text[:kept_chars], start + _bytes_of_lines(encoding, data, count), False
        end = start
    return text, position, False


def _fit_lines(encoding: TextEncoding, data: bytes, max_lines: int | None) -> int:
    """Return how many bytes of ``data`` the first ``max_lines`` lines take."""
    if max_lines is None or encoding.count_line_ends(data) < max_lines:
        return len(data)
    return _bytes_of_lines(encoding, data, max_lines)


def _bytes_of_lines(encoding: TextEncoding, data: bytes, lines: int) -> int:
    """Return where the ``lines``-th line end of ``data`` ends, which there must be."""
    low, high = 0, len(data) // encoding.unit_bytes
    while low < high:
        middle = (low + high) // 2
        if encoding.count_line_ends(data[: middle * encoding.unit_bytes]) < lines:
            low = middle + 1
        else:
            high = middle
    return low * encoding.unit_bytes


def _fit_chars(encoding: TextEncoding, data: bytes, max_chars: int, *, is_first: bool) -> int:
    """Return how many bytes of ``data`` make at most ``max_chars`` characters.

    The first character of a page is taken even if it is shown as more: a page always goes on.
    """
    if len(encoding.decode(data)) <= max_chars:
        return len(data)
    low, high = 0, len(data)
    while high - low > 1:
        middle = (low + high) // 2
        if len(encoding.decode(data[: encoding.whole_bytes(data, middle)])) <= max_chars:
            low = middle
        else:
            high = middle
    fitting = encoding.whole_bytes(data, low)
    if fitting or not is_first:
        return fitting
    return next(
        (
            end
            for size in range(1, 2 * _MAX_CHARACTER_BYTES)
            if (end := encoding.whole_bytes(data, size)) > 0
        ),
        len(data),
    )


def _find_line(source: TextSource, number: int) -> tuple[int, int]:
    """Return where a line begins, or the last one there is, and that line's number."""
    encoding, position, found = source.encoding, source.encoding.mark_bytes, 1
    while found < number:
        data = source.read(position, _CHUNK_BYTES)
        count = encoding.count_line_ends(data)
        if found + count >= number:
            return position + _bytes_of_lines(encoding, data, number - found), number
        found += count
        position += len(data)
        if len(data) < _CHUNK_BYTES:
            break
    return position, found


def _ends_a_line(source: TextSource, position: int) -> bool:
    """Whether a line ends right before a position, which is at least that of the first line."""
    encoding = source.encoding
    before = max(position - encoding.unit_bytes, encoding.mark_bytes)
    return encoding.count_line_ends(source.read(before, position - before)) > 0


def _align(source: TextSource, start_byte: int) -> int:
    """Return the position itself, or that of the next character."""
    encoding = source.encoding
    begin = max(start_byte, encoding.mark_bytes)
    begin += -(begin - encoding.mark_bytes) % encoding.unit_bytes
    before = min(_MAX_CHARACTER_BYTES, begin - encoding.mark_bytes)
    around = source.read(begin - before, 3 * _MAX_CHARACTER_BYTES)
    return begin - before + encoding.next_character(around, before)


def _check_range(
    start_line: int | None, end_line: int | None, start_byte: int | None, max_chars: int
) -> None:
    numbers = {"start_line": (start_line, 1), "end_line": (end_line, 1)}
    numbers |= {"start_byte": (start_byte, 0), "max_chars": (max_chars, 1)}
    for name, (value, minimum) in numbers.items():
        if value is not None:
            check_whole_number(name, value, minimum=minimum)
    if start_byte is not None and (start_line is not None or end_line is not None):
        raise ToolInputError(
            f"start_byte goes without start_line and end_line: {shown(start_byte)}"
        )
    if end_line is not None and end_line < (start_line or 1):
        first = shown(start_line or 1)
        raise ToolInputError(f"end_line is before start_line, {first}: {shown(end_line)}")
