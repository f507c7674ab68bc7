"""From the bytes of one line to the JSON objects in it, whatever has happened to the line.

Pure: no files. A line may carry NULs of a block that never reached the disk, a byte order mark, the
torn beginning of another line in front of it, or a second object behind it. What can be read is
read; what cannot is said to be damaged, and never raises.
"""

from __future__ import annotations

import json
import re
from typing import TYPE_CHECKING, Final, NamedTuple

import orjson

from toolbudget._core.pure.kept_json import survives_json

if TYPE_CHECKING:
    from collections.abc import Mapping

__all__ = [
    "BYTE_ORDER_MARK",
    "JUNK",
    "MARKER",
    "UNREADABLE",
    "DecodedLine",
    "JsonObject",
    "decode_json",
    "decode_line",
    "is_framed",
    "survives_json",
    "without_junk",
]

JUNK: Final = b"\x00 \t\r\n\x0b\x0c"
"""Bytes around a line that mean nothing: blanks, and the NULs of a block that was never written."""

BYTE_ORDER_MARK: Final = b"\xef\xbb\xbf"

MARKER: Final = b"content-replacement"
"""A line without these bytes holds no record of a replacement."""

# The form in which every known writer begins such a record. Inside a string the quotes would be
# escaped, so this never matches text that was merely quoted.
_RECORD_START: Final = re.compile(r'\{\s*"type"\s*:\s*"content-replacement"')

# Each failed attempt may read to the end of the line, and a line made to hurt has many beginnings.
_MAX_FAILED_ATTEMPTS: Final = 16

_BLANKS: Final = re.compile(r"[\x00 \t\r\n\x0b\x0c]*")
_DECODER: Final = json.JSONDecoder()


class JsonObject(NamedTuple):
    """One object of a line, decoded and as it stands there."""

    value: Mapping[str, object]
    data: bytes


class DecodedLine(NamedTuple):
    """What a line holds."""

    objects: tuple[JsonObject, ...]
    is_damaged: bool
    """Part of the line, or all of it, could not be read."""


_EMPTY: Final = DecodedLine((), is_damaged=False)
UNREADABLE: Final = DecodedLine((), is_damaged=True)
"""What a line holds of which nothing can be read, or that is too long to be."""


def decode_json(data: bytes, *, exact_integers: bool = False) -> object:
    """Decode one JSON text as leniently as the standard library does, only faster.

    Args:
        data: The JSON text in UTF-8.
        exact_integers: Keep integers beyond 64 bits as they are; otherwise they may be rounded.

    Raises:
        ValueError: It is no JSON, no UTF-8, or nested too deeply.
    """
    if not exact_integers:
        try:
            return orjson.loads(data)
        except orjson.JSONDecodeError:
            pass  # also lone surrogate escapes, NaN and infinities, which other writers produce
    try:
        value: object = json.loads(data.decode())
    except RecursionError as error:
        raise ValueError("JSON is nested too deeply") from error
    return value


def without_junk(line: bytes) -> bytes:
    """The line without NULs, blanks and byte order mark around it."""
    text = line.strip(JUNK)
    return text.removeprefix(BYTE_ORDER_MARK).lstrip(JUNK)


def is_framed(line: bytes) -> bool:
    """Whether a line looks like one whole JSON object, or is blank: a quick test, no proof."""
    if line.startswith(b"{") and line.endswith((b"}", b"}\r")):
        return True
    text = without_junk(line)
    if not text:
        return b"\x00" not in line
    return text.startswith(b"{") and text.endswith(b"}")


def decode_line(line: bytes, *, exact_integers: bool = False) -> DecodedLine:
    r"""Find the JSON objects of one line.

    Normally that is the line itself. If it cannot be read as a whole, the whole objects at its
    beginning are taken, and behind damage those that begin as a record of a replacement does. A
    line that can be read is never searched for objects inside it.

    Example:
        >>> decode_line(b'{"type":"us{"type":"content-replacement","replacements":[]}').is_damaged
        True
        >>> [dict(found.value) for found in decode_line(b'\0\0{"a":1}{"b":2}\r').objects]
        [{'a': 1}, {'b': 2}]
    """
    text = without_junk(line)
    if not text:
        return UNREADABLE if b"\x00" in line else _EMPTY
    whole = _decode_object(text, exact_integers=exact_integers)
    if whole is not None:
        return whole
    pieces, is_damaged = _whole_objects(text)
    objects: list[JsonObject] = []
    for piece in pieces:
        decoded = _decode_object(piece, exact_integers=exact_integers) or UNREADABLE
        objects.extend(decoded.objects)
        is_damaged = is_damaged or decoded.is_damaged
    return DecodedLine(tuple(objects), is_damaged=is_damaged)


def _decode_object(text: bytes, *, exact_integers: bool) -> DecodedLine | None:
    """Decode text that should be one object; ``None`` if it is no JSON at all."""
    try:
        value = decode_json(text, exact_integers=exact_integers)
    except ValueError:
        return None
    if not isinstance(value, dict):
        return UNREADABLE
    return DecodedLine((JsonObject(value, text),), is_damaged=False)


def _whole_objects(line: bytes) -> tuple[list[bytes], bool]:
    """Cut a line that is not one JSON text into its whole objects; say whether anything is left."""
    # One character for each byte: positions are the same, and the structure of JSON is ASCII.
    characters = line.decode("latin-1")
    found: list[bytes] = []
    position, failed_attempts = 0, 0
    while position < len(characters):
        end = _object_end(characters, position, is_behind_damage=failed_attempts > 0)
        if end is not None:
            found.append(line[position:end])
            position = _skip_junk(characters, end)
            continue
        failed_attempts += 1
        start = _RECORD_START.search(characters, position + 1)
        if start is None or failed_attempts == _MAX_FAILED_ATTEMPTS:
            break
        position = start.start()
    return found, failed_attempts > 0


def _object_end(characters: str, start: int, *, is_behind_damage: bool) -> int | None:
    """Where the object that begins at ``start`` ends; ``None`` if there is no whole one."""
    if characters[start] != "{":
        return None
    try:
        _, end = _DECODER.raw_decode(characters, start)
    except (ValueError, RecursionError):
        return None
    following = _skip_junk(characters, end)
    # Behind damage an object may have been part of a larger one, of another program's data: then a
    # comma or a bracket follows. A record of its own ends the line or stands before a new object.
    if is_behind_damage and characters[following : following + 1] in {",", "]", "}"}:
        return None
    return end


def _skip_junk(characters: str, start: int) -> int:
    blanks = _BLANKS.match(characters, start)
    return blanks.end() if blanks else start
