"""The wire form of records: what a transcript says about decisions, one line each.

A record of ours is one ASCII-only line of JSON whose last key is the checksum of what stands before
it::

    {
        "type": "content-replacement",
        "sessionId": "s1",
        "timestamp": "…",
        "replacements": [
            {
                "kind": "tool-result",
                "toolUseId": "toolu_1",
                "replacement": "…",
                "size": 84833,
                "hash": "…",
                "file": "toolu_1.txt",
                "fileDigest": "…",
            }
        ],
        "frozen": [["toolu_2", 120, "…"]],
        "check": "…",
    }

Other programs write the same kind of record without fingerprints and checksum; those are read too.
Pure: no files. Reading never raises: what cannot be used is left out and counted.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final, NamedTuple

import orjson
import xxhash

from toolbudget._display import shown
from toolbudget.errors import TranscriptError
from toolbudget.storage.entries import (
    ContentReplacementRecord,
    Fingerprinted,
    fingerprinted_entry,
    foreign_entry,
    own_entry,
)
from toolbudget.storage.json_lines import MARKER, decode_json, decode_line, is_framed

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

__all__ = [
    "CONTENT_REPLACEMENT",
    "HEADER_PREFIX",
    "SKIPPED",
    "ContentReplacementRecord",
    "Fingerprinted",
    "ParsedLine",
    "ParsedRecord",
    "beginning_of_record",
    "content_replacement",
    "encode_decisions",
    "encode_record",
    "header_line",
    "is_header",
    "parse_foreign_line",
    "parse_line",
    "parse_record",
]

CONTENT_REPLACEMENT: Final = "content-replacement"

_WIRE_ORDER: Final = (
    "type",
    "sessionId",
    "agentId",
    "timestamp",
    "inheritedFrom",
    "replacements",
    "frozen",
    "withdrawn",
)
_DELETE: Final = b"\x7f"
_CHECK_KEY: Final = b',"check"'
_CHECK_TAIL: Final = re.compile(rb':"([0-9a-f]{16})"\}')


@dataclass(frozen=True, slots=True)
class ParsedRecord:
    """One record of decisions, checked field by field."""

    session_id: str | None
    agent_id: str | None
    replacements: tuple[ContentReplacementRecord, ...]
    frozen: tuple[Fingerprinted, ...]
    """Results kept as they are."""
    withdrawn: tuple[Fingerprinted, ...]
    """Results whose decision to be kept was taken back."""
    inherited_from: str | None
    """The session a fork had these decisions from."""
    is_ours: bool
    """Whether it carries a valid checksum; if not, another program wrote it."""
    raw: Mapping[str, object] = field(repr=False)

    def belongs_to(self, session_id: str, agent_id: str | None) -> bool:
        """Whether this record is about that session (and agent); no session id counts as its own.

        Example:
            >>> parse_line(b'{"type":"content-replacement"}').records[0].belongs_to("s", None)
            True
        """
        return self.session_id in {None, session_id} and self.agent_id == agent_id


class ParsedLine(NamedTuple):
    """The records of one line and what of it could not be used."""

    records: tuple[ParsedRecord, ...]
    skipped_lines: int
    """1 if the line, or a part of it, is damaged; else 0."""
    dropped_entries: int
    """Entries of the records that are malformed."""


_NOTHING: Final = ParsedLine((), 0, 0)
SKIPPED: Final = ParsedLine((), 1, 0)
"""What comes of a line of which nothing can be read, or that is too long to be."""


def content_replacement(
    *,
    session_id: str | None,
    timestamp: str,
    agent_id: str | None = None,
    inherited_from: str | None = None,
    replacements: Iterable[ContentReplacementRecord] = (),
    frozen: Iterable[Fingerprinted] = (),
    withdrawn: Iterable[Fingerprinted] = (),
) -> dict[str, object]:
    """Put a record of decisions together, ready for :func:`encode_record`.

    Example:
        >>> record = content_replacement(
        ...     session_id="s", timestamp="t", frozen=[("toolu_1", 3, "…")]
        ... )
        >>> record["frozen"]
        [['toolu_1', 3, '…']]
    """
    record: dict[str, object] = {
        "type": CONTENT_REPLACEMENT,
        "sessionId": session_id,
        "agentId": agent_id,
        "timestamp": timestamp,
        "inheritedFrom": inherited_from,
        "replacements": [entry.to_json() for entry in replacements],
        "frozen": [list(entry) for entry in frozen],
        "withdrawn": [list(entry) for entry in withdrawn] or None,
    }
    return {key: value for key, value in record.items() if value is not None}


def encode_record(record: Mapping[str, object]) -> bytes:
    r"""Encode a record as one ASCII line, with its line end.

    A ``content-replacement`` gets its keys in the order of the format and the checksum as last key.
    Lone surrogates survive; two that form a pair come back as their character, as in any JSON.

    Raises:
        TranscriptError: The record is no mapping, or cannot be written as JSON.

    Example:
        >>> encode_record({"type": "user", "text": "caf\u00e9\n"})
        b'{"type":"user","text":"caf\\u00e9\\n"}\n'
    """
    if not isinstance(record, Mapping):
        raise TranscriptError(f"record must be a mapping: {shown(record)}")
    if record.get("type") != CONTENT_REPLACEMENT:
        return _encode_json(dict(record)) + b"\n"
    ordered = {key: record[key] for key in _WIRE_ORDER if key in record}
    ordered.update((key, value) for key, value in record.items() if key not in _WIRE_ORDER)
    ordered.pop("check", None)
    return _with_check(_encode_json(ordered)[:-1])


def beginning_of_record(session_id: str | None, agent_id: str | None) -> bytes:
    """Encode what all records about a session or a sub-agent begin with.

    Example:
        >>> beginning_of_record("s1", None)
        b'{"type":"content-replacement","sessionId":"s1"'
    """
    names = {"type": CONTENT_REPLACEMENT, "sessionId": session_id, "agentId": agent_id}
    return _encode_json({key: name for key, name in names.items() if name is not None})[:-1]


def encode_decisions(
    beginning: bytes,
    *,
    timestamp: str,
    replacements: Iterable[ContentReplacementRecord] = (),
    frozen: bytes,
    marks: Mapping[str, object] | None = None,
) -> bytes:
    """Encode a record whose kept results are JSON already, as :func:`encode_record` would.

    Args:
        beginning: What :func:`beginning_of_record` gave.
        timestamp: When it was decided.
        replacements: What was replaced.
        frozen: The list of what was kept, as JSON.
        marks: What the format has no place of its own for.

    Raises:
        TranscriptError: It cannot be written as JSON.

    Example:
        >>> line = encode_decisions(beginning_of_record("s", None), timestamp="t", frozen=b"[]")
        >>> line == encode_record(content_replacement(session_id="s", timestamp="t"))
        True
    """
    entries = _encode_texts([entry.to_json() for entry in replacements])
    more = b"," + _encode_json(marks)[1:-1] if marks else b""
    parts = beginning, _encode_json(timestamp), entries, frozen, more
    return _with_check(b'%b,"timestamp":%b,"replacements":%b,"frozen":%b%b' % parts)


# One for all calls: `json.dumps` would make one at each.
_ENCODER: Final = json.JSONEncoder(ensure_ascii=True, allow_nan=False, separators=(",", ":"))

HEADER_PREFIX: Final = b'{"type":"toolbudget-session","version":1,"sessionId":'
"""What every header of this version begins with."""


def header_line(session_id: str) -> bytes:
    r"""Encode the first line of a file of ours.

    Example:
        >>> header_line("s1")
        b'{"type":"toolbudget-session","version":1,"sessionId":"s1"}\n'
    """
    return HEADER_PREFIX + _encode_json(session_id) + b"}\n"


def is_header(line: bytes) -> bool:
    """Whether a line is the header of a file that this version of the package may write.

    Example:
        >>> is_header(header_line("s1").strip()), is_header(b'{"type":"user"}')
        (True, False)
    """
    if not line.startswith(HEADER_PREFIX):
        return False
    try:
        value = decode_json(line)
    except ValueError:
        return False
    return isinstance(value, dict) and isinstance(value.get("sessionId"), str)


def parse_line(line: bytes) -> ParsedLine:
    """Read the records of one line, whatever has happened to it.

    Example:
        >>> parse_line(b'{"type":"con')
        ParsedLine(records=(), skipped_lines=1, dropped_entries=0)
    """
    objects, is_damaged = decode_line(line)
    parsed = [
        parse_record(found.value, found.data)
        for found in objects
        if found.value.get("type") == CONTENT_REPLACEMENT
    ]
    if not parsed:
        return SKIPPED if is_damaged else _NOTHING
    return ParsedLine(
        tuple(record for part in parsed for record in part.records),
        int(is_damaged or any(part.skipped_lines for part in parsed)),
        sum(part.dropped_entries for part in parsed),
    )


def parse_foreign_line(line: bytes) -> ParsedLine:
    """Read the records of one line of another program's file; lines without any are not decoded.

    Example:
        >>> parse_foreign_line(b'{"type":"user","message":{}}').skipped_lines
        0
    """
    if MARKER in line:
        return parse_line(line)
    return _NOTHING if is_framed(line) else SKIPPED


def parse_record(value: Mapping[str, object], data: bytes | None = None) -> ParsedLine:
    """Check a decoded ``content-replacement`` object field by field.

    A record whose ``check`` does not fit is damaged. One without is another program's: fingerprints
    in it, if there are any, mean something else and are not taken over.

    Args:
        value: The object.
        data: Its bytes, without anything around them, to verify the checksum; ``None`` if that was
            done when it was read, as with the records of a ``Transcript``.

    Example:
        >>> line = encode_record(content_replacement(session_id="s", timestamp="t")).strip()
        >>> parse_record(decode_json(line), line).records[0].is_ours
        True
    """
    is_ours = "check" in value
    session_id, agent_id = value.get("sessionId"), value.get("agentId")
    if is_ours and data is not None and not _has_valid_check(data):
        return SKIPPED
    if not isinstance(session_id, str | None) or not isinstance(agent_id, str | None):
        return SKIPPED
    read_entry = own_entry if is_ours else foreign_entry
    replacements = [read_entry(entry) for entry in _entries(value, "replacements")]
    frozen = [fingerprinted_entry(entry) for entry in _entries(value, "frozen") if is_ours]
    withdrawn = [fingerprinted_entry(entry) for entry in _entries(value, "withdrawn") if is_ours]
    inherited_from = value.get("inheritedFrom")
    record = ParsedRecord(
        session_id=session_id,
        agent_id=agent_id,
        replacements=tuple(entry for entry in replacements if entry),
        frozen=tuple(entry for entry in frozen if entry),
        withdrawn=tuple(entry for entry in withdrawn if entry),
        inherited_from=inherited_from if isinstance(inherited_from, str) else None,
        is_ours=is_ours,
        raw=value,
    )
    dropped_entries = replacements.count(None) + frozen.count(None) + withdrawn.count(None)
    return ParsedLine((record,), 0, dropped_entries)


def _entries(record: Mapping[str, object], key: str) -> Sequence[object]:
    """The entries under a key; what should be a list and is not counts as one malformed entry."""
    entries = record.get(key)
    if entries is None:
        return ()
    return entries if isinstance(entries, list) else (None,)


def _has_valid_check(data: bytes) -> bool:
    checked, _, tail = data.rpartition(_CHECK_KEY)
    check = _CHECK_TAIL.fullmatch(tail)
    return check is not None and check[1] == _checksum(checked)


def _with_check(checked: bytes) -> bytes:
    return b'%b,"check":"%b"}\n' % (checked, _checksum(checked))


def _checksum(data: bytes) -> bytes:
    return xxhash.xxh3_64_hexdigest(data).encode("ascii")


def _encode_texts(value: Sequence[Mapping[str, object]]) -> bytes:
    """Encode texts and whole numbers as :func:`_encode_json` does; in most turns much faster."""
    try:
        data = orjson.dumps(value)
    except TypeError:
        return _encode_json(value)  # lone surrogates, or a number beyond 64 bits
    # What is not ASCII is escaped in a record, and so is this control character.
    return data if data.isascii() and _DELETE not in data else _encode_json(value)


def _encode_json(value: Mapping[str, object] | Sequence[object]) -> bytes:
    try:
        text = _ENCODER.encode(value)
    except (TypeError, ValueError, RecursionError) as error:
        raise TranscriptError(f"record cannot be written as JSON: {error}") from error
    return text.encode("ascii")
