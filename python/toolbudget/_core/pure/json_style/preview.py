"""Writes what was read, in ever less detail until it fits."""

from __future__ import annotations

from collections import deque
from typing import TYPE_CHECKING, Final, NamedTuple

from toolbudget._core.pure.json_style.reader import Reader
from toolbudget._core.pure.preview import cut_preview, make_wire_safe
from toolbudget._core.pure.size import utf8_length

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

__all__ = ["json_preview"]

# Below this the note alone would take most of the room.
_LEAST_BYTES: Final = 240
# Stands behind a key if the text ends there.
_NO_VALUE: Final = '"..."'
# No number that a program works with takes more.
_LITERAL_CHARS: Final = 40
# A value stands in one line if it takes no more than this.
_LINE_CHARS: Final = 80
# A list of such short items stands in one line as well, however many they are.
_SHORT_CHARS: Final = 40


class _Detail(NamedTuple):
    """How much of everything is shown."""

    first_items: int
    last_items: int
    keys: int
    string_chars: int
    depth: int


_DETAILS: Final = (
    _Detail(24, 6, 200, 2_000, 12),
    _Detail(6, 2, 60, 300, 8),
    _Detail(3, 1, 40, 160, 6),
    _Detail(2, 1, 30, 80, 4),
    _Detail(1, 1, 20, 40, 3),
    _Detail(1, 0, 12, 24, 2),
)


def json_preview(text: str, max_bytes: int) -> tuple[str, bool]:
    r"""Show what a JSON text is made of, with parts of it as examples.

    A text that fits comes back whole, made wire-safe. Otherwise a note is followed by JSON in which
    items, keys, deep values and the ends of strings are left out and counted. A text may hold
    several values one after the other, and may end or turn into something else anywhere in its
    second half. If it is no JSON, or with little room, the beginning of the text is shown instead.

    Args:
        text: The whole text.
        max_bytes: UTF-8 bytes that the preview may take, its own note included.

    Returns:
        The preview, and whether anything was left out.

    Example:
        >>> names = (f'"/usr/share/doc/package/examples/{n:03}.txt"' for n in range(90))
        >>> print(json_preview(f"[{', '.join(names)}]", 300)[0])
        [JSON, shown in part: 1 value; 3,870 bytes in all]
        [
         "/usr/share/doc/package/examples/000.txt",
         "/usr/share/doc/package/examples/001.txt",
         "/usr/share/doc/package/examples/002.txt",
         "[... 86 items left out ...]",
         "/usr/share/doc/package/examples/089.txt"
        ]
    """
    text = str.__str__(text)  # methods of a subclass take no part
    head, has_more = cut_preview(text, max_bytes)
    if not has_more or max_bytes < _LEAST_BYTES:
        return head, has_more
    text_bytes = utf8_length(text)
    for detail in _DETAILS:
        reader = Reader(text)
        writer = _Writer(reader, detail, max_bytes)
        values = writer.values()
        if reader.has_stopped and not writer.is_full and 2 * reader.at < len(text):
            break
        if writer.is_full:
            continue
        shown = make_wire_safe(f"{_note(reader, writer.value_count, text_bytes)}\n{values}")
        if utf8_length(shown) <= max_bytes:
            return shown, True
    return head, has_more


def _note(reader: Reader, value_count: int, text_bytes: int) -> str:
    end = ""
    if reader.has_stopped:
        other = f", other text from character {reader.at + 1:,} on"
        end = ", cut off at the end" if reader.is_at_end else other
    values = _counted(value_count, "values")
    return f"[JSON, shown in part: {values}{end}; {text_bytes:,} bytes in all]"


class _Writer:
    """Writes values in one degree of detail, and gives up when they take more than a page."""

    def __init__(self, reader: Reader, detail: _Detail, room_chars: int) -> None:
        self._reader = reader
        self._detail = detail
        self._room_chars = room_chars
        self.value_count = 0

    @property
    def is_full(self) -> bool:
        """Whether the page is too small."""
        return self._room_chars < 0

    def values(self) -> str:
        """Write all values of the text, one below the other."""
        first, last = self._detail.first_items, self._detail.last_items
        rows, self.value_count = self._rows("", (first, last), lambda: self._value(1), "values")
        return "\n".join(rows)

    def _value(self, depth: int) -> str:
        character = self._reader.peek()
        if character == '"':
            return self._quoted(*self._reader.string(self._detail.string_chars))
        if character not in {"[", "{"}:
            literal, length = self._reader.literal(_LITERAL_CHARS)
            return self._put(literal if length == len(literal) else _cut(literal, length))
        kind = "items" if character == "[" else "keys"
        if depth > self._detail.depth:
            return self._put(_folded(character, _counted(self._reader.skip(), kind)))
        self._reader.at += 1
        first, last = self._detail.first_items, self._detail.last_items
        if character == "[":
            rows, _ = self._rows("]", (first, last), lambda: self._value(depth + 1), kind)
            return _laid_out("[", rows, "]")
        rows, _ = self._rows("}", (self._detail.keys, 0), lambda: self._pair(depth + 1), kind)
        return _laid_out("{", rows, "}")

    def _pair(self, depth: int) -> str:
        if self._reader.peek() != '"':
            self._reader.has_stopped = True
            return ""
        key = self._quoted(*self._reader.string(self._detail.string_chars))
        if not self._reader.has_stopped:
            self._reader.take(":")
        value = "" if self._reader.has_stopped else self._value(depth)
        return f"{key}: {value or _NO_VALUE}" if key else ""

    def _rows(
        self, closing: str, kept: tuple[int, int], write: Callable[[], str], kind: str
    ) -> tuple[list[str], int]:
        """Write the first and the last items up to ``closing``; count them all."""
        reader, (first, last) = self._reader, kept
        rows: list[str] = []
        starts: deque[int] = deque(maxlen=last)
        count, start = 0, -1
        while self._goes_on(closing, count):
            start = reader.at
            if count < first:
                rows.append(write())
            else:
                starts.append(start)
                self._skip_item(kind)
            count += 1
        left_out = count - len(rows) - len(starts)
        if left_out and not self.is_full:
            told = f"[... {_counted(left_out, kind)} left out ...]"
            rows.append(self._put(f'"...": "{told}"' if kind == "keys" else f'"{told}"'))
        is_other_text = reader.has_stopped and reader.at == start
        state = reader.at, reader.has_stopped
        for place in starts:
            reader.at, reader.has_stopped = place, False
            rows.append(write())
        reader.at, reader.has_stopped = state
        return [row for row in rows if row], count - is_other_text

    def _goes_on(self, closing: str, count: int) -> bool:
        """Go to the next item, over the comma in front of it; tell whether there is one."""
        reader = self._reader
        if reader.has_stopped or self.is_full:
            return False
        character = reader.peek()
        if not closing:
            return not reader.is_at_end
        if character == closing:
            reader.at += 1
            return False
        if count and character:
            reader.take(",")
            reader.peek()
        if reader.is_at_end:
            reader.has_stopped = True
        return not reader.has_stopped

    def _skip_item(self, kind: str) -> None:
        if kind == "keys":
            self._reader.skip()
            if not self._reader.has_stopped:
                self._reader.take(":")
        if not self._reader.has_stopped:
            self._reader.skip()

    def _quoted(self, beginning: str, length: int) -> str:
        """Write a string, or its beginning and how long it is."""
        if self._reader.has_stopped and not beginning:
            return ""
        if not self._reader.has_stopped and length <= self._detail.string_chars:
            return self._put(f'"{beginning}"')
        return self._put(_cut(beginning, length))

    def _put(self, row: str) -> str:
        self._room_chars -= len(row)
        return row


def _cut(beginning: str, length: int) -> str:
    return f'"{beginning}[... {_counted(length, "characters")}]"'


def _folded(opening: str, count: str) -> str:
    """Write a list or an object as nothing but a count."""
    return f'"[... {count} ...]"' if opening == "[" else f'"{{... {count} ...}}"'


def _counted(count: int, kind: str) -> str:
    return f"{count:,} {kind[:-1] if count == 1 else kind}"


def _laid_out(opening: str, rows: Sequence[str], closing: str) -> str:
    """Write rows in one line, or else below each other."""
    line = f"{opening}{', '.join(rows)}{closing}"
    is_short = opening == "[" and all(len(row) <= _SHORT_CHARS for row in rows)
    if (is_short or len(line) <= _LINE_CHARS) and "\n" not in line:
        return line
    inner = ",\n".join(rows).replace("\n", "\n ")
    return f"{opening}\n {inner}\n{closing}"
