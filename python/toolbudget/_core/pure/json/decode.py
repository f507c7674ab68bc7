"""Decoding JSON text as strictly as the grammar is, to any depth.

The standard library's decoder recurses, takes ``NaN``, and refuses long integers; where it
complains, it and this one name the same place.
"""

from __future__ import annotations

import re
from json.decoder import (  # type: ignore[attr-defined]  # as fast as C, and by the same rules
    JSONDecodeError,
    scanstring,
)
from typing import Final

from toolbudget._core.pure.json.numbers import exact_fraction, exact_integer

__all__ = ["MalformedError", "decode", "skip_text_blanks"]

_BLANKS: Final = re.compile(r"[ \t\n\r]*+")
_NUMBER: Final = re.compile(r"(-?(?:0|[1-9][0-9]*+))(\.[0-9]++)?([eE][-+]?[0-9]++)?")
_WORDS: Final[dict[str, object]] = {"true": True, "false": False, "null": None}
_WORD: Final = re.compile("true|false|null")
_STRING_PROBLEMS: Final = {
    "Unterminated": "unterminated string",
    "Invalid control": "control character in a string",
    "Invalid \\": "invalid escape",
}


class MalformedError(ValueError):
    """Text is not JSON.

    Attributes:
        problem: What is wrong.
        position: The character at which it shows.
    """

    def __init__(self, problem: str, position: int) -> None:
        """Say what is wrong, and where."""
        super().__init__(problem, position)
        self.problem = problem
        self.position = position


class _Open:
    """A list or object of which the end was not read yet."""

    __slots__ = ("closing", "name", "value")

    def __init__(self, *, is_object: bool) -> None:
        self.value: dict[str, object] | list[object] = {} if is_object else []
        self.closing = "}" if is_object else "]"
        self.name = ""

    def add(self, value: object) -> None:
        """Add a value; of one name the last one counts."""
        if isinstance(self.value, dict):
            self.value[self.name] = value
        else:
            self.value.append(value)

    def begin_member(self, text: str, position: int) -> int:
        """Read the name of a member, if members have names; return where its value begins."""
        if isinstance(self.value, dict):
            self.name, position = _read_name(text, position)
        return position


def skip_text_blanks(text: str, start: int) -> int:
    """Return the position of the first character from ``start`` on that is no white space."""
    blanks = _BLANKS.match(text, start)
    return blanks.end() if blanks else start


def decode(text: str, start: int) -> tuple[object, int]:
    """Decode the value that begins at ``start``; return it and the position behind it.

    Raises:
        MalformedError: No value stands there.

    Example:
        >>> decode('{"a": [1, true]} ', 0)
        ({'a': [1, True]}, 16)
    """
    opened: list[_Open] = []
    position = start
    while True:
        if text[position : position + 1] in {"{", "["}:
            container = _Open(is_object=text[position] == "{")
            position = skip_text_blanks(text, position + 1)
            if not text.startswith(container.closing, position):
                position = container.begin_member(text, position)
                opened.append(container)
                continue
            value: object = container.value
            position += 1
        else:
            value, position = _read_scalar(text, position)
        while opened:
            opened[-1].add(value)
            position = skip_text_blanks(text, position)
            if text.startswith(",", position):
                position = skip_text_blanks(text, position + 1)
                position = opened[-1].begin_member(text, position)
                break
            if not text.startswith(opened[-1].closing, position):
                raise MalformedError("expecting ','", position)
            value = opened.pop().value
            position += 1
        else:
            return value, position


def _read_name(text: str, start: int) -> tuple[str, int]:
    if not text.startswith('"', start):
        raise MalformedError("expecting a name in double quotes", start)
    name, position = _read_string(text, start)
    position = skip_text_blanks(text, position)
    if not text.startswith(":", position):
        raise MalformedError("expecting ':'", position)
    return name, skip_text_blanks(text, position + 1)


def _read_string(text: str, start: int) -> tuple[str, int]:
    try:
        string, end = scanstring(text, start + 1, True)  # noqa: FBT003 - it takes no names
    except JSONDecodeError as error:
        problems = _STRING_PROBLEMS.items()
        problem = next(ours for theirs, ours in problems if error.msg.startswith(theirs))
        raise MalformedError(problem, error.pos) from None
    return string, end


def _read_scalar(text: str, start: int) -> tuple[object, int]:
    if text.startswith('"', start):
        return _read_string(text, start)
    word = _WORD.match(text, start)
    if word is not None:
        return _WORDS[word[0]], word.end()
    number = _NUMBER.match(text, start)
    if number is None:
        raise MalformedError("expecting a value", start)
    integer, fraction, exponent = number.groups()
    if fraction is None and exponent is None:
        return exact_integer(integer), number.end()
    return exact_fraction(number[0]), number.end()
