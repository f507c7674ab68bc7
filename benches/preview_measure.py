"""How much of a marked passage a preview shows: one line, three of its lines, half of them.

A line counts as shown with anything in front of it (a line number), with other white space, without
codes for a terminal, with a repeat mark behind it, or cut at either end if 40 characters are left.
Only lines with a message are asked for: 15 characters and 6 letters or digits. If a passage has
none, all its lines have to be there.
"""

from __future__ import annotations

import re
from itertools import takewhile
from typing import TYPE_CHECKING, Final, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Sequence

__all__ = ["Shown", "measure", "without_ci_lines"]

_KEPT_CHARS: Final = 40
_MESSAGE_CHARS: Final = 15
_MESSAGE_LETTERS: Final = 6
_ENOUGH_LINES: Final = 3

_CODES: Final = re.compile(
    r"\x1b(?:\[[0-?]*[ -/]*[@-~]|\][^\x07\x1b]*(?:\x07|\x1b\\)|[()][0-9A-Z]|[@-Z\\^_])"
)
_UNSHOWN: Final = re.compile("[\x00-\x08\x0b\x0c\x0e-\x1f\x7f\ufffd]")
_BREAKS: Final = re.compile(r"[\r\n]+")
_ELLIPSIS: Final = r"…|⋯|\.\.\."
_LEFT_OUT: Final = re.compile(
    _ELLIPSIS + r"|[\[(<{](?=\+|\d+ (?:more|char|byte)|…|\.\.\.|cut|truncated)"
)
_REPEATED: Final = re.compile(
    rf"\s*(?:$|{_ELLIPSIS}|[\[({{<]?\s*(?:[×xX*+]\s*\d|\d+\s*[×xX]|\+?\d+ (?:more|times|similar"
    r"|char|byte)|repeat))"
)
_LINE_NUMBER: Final = re.compile(r"^\W{0,3}[lL]?\d+\W{1,3}")
_LINE_END: Final = frozenset(("", "\r", "\n", "\x1b"))

_CI_FOLD: Final = re.compile(r"travis_(?:time|fold):[^\r\n]*\r?(?:\x1b\[0K)?")
_CI_EXIT: Final = re.compile(
    r'^(?:\x1b\[[0-9;]*[mK]|\r)*(?:The command ".*(?:exited with|failed)|.*" exited with \d+\.'
    r"|.*Your build exited with \d).*$",
    re.MULTILINE,
)


class Shown(NamedTuple):
    """What a preview shows of a passage."""

    one: bool
    three: bool
    half: bool


def measure(text: str, start: int, end: int, preview: str) -> Shown:
    """Tell what ``preview`` shows of the passage from ``start`` to ``end`` (characters)."""
    passage = _lines_of(text[start:end])
    wanted = [line for line in passage if _has_message(line)] or passage
    is_open = text[end : end + 1] not in _LINE_END
    shown = _lines_of(preview)
    hits = [_is_shown(line, shown, is_open=is_open and line == passage[-1]) for line in wanted]
    is_told = any(_has_message(line) for line in wanted)
    return Shown(
        one=any(hits) if is_told else all(hits),
        three=sum(hits) >= min(_ENOUGH_LINES, len(hits)),
        half=2 * sum(hits) >= len(hits),
    )


def without_ci_lines(text: str, start: int, end: int) -> tuple[str, int, int]:
    """Take the lines that a CI system adds out of the text around a passage."""
    before, after = (
        _CI_EXIT.sub("", _CI_FOLD.sub("", part)) for part in (text[:start], text[end:])
    )
    return before + text[start:end] + after, len(before), len(before) + end - start


def _lines_of(text: str) -> list[str]:
    """Give the different lines of a text in order, as they read on a screen."""
    lines = (_UNSHOWN.sub("", _CODES.sub("", line)).split() for line in _BREAKS.split(text))
    return list(dict.fromkeys(" ".join(words) for words in lines if words))


def _has_message(line: str) -> bool:
    letters = sum(character.isalnum() for character in line)
    return len(line.replace(" ", "")) >= _MESSAGE_CHARS and letters >= _MESSAGE_LETTERS


def _is_shown(wanted: str, shown: Sequence[str], *, is_open: bool) -> bool:
    return any(
        _is_whole(wanted, line, is_open=is_open)
        or (len(wanted) > _KEPT_CHARS and (_is_cut_behind(wanted, line) or _is_piece(wanted, line)))
        for line in shown
    )


def _places(part: str, line: str) -> list[int]:
    """Give every place at which ``part`` begins in ``line``."""
    return [match.start() for match in re.finditer(f"(?={re.escape(part)})", line)]


def _is_whole(wanted: str, line: str, *, is_open: bool) -> bool:
    if wanted not in line:
        return False
    rests = (line[place + len(wanted) :] for place in _places(wanted, line))
    return is_open or any(_REPEATED.match(rest) for rest in rests)


def _is_cut_behind(wanted: str, line: str) -> bool:
    if wanted[:_KEPT_CHARS] not in line:
        return False
    for place in _places(wanted[:_KEPT_CHARS], line):
        rest = line[place:]
        same = sum(1 for _ in takewhile(_is_pair, zip(rest, wanted, strict=False)))
        behind = rest[same:].lstrip()
        if not behind or _LEFT_OUT.match(behind):
            return True
    return False


def _is_pair(characters: tuple[str, str]) -> bool:
    return characters[0] == characters[1]


def _is_piece(wanted: str, line: str) -> bool:
    """Tell whether a part of ``line`` between cut marks is a part of the wanted line."""
    pieces = (piece.strip() for piece in _LEFT_OUT.split(line))
    forms = (form for piece in pieces for form in (piece, _LINE_NUMBER.sub("", piece)))
    return any(len(form) >= _KEPT_CHARS and form != line and form in wanted for form in forms)
