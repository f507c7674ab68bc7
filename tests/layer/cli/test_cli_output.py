"""Where the output goes: whole or not at all, and never over something else."""

from __future__ import annotations

import errno
import os
import subprocess
import sys
from typing import TYPE_CHECKING

import pytest

from tests.builders import files_below, res
from tests.layer.cli.transcripts import to_lines, user, write
from toolbudget.cli.failure import CommandError
from toolbudget.cli.writing import OutputFile
from toolbudget.storage._files import PosixFileSystem

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator
    from pathlib import Path

    from tests.layer.cli.transcripts import Ran
    from toolbudget.storage._files import Durability, FileSystem

LINES = to_lines(user(res("t1", "x" * 60_000), sessionId="s1"))
SMALL = to_lines(user(res("t1", "small")))


@pytest.fixture
def source(tmp_path: Path) -> Path:
    """Give an input with one large result."""
    return write(tmp_path / "in.jsonl", LINES)


def test_the_default_place_is_private(apply: Callable[..., Ran], source: Path) -> None:
    """The output is in the session's folder; nobody else can read it."""
    ran = apply(source)
    directory = source.parent / "root" / "s1"
    assert ran.report["output"] == str(directory / "applied.jsonl")
    assert (directory / "applied.jsonl").stat().st_mode & 0o777 == 0o600
    assert directory.stat().st_mode & 0o777 == 0o700


def test_the_output_may_be_named(apply: Callable[..., Ran], source: Path) -> None:
    """``--out`` says where; its path is told in full, and nothing else is beside it."""
    (source.parent / "folder").mkdir()
    ran = apply(source, "--out", "folder/out.jsonl")
    assert ran.report["output"] == str(source.parent / "folder" / "out.jsonl")
    assert files_below(source.parent / "folder") == {"out.jsonl"}
    assert not (source.parent / "root" / "s1" / "applied.jsonl").exists()


def test_the_same_bytes_are_success(apply: Callable[..., Ran], source: Path) -> None:
    """An output that is there already, with the same bytes, is not written again."""
    first = apply(source)
    output = source.parent / "root" / "s1" / "applied.jsonl"
    before = output.stat()
    second = apply(source, "--force")
    assert (first.report["output_written"], second.report["output_written"]) == (True, False)
    after = output.stat()
    assert (after.st_ino, after.st_mtime_ns) == (before.st_ino, before.st_mtime_ns)


@pytest.mark.parametrize("old", [b"", b"other\n", LINES + b"\n"])
def test_other_bytes_stay(apply: Callable[..., Ran], source: Path, old: bytes) -> None:
    """An output that holds something else is not overwritten, and nothing is stored then."""
    output = write(source.parent / "out.jsonl", old)
    ran = apply(source, "--out", output)
    assert (ran.code, ran.out) == (1, "")
    message = f"output exists with other content; --force overwrites it: {output}"
    assert ran.err == f"Error: {message}\n"
    assert output.read_bytes() == old
    assert not (source.parent / "root").exists()


def test_force_overwrites(apply: Callable[..., Ran], source: Path) -> None:
    """``--force`` puts the new output in the place of the old one."""
    output = write(source.parent / "out.jsonl", b"other\n")
    ran = apply(source, "--out", output, "--force")
    assert ran.report["output_written"] is True
    assert output.read_bytes() == ran.output != b"other\n"
    assert files_below(source.parent) >= {"in.jsonl", "out.jsonl"}
    assert len(list(source.parent.iterdir())) == 3


def test_a_grown_input_needs_force(apply: Callable[..., Ran], source: Path) -> None:
    """A longer transcript of the same session keeps its earlier replacements byte for byte."""
    before = apply(source).output
    write(source, LINES + to_lines(user(res("t2", "y" * 60_000), sessionId="s1")))
    assert apply(source).code == 1
    ran = apply(source, "--force")
    assert ran.output.startswith(before)
    assert [item["tool_use_id"] for item in ran.report["replaced"]] == ["t2"]


def test_what_is_no_file_is_never_replaced(apply: Callable[..., Ran], source: Path) -> None:
    """Not even by force: a device would be gone for every program."""
    pipe = source.parent / "out.jsonl"
    os.mkfifo(pipe)
    ran = apply(source, "--out", pipe, "--force")
    assert (ran.code, pipe.is_fifo()) == (1, True)
    assert f"not a regular file: {pipe}" in ran.err


def test_a_link_is_replaced_not_followed(apply: Callable[..., Ran], source: Path) -> None:
    """A symbolic link counts as something else; ``--force`` replaces the link itself."""
    victim = write(source.parent / "victim", b"precious")
    link = source.parent / "out.jsonl"
    link.symlink_to(victim)
    assert apply(source, "--out", link).code == 1
    assert apply(source, "--out", link, "--force").code == 0
    assert victim.read_bytes() == b"precious"
    assert not link.is_symlink()


@pytest.mark.parametrize(("theirs", "code"), [(SMALL, 0), (b"theirs", 1)], ids=["same", "other"])
def test_an_output_that_appears_while_judging(
    apply: Callable[..., Ran],
    source: Path,
    monkeypatch: pytest.MonkeyPatch,
    theirs: bytes,
    code: int,
) -> None:
    """If another process was faster, its output counts if it is the same one."""
    write(source, SMALL)
    output = source.parent / "out.jsonl"
    write_late = OutputFile.write

    def write_first(self: OutputFile, chunks: Iterable[bytes], *, overwrite: bool) -> None:
        output.write_bytes(theirs)
        write_late(self, chunks, overwrite=overwrite)

    monkeypatch.setattr(OutputFile, "write", write_first)
    assert apply(source, "--out", output).code == code
    assert output.read_bytes() == theirs


def test_several_processes_agree(source: Path) -> None:
    """Runs at the same time over one root all succeed, with one output and one file."""
    command = [sys.executable, "-m", "toolbudget", "apply", source.name, "--root", "root"]
    runs = [subprocess.Popen(command, cwd=source.parent, stdout=subprocess.PIPE) for _ in range(4)]
    for process in runs:
        out, _ = process.communicate()
        assert process.returncode == 0
        assert out.endswith(b"/applied.jsonl\n")
    assert files_below(source.parent / "root") == {
        "s1.jsonl",
        "s1/applied.jsonl",
        "s1/tool-results/t1.txt",
    }


@pytest.mark.parametrize("options", [[], ["--force"]])
def test_only_a_file_is_ever_replaced(
    apply: Callable[..., Ran], source: Path, options: list[str]
) -> None:
    """A directory or a device is refused, even with ``--force``."""
    for place in (source.parent, os.devnull):
        ran = apply(source, "--out", place, *options)
        assert ran.code == 1
        assert f"output is not a regular file: {place}" in ran.err


def test_a_folder_of_the_users_is_not_made(apply: Callable[..., Ran], source: Path) -> None:
    """A missing folder is said before anything is stored."""
    ran = apply(source, "--out", "missing/out.jsonl")
    assert ran.code == 1
    assert "missing/out.jsonl: no such file or directory" in ran.err
    assert not (source.parent / "root").exists()


def test_standard_output_has_the_report(apply: Callable[..., Ran], source: Path) -> None:
    """``--out -`` is wrong usage."""
    ran = apply(source, "--out", "-")
    assert (ran.code, ran.out) == (2, "")
    assert "--out must name a file" in ran.err


def test_a_root_that_is_a_file(apply: Callable[..., Ran], source: Path) -> None:
    """A root that can hold no sessions is an error that names it."""
    write(source.parent / "root", b"")
    ran = apply(source)
    assert ran.code == 1
    assert f"{source.parent / 'root'}" in ran.err
    assert "not a directory" in ran.err


def test_a_session_folder_that_is_a_link(apply: Callable[..., Ran], source: Path) -> None:
    """No link below the root is followed, neither for texts nor for the output."""
    (source.parent / "root").mkdir()
    (source.parent / "elsewhere").mkdir()
    (source.parent / "root" / "s1").symlink_to(source.parent / "elsewhere")
    ran = apply(source)
    assert ran.code == 1
    assert files_below(source.parent / "elsewhere") == set()


def output_file(
    folder: Path, files: FileSystem, *, durability: Durability = "process"
) -> OutputFile:
    """Give an output in a folder of the test's."""
    return OutputFile(
        anchor=folder,
        directories=(),
        name="out",
        durability=durability,
        makes_directories=False,
        files=files,
    )


def failing_chunks() -> Iterator[bytes]:
    """Yield a piece, then fail as reading the input may."""
    yield b"new"
    raise CommandError("in changed while it was read")


def test_a_failure_leaves_what_was_there(tmp_path: Path) -> None:
    """If the input or the disk fails midway, the old output stands and nothing is beside it."""

    class Full(PosixFileSystem):
        def write(self, handle: int, data: bytes | memoryview) -> int:
            raise OSError(errno.ENOSPC, f"{handle} {len(data)}")

    write(tmp_path / "out", b"old")
    with pytest.raises(CommandError, match="changed"):
        output_file(tmp_path, PosixFileSystem()).write(failing_chunks(), overwrite=True)
    with pytest.raises(CommandError, match=r"cannot write output .*/out: no space left on device"):
        output_file(tmp_path, Full()).write([b"new"], overwrite=True)
    assert {path.name: path.read_bytes() for path in tmp_path.iterdir()} == {"out": b"old"}


def test_an_output_that_appears_meanwhile_stays(tmp_path: Path) -> None:
    """What another process has put there since the comparison is not overwritten."""
    write(tmp_path / "out", b"theirs")
    with pytest.raises(CommandError, match="exists with other content"):
        output_file(tmp_path, PosixFileSystem()).write([b"ours"], overwrite=False)
    assert (tmp_path / "out").read_bytes() == b"theirs"


def test_a_file_system_without_hard_links(tmp_path: Path) -> None:
    """Where files cannot have a second name, the output still gets there whole."""

    class Linkless(PosixFileSystem):
        def link(self, source: str, name: str, *, source_parent: int, parent: int) -> None:
            raise OSError(errno.EPERM, f"{source} {name} {source_parent} {parent}")

    output_file(tmp_path, Linkless()).write([b"new", b" text"], overwrite=False)
    assert {path.name: path.read_bytes() for path in tmp_path.iterdir()} == {"out": b"new text"}


@pytest.mark.parametrize(
    ("durability", "expected"),
    [
        ("full", ["sync", "link", "sync_directory"]),
        ("data", ["sync_data", "link"]),
        ("process", ["link"]),
    ],
)
def test_the_output_is_as_durable_as_results(
    tmp_path: Path, durability: Durability, expected: list[str]
) -> None:
    """Bytes are synced before the name is given, and the name where the level asks for it."""
    calls: list[str] = []

    class Noting(PosixFileSystem):
        def sync(self, handle: int) -> None:
            calls.append("sync")
            super().sync(handle)

        def sync_data(self, handle: int) -> None:
            calls.append("sync_data")
            super().sync_data(handle)

        def sync_directory(self, handle: int) -> None:
            calls.append("sync_directory")
            super().sync_directory(handle)

        def link(self, source: str, name: str, *, source_parent: int, parent: int) -> None:
            calls.append("link")
            super().link(source, name, source_parent=source_parent, parent=parent)

    output_file(tmp_path, Noting(), durability=durability).write([b"x"], overwrite=False)
    assert calls == expected


@pytest.mark.parametrize("method", ["open_root", "open_file", "read"])
def test_an_old_output_that_cannot_be_read(tmp_path: Path, method: str) -> None:
    """An output that cannot be compared is an error with the operating system's reason."""

    class Failing(PosixFileSystem):
        pass

    def fail(*_arguments: object, **_options: object) -> int:
        raise PermissionError(errno.EACCES, "refused")

    setattr(Failing, method, fail)
    write(tmp_path / "out", b"old")
    with pytest.raises(CommandError, match=r"output .*/out: permission denied"):
        output_file(tmp_path, Failing()).compare([b"old"])
