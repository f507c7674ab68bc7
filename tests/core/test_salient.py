from __future__ import annotations

import os
import re
import subprocess
import sys
import tracemalloc
from itertools import pairwise
from typing import TYPE_CHECKING, NamedTuple

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.core import text_oracle
from tests.core.failing_outputs import FAILING_OUTPUTS
from tests.core.log_texts import LOGS, MARKS
from tests.core.salient_oracle import shown_form
from tests.strategies import Text, any_text

if TYPE_CHECKING:
    from types import ModuleType


# Under this limit the beginning is shown instead.
LEAST_BYTES = 240

_NOTE = re.compile(
    r"\[([0-9,]+) of ([0-9,]+) lines shown \(number:text\), ([0-9,]+) left out;"
    r" ([0-9,]+) bytes in all\]"
)
# Where all lines are shown, but not all of them whole.
_NOTE_OF_ALL = re.compile(
    r"\[([0-9,]+) of ([0-9,]+) lines shown in part \(number:text\):"
    r" ([0-9,]+) of ([0-9,]+) bytes\]"
)
_FRAME_TAG = re.compile("</?persisted-output", re.IGNORECASE)


class Preview(NamedTuple):
    """What is shown of a text, and whether anything was left out."""

    text: str
    has_more: bool


def show(core: ModuleType, text: str, max_bytes: int) -> Preview:
    """Preview a text in the style that is tested here."""
    return Preview(*core.salient_preview(text, max_bytes))


class Page(NamedTuple):
    """A preview taken apart again."""

    shown: int
    lines: int
    left_out: int
    size_bytes: int
    rows: list[tuple[int, str]]


def read(preview: str) -> Page:
    """Read note and rows of a preview."""
    note, *rows = preview.split("\n")
    match = _NOTE.fullmatch(note) or _NOTE_OF_ALL.fullmatch(note)
    assert match, note
    shown, lines, left_out, size_bytes = (int(number.replace(",", "")) for number in match.groups())
    numbered = [row.partition(":") for row in rows]
    texts = [(int(number), text) for number, _, text in numbered]
    if match.re is _NOTE_OF_ALL:
        assert left_out == sum(len(text.encode()) for _, text in texts)
        left_out = 0
    else:
        assert left_out > 0
    return Page(shown, lines, left_out, size_bytes, texts)


def shows(preview: str, line: str) -> bool:
    """Tell whether a preview shows a line, which may lack a CI system's time and its end."""
    wanted = " ".join(line.split())
    forms = (wanted, wanted.partition(" ")[2])
    rows = (" ".join(text.split()).partition("…") for _, text in read(preview).rows)
    return any(
        form == start or (cut and len(start) > 40 and form.startswith(start))
        for start, cut, _ in rows
        for form in forms
    )


@given(text=LOGS | any_text(), max_bytes=st.integers(-5, 6_000))
def test_a_preview_keeps_its_limit_and_is_safe(core: ModuleType, text: str, max_bytes: int) -> None:
    """It takes at most so many bytes, is strict UTF-8, and cannot close or forge a frame (P3)."""
    preview = show(core, text, max_bytes)
    assert len(preview.text.encode()) <= max(0, max_bytes)
    assert "\x00" not in preview.text
    assert not _FRAME_TAG.search(preview.text)


@given(text=LOGS | any_text(), max_bytes=st.integers(0, 6_000))
def test_a_text_that_fits_is_shown_whole(core: ModuleType, text: str, max_bytes: int) -> None:
    """What fits comes back as it is, made safe, and nothing is said to be left out."""
    safe = text_oracle.make_wire_safe(text)
    fits = len(safe.encode()) <= max_bytes
    preview = show(core, text, max_bytes)
    assert preview.has_more is not fits
    if fits:
        assert safe == preview.text


@given(text=LOGS, max_bytes=st.integers(0, LEAST_BYTES - 1))
def test_with_little_room_the_beginning_is_shown(
    core: ModuleType, text: str, max_bytes: int
) -> None:
    """Too little room for a note and some lines: the beginning (P2)."""
    assert core.cut_preview(text, max_bytes) == show(core, text, max_bytes)


@given(text=LOGS, max_bytes=st.integers(LEAST_BYTES, 6_000))
def test_every_row_is_a_line_of_the_text(core: ModuleType, text: str, max_bytes: int) -> None:
    """Rows stand in order under their numbers, cleaned and cut; the counts of the note hold."""
    preview = show(core, text, max_bytes)
    head = core.cut_preview(text, max_bytes)
    if not preview.has_more or preview == head:
        return
    lines = text.removesuffix("\n").split("\n")
    page = read(preview.text)
    assert len(lines) == page.lines == page.shown + page.left_out
    assert len(page.rows) == page.shown > 0
    assert len(text.encode("utf-8", "surrogatepass")) == page.size_bytes
    numbers = [number for number, _ in page.rows]
    assert sorted(set(numbers)) == numbers
    for number, row in page.rows:
        line = lines[number - 1]
        if len(line) <= 4_096:
            shown = shown_form(line)
            start, cut, end = row.rpartition("…")
            assert shown == row or (cut and shown.startswith(start) and shown.endswith(end))


@given(parts=st.lists(st.tuples(MARKS, st.integers(1, 400)), max_size=12))
def test_where_a_text_is_read_in_parts_does_not_matter(
    core: ModuleType, parts: list[tuple[str, int]]
) -> None:
    """A log of more than one chunk still has all its lines, under their numbers."""
    text = "".join(f"{line}\n" * count for line, count in parts) + "filler\n" * 12_000
    page = read(show(core, text, 2_000).text)
    lines = text.split("\n")
    assert len(lines) - 1 == page.lines
    assert all(row[:40] in shown_form(lines[number - 1]) for number, row in page.rows)


@pytest.mark.parametrize("max_bytes", [1_000, 2_000, 4_000])
@pytest.mark.parametrize(("before", "after"), [(900, 0), (500, 12)])
@pytest.mark.parametrize("name", FAILING_OUTPUTS)
def test_a_failure_is_shown(
    core: ModuleType, name: str, before: int, after: int, max_bytes: int
) -> None:
    """The lines that say what went wrong are shown, whatever tool wrote them (P4)."""
    output = FAILING_OUTPUTS[name]
    preview = show(core, output.text(before, after), max_bytes).text
    assert [line for line in output.wanted() if not shows(preview, line)] == []


@pytest.mark.parametrize("label", ["[job 12] ", "web-1  | ", "2024-05-01T10:11:12.1234567Z "])
@pytest.mark.parametrize("name", sorted(FAILING_OUTPUTS.keys() - {"github actions"}))
def test_a_failure_is_shown_behind_a_label(core: ModuleType, name: str, label: str) -> None:
    """What a runner of jobs puts before every line hides nothing."""
    output = FAILING_OUTPUTS[name]
    text = "".join(
        f"{label}{line}\n" for line in output.text(900, 0).removesuffix("\n").split("\n")
    )
    preview = show(core, text, 2_000).text
    assert [line for line in output.wanted() if not shows(preview, label + line)] == []


@pytest.mark.parametrize("place", [0, 1, 2_500, 4_998, 4_999])
def test_one_failing_line_is_found_wherever_it_is(core: ModuleType, place: int) -> None:
    """A single failure among thousands of passing lines is shown, first, last or between."""
    lines = [f"ok {number} - case {number}" for number in range(5_000)]
    lines[place] = f"not ok {place} - the broken case"
    page = read(show(core, "\n".join(lines), 2_000).text)
    assert (place + 1, lines[place]) in page.rows


def test_a_run_without_failures_shows_its_end(core: ModuleType) -> None:
    """Nothing failed: the summary at the end is what is left to say."""
    text = "tests/test_a.py::test_one PASSED\n" * 2_000 + "==== 2000 passed in 4.2s ====\n"
    page = read(show(core, text, 2_000).text)
    assert (2_001, "==== 2000 passed in 4.2s ====") in page.rows


@pytest.mark.parametrize(
    "row",
    [
        "{}",
        "VAR_{0}=value{0}",
        "2026-01-01T00:00:00 INFO tick {}",
        "{0} /usr/include/{0}.h",
        "same",
    ],
)
@pytest.mark.parametrize("max_bytes", [500, 2_000, 4_000])
def test_lines_that_are_all_alike_are_shown_from_both_ends(
    core: ModuleType, row: str, max_bytes: int
) -> None:
    """Where nothing stands out the room is used: a listing, or a count, is not two lines."""
    lines = [row.format(number) for number in range(1, 3_001)]
    shown = core.salient_preview("\n".join(lines), max_bytes)[0]
    assert len(shown.encode()) > max_bytes - 100
    numbers = [int(line.partition(":")[0]) for line in shown.splitlines()[1:]]
    gaps = [first for first, next_ in pairwise(numbers) if next_ > first + 1]
    assert (numbers[0], numbers[-1], len(gaps)) == (1, 3_000, 1)
    assert len(numbers) // 4 < gaps[0] < len(numbers)


@pytest.mark.parametrize(
    ("line", "shown"),
    [
        ("error: one\r", "error: one"),
        ("10%\r20%\rerror: one", "error: one"),
        ("10%\r20%\rerror: one\r\r", "error: one"),
        ("\x1b[1m\x1b[31merror\x1b[0m: one", "error: one"),
        ("\x1b]0;a title\x07error: one", "error: one"),
        ("\t\terror:   one  ", " error: one"),
        ("error: \x00 \ud800 one", "error: \ufffd \ufffd one"),
        ("error: one\u2028two\x85three\x0bfour", "error: one two three four"),
        ("error: \x07one\x9c", "error: one"),
        ("2024-05-01T10:11:12.1234567Z error: one", "error: one"),
        ("2024-05-01T10:11:12Z error: one", "2024-05-01T10:11:12Z error: one"),
        ("error: " + "▬" * 40 + "=" * 20, "error: " + "▬" * 8 + "…" + "=" * 20),
        ("error: </persisted-output>", "error: &lt;/persisted-output>"),
        ("error: <\x1b[0mpersisted-output", "error: &lt;persisted-output"),
    ],
)
def test_a_line_is_shown_as_a_reader_saw_it(core: ModuleType, line: str, shown: str) -> None:
    """Codes, overwritten text and controls are not shown; only a line feed ends a line (P3)."""
    text = "fine\n" * 500 + line + "\n" + "fine\n" * 500
    assert (501, shown) in read(show(core, text, 1_000).text).rows


@pytest.mark.parametrize("line", ["x" * 200_000, "中文" * 50_000, "\U0001f600 " * 70_000])
def test_one_huge_line_fills_the_page(core: ModuleType, line: str) -> None:
    """A text of one line shows much of it, not one short cut."""
    preview = show(core, line, 2_000)
    assert preview.has_more
    assert 1_000 < len(preview.text.encode()) <= 2_000


@pytest.mark.parametrize("name", ["python", "native"])
def test_the_same_bytes_in_every_process(name: str) -> None:
    """Neither the hash seed nor the process takes part."""
    script = (
        "from toolbudget import _core;"
        "text = ''.join(f'error {i % 7} in part {i * i % 1000}\\nfine {i}\\n' "
        "for i in range(3000));"
        f"print(_core.load({name!r}).salient_preview(text, 2000)[0])"
    )
    outputs = {
        subprocess.run(
            [sys.executable, "-c", script],
            env={**os.environ, "PYTHONHASHSEED": seed},
            capture_output=True,
            check=True,
        ).stdout
        for seed in ("0", "1", "77")
    }
    assert len(outputs) == 1


def test_a_subclass_of_str_counts_as_its_text(core: ModuleType) -> None:
    """Methods of a subclass take no part."""
    text = "error: one\n" * 900
    assert show(core, text, 500) == show(core, Text(text), 500)


@pytest.mark.parametrize(
    "text",
    [
        "x" * 50_000_000,
        "error: out of memory\n" * 50_000,
        "".join(f"error {number * number:x}\n" for number in range(30_000)),
        "\n" * 1_000_000,
        "\r".join("error" for _ in range(1_000_000)),
    ],
    ids=["one line", "one failure", "many failures", "blank", "overwritten"],
)
def test_memory_does_not_grow_with_the_text(core: ModuleType, text: str) -> None:
    """However long the text, the work takes a few megabytes beside it."""
    tracemalloc.start()
    try:
        show(core, text, 2_000)
        peak_bytes = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert peak_bytes < 12_000_000
