"""Whose a file is follows from its first line that is not blank, wherever reads happen to end."""

from __future__ import annotations

from typing import Final

from hypothesis import example, given
from hypothesis import strategies as st

from toolbudget.storage._files import PosixFileSystem
from toolbudget.storage._log_owner import Owner, find_owner
from toolbudget.storage.records import HEADER_PREFIX, header_line, is_header

JUNK: Final = b"\0 \t\r\n\x0b\x0c"
BYTE_ORDER_MARK: Final = b"\xef\xbb\xbf"


class OneFile(PosixFileSystem):
    """A file system with one file, whose reads give at most so many bytes."""

    def __init__(self, content: bytes, most_bytes: int) -> None:
        self.content = content
        self.most_bytes = most_bytes
        self.reads = 0

    def read(self, handle: int, max_bytes: int, *, offset: int) -> bytes:
        """Read a part of the content."""
        assert handle == 0
        self.reads += 1
        return self.content[offset : offset + min(max_bytes, self.most_bytes)]


def owner_by_the_whole(content: bytes) -> Owner:
    """Tell the owner with all of the file at hand."""
    text = content.lstrip(JUNK).removeprefix(BYTE_ORDER_MARK).lstrip(JUNK)
    if not text:
        return Owner.NOBODY
    return Owner.US if is_header(text.split(b"\n")[0].rstrip(JUNK)) else Owner.ANOTHER


BEGINNINGS: Final = st.one_of(
    st.just(b""),
    st.text(max_size=5).map(header_line),
    st.sampled_from([4_000, 5_000, 9_000]).map(lambda chars: header_line("s" * chars)),
    st.just(header_line("s1").replace(b"1,", b"2,")),
    st.integers(0, len(HEADER_PREFIX)).map(lambda size: HEADER_PREFIX[:size]),
    st.just(b'{"type":"user"}\n'),
    st.binary(max_size=20),
)
BLANKS: Final = st.one_of(
    st.lists(st.sampled_from([bytes([byte]) for byte in JUNK]), max_size=4).map(b"".join),
    st.sampled_from([4_040, 4_095, 4_096, 4_097, 8_192]).map(lambda size: b"\0" * size),
)


@given(BLANKS, st.sampled_from([b"", BYTE_ORDER_MARK]), BEGINNINGS, st.binary(max_size=20))
@example(b"\0" * 4_094, BYTE_ORDER_MARK[:0], header_line("s1"), b"")
def test_the_owner_is_that_of_the_first_line(
    blanks: bytes, mark: bytes, beginning: bytes, rest: bytes
) -> None:
    """Blank beginnings, long headers, torn ones and those of a later version included."""
    content = blanks + mark + beginning + rest
    # A mark that a read cuts is none: files begin with it, if they have one.
    if mark and blanks and not 0 < len(blanks) % 4_096 <= 4_093:
        blanks, content = b"", mark + beginning + rest
    assert find_owner(OneFile(content, 1 << 20), 0) is owner_by_the_whole(content)


@given(BEGINNINGS, st.integers(len(BYTE_ORDER_MARK), 100))
def test_short_reads_change_nothing(beginning: bytes, most_bytes: int) -> None:
    """As network file systems give them."""
    assert find_owner(OneFile(beginning, most_bytes), 0) is owner_by_the_whole(beginning)


def test_one_read_tells_a_file_of_ours() -> None:
    """It is asked for at each decision, before and after locking, and before appending."""
    files = OneFile(header_line("s1") + b'{"type":"content-replacement"}\n' * 1_000, 1 << 20)
    assert find_owner(files, 0) is Owner.US
    assert files.reads == 1
