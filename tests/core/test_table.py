"""The preview of a table: header, first and last rows, and how many there are."""

from __future__ import annotations

import csv
import io
import re
from typing import TYPE_CHECKING, Final

import pytest
from hypothesis import given
from hypothesis import strategies as st

if TYPE_CHECKING:
    from types import ModuleType

_NOTE: Final = re.compile(
    r"\[table, shown in part: ([0-9,]+) columns, ([0-9,]+) rows below the header;"
    r" ([0-9,]+) bytes in all\]"
)
_GAP: Final = re.compile(r"\[\.\.\. ([0-9,]+) rows? left out \.\.\.\]")

CELLS: Final = st.text(
    st.characters(codec="utf-8", exclude_characters="\r\n\x00<", exclude_categories=["Cc"]),
    max_size=30,
)


def written(rows: list[list[str]], delimiter: str) -> str:
    """Write rows as the standard library does."""
    file = io.StringIO()
    csv.writer(file, delimiter=delimiter, lineterminator="\n").writerows(rows)
    return file.getvalue()


def numbers(text: str) -> list[int]:
    """Read the numbers of a note."""
    return [int(number.replace(",", "")) for number in re.findall("[0-9][0-9,]*", text)]


@given(
    names=st.lists(st.from_regex("[a-z]{1,9}", fullmatch=True), min_size=3, max_size=9),
    data=st.data(),
    delimiter=st.sampled_from(",;|"),
    row_count=st.integers(20, 400),
    max_bytes=st.integers(240, 3_000),
)
def test_any_written_table_is_known_and_counted(
    core: ModuleType,
    names: list[str],
    data: st.DataObject,
    delimiter: str,
    row_count: int,
    *,
    max_bytes: int,
) -> None:
    """What a library writes, quoted cells too: whole lines in their order, all accounted for."""
    kinds = data.draw(st.lists(CELLS, min_size=len(names), max_size=len(names)))
    rows = [[f"{number}{kind}" for kind in kinds] for number in range(row_count)]
    text = written([names, *rows], delimiter)
    preview, has_more = core.table_preview(text, max_bytes)
    assert len(preview.encode()) <= max_bytes
    if not has_more:
        assert text == preview
        return
    lines = preview.split("\n")
    assert [len(names), row_count, len(text.encode())] == numbers(lines[0])
    assert _NOTE.fullmatch(lines[0])
    gap = next(number for number, line in enumerate(lines) if _GAP.fullmatch(line))
    assert [row_count - (len(lines) - 3)] == numbers(lines[gap])
    originals = text.split("\n")
    for shown, original in zip(lines[1:gap], originals, strict=False):
        assert original.startswith(shown.removesuffix("…"))
    for shown, original in zip(lines[:gap:-1], originals[-2::-1], strict=False):
        assert original.startswith(shown.removesuffix("…"))


def test_the_ends_of_a_table_are_shown(core: ModuleType) -> None:
    """The first rows and the last ones, about as many of each."""
    text = "id\tname\n" + "".join(f"{number}\tname {number}\n" for number in range(50_000))
    lines = core.table_preview(text, 1_000)[0].split("\n")
    assert lines[1:4] == ["id\tname", "0\tname 0", "1\tname 1"]
    assert lines[-1] == "49999\tname 49999"
    gap = next(number for number, line in enumerate(lines) if _GAP.fullmatch(line))
    assert min(gap - 1, len(lines) - gap) > 10


@pytest.mark.parametrize(
    "text",
    [
        "1,2,3\n" * 500,
        "2024-05-01 10:11:12,123 INFO one\n" * 300,
        "a sentence, with a comma\n" * 300,
        "\nid,name,size\n" + "1,2,3\n" * 500,
        "id,name,size\n" + "1,2\n" * 500,
        "word\n" * 500,
        "id,name,size\n1,2,3\n" + "x" * 9_000,
        "a" * 70 + ",b,c\n" + "1,2,3\n" * 500,
    ],
)
def test_what_is_no_table_is_shown_from_the_beginning(core: ModuleType, text: str) -> None:
    """Without a header, or with rows that differ, a text is none."""
    assert core.cut_preview(text, 1_000) == core.table_preview(text, 1_000)


def test_long_rows_are_cut(core: ModuleType) -> None:
    """One row never takes all the room."""
    text = "id,text,size\n" + "".join(f"{number},{'é' * 400},9\n" for number in range(300))
    lines = core.table_preview(text, 1_000)[0].split("\n")
    assert len(lines) > 6
    assert all(line.endswith("…") for line in lines[2:] if not _GAP.fullmatch(line))


def test_line_ends_of_any_system_are_rows(core: ModuleType) -> None:
    """A carriage return in front of a line end is no part of a row."""
    text = "id,name,size\r\n" + "1,2,3\r\n" * 500
    preview = core.table_preview(text, 500)[0]
    assert "\r" not in preview
    assert "500 rows below the header" in preview
