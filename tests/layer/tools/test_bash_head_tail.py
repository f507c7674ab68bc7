"""The beginning and the end of bytes that go by."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from toolbudget.tools._head_tail import HeadTail, cut_end, cut_start
from toolbudget.tools._output import Output
from toolbudget.tools._terminal import as_shown

CHUNKS = st.lists(st.binary(max_size=12), max_size=12)
ROOM = st.integers(min_value=0, max_value=20)


@given(chunks=CHUNKS, head_bytes=ROOM, tail_bytes=ROOM)
def test_ends_are_those_of_the_whole(chunks: list[bytes], head_bytes: int, tail_bytes: int) -> None:
    """However it is cut into pieces: both ends, never more than asked for, the rest counted."""
    kept = HeadTail(head_bytes=head_bytes, tail_bytes=tail_bytes)
    for chunk in chunks:
        kept.add(chunk)
    data = b"".join(chunks)
    rest = data[head_bytes:]
    tail = rest[max(0, len(rest) - tail_bytes) :]
    assert (kept.head(), kept.tail()) == (data[:head_bytes], tail)
    assert kept.left_out_bytes == len(data) - len(data[:head_bytes]) - len(tail)
    assert kept.whole() == (data if len(data) <= head_bytes + tail_bytes else None)
    assert (kept.total_bytes, kept.line_ends) == (len(data), data.count(b"\n"))


@given(chunks=st.lists(st.binary(min_size=1, max_size=900), max_size=40))
def test_memory_is_bounded(chunks: list[bytes]) -> None:
    """Never more than twice the tail is held, whatever comes."""
    kept = HeadTail(head_bytes=10, tail_bytes=50)
    for chunk in chunks:
        kept.add(chunk)
        assert len(kept._head) + len(kept._tail) <= 110


@given(text=st.text(max_size=30), cut=st.integers(min_value=0, max_value=120))
def test_a_cut_never_falls_into_a_character(text: str, cut: int) -> None:
    """What is left of a cut text decodes, and lacks at most the character that was cut."""
    data = text.encode("utf-8", "replace")
    text = data.decode()
    before, behind = cut_end(data[:cut]).decode(), cut_start(data[cut:]).decode()
    assert text.startswith(before)
    assert text.endswith(behind)
    assert len(text) - len(before) - len(behind) <= 1


@given(
    pieces=st.lists(
        st.tuples(st.sampled_from(["stdout", "stderr"]), st.binary(max_size=9)), max_size=20
    )
)
def test_lines_of_two_streams_are_not_mixed(pieces: list[tuple[str, bytes]]) -> None:
    """Each stream comes out in order and whole, and no line holds parts of both."""
    # A mark at the beginning of each byte tells which stream it is from.
    marked = [
        (name, bytes(byte | 0x80 if name == "stderr" else byte & 0x7F for byte in data))
        for name, data in pieces
    ]
    marked = [(name, data.replace(b"\x8a", b"\n")) for name, data in marked]
    output = Output(kept_bytes=1 << 12, single_bytes=1 << 12, store_from_bytes=1, open_stream=None)
    for name, data in marked:
        output.take("stdout" if name == "stdout" else "stderr", data)
    output.finish()
    whole = output.both.whole()
    assert whole is not None
    lines = whole.splitlines(keepends=True) if b"\r" not in whole else []
    for name in ("stdout", "stderr"):
        wanted = b"".join(data for source, data in marked if source == name)
        kept = output.single["stdout" if name == "stdout" else "stderr"].whole()
        assert kept == wanted
    assert sorted(whole) == sorted(b"".join(data for _, data in marked))
    *ended, _ = whole.split(b"\n")
    assert all(len({byte >= 0x80 for byte in line}) <= 1 for line in ended[:-1]), lines


@given(st.text(alphabet=st.sampled_from("ab\r\n\x1b[0;31mK\x07]\x00\t\u65e5")))
def test_cleaned_text_is_what_a_reader_can_see(text: str) -> None:
    """No code, control or return is left, every line end is, and cleaning again changes nothing."""
    shown = as_shown(text)
    assert not set(shown) & set("\x1b\r\x00\x07")
    assert shown.count("\n") == text.count("\n")
    assert as_shown(shown) == shown


def test_cleaning_keeps_what_stands_in_the_end() -> None:
    """Progress bars show their last state; colours, titles and links go, what they say stays."""
    assert as_shown(" 1%\r 50%\r100%\n") == "100%\n"
    assert as_shown(" 1%\r 50%\r100%\r") == "100%"
    assert as_shown("a\r\nb\r\r\n") == "a\nb\n"
    assert as_shown("\x1b[1;31mred\x1b[0m \x1b]0;title\x07x \x1b(B\x1b=y") == "red x y"
    assert as_shown("\x1b]8;;http://x\x1b\\link\x1b]8;;\x1b\\") == "link"
    assert as_shown("bell\x07 nul\x00 tab\t") == "bell nul\ufffd tab\t"
