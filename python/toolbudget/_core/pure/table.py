"""The preview of a table: its header, its first and its last rows, and how many there are."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final, NamedTuple

from toolbudget._core.pure.preview import cut_preview, make_wire_safe
from toolbudget._core.pure.size import utf8_length

if TYPE_CHECKING:
    from collections.abc import Iterable

__all__ = ["table_preview"]

# Below this the notes alone would take most of the room.
_LEAST_BYTES: Final = 240
_WINDOW_CHARS: Final = 16_384
# So many lines must have the same number of cells; more are not looked at.
_LEAST_LINES: Final = 4
_MOST_LINES: Final = 20
_HEADER_CELL_BYTES: Final = 64
_DELIMITERS: Final = (b"\t", b",", b";", b"|")
_BLANKS: Final = b" \t\r"
_QUOTED: Final = re.compile(rb'"[^"]*"')
_NAME: Final = re.compile(rb'["A-Za-z_][A-Za-z0-9_ ./%()#"-]*')
_PLAIN_NAME: Final = re.compile(rb'"?[A-Za-z_][A-Za-z0-9_.-]*"?')
_HEAD_PERCENT: Final = 60
# A row takes at most this share of the room, and may always take so many bytes.
_ROW_SHARE: Final = 8
_LEAST_ROW_BYTES: Final = 60
_CUT_MARK: Final = "…"


class _Counts(NamedTuple):
    columns: int
    rows: int
    size_bytes: int


def table_preview(text: str, max_bytes: int) -> tuple[str, bool]:
    r"""Show the header, the first and the last rows of a table, with a note on its size.

    A table is a text whose first lines have the same number of cells, parted by tabs, commas,
    semicolons or bars, and whose first line names them. A row is a line: one that is broken inside
    quotes counts as several. Long rows are cut. A text that fits comes back whole, made wire-safe;
    if it is no table, or with little room, its beginning is shown instead.

    Args:
        text: The whole text.
        max_bytes: UTF-8 bytes that the preview may take, its notes included.

    Returns:
        The preview, and whether anything was left out.

    Example:
        >>> rows = "".join(f"{n},name {n},{n * n}\n" for n in range(1_000))
        >>> print(table_preview("id,name,square\n" + rows, 240)[0])
        [table, shown in part: 3 columns, 1,000 rows below the header; 19,332 bytes in all]
        id,name,square
        0,name 0,0
        1,name 1,1
        2,name 2,4
        3,name 3,9
        4,name 4,16
        [... 993 rows left out ...]
        998,name 998,996004
        999,name 999,998001
    """
    text = str.__str__(text)  # methods of a subclass take no part
    head, has_more = cut_preview(text, max_bytes)
    if not has_more or max_bytes < _LEAST_BYTES:
        return head, has_more
    window_chars = max(_WINDOW_CHARS, max_bytes)
    columns = count_columns(_encoded(text[:_WINDOW_CHARS]))
    if columns == 0:
        return head, has_more
    line_count = text.count("\n") + (not text.endswith("\n"))
    counts = _Counts(columns, line_count - 1, utf8_length(text))
    first = text[:window_chars].split("\n")[:-1]
    last = text[-window_chars:].removesuffix("\n").split("\n")[1:]
    shown = _laid_out(first, last, counts, max_bytes)
    return (head, has_more) if shown is None else (shown, True)


def count_columns(window: bytes) -> int:
    r"""Count the columns of the table that a text begins with; 0 if it is none.

    Example:
        >>> count_columns(b"id,name,age\n1,Ann,30\n2,Bob,31\n3,Cid,32\n")
        3
    """
    whole_lines = window.split(b"\n")[:-1]
    lines = [line for line in whole_lines if line.strip(_BLANKS)][:_MOST_LINES]
    if len(lines) < _LEAST_LINES or lines[0] is not whole_lines[0]:
        return 0
    for delimiter in _DELIMITERS:
        counts = {_count(line, delimiter) for line in lines}
        if len(counts) == 1 and 0 not in counts and _names_cells(lines[0], delimiter):
            return counts.pop() + 1
    return 0


def _count(line: bytes, delimiter: bytes) -> int:
    # In a text with tabs a quotation mark is a character like any other.
    bare = line if delimiter == b"\t" else _QUOTED.sub(b"", line)
    return bare.count(delimiter)


def _names_cells(header: bytes, delimiter: bytes) -> bool:
    """Tell whether a line can be a header; with two cells, words alone make one."""
    cells = [cell.strip(_BLANKS) for cell in header.split(delimiter)]
    if any(len(cell) > _HEADER_CELL_BYTES for cell in cells):
        return False
    is_narrow = len(cells) == 2  # noqa: PLR2004 - a sentence with a comma has two parts as well
    pattern = _PLAIN_NAME if is_narrow else _NAME
    names = sum(pattern.fullmatch(cell) is not None for cell in cells)
    return names == len(cells) if is_narrow else 2 * names >= len(cells)


def _laid_out(first: list[str], last: list[str], counts: _Counts, max_bytes: int) -> str | None:
    """Write header, rows and notes; nothing if there is no room for a row."""
    room_bytes = max_bytes - len(_note(counts)) - len(_gap(counts.rows)) - 2
    most_bytes = max(_LEAST_ROW_BYTES, room_bytes // _ROW_SHARE)
    header = _row(first[0], most_bytes)
    room_bytes -= utf8_length(header)
    head = _taken(first[1:], most_bytes, room_bytes * _HEAD_PERCENT // 100)
    room_bytes -= sum(utf8_length(row) + 1 for row in head)
    rest = last[max(0, len(last) - (counts.rows - len(head))) :]
    tail = _taken(reversed(rest), most_bytes, room_bytes)
    if not head and not tail:
        return None
    left_out = counts.rows - len(head) - len(tail)
    gap = [_gap(left_out)] if left_out else []
    return "\n".join([_note(counts), header, *head, *gap, *reversed(tail)])


def _taken(lines: Iterable[str], most_bytes: int, room_bytes: int) -> list[str]:
    """Take rows as long as they fit."""
    rows: list[str] = []
    for line in lines:
        row = _row(line, most_bytes)
        room_bytes -= utf8_length(row) + 1
        if room_bytes < 0:
            break
        rows.append(row)
    return rows


def _row(line: str, most_bytes: int) -> str:
    safe = make_wire_safe(line.rstrip("\r"))
    encoded = safe.encode()
    if len(encoded) <= most_bytes:
        return safe
    return encoded[: most_bytes - len(_CUT_MARK.encode())].decode("utf-8", "ignore") + _CUT_MARK


def _note(counts: _Counts) -> str:
    table = f"{counts.columns:,} columns, {counts.rows:,} rows below the header"
    return f"[table, shown in part: {table}; {counts.size_bytes:,} bytes in all]"


def _gap(left_out: int) -> str:
    return f"[... {left_out:,} {'row' if left_out == 1 else 'rows'} left out ...]"


def _encoded(text: str) -> bytes:
    return text.encode("utf-8", "surrogatepass")
