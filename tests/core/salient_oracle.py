"""A second reading of how a line is shown, character by character."""

from __future__ import annotations

import re

from tests.core import text_oracle

__all__ = ["shown_form"]

_LONG_RUN = re.compile(r"([^\x00-\x7f])\1{8,}")
_BLANKS = "\t\x0b\x0c \x85\u2028\u2029"


def shown_form(line: str) -> str:
    """Write a line without codes, overwritten text, controls and superfluous blanks."""
    line = "".join("\ufffd" if 0xD800 <= ord(c) <= 0xDFFF else c for c in line)
    line = _without_codes(line)
    if "\r" in line:
        line = line.rstrip("\t\x0b\x0c\r ").rpartition("\r")[2]
    line = _without_time(line)
    characters: list[str] = []
    for character in line:
        if character in _BLANKS:
            if characters[-1:] != [" "]:
                characters.append(" ")
        elif character == "\x00":
            characters.append("\ufffd")
        elif not (ord(character) < 0x20 or 0x7F <= ord(character) <= 0x9F):
            characters.append(character)
    text = "".join(characters).rstrip(" ")
    return text_oracle.make_wire_safe(_LONG_RUN.sub(lambda run: run[1] * 8 + "…", text))


def _without_time(line: str) -> str:
    """Take a time like ``2024-05-01T10:11:12.1234567Z`` from the beginning of a line."""
    time, blank, rest = line.partition(" ")
    digits = "".join("0" if character in "0123456789" else character for character in time)
    whole, _, fraction = digits.removesuffix("Z").partition(".")
    is_time = whole == "0000-00-00T00:00:00" and fraction in {"0" * count for count in range(6, 10)}
    return rest if blank and time.endswith("Z") and is_time else line


def _without_codes(line: str) -> str:
    kept: list[str] = []
    at = 0
    while at < len(line):
        length = _code_length(line[at:])
        if not length:
            kept.append(line[at])
        at += length or 1
    return "".join(kept)


def _code_length(text: str) -> int:
    """Tell how long the code is that ``text`` begins with, or 0."""
    if not text.startswith("\x1b") or len(text) == 1:
        return 0
    if text[1] == "[":
        return _control_sequence_length(text)
    if text[1] == "]":
        at = 2
        while at < len(text) and text[at] not in "\x07\x1b":
            at += 1
        return at + (
            1 if text[at : at + 1] == "\x07" else 2 if text[at : at + 2] == "\x1b\\" else 0
        )
    if text[1] in "()":
        return 3 if len(text) > 2 and (text[2] in "0123456789" or "A" <= text[2] <= "Z") else 0
    return 2 if "@" <= text[1] <= "Z" or text[1] in "\\^_" else 0


def _control_sequence_length(text: str) -> int:
    at = 2
    while at < len(text) and "0" <= text[at] <= "?":
        at += 1
    while at < len(text) and " " <= text[at] <= "/":
        at += 1
    if at < len(text) and "@" <= text[at] <= "~":
        return at + 1
    return 0  # unfinished: no code
