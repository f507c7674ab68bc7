from __future__ import annotations

import re
import tracemalloc
from typing import TYPE_CHECKING, NamedTuple

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.core import text_oracle
from tests.strategies import Text, any_text, hostile_text

if TYPE_CHECKING:
    from types import ModuleType


_NOTE = re.compile(
    r"\n\[\.\.\. ([0-9,]+) of ([0-9,]+)"
    r" (?:lines left out; ([0-9,]+) bytes in all|bytes left out) \.\.\.\]\n"
)
_FRAME_TAG = re.compile("</?persisted-output", re.IGNORECASE)

TEXTS = st.one_of(
    any_text(),
    st.builds(str.__mul__, hostile_text(), st.integers(1, 60)),
    st.lists(st.integers().map("line {}".format), max_size=400).map("\n".join),
)


class Preview(NamedTuple):
    """What is shown of a text, and whether anything was left out."""

    text: str
    has_more: bool


def show(core: ModuleType, text: str, max_bytes: int) -> Preview:
    """Preview a text in the style that is tested here."""
    return Preview(*core.head_tail_preview(text, max_bytes))


def parts_of(preview: str) -> tuple[str, list[int], str]:
    """Take a preview apart into its beginning, the numbers of its note, and its end.

    They are lines left out, all lines and all bytes, or bytes left out and all bytes.
    """
    note = _NOTE.search(preview)
    assert note
    numbers = [int(number.replace(",", "")) for number in note.groups() if number]
    return preview[: note.start()], numbers, preview[note.end() :]


@given(text=TEXTS, max_bytes=st.integers(-5, 3_000))
def test_a_preview_keeps_its_limit_and_is_safe(core: ModuleType, text: str, max_bytes: int) -> None:
    """It takes at most so many bytes, is strict UTF-8, and cannot close or forge a frame (P3)."""
    preview = show(core, text, max_bytes)
    assert len(preview.text.encode()) <= max(0, max_bytes)
    assert "\x00" not in preview.text
    assert not _FRAME_TAG.search(preview.text)


@given(text=TEXTS, max_bytes=st.integers(0, 3_000))
def test_a_text_that_fits_is_shown_whole(core: ModuleType, text: str, max_bytes: int) -> None:
    """What fits comes back as it is, made safe, and nothing is said to be left out."""
    safe = text_oracle.make_wire_safe(text)
    fits = len(safe.encode()) <= max_bytes
    preview = show(core, text, max_bytes)
    assert preview.has_more is not fits
    if fits:
        assert safe == preview.text


@given(text=TEXTS, max_bytes=st.integers(250, 3_000))
def test_both_ends_are_shown(core: ModuleType, text: str, max_bytes: int) -> None:
    """The safe text begins with the one part and ends with the other, and the note is right."""
    preview = show(core, text, max_bytes)
    if not preview.has_more:
        return
    head, (left_out, *lines, size_bytes), tail = parts_of(preview.text)
    assert head
    assert tail
    # A tag that the cut divides is none in its part, so the escape is taken out of both.
    plain = text_oracle.make_wire_safe(text).replace("&lt;", "<")
    assert plain.startswith(head.replace("&lt;", "<"))
    assert plain.endswith(tail.replace("&lt;", "<"))
    assert len(text.encode("utf-8", "surrogatepass")) == size_bytes
    if lines:
        assert [len(text.removesuffix("\n").split("\n"))] == lines
        assert 0 < left_out <= lines[0]
    else:
        # NUL takes one byte, and its sign three; so does the escape of a tag.
        shown_bytes = len((head + tail).replace("&lt;", "<").encode())
        nuls, entities = text.count("\x00"), text.count("&lt;")
        missing = size_bytes - left_out - shown_bytes
        assert -2 * nuls <= missing <= 3 * entities


def test_bytes_are_counted_where_no_line_is_left_out(core: ModuleType) -> None:
    """Of one huge line both ends are shown, and the note says how much of it is not."""
    head, (left_out, size_bytes), tail = parts_of(show(core, "x" * 5_000_000, 2_000).text)
    assert size_bytes == 5_000_000 == left_out + len(head) + len(tail)


@given(
    count=st.integers(400, 3_000),
    width=st.integers(0, 30),
    end=st.sampled_from(["", "\n"]),
    max_bytes=st.integers(250, 2_000),
)
def test_the_lines_left_out_are_counted(
    core: ModuleType, count: int, width: int, end: str, max_bytes: int
) -> None:
    """Shown and left out lines are all lines, where the parts end at line ends."""
    lines = [f"{number:05d}{'x' * width}" for number in range(count)]
    preview = show(core, "\n".join(lines) + end, max_bytes)
    head, (left_out, total, _), tail = parts_of(preview.text)
    shown = head.split("\n") + tail.removesuffix("\n").split("\n")
    assert count == total == left_out + len(shown)
    assert set(shown) <= set(lines)


def test_the_shares_are_seventy_and_thirty(core: ModuleType) -> None:
    """Without line ends the parts take 70 and 30 percent of the room (P4)."""
    head, _, tail = parts_of(show(core, "x" * 10_000, 1_000).text)
    assert abs(7 * len(tail) - 3 * len(head)) <= 7


def test_the_last_line_is_shown(core: ModuleType) -> None:
    """The one failing line at the end is what the style is for."""
    text = "ok 1234\n" * 9_000 + "FATAL: pool exhausted\n"
    assert show(core, text, 2_000).text.endswith("\nFATAL: pool exhausted\n")


@given(text=TEXTS, max_bytes=st.integers(0, 140))
def test_with_little_room_the_beginning_is_shown(
    core: ModuleType, text: str, max_bytes: int
) -> None:
    """Too little room for two parts and a note: the beginning (P2)."""
    assert core.cut_preview(text, max_bytes) == show(core, text, max_bytes)


def test_a_subclass_of_str_counts_as_its_text(core: ModuleType) -> None:
    """Methods of a subclass take no part."""
    text = "one line\n" * 900
    assert show(core, text, 500) == show(core, Text(text), 500)


@pytest.mark.parametrize("text", ["x" * 50_000_000, "\n" * 10_000_000, "\ud800" * 1_000_000])
def test_memory_does_not_grow_with_the_text(core: ModuleType, text: str) -> None:
    """Only the ends are copied."""
    tracemalloc.start()
    try:
        show(core, text, 2_000)
        assert tracemalloc.get_traced_memory()[1] < 1_000_000
    finally:
        tracemalloc.stop()
