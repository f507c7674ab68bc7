"""Whose a file of lines is, told by how it begins."""

from __future__ import annotations

import enum
from functools import lru_cache
from typing import TYPE_CHECKING, Final

from toolbudget.storage.json_lines import BYTE_ORDER_MARK, JUNK, without_junk
from toolbudget.storage.line_reader import read_exactly, read_lines
from toolbudget.storage.records import HEADER_PREFIX, is_header

if TYPE_CHECKING:
    from toolbudget.storage._files import FileSystem

__all__ = ["Owner", "find_owner"]

_BEGINNING_BYTES: Final = 4096

# A file is asked whose it is several times in each turn, and answers with the same line.
_is_known_header: Final = lru_cache(maxsize=64)(is_header)


class Owner(enum.Enum):
    """Who a file belongs to."""

    NOBODY = "missing, empty, or nothing but NULs and blanks"
    US = "begins with our header"
    ANOTHER = "begins with something else"


def find_owner(files: FileSystem, handle: int) -> Owner:
    """Read as much of an open file as tells whose it is; of most files that takes one read.

    Raises:
        OSError: A read failed.
    """
    position = 0
    while beginning := files.read(handle, _BEGINNING_BYTES, offset=position):
        position += len(beginning)
        # Nearly always the file is one of ours that was asked about before.
        if beginning.startswith(HEADER_PREFIX):
            line, line_end, _ = beginning.partition(b"\n")
            if line_end and _is_known_header(line):
                return Owner.US
        text = beginning.lstrip(JUNK).removeprefix(BYTE_ORDER_MARK).lstrip(JUNK)
        if text:
            is_ours = _begins_with_header(files, handle, text, start=position - len(text))
            return Owner.US if is_ours else Owner.ANOTHER
    return Owner.NOBODY


def _begins_with_header(files: FileSystem, handle: int, text: bytes, *, start: int) -> bool:
    prefix = text[: len(HEADER_PREFIX)]
    if len(prefix) < len(HEADER_PREFIX):
        prefix = read_exactly(files, handle, len(HEADER_PREFIX), offset=start)
    # The first line of another program's file may be huge; it is not read at each append.
    if prefix != HEADER_PREFIX:
        return False
    line, line_end, _ = text.partition(b"\n")
    if line_end:
        return _is_known_header(without_junk(line))
    whole = next(read_lines(files, handle, start=start, chunk_bytes=_BEGINNING_BYTES), None)
    return whole is not None and whole.data is not None and is_header(without_junk(whole.data))
