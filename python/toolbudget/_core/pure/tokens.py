"""An estimate of how many tokens a text is, from the kinds of its characters.

No tokenizer of a current model can be had offline, and counting is far too slow to be done at every
turn. But what the tokenizers that can be had agree on is simple: a word costs most at its
beginning, digits go in threes, every sign counts, a row of the same sign hardly more than one, and
outside of Latin script a character is a token or more.

The weights are hundredths of a token. They were fitted to the heavier of two tokenizers (that of
Claude 2 and ``cl100k_base``) on text of many kinds, and rounded up; docs/tokens.md shows how far
off they are. To change one is to change ``rust/core/src/tokens.rs`` too.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final

from toolbudget._core.pure.size import ENCODING_CHUNK_CHARS

if TYPE_CHECKING:
    from collections.abc import Iterable

__all__ = ["estimate_tokens"]

_HUNDREDTHS: Final = 100

# One letter for each kind of character; signs and symbols stand for themselves.
_LOWER, _UPPER, _DIGIT, _BLANK, _LINE_BREAK, _CONTROL = "a", "A", "0", " ", "\n", "\0"
_LATIN, _CYRILLIC, _TWO_BYTES, _THREE_BYTES = "\x80", "\u0400", "\u0370", "\u0900"
_KANA, _IDEOGRAPH, _HANGUL, _FOUR_BYTES = "\u3040", "\u4e00", "\uac00", "\U00010000"

# The last code point of each range, and the kind of the characters in it; `None` for themselves.
_RANGES: Final = (
    (0x024F, _LATIN),  # with marks, and the punctuation of Western languages
    (0x03FF, _TWO_BYTES),
    (0x052F, _CYRILLIC),
    (0x07FF, _TWO_BYTES),  # Hebrew, Arabic; before Cyrillic Greek
    (0x1FFF, _THREE_BYTES),  # of India and South-East Asia, and marks
    (0x2E7F, None),  # symbols, arrows, frames of boxes
    (0x2FFF, _IDEOGRAPH),
    (0x30FF, _KANA),  # and the punctuation of Chinese and Japanese
    (0xABFF, _IDEOGRAPH),
    (0xD7A3, _HANGUL),
    (0xF8FF, None),  # surrogates, private use
    (0xFAFF, _IDEOGRAPH),
    (0xFEFF, None),  # variation selectors among them
    (0xFFEF, _KANA),  # full and half width
    (0xFFFF, None),
)
_SIGNS: Final = "!-/:-@\\[-`{-~"
_SYMBOLS: Final = "\u2000-\u2e7f\ud7a4-\uf8ff\ufb00-\ufeff\ufff0-\uffff"

_WEIGHTS_OF_KINDS: Final = (
    (_LOWER, 17),
    (_UPPER, 17),
    (_DIGIT, 50),
    (_CONTROL, 190),
    (_LATIN, 240),
    (_CYRILLIC, 75),
    (_TWO_BYTES, 130),
    (_THREE_BYTES, 180),
    (_KANA, 88),
    (_IDEOGRAPH, 160),
    (_HANGUL, 155),
    (_FOUR_BYTES, 375),  # emoji, rare characters
)
# What a place in the text costs beside that.
_WEIGHTS_OF_PLACES: Final = tuple(
    (re.compile(pattern), weight)
    for pattern, weight in (
        ("(?<= )[aA]", 35),  # a word behind a blank
        ("(?<![ aA])[aA]", 62),  # a word behind anything else
        ("(?<=a)A", 190),  # a capital inside a word
        ("(?<!0)0", 55),  # a number
        ("(?<=  ) ", 1),  # a blank behind two others
        ("(?<! )  ", 25),  # two blanks or more
        ("\n+", 105 - 70),  # the first line break of several
        ("\n", 70),
        (f"[{_SIGNS}]", 58),
        (f"([{_SIGNS}])(?=\\1)", 20 - 58),  # the same sign again
        (f"[{_SYMBOLS}]", 95),
        (f"([{_SYMBOLS}])(?=\\1)", 60 - 95),
    )
)
# So that text of all characters there are does not fill the memory.
_LAST_KEPT: Final = 0xFFFF
# How many characters back a weight depends on.
_LOOKBACK_CHARS: Final = 2


def estimate_tokens(parts: Iterable[str]) -> int:
    """Estimate the tokens of the text that ``parts`` make when they are joined, rounded up.

    Example:
        >>> estimate_tokens(["Hello, ", "日本"])
        6
    """
    hundredths = 0
    before = ""
    for part in map(str.__str__, parts):  # methods of a subclass take no part
        for start in range(0, len(part), ENCODING_CHUNK_CHARS):
            chunk = before + part[start : start + ENCODING_CHUNK_CHARS]
            hundredths += _weigh(chunk) - _weigh(before)
            before = chunk[-_LOOKBACK_CHARS:]
    return -(-hundredths // _HUNDREDTHS)


def _weigh(text: str) -> int:
    kinds = text.translate(_KINDS)
    return sum(kinds.count(kind) * weight for kind, weight in _WEIGHTS_OF_KINDS) + sum(
        len(place.findall(kinds)) * weight for place, weight in _WEIGHTS_OF_PLACES
    )


class _Kinds(dict[int, str]):
    """The kind of each character, found when the first one of it is met."""

    def __missing__(self, code_point: int) -> str:
        if code_point > _LAST_KEPT:
            return _FOUR_BYTES
        kind = _kind(code_point)
        self[code_point] = kind
        return kind


_KINDS: Final = _Kinds()


def _kind(code_point: int) -> str:
    character = chr(code_point)
    if character.isascii():
        return _ascii_kind(character)
    return next(kind for last, kind in _RANGES if code_point <= last) or character


def _ascii_kind(character: str) -> str:
    if character.isalpha():
        return _LOWER if character.islower() else _UPPER
    if character.isdigit():
        return _DIGIT
    if character in " \t":
        return _BLANK
    is_itself = character == _LINE_BREAK or character.isprintable()
    return character if is_itself else _CONTROL
