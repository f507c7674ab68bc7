"""Where an input may come from, and what happens if it changes while it is read."""

from __future__ import annotations

import io
import os
import subprocess
import sys
import threading
from typing import TYPE_CHECKING

import pytest

from tests.builders import files_below, res
from tests.layer.cli.transcripts import to_lines, user, write
from toolbudget.cli.failure import CommandError
from toolbudget.cli.reading import Input, Line, ignore, open_input
from toolbudget.storage._files import POSIX, PosixFileSystem

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from tests.layer.cli.transcripts import Ran

LINES = to_lines(user(res("t1", "x" * 60_000)), user(res("t2", "small")))
CHUNK_BYTES = 1 << 20


def give_stdin(monkeypatch: pytest.MonkeyPatch, data: bytes) -> None:
    """Let standard input hold ``data``."""
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(data)))


@pytest.mark.parametrize(
    "data",
    [
        b"",
        b"\n",
        b"a",
        b"a\n\nb\r\nc",
        b"x" * CHUNK_BYTES + b"\ny",
        b"x" * (CHUNK_BYTES - 1) + b"\n" + b"y" * (2 * CHUNK_BYTES) + b"\nz\n",
        "a\u2028b\x0bc\x85d\n".encode(),
    ],
)
def test_lines_of_any_length(tmp_path: Path, data: bytes) -> None:
    """Every line is whole, with its number and offset; only a newline ends one."""
    path = write(tmp_path / "in", data)
    with open_input(str(path), spool_directory=str(tmp_path)) as opened:
        lines = list(opened.lines(ignore))
    texts = data.removesuffix(b"\n").split(b"\n") if data else []
    offsets = [sum(len(text) + 1 for text in texts[:index]) for index in range(len(texts))]
    assert lines == [
        Line(number, offset, text)
        for number, (offset, text) in enumerate(zip(offsets, texts, strict=True), 1)
    ]


def test_standard_input(
    apply: Callable[..., Ran], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """``-`` reads what comes through a pipe, and no copy of it is left over."""
    give_stdin(monkeypatch, LINES)
    ran = apply("-", "--session", "s1")
    assert ran.code == 0
    assert ran.report["input"] == "-"
    assert ran.report["files_stored"] == 1
    assert files_below(tmp_path / "root") == {
        "s1.jsonl",
        "s1/applied.jsonl",
        "s1/tool-results/t1.txt",
    }


def test_a_named_pipe(apply: Callable[..., Ran], tmp_path: Path) -> None:
    """An input that can be read only once is copied first, so that it can be read again."""
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    writer = threading.Thread(target=pipe.write_bytes, args=(LINES,))
    writer.start()
    ran = apply(pipe, "--session", "s1")
    writer.join()
    assert ran.report["files_stored"] == 1


def test_a_copy_is_private(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Where there are no files without a name, the copy is 0600, and removed in the end."""

    class NamedOnly(PosixFileSystem):
        def create_unnamed(self, *, parent: int) -> int:
            raise OSError(95, "not supported", str(parent))

    give_stdin(monkeypatch, LINES)
    with open_input("-", spool_directory=str(tmp_path / "root"), files=NamedOnly()) as opened:
        [copy] = (tmp_path / "root").iterdir()
        assert copy.stat().st_mode & 0o777 == 0o600
        assert b"".join(opened.everything(ignore)) == LINES
    assert files_below(tmp_path) == set()


def test_a_symbolic_link_is_followed(apply: Callable[..., Ran], tmp_path: Path) -> None:
    """The user's own links lead to the user's own files."""
    (tmp_path / "link").symlink_to(write(tmp_path / "in", LINES))
    assert apply(tmp_path / "link").report["files_stored"] == 1


@pytest.mark.parametrize(
    ("name", "reason"),
    [("missing", "no such file or directory"), ("folder", "is a directory"), ("a\nb", "a\\nb")],
)
def test_an_input_that_cannot_be_opened(
    apply: Callable[..., Ran], tmp_path: Path, name: str, reason: str
) -> None:
    """The error names the input and the reason in one line."""
    (tmp_path / "folder").mkdir()
    ran = apply(name)
    assert ran.code == 1
    assert ran.err.startswith("Error: cannot open ")
    assert reason in ran.err
    assert ran.err.count("\n") == 1


def test_a_copy_that_cannot_be_made(
    apply: Callable[..., Ran], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """If standard input cannot be kept for a second reading, the command says so."""
    write(tmp_path / "root", b"a file in the way")
    give_stdin(monkeypatch, LINES)
    ran = apply("-")
    assert ran.code == 1
    assert f"cannot copy standard input to {tmp_path / 'root'}: not a directory" in ran.err


def test_closed_standard_input(tmp_path: Path) -> None:
    """A process without a standard input gets an error, not a traceback."""
    ran = subprocess.run(
        ["sh", "-c", f'exec "{sys.executable}" -m toolbudget apply - <&-'],  # noqa: S607
        check=False,
        capture_output=True,
        text=True,
        cwd=tmp_path,
    )
    assert (ran.returncode, ran.stderr) == (1, "Error: standard input is closed\n")


def opened_input(path: Path) -> Input:
    """Open a file for reading, for as long as the test lasts."""
    return Input(str(path), os.open(path, os.O_RDONLY))


def test_what_is_appended_meanwhile_is_not_read(tmp_path: Path) -> None:
    """The input ends where it ended when it was opened."""
    path = write(tmp_path / "in", b"one\n")
    source = opened_input(path)
    path.write_bytes(b"one\ntwo\n")
    assert [line.data for line in source.lines(ignore)] == [b"one"]


@pytest.mark.parametrize("change", [b"two\n", b"o"])
def test_a_change_meanwhile_is_noticed(tmp_path: Path, change: bytes) -> None:
    """Bytes that are not the same at the second reading, or are gone, are an error."""
    path = write(tmp_path / "in", b"one\n")
    source = opened_input(path)
    list(source.lines(ignore))
    path.write_bytes(change)
    with pytest.raises(CommandError, match="changed while it was read"):
        list(source.lines(ignore))


def test_a_failed_read_is_explained(tmp_path: Path) -> None:
    """An error of the disk names the input and the operating system's reason."""

    class Failing(PosixFileSystem):
        def read(self, handle: int, max_bytes: int, *, offset: int) -> bytes:
            raise OSError(5, f"{handle} {max_bytes} {offset}")

    handle = os.open(write(tmp_path / "in", b"one\n"), os.O_RDONLY)
    source = Input("in", handle, files=Failing())
    with pytest.raises(CommandError, match="cannot read in: input/output error"):
        source.read(0, 1)
    POSIX.close(handle)
