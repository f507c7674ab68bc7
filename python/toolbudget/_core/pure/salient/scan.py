"""One pass over a text: which lines tell of a failure, and where commands begin and end."""

from __future__ import annotations

import re
from bisect import bisect_right
from collections import deque
from dataclasses import dataclass, field
from itertools import accumulate
from typing import TYPE_CHECKING, Final, Generic, NamedTuple, TypeVar

from toolbudget._core.pure.salient.clean import bare
from toolbudget._core.pure.salient.role import has_failed, is_exit, quoted_command
from toolbudget._core.pure.salient.severity import (
    CERTAIN,
    KEYWORDS,
    LIKELY,
    RED,
    has_error_level,
    severity_of,
)

if TYPE_CHECKING:
    from collections.abc import Iterator

    from toolbudget._core.pure.salient.lines import Lines

__all__ = ["Finding", "Scan", "Section", "scan"]

T = TypeVar("T")

# What is kept of each kind of finding: so many from the start, and as many from the end.
_KEPT_FINDINGS: Final = 1_000
_KEPT_EXITS: Final = 200
_KEPT_SECTIONS: Final = 32
_KEPT_COMMANDS: Final = 64
_KEPT_JUDGEMENTS: Final = 4_096
_COMMAND_BYTES: Final = 20
_COMMAND_MARKS: Final = (b"$ ", b"##[group]Run ")

_LOCATION: Final = re.compile(rb": ?[0-9]+(?::|  )")
# At the start of a line: the number of a failure in a list, pytest's mark, or a logger's.
_LISTED: Final = re.compile(rb"\n(?:[ \t]*[0-9]{1,4}\)|E   |[EF][0-9]{4} )")
# The same behind times, severities and names that others put there.
_LISTED_BEHIND: Final = re.compile(
    rb"\n[ \t]*(?:(?:"
    rb"[\[(]?(?:[0-9]{4}[-/][0-9]{2}[-/][0-9]{2}[T ])?[0-9]{2}:[0-9]{2}:[0-9]{2}[^ \t\n]*"
    rb"|[A-Z][a-z]{2} +[0-9]{1,2} [0-9]{2}:[0-9]{2}:[0-9]{2} [^ \t\n]+ [^ \t\n]+:"
    rb"|\[[^\]:\n]{1,40}\]|[a-z][0-9a-z_.-]{0,40} *\||#[0-9]+ [0-9]+\.[0-9]+"
    rb"|(?i:info|debug|trace|notice|verbose):?"
    rb")[ \t]+(?:-[ \t]+)?){1,3}(?:[0-9]{1,4}\)|E   |[EF][0-9]{4} )"
)
_EXIT_WORDS: Final = (b"exit", b"*** ", b"failed", b"err!", b"elifecycle", b'the command "')
# Two lines are of one kind if they differ in names, numbers and quotations only.
_VARIABLE: Final = re.compile(
    rb"\"[^\"]*\"|'[^']*'|`[^`]*`|[^\s/\\]*[/\\]\S*|[0-9]+|\b[a-z]+(?:[A-Z][a-z0-9]+)+"
)
_KIND_BYTES: Final = 160
_DIGITS_ALIKE: Final = bytes.maketrans(b"23456789", b"11111111")


class Finding(NamedTuple):
    """A line that may tell of a failure; lines are counted from 0."""

    number: int
    severity: int
    kind: bytes


class Section(NamedTuple):
    """The lines from a command to the report that it failed, both included."""

    first: int
    last: int

    def __contains__(self, number: object) -> bool:
        return isinstance(number, int) and self.first <= number <= self.last


class _Ends(Generic[T]):
    """The first and the last items of a sequence, so many of each."""

    def __init__(self, kept: int) -> None:
        self._kept = kept
        self._first: list[T] = []
        self._last: deque[T] = deque(maxlen=kept)

    def add(self, item: T) -> None:
        if len(self._first) < self._kept:
            self._first.append(item)
        else:
            self._last.append(item)

    def __iter__(self) -> Iterator[T]:
        yield from self._first
        yield from self._last


@dataclass
class Scan:
    """What one pass has found, in the order of the text; its size does not grow with the text."""

    certain: _Ends[Finding] = field(default_factory=lambda: _Ends(_KEPT_FINDINGS))
    likely: _Ends[Finding] = field(default_factory=lambda: _Ends(_KEPT_FINDINGS))
    weak: _Ends[Finding] = field(default_factory=lambda: _Ends(_KEPT_FINDINGS))
    exits: _Ends[int] = field(default_factory=lambda: _Ends(_KEPT_EXITS))
    sections: _Ends[Section] = field(default_factory=lambda: _Ends(_KEPT_SECTIONS))
    _commands: deque[tuple[int, bytes]] = field(
        default_factory=lambda: deque(maxlen=_KEPT_COMMANDS)
    )

    _judged: dict[tuple[bytes, bool, bool], tuple[int, bytes]] = field(default_factory=dict)

    @property
    def findings(self) -> list[Finding]:
        """All that is kept, in the order of the text."""
        return sorted([*self.certain, *self.likely, *self.weak])

    def see(self, number: int, raw: bytes) -> None:
        """Take one line in."""
        line = bare(raw)
        start = next((mark for mark in _COMMAND_MARKS if line.startswith(mark)), None)
        if start is not None:
            self._commands.append((number, line[len(start) :][:_COMMAND_BYTES]))
            return
        lower = line.lower()
        if any(word in lower for word in _EXIT_WORDS):
            self._see_exit(number, line)
        severity, kind = self._judge(line, is_red=b"\x1b" in raw and RED.search(raw) is not None)
        if severity <= 0:
            return
        finding = Finding(number, severity, kind)
        if severity >= CERTAIN:
            self.certain.add(finding)
        elif severity >= LIKELY:
            self.likely.add(finding)
        else:
            self.weak.add(finding)

    def _judge(self, line: bytes, *, is_red: bool) -> tuple[int, bytes]:
        """Give severity and kind; but for a level, digits above 0 make no difference to them."""
        key = (line.translate(_DIGITS_ALIKE), is_red, has_error_level(line))
        judged = self._judged.get(key)
        if judged is None:
            if len(self._judged) == _KEPT_JUDGEMENTS:
                self._judged.clear()
            kind = _VARIABLE.sub(b"#", line[:_KIND_BYTES])
            judged = self._judged[key] = (severity_of(line, is_red=is_red), kind)
        return judged

    def _see_exit(self, number: int, line: bytes) -> None:
        if is_exit(line):
            self.exits.add(number)
        if has_failed(line) and self._commands:
            self.sections.add(Section(self._command_of(line), number))

    def _command_of(self, line: bytes) -> int:
        quoted = quoted_command(line)
        for number, command in reversed(self._commands):
            if quoted.startswith(command):
                return number
        return self._commands[-1][0]


def scan(lines: Lines) -> Scan:
    """Look at every line that has a word, a mark or a colour of interest."""
    found = Scan()
    for first, chunk in lines.chunks():
        rows = chunk.split(b"\n")
        starts = list(accumulate((len(row) + 1 for row in rows), initial=0))
        for index in sorted(_interesting(chunk, starts)):
            found.see(first + index, rows[index])
    return found


def _interesting(chunk: bytes, starts: list[int]) -> set[int]:
    """Find the lines worth a look; ``starts`` has one entry more than there are lines."""
    indexes: set[int] = set()
    lower = chunk.lower()
    for keyword in KEYWORDS:
        at = lower.find(keyword)
        while at >= 0:
            index = bisect_right(starts, at) - 1
            indexes.add(index)
            at = lower.find(keyword, starts[index + 1])
    # With a break in front of it, the offset of a break is that of the line behind it.
    from_breaks = b"\n" + chunk
    searches = [(_LOCATION, chunk), (_LISTED, from_breaks), (_LISTED_BEHIND, from_breaks)]
    if b"\x1b" in chunk:
        searches.append((RED, chunk))
    for pattern, data in searches:
        match = pattern.search(data)
        while match:
            index = bisect_right(starts, match.start()) - 1
            indexes.add(index)
            match = pattern.search(data, starts[index + 1])
    return indexes
