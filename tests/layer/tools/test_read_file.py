"""Reading any file: all of it, a range, or the next page, and clear errors for the rest."""

from __future__ import annotations

import os
import socket
import tracemalloc
from typing import TYPE_CHECKING

import pytest

from toolbudget import ToolError, ToolInputError
from toolbudget.tools import read_file

if TYPE_CHECKING:
    from pathlib import Path


@pytest.fixture
def file(tmp_path: Path) -> Path:
    """Name a file that does not exist yet."""
    return tmp_path / "file.txt"


@pytest.mark.parametrize(
    "text",
    [
        "one line",
        "one\n",
        "one\r\ntwo\r\n",
        "old\rmac\r",
        "tabs\t\x1b[31m\u2028é🎉\n",
        "[brackets]",
    ],
)
def test_a_short_file_is_shown_as_it_is(file: Path, text: str) -> None:
    """A text that fits comes without any addition, whatever its line ends."""
    file.write_bytes(text.encode())
    result = read_file(file)
    assert result.text == text
    assert result.page is not None
    assert not result.page.has_more
    assert result.is_error is False


def test_lines_end_with_a_line_feed(file: Path) -> None:
    """A carriage return ends no line, so that numbers are those of grep and editors."""
    file.write_bytes(b"a\rb\r\nc\rd\n")
    assert read_file(file, 2).text == "c\rd\n[Line 2, bytes 5-9.]"
    with pytest.raises(ToolInputError, match="past the last line, 2: 3"):
        read_file(file, 3)


def test_empty_file(file: Path) -> None:
    """An empty file is said to be empty: a model takes an empty result for a failure."""
    file.touch()
    assert read_file(file).text == "[The file is empty.]"


def test_a_range_in_several_pages(file: Path) -> None:
    """Each page says how to go on to the end of what was asked for."""
    file.write_text("".join(f"line {number}\n" for number in range(1, 10)))
    first = read_file(file, 2, 5, max_chars=16)
    note = "[Lines 2-3, bytes 7-21 of 63 bytes. Continue with start_line=4, end_line=5.]"
    assert first.text == f"line 2\nline 3\n{note}"
    assert read_file(file, 4, 5, max_chars=16).text == "line 4\nline 5\n[Lines 4-5, bytes 21-35.]"


def test_a_long_line_goes_on_by_bytes(file: Path) -> None:
    """One line longer than a page is read on within, without losing a character."""
    text = "é" * 25
    file.write_text(text + "\nend\n", encoding="utf-8")
    result = read_file(file, max_chars=10)
    shown = ""
    while result.page is not None and result.page.next_start_byte is not None:
        assert result.text.endswith(f" Continue with start_byte={result.page.next_start_byte}.]")
        shown += result.page.text
        result = read_file(file, start_byte=result.page.next_start_byte, max_chars=10)
    assert result.page is not None
    assert shown + result.page.text == text + "\nend\n"


def test_encodings_are_told(file: Path) -> None:
    """What is not plain UTF-8 is said, and undecodable bytes stay visible."""
    file.write_bytes("Grüße".encode("utf-16"))
    assert read_file(file).text == "Grüße\n[UTF-16 (little endian).]"
    file.write_bytes("Grüße".encode("utf-8-sig"))
    assert read_file(file).text == "Grüße\n[UTF-8 with a byte order mark.]"
    file.write_bytes("Viele Grüße aus Köln".encode("latin-1"))
    shown, _, note = read_file(file).text.partition("\n")
    assert shown == r"Viele Gr\xfc\xdfe aus K\xf6ln"
    assert "Not all of it is text that can be shown" in note


def test_a_binary_file_is_not_shown(file: Path) -> None:
    """It is said to be one, with its size."""
    file.write_bytes(b"\x7fELF\0\0\0" * 300)
    result = read_file(file)
    assert result.is_binary
    assert result.page is None
    assert result.text == f"[A binary file of 2.1KB, not shown: {str(file)!r}]"


def test_what_is_no_file_is_an_error(tmp_path: Path) -> None:
    """Nothing waits for a FIFO, a socket or a terminal, and a device is not read for ever."""
    (tmp_path / "gone").symlink_to("nowhere")
    os.mkfifo(tmp_path / "fifo")
    with socket.socket(socket.AF_UNIX) as listener:
        listener.bind(str(tmp_path / "socket"))
        for path, complaint in {
            "missing": "cannot read, no such file or directory",
            "gone": "cannot read, no such file or directory",
            "": "is a directory, not a file",
            "fifo": "is a FIFO, socket or device, not a file",
            "socket": "cannot read, no such device or address",
            "x" * 300: "cannot read, file name too long",
        }.items():
            whole = str(tmp_path / path)
            with pytest.raises(ToolError) as caught:
                read_file(whole)
            assert str(caught.value) == f"{complaint}: {whole!r}"
    for device in ("/dev/zero", "/dev/null"):
        with pytest.raises(ToolError, match="device, not a file"):
            read_file(device)
    with pytest.raises(ToolInputError, match="path cannot be one"):
        read_file("a\0b")


@pytest.mark.skipif(os.geteuid() == 0, reason="the superuser may read everything")
def test_a_file_of_others_is_an_error(file: Path) -> None:
    """A refusal is told in the system's own words."""
    file.touch(mode=0o000)
    with pytest.raises(ToolError, match="permission denied"):
        read_file(file)


def test_links_are_followed(tmp_path: Path) -> None:
    """As in a shell: a link to a file reads as the file, one that leads round is an error."""
    (tmp_path / "real").write_text("text")
    (tmp_path / "link").symlink_to("real")
    (tmp_path / "round").symlink_to("round")
    assert read_file(tmp_path / "link").text == "text"
    with pytest.raises(ToolError, match="too many levels of symbolic links"):
        read_file(tmp_path / "round")


def test_what_the_system_makes_up() -> None:
    """A file whose size is said to be 0 is read to its end all the same."""
    assert f"Pid:\t{os.getpid()}\n" in read_file("/proc/self/status").text


def test_as_a_model_calls_it(file: Path) -> None:
    """The schema's names are the function's; what is wrong is answered."""
    file.write_text("one\ntwo\nthree\n")
    call = {"type": "tool_use", "id": "t1", "name": "read_file"}
    answer = read_file.answer(
        {**call, "input": {"path": str(file), "start_line": 2, "end_line": 2}}
    )
    assert answer["content"] == "two\n[Line 2, bytes 4-8.]"
    answer = read_file.answer({**call, "input": {"path": str(file), "start_line": 9}})
    assert answer["content"] == "start_line is past the last line, 3: 9"
    assert answer["is_error"] is True


def lines_about(count: int) -> list[str]:
    """Make lines of which 12 of 100 are about retries."""
    return [
        f"retry number {n}" if n % 100 < 12 else f"other thing {n}" for n in range(1, count + 1)
    ]


def test_what_is_looked_for(file: Path) -> None:
    """Of a long file only lines about the explanation are shown; what is left out is said."""
    file.write_text("\n".join(lines_about(3_000)) + "\n")
    shown = read_file(file, 51, explanation="why does it retry?", max_chars=20_000)
    assert shown.is_pruned
    assert shown.page is not None
    assert (shown.page.start_line, shown.page.end_line) == (51, 3_000)
    assert "other thing 70\n" not in shown.text
    assert all(f"retry number {n}\n" in shown.text for n in range(100, 3_000, 100))
    assert shown.text.startswith("[... lines 1-47 of 2,950 left out ...]\nother thing 98\n")
    note = "[Only the lines about the explanation. Gaps are counted from line 51. skip_pruning"
    assert shown.text.splitlines()[-1] == f"{note} shows all.]"


def test_pruned_pages_go_on(file: Path) -> None:
    """If what is kept is more than a page, a part is pruned, and the next one begins behind it."""
    file.write_text("\n".join(lines_about(30_000)) + "\n")
    found, start_line, end_line = "", 1, None
    for _ in range(20):
        shown = read_file(file, start_line, explanation="retry", max_chars=20_000)
        assert shown.page is not None
        assert len(shown.text) < 20_000 + 300
        assert shown.page.start_line == start_line
        found, end_line = found + shown.text, shown.page.end_line
        if shown.page.next_start_line is None:
            break
        start_line = shown.page.next_start_line
    assert end_line == 30_000
    assert all(f"retry number {n}\n" in found for n in range(100, 30_000, 100))
    assert start_line > 1


def test_what_is_not_pruned(file: Path) -> None:
    """What fits is shown whole; so is what no explanation asks for, or too long a line."""
    file.write_text("retry\n" + "other\n" * 500)
    assert read_file(file, explanation="retry").text == file.read_text()
    plain = read_file(file, max_chars=600)
    assert read_file(file, None, None, "retry", True, max_chars=600) == plain  # noqa: FBT003 - X4
    assert read_file(file, explanation="something else", max_chars=600) == plain
    file.write_text("retry\n" * 100 + "x" * 2_000_000)
    assert read_file(file, max_chars=60) == read_file(file, explanation="retry", max_chars=60)


def test_a_line_of_50_mb(file: Path) -> None:
    """It costs as little as any other, wherever it is read."""
    with file.open("wb") as handle:
        for _ in range(50):
            handle.write(b"first\n" if not handle.tell() else b"0123456789abcdef" * 65_536)
    tracemalloc.start()
    try:
        shown = read_file(file, start_byte=40_000_006, max_chars=16)
        assert shown.text.startswith("0123456789abcdef\n[Bytes 40000006-40000022 of 49MB.")
        assert read_file(file, 2).text.endswith("Continue with start_byte=50006.]")
        with pytest.raises(ToolInputError, match="past the last line, 2: 3"):
            read_file(file, 3)
        assert tracemalloc.get_traced_memory()[1] < 5_000_000
    finally:
        tracemalloc.stop()


def test_a_log_that_is_written_meanwhile(file: Path) -> None:
    """Reading on after a file has grown or shrunk gives what is there now, or a clear error."""
    file.write_text("line\n" * 10)
    page = read_file(file, max_chars=25).page
    assert page is not None
    assert page.next_start_line == 6
    with file.open("a") as handle:
        handle.write("new\n")
    assert read_file(file, 6).text == "line\n" * 5 + "new\n[Lines 6-11, bytes 25-54.]"
    file.write_text("line\n")
    with pytest.raises(ToolInputError, match="past the last line, 1: 6"):
        read_file(file, 6)


@pytest.mark.parametrize("start_byte", [1 << 63, 10**400])
def test_a_position_beyond_every_file_is_told(tmp_path: Path, start_byte: int) -> None:
    """The system takes no such position, but a model may write it."""
    path = tmp_path / "file.txt"
    path.write_text("line\n")
    with pytest.raises(ToolInputError, match="start_byte is past the end, 5: "):
        read_file(path, start_byte=start_byte)
