"""One of the two inputs that ``toolbudget diff`` compares."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final, NamedTuple, Protocol

from toolbudget._core.pure.json import locate
from toolbudget.budget.prefix_marks import (
    Part,
    Snapshot,
    as_parameter,
    mark_part,
    sent_message,
    split_request,
    take_snapshot,
)
from toolbudget.cli.failure import CommandError
from toolbudget.cli.reading import ignore
from toolbudget.cli.source import JsonLines, Malformed, open_source
from toolbudget.storage.json_lines import BYTE_ORDER_MARK, decode_json

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from toolbudget._core.pure.json import Path, Span
    from toolbudget.cli.reading import Input
    from toolbudget.cli.source import Format

__all__ = ["Position", "Side", "byte_of_character", "read_side"]

# Beyond these only their number is kept.
_MAX_MALFORMED: Final = 100
# What stands for one character in a JSON string; two escapes may be halves of one.
_CHARACTER: Final = re.compile(
    r"\\u[dD][89abAB][0-9a-fA-F]{2}\\u[dD][c-fC-F][0-9a-fA-F]{2}|\\u[0-9a-fA-F]{4}|\\.|.",
    re.DOTALL,
)


class Position(NamedTuple):
    """A place in a file."""

    line: int
    """From 1 on."""
    byte: int
    """From 0 on."""


class Side(Protocol):
    """An input that was read."""

    @property
    def name(self) -> str:
        """What messages call it."""

    @property
    def format(self) -> Format:
        """Its form."""

    @property
    def snapshot(self) -> Snapshot:
        """Its marks."""

    @property
    def malformed(self) -> Sequence[Malformed]:
        """The first hundred lines that could not be read."""

    @property
    def malformed_count(self) -> int:
        """How many lines could not be read."""

    @property
    def prefix(self) -> Path:
        """The way to its message list."""

    def part_at(self, key: str | int) -> Part | None:
        """Return a parameter or message; ``None`` if there is none."""

    def position_of(self, path: Path, offset_chars: int) -> Position:
        """Return where a character of a value stands; of one that is missing, where it would."""


class _Document:
    """A request body or a list of messages."""

    malformed: Sequence[Malformed] = ()
    malformed_count = 0

    def __init__(self, source: Input, form: Format) -> None:
        self.name = source.name
        self.format = form
        self._data = source.read(0, source.size_bytes)
        self._start = len(BYTE_ORDER_MARK) if self._data.startswith(BYTE_ORDER_MARK) else 0
        value = _decode(self._data[self._start :], source.name)
        self._parameters: Mapping[str, object] = {}
        self.prefix: Path = ()
        if form == "body":
            request = split_request(value)
            self._parameters = request.parameters
            self.prefix = (request.messages_key,)
            value = request.messages
        self._messages: Sequence[object] = value if isinstance(value, list) else []
        self.snapshot = take_snapshot(self._messages, self._parameters if form == "body" else None)

    def part_at(self, key: str | int) -> Part | None:
        if isinstance(key, str):
            return as_parameter(self._parameters[key]) if key in self._parameters else None
        return sent_message(self._messages[key]) if key < len(self._messages) else None

    def position_of(self, path: Path, offset_chars: int) -> Position:
        byte = _find(self._data, path, offset_chars, start=self._start)
        return Position(self._data.count(b"\n", 0, byte) + 1, byte)


class _Line(NamedTuple):
    number: int
    offset: int
    size_bytes: int


class _Lines:
    """A session. Only marks and positions are held; a message is read again when it is shown."""

    format: Format = "jsonl"
    prefix: Path = ()

    def __init__(self, source: Input) -> None:
        self.name = source.name
        self._input = source
        self.malformed: list[Malformed] = []
        self.malformed_count = 0
        self._lines: list[_Line] = []
        marks = []
        last_line = 1
        for record in JsonLines(source).records(ignore):
            last_line = record.position
            if isinstance(record, Malformed):
                # A torn or glued line is common in a log, and the lines around it can be compared.
                self.malformed_count += 1
                if len(self.malformed) < _MAX_MALFORMED:
                    self.malformed.append(record)
            elif _is_message(record.value):
                line = _Line(record.position, record.place.offset, record.place.size_bytes)
                self._lines.append(line)
                marks.append(mark_part(sent_message(self._read(line))))
        if not marks:
            raise CommandError(f"{source.name} has no line that is a message")
        self.snapshot = Snapshot(None, tuple(marks))
        self._end = Position(last_line, source.size_bytes)

    def part_at(self, key: str | int) -> Part | None:
        if isinstance(key, str) or key >= len(self._lines):
            return None
        return sent_message(self._read(self._lines[key]))

    def position_of(self, path: Path, offset_chars: int) -> Position:
        index = path[0]
        if not isinstance(index, int) or index >= len(self._lines):
            return self._end
        line = self._lines[index]
        data = self._input.read(line.offset, line.size_bytes)
        return Position(line.number, line.offset + _find(data, path[1:], offset_chars, start=0))

    def _read(self, line: _Line) -> object:
        data = self._input.read(line.offset, line.size_bytes)
        return _decode(data, f"{self.name}, line {line.number}")


def read_side(source: Input) -> Side:
    """Read an input whatever form it has.

    Raises:
        CommandError: It has none, or is damaged; the message names the line or byte.
    """
    opened = open_source(source, None)
    if opened.format == "jsonl":
        return _Lines(source)
    for _ in opened.records(ignore):
        pass  # what is no message is refused there
    return _Document(source, opened.format)


def byte_of_character(token: bytes, index: int) -> int:
    r"""Return where in a JSON string the bytes of one of its characters begin.

    Example:
        >>> byte_of_character(b'"a\\n\\ud83d\\ude00b"', 3)
        16
    """
    text = token.decode("utf-8", "surrogatepass")
    position = 1
    for _ in range(index):
        found = _CHARACTER.match(text, position)
        position = found.end() if found else position
    return len(text[:position].encode("utf-8", "surrogatepass"))


def _is_message(record: Mapping[str, object]) -> bool:
    """Tell what is sent from what else a session's log holds."""
    if isinstance(record.get("message"), dict):
        return record.get("type") in ("user", "assistant", None)
    return isinstance(record.get("role"), str)


def _decode(data: bytes, name: str) -> object:
    """Decode JSON so that no number is rounded."""
    try:
        return decode_json(data, exact_integers=True)
    except ValueError as error:
        raise CommandError(f"{name}: {error}") from error


def _find(data: bytes, path: Path, offset_chars: int, *, start: int) -> int:
    ways = [path[:length] for length in range(len(path) + 1)]
    spans: Mapping[Path, Span] = locate(data, ways, start=start)
    span = spans.get(path)
    if span is None:
        # Missing: it would stand before the closing bracket of the innermost value around it.
        return (
            max((spans[way] for way in ways if way in spans), key=lambda span: span.start).end - 1
        )
    token = data[span.start : span.end]
    inside = byte_of_character(token, offset_chars) if offset_chars and token[:1] == b'"' else 0
    return span.start + inside
