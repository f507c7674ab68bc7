"""A long text, page by page: nothing is lost, nothing twice, and it always ends."""

from __future__ import annotations

import codecs
from typing import TYPE_CHECKING, Final

import pytest
from hypothesis import given
from hypothesis import strategies as st

from toolbudget import ToolInputError
from toolbudget.storage import text_page
from toolbudget.storage.text_encoding import (
    SAMPLE_BYTES,
    TextEncoding,
    detect_encoding,
    looks_binary,
)
from toolbudget.storage.text_page import TextPage, read_page

if TYPE_CHECKING:
    from collections.abc import Iterator

CODECS: Final = {
    "utf-8": b"",
    "utf-16-le": codecs.BOM_UTF16_LE,
    "utf-16-be": codecs.BOM_UTF16_BE,
    "utf-32-le": codecs.BOM_UTF32_LE,
    "utf-32-be": codecs.BOM_UTF32_BE,
}
CHARACTERS: Final = "ab\n\r\té\u0a0a€🎉\ufffd\u2028"


class Bytes:
    """A text in memory, as any file would give it."""

    def __init__(self, data: bytes) -> None:
        self.data = data
        self.size_bytes = len(data)
        self.encoding: TextEncoding = detect_encoding(data)

    def read(self, start_byte: int, max_bytes: int) -> bytes:
        """Give bytes from a position."""
        return self.data[start_byte : start_byte + max_bytes]


@pytest.fixture(autouse=True, scope="module")
def _small_chunks() -> Iterator[None]:
    """Read so little at a time that every text has many seams."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(text_page, "_CHUNK_BYTES", 16)
        yield


def pages_of(source: Bytes, *, max_chars: int, start_byte: int | None = None) -> list[TextPage]:
    """Read on as the pages say, as a model would."""
    pages = [read_page(source, max_chars=max_chars, start_byte=start_byte)]
    while pages[-1].has_more:
        last = pages[-1]
        page = read_page(
            source,
            start_line=last.next_start_line,
            start_byte=last.next_start_byte,
            max_chars=max_chars,
        )
        assert page.start_byte == last.end_byte
        assert page.text
        pages.append(page)
    return pages


encoded_texts = st.builds(
    lambda text, codec: (text, CODECS[codec] + text.encode(codec)),
    st.text(CHARACTERS, max_size=120),
    st.sampled_from(sorted(CODECS)),
)
any_bytes = st.binary(max_size=80) | st.lists(
    st.sampled_from(
        [b"\n", b"a", b"\x80", b"\xed\xa0\x80", b"\xf0\x9f\x8e\x89", b"\xf0\x9f", b"\xff"]
    )
).map(b"".join)


@given(encoded_texts, st.integers(1, 30))
def test_pages_are_the_whole_text(encoded: tuple[str, bytes], max_chars: int) -> None:
    """All pages together are the text, in every encoding that a mark can name."""
    text, data = encoded
    for start_byte in (None, 0):
        pages = pages_of(Bytes(data), max_chars=max_chars, start_byte=start_byte)
        assert "".join(page.text for page in pages) == text
        assert all(len(page.text) <= max_chars for page in pages)
        assert pages[-1].end_byte == len(data)


@given(any_bytes, st.integers(1, 30))
def test_any_bytes_are_paged(data: bytes, max_chars: int) -> None:
    """Broken bytes are shown where they stand, wherever pages and chunks are cut."""
    source = Bytes(data)
    pages = pages_of(source, max_chars=max_chars)
    whole = source.encoding.decode(data[source.encoding.mark_bytes :])
    assert "".join(page.text for page in pages) == whole
    whole.encode("utf-8")
    assert "\0" not in whole
    # The form of one broken character may be longer than a page.
    assert all(len(page.text) <= max(max_chars, 4 * 4) for page in pages)


@given(encoded_texts, st.integers(1, 8), st.integers(0, 8))
def test_lines_are_those_asked_for(
    encoded: tuple[str, bytes], start_line: int, more_lines: int
) -> None:
    """A range of lines is what splitting at line feeds gives; past the last one is an error."""
    text, data = encoded
    lines = text.split("\n")
    lines = [line + "\n" for line in lines[:-1]] + ([lines[-1]] if lines[-1] else [])
    source, end_line = Bytes(data), start_line + more_lines
    if start_line > max(len(lines), 1):
        with pytest.raises(ToolInputError, match=f"past the last line, {max(len(lines), 1)}: "):
            read_page(source, start_line=start_line, end_line=end_line)
        return
    page = read_page(source, start_line=start_line, end_line=end_line)
    assert page.text == "".join(lines[start_line - 1 : end_line])
    assert not page.has_more
    assert (page.start_line, page.end_line) == (
        start_line,
        max(min(end_line, len(lines)), start_line),
    )


@given(encoded_texts, st.integers(0, 200))
def test_any_byte_is_a_beginning(encoded: tuple[str, bytes], start_byte: int) -> None:
    """Within a character it is the next one; what comes is the end of the text."""
    text, data = encoded
    source = Bytes(data)
    if start_byte >= len(data) and start_byte > 0:
        with pytest.raises(ToolInputError, match="start_byte is past the end"):
            read_page(source, start_byte=start_byte)
        return
    page = read_page(source, start_byte=start_byte)
    assert text.endswith(page.text)
    assert 0 <= page.start_byte - start_byte <= 4
    assert page.end_byte == len(data)


def test_whole_lines_before_a_long_one() -> None:
    """A page ends with a line; only a line longer than a page is cut."""
    pages = pages_of(Bytes(b"one\ntwo\n" + 25 * b"x" + b"\nend"), max_chars=10)
    assert [page.text for page in pages] == ["one\ntwo\n", 10 * "x", 10 * "x", 5 * "x" + "\nend"]
    assert [(page.next_start_line, page.next_start_byte) for page in pages] == [
        (3, None),
        (None, 18),
        (None, 28),
        (None, None),
    ]


def test_a_text_that_shrinks_ends() -> None:
    """What is gone is not waited for, and no page goes back."""

    class Shrinking(Bytes):
        def read(self, start_byte: int, max_bytes: int) -> bytes:
            found = super().read(start_byte, max_bytes)
            self.data = self.data[:20]
            return found

    pages = pages_of(Shrinking(b"line\n" * 100), max_chars=12)
    assert [page.text for page in pages] == ["line\nline\n", "line\nline\n"]


@pytest.mark.parametrize(
    ("numbers", "complaint"),
    [
        ({"start_line": 0}, "start_line must be at least 1: 0"),
        ({"start_line": "1"}, "start_line must be a whole number: '1'"),
        ({"start_line": True}, "start_line must be a whole number: True"),
        ({"end_line": -1}, "end_line must be at least 1: -1"),
        ({"start_line": 3, "end_line": 2}, "end_line is before start_line, 3: 2"),
        ({"start_line": 10**5_000, "end_line": 2}, "end_line is before start_line, <int>: 2"),
        ({"start_byte": -1}, "start_byte must be at least 0: -1"),
        ({"start_byte": 1, "start_line": 1}, "start_byte goes without start_line and end_line: 1"),
        ({"max_chars": 0}, "max_chars must be at least 1: 0"),
        ({"start_line": 10**30}, f"start_line is past the last line, 2: {10**30}"),
        ({"start_line": 10**5_000}, "start_line is past the last line, 2: <int>"),
        ({"start_byte": 4}, "start_byte is past the end, 4: 4"),
        ({"start_byte": 1 << 63}, f"start_byte is past the end, 4: {1 << 63}"),
        ({"start_byte": 10**5_000}, "start_byte is past the end, 4: <int>"),
    ],
)
def test_refused_ranges(numbers: dict[str, int], complaint: str) -> None:
    """A range that cannot be is an error that says which number and what would do."""
    with pytest.raises(ToolInputError) as caught:
        read_page(Bytes(b"a\nb\n"), **numbers)
    assert str(caught.value) == complaint


@pytest.mark.parametrize(
    ("data", "is_binary"),
    [
        (b"", False),
        (b"plain\ntext\n", False),
        ("Grüße 🎉".encode(), False),
        ("Grüße aus Köln, wie schön".encode("latin-1"), False),
        ("a\0b".encode("utf-16"), False),
        (b"text\0text", True),
        (b"\x7fELF\x02\x01\x01" + bytes(9), True),
        (bytes(range(128, 256)) * 10, True),
    ],
)
def test_binary_files_are_known(data: bytes, *, is_binary: bool) -> None:
    """What holds NUL, or is mostly undecodable, is no text; a few odd bytes do no harm."""
    assert looks_binary(data, detect_encoding(data)) is is_binary


def test_a_sample_may_end_within_a_character() -> None:
    """A beginning that is cut anywhere is the text that it is."""
    data = "🎉".encode() * SAMPLE_BYTES
    for size_bytes in range(SAMPLE_BYTES, SAMPLE_BYTES + 4):
        assert not looks_binary(data[:size_bytes], detect_encoding(data))
        assert not looks_binary(b"a" + data[:size_bytes], detect_encoding(data))
