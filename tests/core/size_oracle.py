"""Sizes in every unit once more, character by character, from the table in docs/tokens.md."""

from __future__ import annotations

from typing import Final, Literal, TypeAlias

__all__ = ["Unit", "size_in", "tokens"]

Unit: TypeAlias = Literal["chars", "tokens", "bytes"]

_LETTERS: Final = "abcdefghijklmnopqrstuvwxyz"
# The first range that a code point is in counts.
_WEIGHTS: Final = (
    (range(0x250), 240),
    (range(0x400, 0x530), 75),
    (range(0x800), 130),
    (range(0x2000), 180),
    (range(0x3000, 0x3100), 88),
    (range(0xFF00, 0xFFF0), 88),
    (range(0x2E80, 0xAC00), 160),
    (range(0xF900, 0xFB00), 160),
    (range(0xAC00, 0xD7A4), 155),
    (range(0x1_0000, 0x11_0000), 375),
)


def size_in(unit: Unit, text: str) -> int:
    """Measure a text."""
    if unit == "chars":
        return len(text)
    return len(text.encode("utf-8", "surrogatepass")) if unit == "bytes" else tokens(text)


def tokens(text: str) -> int:
    """Add the weights of all characters, in hundredths, and round up."""
    padded = "\0\0" + text
    hundredths = sum(_weight(*padded[start : start + 3]) for start in range(len(text)))
    return (hundredths + 99) // 100


def _weight(before: str, last: str, character: str) -> int:
    if not character.isascii():
        known = (weight for part, weight in _WEIGHTS if ord(character) in part)
        return next(known, 60 if character == last else 95)
    if character.lower() in _LETTERS:
        return 17 + _start_of_word(last, character)
    if character in "0123456789":
        return 50 if last in "0123456789" else 50 + 55
    if character in " \t":
        return (1 if before in " \t" else 25) if last in " \t" else 0
    if character == "\n":
        return 70 if last == "\n" else 105
    return (20 if character == last else 58) if "!" <= character <= "~" else 190


def _start_of_word(last: str, letter: str) -> int:
    if last in " \t":
        return 35
    if last.lower() not in _LETTERS:
        return 62
    return 190 if letter.isupper() and last.islower() else 0
