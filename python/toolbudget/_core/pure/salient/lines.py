"""The lines of a text, read in chunks, so that memory does not grow with the text."""

from __future__ import annotations

import re
from bisect import bisect_right
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Iterator

__all__ = ["Lines"]

_CHUNK_CHARS: Final = 65_536
# Of a longer line only the beginning and the end are looked at.
_LONG_LINE_CHARS: Final = 4_096
_END_CHARS: Final = _LONG_LINE_CHARS // 2
_CUT_MARK: Final = " … "
_SURROGATE: Final = re.compile("[\ud800-\udfff]")


class Lines:
    r"""Lines of a text as UTF-8, counted from 0; only ``\n`` ends a line.

    The last line need not end with a break. Of a line of more than 4,096 characters, half of that
    is given from its beginning and half from its end.

    Example:
        >>> lines = Lines("one\ntwo\n")
        >>> list(lines.chunks()), lines.get(1)
        ([(0, b'one\ntwo')], b'two')
    """

    def __init__(self, text: str) -> None:
        self._text = text
        self._end = len(text) - text.endswith("\n")
        self._starts: list[int] = []
        self._numbers: list[int] = []
        self._cached_chunk = -1
        self._cached_lines: list[bytes] = []
        self.count = 0

    def chunks(self) -> Iterator[tuple[int, bytes]]:
        """Give all lines in order, joined in chunks, with the number of a chunk's first line."""
        self._starts, self._numbers, self.count = [], [], 0
        start = 0
        while start <= self._end:
            self._starts.append(start)
            self._numbers.append(self.count)
            end = self._chunk_end(start)
            chunk = self._read(start, end)
            yield self.count, chunk
            self.count += chunk.count(b"\n") + 1
            start = end + 1

    def get(self, number: int) -> bytes:
        """Give one line of a chunk that :meth:`chunks` has given before."""
        chunk = bisect_right(self._numbers, number) - 1
        if chunk != self._cached_chunk:
            start = self._starts[chunk]
            self._cached_lines = self._read(start, self._chunk_end(start)).split(b"\n")
            self._cached_chunk = chunk
        return self._cached_lines[number - self._numbers[chunk]]

    def _chunk_end(self, start: int) -> int:
        """Tell where the chunk ends that begins at ``start``: it holds whole lines."""
        if self._end - start <= _CHUNK_CHARS:
            return self._end
        end = self._text.rfind("\n", start, start + _CHUNK_CHARS)
        if end < 0:
            end = self._text.find("\n", start + _CHUNK_CHARS, self._end)
        return end if end >= 0 else self._end

    def _read(self, start: int, end: int) -> bytes:
        if end - start > _CHUNK_CHARS:
            return _encode(self._window(start, end))
        chunk = self._text[start:end]
        if end - start <= _LONG_LINE_CHARS:
            return _encode(chunk)
        seen: list[str] = []
        at = start
        for line in chunk.split("\n"):
            end_of_line = at + len(line)
            seen.append(line if len(line) <= _LONG_LINE_CHARS else self._window(at, end_of_line))
            at = end_of_line + 1
        return _encode("\n".join(seen))

    def _window(self, start: int, end: int) -> str:
        first = self._text[start : start + _END_CHARS]
        return first + _CUT_MARK + self._text[end - _END_CHARS : end]


def _encode(text: str) -> bytes:
    return _SURROGATE.sub("\ufffd", text).encode()
