"""The forms that an input may have, and the message records in it."""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final, Literal, NamedTuple, Protocol, TypeAlias

from toolbudget.cli.decoding import decode
from toolbudget.cli.failure import CommandError
from toolbudget.cli.reading import ignore
from toolbudget.storage.json_lines import BYTE_ORDER_MARK

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from toolbudget._core.pure.json import Path
    from toolbudget.cli.reading import Input, Line, OnRead

__all__ = [
    "Format",
    "JsonDocument",
    "JsonLines",
    "Malformed",
    "Place",
    "Record",
    "Source",
    "open_source",
]

Format: TypeAlias = Literal["jsonl", "body", "messages"]
Unit: TypeAlias = Literal["line", "message"]

_BLANKS: Final = b" \t\r\n"
_PROBE_BYTES: Final = 1 << 20
_SHOWN_BYTES: Final = 20


class Place(NamedTuple):
    """Where a record stands: in which bytes of the input, and where in the JSON text there."""

    offset: int
    size_bytes: int
    path: Path


class Record(NamedTuple):
    """One JSON object of the input: a message, or something else that a transcript holds."""

    position: int
    value: Mapping[str, object]
    place: Place
    line: bytes | None
    """Its bytes, if it is a line of its own."""


class Malformed(NamedTuple):
    """A line that is no JSON object; it is passed on as it is."""

    position: int
    problem: str


class Source(Protocol):
    """An input whose form is known."""

    @property
    def format(self) -> Format:
        """The form."""

    @property
    def unit(self) -> Unit:
        """What positions count: lines from 1 on, or messages from 0 on."""

    def records(self, on_read: OnRead) -> Iterator[Record | Malformed]:
        """Yield what the input holds, in order; may be called again."""


@dataclass(frozen=True, slots=True)
class JsonLines:
    """A transcript: one JSON object in each line. It is never held in memory as a whole."""

    input: Input
    format: Format = field(default="jsonl", init=False)
    unit: Unit = field(default="line", init=False)

    def records(self, on_read: OnRead) -> Iterator[Record | Malformed]:
        """Yield the records and malformed lines; blank lines are neither."""
        for line in self.input.lines(on_read):
            data, offset = _without_mark(line)
            if not data.strip(_BLANKS):
                continue
            try:
                value = decode(data)
            except ValueError as error:
                yield Malformed(line.number, _problem(error))
                continue
            if isinstance(value, dict):
                place = Place(offset, len(data), ())
                yield Record(line.number, value, place, data)
            else:
                yield Malformed(line.number, f"not an object but {_kind(value)}")


@dataclass(frozen=True, slots=True)
class JsonDocument:
    """A request body, or a list of messages: one JSON text, held in memory."""

    name: str
    format: Format
    messages: list[object]
    place: Place
    unit: Unit = field(default="message", init=False)

    @classmethod
    def read(cls, source: Input, wanted: Format) -> JsonDocument:
        """Read the whole input.

        Raises:
            CommandError: It is no JSON, or no such document.
        """
        data = b"".join(source.everything(ignore))
        start = len(BYTE_ORDER_MARK) if data.startswith(BYTE_ORDER_MARK) else 0
        value = _decode_document(data[start:], source.name)
        path: Path = ()
        if wanted == "body":
            if not isinstance(value, dict) or "messages" not in value:
                raise CommandError(
                    f"{source.name} is no request body: it must be an object with messages,"
                    f" not {_kind(value)}"
                )
            value = value["messages"]
            path = ("messages",)
        if not isinstance(value, list):
            raise CommandError(f"{source.name}: messages must be a list, not {_kind(value)}")
        return cls(source.name, wanted, value, Place(start, len(data) - start, path))

    def records(self, on_read: OnRead) -> Iterator[Record | Malformed]:
        """Yield the messages.

        Raises:
            CommandError: One of them is not an object.
        """
        on_read(0)
        for index, value in enumerate(self.messages):
            if not isinstance(value, dict):
                raise CommandError(
                    f"{self.name}: message {index} is not an object but {_kind(value)}"
                )
            place = self.place._replace(path=(*self.place.path, index))
            yield Record(index, value, place, None)


def open_source(source: Input, wanted: Format | None) -> Source:
    """Tell the form of an input by what it holds, unless ``wanted`` says it.

    Raises:
        CommandError: It has none of the forms.
    """
    if not source.size_bytes:
        raise CommandError(f"{source.name} is empty")
    form = wanted or _recognise(source)
    return JsonLines(source) if form == "jsonl" else JsonDocument.read(source, form)


def _recognise(source: Input) -> Format:
    lines = (line for line in source.lines(ignore))
    filled = (text for line in lines if (text := _without_mark(line)[0].strip(_BLANKS)))
    first = next(filled, None)
    if first is None:
        raise CommandError(f"{source.name} holds nothing but blanks")
    if first.startswith(b"["):
        return "messages"
    if not first.startswith(b"{"):
        return _recognise_damaged(source, first)
    second = next(filled, None)
    try:
        value = decode(first)
    except ValueError as error:
        goes_on = second is not None and _ends_too_early(error, first)
        return _recognise_broken_up(source, second) if goes_on and second else "jsonl"
    is_body = second is None and isinstance(value, dict) and "messages" in value
    return "body" if is_body else "jsonl"


def _recognise_damaged(source: Input, first: bytes) -> Format:
    """Take text whose first line is no JSON for a transcript if a line soon after may be."""
    beginning = source.read(0, min(_PROBE_BYTES, source.size_bytes))
    if b"\n{" in beginning:
        return "jsonl"
    raise CommandError(
        f"{source.name} is neither JSON lines, nor a request body, nor a list of messages:"
        f" it begins with {first[:_SHOWN_BYTES]!r}"
    )


def _recognise_broken_up(source: Input, second: bytes) -> Format:
    """Tell a document of several lines from a transcript whose first line is torn."""
    try:
        JsonDocument.read(source, "body")
    except CommandError:
        if _is_object(second):
            return "jsonl"
        raise
    return "body"


def _decode_document(data: bytes, name: str) -> object:
    try:
        return decode(data)
    except UnicodeDecodeError as error:
        raise CommandError(f"{name} is not UTF-8 at byte {error.start}") from error
    except json.JSONDecodeError as error:
        place = f"line {error.lineno}, column {error.colno}"
        raise CommandError(f"{name}, {place}: not JSON: {_lowered(error.msg)}") from error
    except ValueError as error:
        raise CommandError(f"{name}: {error}") from error


def _without_mark(line: Line) -> tuple[bytes, int]:
    """Return a line without the byte order mark of a file, and where in the input it begins."""
    if line.number == 1 and line.data.startswith(BYTE_ORDER_MARK):
        return line.data.removeprefix(BYTE_ORDER_MARK), len(BYTE_ORDER_MARK)
    return line.data, line.offset


def _ends_too_early(error: ValueError, text: bytes) -> bool:
    """Tell whether JSON may go on in the next line; never inside a string."""
    if not isinstance(error, json.JSONDecodeError) or error.msg.startswith("Unterminated"):
        return False
    return error.pos >= len(text.decode()) - 1


def _is_object(text: bytes) -> bool:
    try:
        return isinstance(decode(text), dict)
    except ValueError:
        return False


def _problem(error: ValueError) -> str:
    if isinstance(error, json.JSONDecodeError):
        return f"column {error.colno}: {_lowered(error.msg)}"
    if isinstance(error, UnicodeDecodeError):
        return f"not UTF-8 at byte {error.start} of the line"
    return _lowered(str(error))


def _lowered(message: str) -> str:
    text = message.removesuffix(" starting at")
    return text if text.startswith("JSON") else text[:1].lower() + text[1:]


def _kind(value: object) -> str:
    names = {dict: "an object", list: "a list", str: "a string", bool: "a boolean"}
    if value is None:
        return "null"
    return names.get(type(value), "a number")
