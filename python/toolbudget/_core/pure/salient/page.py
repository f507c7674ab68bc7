"""A page of numbered lines with a limit in bytes."""

from __future__ import annotations

import re
from collections import Counter
from typing import TYPE_CHECKING, Final

from toolbudget._core.pure.preview import make_wire_safe
from toolbudget._core.pure.salient.clean import show
from toolbudget._core.pure.size import utf8_length

if TYPE_CHECKING:
    from collections.abc import Iterable

    from toolbudget._core.pure.salient.lines import Lines

__all__ = ["Page"]

_CUT_MARK: Final = "…"
# From here on a line keeps its end as well.
_WIDE_CHARS: Final = 240
_RUN_CHARS: Final = 8
_DIGITS: Final = re.compile("[0-9]+")
# Of lines that differ in digits only, and of tail lines that begin alike, so many are shown.
_ALIKE_LINES: Final = 2
_ALIKE_FINDINGS: Final = 5
_START_CHARS: Final = 12
_ALIKE_STARTS: Final = 4


class Page:
    """Lines of a text as they will be shown, taken in as long as they fit."""

    def __init__(self, lines: Lines, room_bytes: int, line_chars: int) -> None:
        self._lines = lines
        self._line_chars = line_chars
        self._shown: dict[int, str] = {}
        self._alike: Counter[str] = Counter()
        self._starts: Counter[str] = Counter()
        self.room_bytes = room_bytes

    def add(self, number: int) -> bool:
        """Show a line if it still fits; tell whether it is shown now."""
        if number in self._shown:
            return True
        text = self._text(number)
        return self._alike[_mask(text)] < _ALIKE_FINDINGS and self._put(number, text)

    def add_context(self, numbers: Iterable[int]) -> None:
        """Show those lines that fit and are not shown in like form already."""
        for number in numbers:
            text = self._text(number)
            if number not in self._shown and self._alike[_mask(text)] < _ALIKE_LINES:
                self._put(number, text)

    def add_tail(self, number: int) -> None:
        """Show a line of the end, if it fits and not many are shown that begin alike."""
        text = self._text(number)
        if number in self._shown or self._alike[_mask(text)] >= _ALIKE_LINES:
            return
        if self._starts[_start(text)] < _ALIKE_STARTS:
            self._put(number, text)

    def add_plain(self, number: int) -> None:
        """Show a line if it still fits, whatever it is like."""
        if number not in self._shown:
            self._put(number, self._text(number))

    def __len__(self) -> int:
        """Count the lines shown."""
        return len(self._shown)

    @property
    def shown_bytes(self) -> int:
        """The bytes of the lines as they are shown, without numbers and line breaks."""
        return sum(map(utf8_length, self._shown.values()))

    def __str__(self) -> str:
        return "\n".join(f"{number + 1}:{self._shown[number]}" for number in sorted(self._shown))

    def _text(self, number: int) -> str:
        text = make_wire_safe(_shorten_runs(show(self._lines.get(number)).decode()))
        if len(text) <= self._line_chars:
            return text
        if self._line_chars < _WIDE_CHARS:
            return text[: self._line_chars - 1] + _CUT_MARK
        end_chars = self._line_chars // 3
        start_chars = self._line_chars - end_chars - 1
        return text[:start_chars] + _CUT_MARK + text[-end_chars:]

    def _put(self, number: int, text: str) -> bool:
        taken_bytes = utf8_length(f"{number + 1}:{text}\n")
        if taken_bytes > self.room_bytes:
            return False
        self.room_bytes -= taken_bytes
        self._shown[number] = text
        self._alike[_mask(text)] += 1
        self._starts[_start(text)] += 1
        return True


def _shorten_runs(text: str) -> str:
    """Cut long runs of one character that is no ASCII, as bars and frames are drawn with."""
    if text.isascii():
        return text
    parts: list[str] = []
    start = 0
    while start < len(text):
        end = start + 1
        while end < len(text) and text[end] == text[start]:
            end += 1
        run = text[start:end]
        if len(run) > _RUN_CHARS and not run.isascii():
            run = run[:_RUN_CHARS] + _CUT_MARK
        parts.append(run)
        start = end
    return "".join(parts)


def _mask(text: str) -> str:
    return _DIGITS.sub("0", text)


def _start(text: str) -> str:
    return _mask(text).strip(" ")[:_START_CHARS]
