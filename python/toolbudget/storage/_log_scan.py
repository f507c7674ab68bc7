"""One file of records, line by line: what each line holds, and what has happened to it.

Reads without a lock, as any reader of a live session does. A last line that is not whole may be one
that is just being appended; it is looked at a second time before it counts as damaged.
"""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, Final, Literal, NamedTuple

from toolbudget.storage.json_lines import decode_json, decode_line, without_junk
from toolbudget.storage.log_file import Owner
from toolbudget.storage.records import (
    SKIPPED,
    parse_foreign_line,
    parse_line,
)

if TYPE_CHECKING:
    from collections.abc import Iterator

    from toolbudget.storage.line_reader import Line
    from toolbudget.storage.log_file import LogFile
    from toolbudget.storage.records import ParsedLine

__all__ = ["Damage", "Header", "ScannedLine", "header_of", "scan_lines"]

Damage = Literal["torn", "unterminated", "NUL run", "bad checksum", "glued", "too long", "not JSON"]
"""What has happened to a line: cut short; whole but without its line end; never written to the
disk; changed; joined with another; longer than any record; or nothing that a record could be."""

_HEADER_TYPE: Final = "toolbudget-session"
_HEADER_MARKER: Final = b"toolbudget-session"
# A file that nobody has written for so long has no append under way.
_QUIET_S: Final = 60.0
_RECHECK_PAUSE_S: Final = 0.1


class ScannedLine(NamedTuple):
    """One line, read.

    Attributes:
        number: From 1.
        offset: The byte where it begins, from 0.
        size_bytes: With its line end.
        parsed: The records in it.
        damage: What is wrong with it.
        header: What it says, if it has the form of a file's header.
        is_blank: Whether it holds nothing but blanks and NULs.
        is_terminated: Whether it has a line end.
    """

    number: int
    offset: int
    size_bytes: int
    parsed: ParsedLine
    damage: Damage | None
    header: Header | None
    is_blank: bool
    is_terminated: bool


class Header(NamedTuple):
    """The first line of a file of this library, of whatever version."""

    version: int
    session_id: str


def scan_lines(log_file: LogFile, handle: int, *, now_s: float) -> Iterator[ScannedLine]:
    """Yield the lines of an open file of records.

    Args:
        log_file: The file.
        handle: The file, opened for reading.
        now_s: The time now, in seconds since the epoch.

    Raises:
        TranscriptError: It cannot be read.
        OSError: Its status cannot be read.
    """
    is_foreign = log_file.owner_of(handle) is Owner.ANOTHER
    may_be_live = now_s - log_file.files.status(handle).modified_s < _QUIET_S
    number, offset = 0, 0
    while True:
        unfinished = False
        for line in log_file.lines(handle, start=offset):
            unfinished = not line.is_terminated and may_be_live
            if unfinished:
                break
            number += 1
            yield _scan(line, number, offset, is_foreign=is_foreign)
            offset = line.end_offset
        if not unfinished:
            return
        may_be_live = False
        time.sleep(_RECHECK_PAUSE_S)


def header_of(data: bytes) -> Header | None:
    """Read a line as the header of any version of this library.

    Example:
        >>> header_of(b'{"type":"toolbudget-session","version":2,"sessionId":"s1"}')
        Header(version=2, session_id='s1')
    """
    if _HEADER_MARKER not in data:
        return None
    try:
        value = decode_json(without_junk(data))
    except ValueError:
        return None
    match value:
        case {"type": str(kind), "version": int(version), "sessionId": str(session_id)}:
            return Header(version, session_id) if kind == _HEADER_TYPE else None
        case _:
            return None


def _scan(line: Line, number: int, offset: int, *, is_foreign: bool) -> ScannedLine:
    parse = parse_foreign_line if is_foreign else parse_line
    parsed = SKIPPED if line.data is None else parse(line.data)
    return ScannedLine(
        number,
        offset,
        line.end_offset - offset,
        parsed,
        _damage_of(line, parsed, is_foreign=is_foreign),
        None if line.data is None else header_of(line.data),
        is_blank=line.data is not None and not without_junk(line.data),
        is_terminated=line.is_terminated,
    )


def _damage_of(line: Line, parsed: ParsedLine, *, is_foreign: bool) -> Damage | None:
    if line.data is None:
        return "too long"
    if not parsed.skipped_lines:
        is_open = not line.is_terminated and not is_foreign
        return "unterminated" if is_open and without_junk(line.data) else None
    decoded = decode_line(line.data)
    if decoded.objects:
        return "glued" if decoded.is_damaged else "bad checksum"
    text = without_junk(line.data)
    if not text or b"\x00" in text:
        return "NUL run"
    is_cut = text.startswith(b"{") and not text.endswith(b"}")
    return "torn" if is_cut or not line.is_terminated else "not JSON"
