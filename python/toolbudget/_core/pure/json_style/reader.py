"""Reads JSON forward, and stops where the text ends or is no JSON."""

from __future__ import annotations

import re
from typing import Final

__all__ = ["Reader"]

_BLANKS: Final = re.compile(r"[ \t\r\n]*+")
_STRING: Final = re.compile(r'"[^"\\\n]*+(?:\\.[^"\\\n]*+)*+"')
_ESCAPE: Final = re.compile(r"\\(?:u[0-9a-fA-F]{4}|.)")
_TORN: Final = re.compile(r"\\u[0-9a-fA-F]{0,3}")
_UNIT: Final = re.compile(r"\\(?:u[0-9a-fA-F]{4}|.)|[^\\]")
_LITERAL: Final = re.compile(
    r"-?+[0-9]++(?:\.[0-9]++)?+(?:[eE][+-]?+[0-9]++)?+|-Infinity|[A-Za-z]++"
)
_NAMES: Final = frozenset({"true", "false", "null", "NaN", "Infinity"})
# A literal ends with the text, a blank or one of these.
_AFTER_LITERAL: Final = " \t\r\n,]}"
# All that has no meaning for depth; strings are gone over whole.
_PLAIN: Final = re.compile(
    r'[^"\[\]{}]*+(?:"[^"\\\n]*+(?:\\.[^"\\\n]*+)*+"[^"\[\]{}]*+)*+',
)
_PLAIN_ITEM: Final = re.compile(
    r'[^"\[\]{},]*+(?:"[^"\\\n]*+(?:\\.[^"\\\n]*+)*+"[^"\[\]{},]*+)*+',
)


class Reader:
    """A place in a text, from which values are read or skipped.

    Once ``has_stopped``, nothing more can be read: the text has ended inside a value, or goes on
    with something else at ``at``.
    """

    def __init__(self, text: str) -> None:
        self._text = text
        self.at = 1 if text.startswith("\ufeff") else 0
        self.has_stopped = False

    @property
    def is_at_end(self) -> bool:
        """Whether there is no more text."""
        return self.at >= len(self._text)

    def peek(self) -> str:
        """Give the next character that is no blank; nothing at the end."""
        blanks = _BLANKS.match(self._text, self.at)
        self.at = blanks.end() if blanks else self.at
        return self._text[self.at : self.at + 1]

    def take(self, character: str) -> None:
        """Go over a character, which has to come next."""
        if self.peek() != character:
            self.has_stopped = True
            return
        self.at += 1

    def string(self, most_chars: int) -> tuple[str, int]:
        """Read a string; give its beginning as it is written, and its characters in all.

        An escape is one character.
        """
        start = self.at + 1
        end = self._string_end()
        if end < start:
            return "", 0
        self.at = end if self.has_stopped else end + 1
        length, shown_end = end - start, end
        for escape in _ESCAPE.finditer(self._text, start, end):
            length -= escape.end() - escape.start() - 1
            # The text may end inside an escape.
            is_torn = self.has_stopped and _TORN.fullmatch(self._text, escape.start(), end)
            shown_end = escape.start() if is_torn else end
        stop = start
        for _ in range(most_chars):
            unit = _UNIT.match(self._text, stop, shown_end)
            if unit is None:
                break
            stop = unit.end()
        return self._text[start:stop], length

    def literal(self, most_chars: int) -> tuple[str, int]:
        """Read a number or a name; give its beginning, and its characters in all."""
        match = _LITERAL.match(self._text, self.at)
        start, end = match.span() if match else (self.at, self.at)
        is_number = match is not None and not self._text[start].isalpha()
        is_name = end - start <= len("Infinity") and self._text[start:end] in _NAMES
        is_whole = self._text[end : end + 1] in _AFTER_LITERAL  # the end of the text as well
        if not (is_whole and (is_number or is_name)):
            self.has_stopped = True
            return "", 0
        self.at = end
        return self._text[start : min(end, start + most_chars)], end - start

    def skip(self) -> int:
        """Go over a value, and count its items, or its keys."""
        character = self.peek()
        if character == '"':
            self.string(0)
            return 0
        if not character or character not in "[{":
            self.literal(0)
            return 0
        return self._skip_container()

    def _skip_container(self) -> int:
        self.at += 1
        count = int(self.peek() not in {"", "]", "}"})
        depth = 1
        while depth:
            plain = (_PLAIN_ITEM if depth == 1 else _PLAIN).match(self._text, self.at)
            self.at = plain.end() if plain else self.at
            character = self._text[self.at : self.at + 1]
            if not character:
                self.has_stopped = True
                break
            if character == '"':
                self.at = self._string_end()
                break
            depth += (character in "[{") - (character in "]}")
            count += character == ","
            self.at += 1
        return count

    def _string_end(self) -> int:
        """Find the quote that ends a string; if none does, stop at its beginning or the end."""
        match = _STRING.match(self._text, self.at)
        if match:
            return match.end() - 1
        self.has_stopped = True
        is_broken = self._text.find("\n", self.at) >= 0
        return self.at if is_broken else len(self._text)
