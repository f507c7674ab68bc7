from __future__ import annotations

import errno
import os
import signal
import socket
import subprocess
import sys
from typing import TYPE_CHECKING, Any, cast

import pytest

from tests.builders import (
    check_reference,
    check_references,
    enforce,
    files_below,
    gate,
    read_reference,
    res,
    stored_files,
    turn,
)
from toolbudget import DirectoryStore, Session, StoreError
from toolbudget.storage._files import POSIX

if TYPE_CHECKING:
    from pathlib import Path

    from toolbudget.storage._files import FileSystem


LARGE = 60_000 * "a"
HUGE = 210_000 * "a"
LINES = 20_000 * "l1\nl2\n"


def test_one_text_block_is_stored_as_raw_lines(session: Session) -> None:
    """FS 19: the file can be searched and paged by lines; it is no JSON and has nothing escaped."""
    block = res("t1", [{"type": "text", "text": LINES}])
    small = gate(session, block)
    check_reference(block, small, session.directory)
    path = read_reference(small["content"]).path
    assert path.suffix == ".txt"
    assert path.read_bytes().split(b"\n")[:3] == [b"l1", b"l2", b"l1"]
    assert path.read_bytes() == LINES.encode()


def test_a_json_file_escapes_no_letter(session: Session) -> None:
    """FS 19: only what one text cannot tell is JSON, and there words can be searched too."""
    text = "\u65e5\u672c caf\u00e9 \U0001f600 </x>"
    blocks = [{"type": "text", "text": text}, {"type": "text", "text": LARGE}]
    block = res("t1", blocks)
    check_reference(block, gate(session, block), session.directory)
    [(name, data)] = stored_files(session).items()
    assert name == "t1.json"
    assert text.encode() in data
    assert b": " not in data.replace(text.encode(), b"")


class FaultyFiles:
    """A file system of which one call fails: always, or the first time only."""

    def __init__(self, method: str, number: int, *, is_sticky: bool) -> None:
        self.is_well = False
        self._method = method
        self._error = OSError(number, os.strerror(number))
        self._is_sticky = is_sticky

    def __getattr__(self, name: str) -> Any:  # noqa: ANN401 - any method of the protocol
        works = getattr(POSIX, name)
        if name != self._method or self.is_well:
            return works

        def fail(*_arguments: object, **_options: object) -> None:
            self.is_well = not self._is_sticky
            raise self._error

        return fail


def open_on(root: Path, files: object, **options: Any) -> Session:  # noqa: ANN401 - passed on
    """Open a session whose results go through another file system; its records do not."""
    store = DirectoryStore(
        root / "session" / "tool-results",
        files=cast("FileSystem", files),
        anchor=root,
    )
    return Session.open(root, "session", store=store, durability="process", **options)


CALLS = [
    "open_root",
    "make_root",
    "open_directory",
    "make_directory",
    "create_unnamed",
    "create_exclusive",
    "link_unnamed",
    "link",
    "unlink",
    "write",
    "sync",
    "sync_directory",
    "status",
    "close",
]
ERRORS = [errno.ENOSPC, errno.EROFS, errno.EIO]


@pytest.mark.parametrize("is_sticky", [True, False])
@pytest.mark.parametrize("number", ERRORS)
@pytest.mark.parametrize("method", CALLS)
def test_a_store_that_fails_loses_nothing(
    root: Path, method: str, number: int, *, is_sticky: bool
) -> None:
    """FS 30: whatever fails, each result is sent whole or with a reference that holds, for good."""
    files = FaultyFiles(method, number, is_sticky=is_sticky)
    messages = turn("Fetch", t1=HUGE, t2=220_000 * "b", t3="small")
    with open_on(root, files) as session:
        before = enforce(session, messages)
        replaced = check_references(messages, before, session.directory)
        failures = session.report.failures
        kept = sorted({"t1", "t2"} - set(replaced))
        assert sorted(str(failure.tool_use_id) for failure in failures) == kept
        assert {failure.stage for failure in failures} <= {"store"}
        for failure in failures:
            assert isinstance(failure.error, StoreError)
            assert failure.error.errno == number
        assert {name.partition(".")[0] for name in stored_files(session)} >= set(replaced)
        if is_sticky and method in {"write", "open_root"}:
            assert replaced == []
        files.is_well = True
        assert enforce(session, messages) == before
    with Session.open(root, "session", durability="process") as resumed:
        assert enforce(resumed, messages) == before


@pytest.mark.parametrize("method", ["open_root", "write"])
def test_a_failed_gate_decides_nothing(root: Path, method: str) -> None:
    """FS 30: the gate gives the block back as it is, and may replace it when the disk is well."""
    files = FaultyFiles(method, errno.ENOSPC, is_sticky=True)
    with open_on(root, files) as session:
        block = res("t1", LARGE)
        assert gate(session, block) is block
        [failure] = session.report.failures
        assert (failure.stage, failure.tool_use_id) == ("store", "t1")
        assert session.state.decisions == {}
        files.is_well = True
        check_reference(block, gate(session, block), session.directory)


@pytest.mark.parametrize("obstacle", ["root", "root/session", "root/session/tool-results"])
@pytest.mark.parametrize("is_before_opening", [True, False])
def test_a_file_in_the_place_of_a_folder(
    tmp_path: Path, obstacle: str, *, is_before_opening: bool
) -> None:
    """FS 30: if a folder cannot be made, the original goes out and the file stays as it is."""
    path = tmp_path / obstacle

    def put_in_the_way() -> None:
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(b"mine")

    if is_before_opening:
        put_in_the_way()
    messages = turn("Fetch", t1=HUGE)
    with Session.open(tmp_path / "root", "session", durability="process") as session:
        if not is_before_opening:
            put_in_the_way()
        assert session.enforce(messages) is messages
        assert len(session.report.failures) == 1
        block = res("t2", LARGE)
        assert gate(session, block) is block
        assert len(session.report.failures) == 1
        assert path.read_bytes() == b"mine"
        path.unlink()
        assert session.enforce(messages) is messages
        assert not session.report.failures


@pytest.mark.skipif(os.geteuid() == 0, reason="the superuser may write to every folder")
def test_a_read_only_folder(root: Path) -> None:
    """FS 30: a folder without the right to write is a failure like any other."""
    root.mkdir(mode=0o500)
    messages = turn("Fetch", t1=HUGE)
    with Session.open(root, "session", durability="process") as session:
        assert session.enforce(messages) is messages
        assert session.report.failures != ()
    root.chmod(0o700)


def test_a_real_short_write(tmp_path: Path) -> None:
    """FS 30: a file that may not grow further leaves neither a stub nor a reference."""
    code = (
        "import resource, signal, sys, toolbudget\n"
        f"signal.signal({int(signal.SIGXFSZ)}, signal.SIG_IGN)\n"
        "resource.setrlimit(resource.RLIMIT_FSIZE, (20_000, 20_000))\n"
        "session = toolbudget.Session.open(sys.argv[1], 'session')\n"
        "block = {'type': 'tool_result', 'tool_use_id': 't1', 'content': 210_000 * 'a'}\n"
        "messages = [{'role': 'user', 'content': [block]}]\n"
        "assert session.enforce(messages) is messages\n"
        "print(session.report.failures[0].error.errno)\n"
    )
    finished = subprocess.run(
        [sys.executable, "-c", code, str(tmp_path)], capture_output=True, text=True, check=True
    )
    assert finished.stdout == f"{errno.EFBIG}\n"
    assert files_below(tmp_path) == {"session.jsonl"}


def plant(path: Path, kind: str, victim: Path) -> None:
    """Put something into the place where a result would go."""
    path.parent.mkdir(parents=True)
    if kind == "symlink":
        path.symlink_to(victim)
    elif kind == "dangling":
        path.symlink_to(victim.with_name("nothing"))
    elif kind == "folder":
        path.mkdir()
    elif kind == "fifo":
        os.mkfifo(path)
    elif kind == "socket":
        with socket.socket(socket.AF_UNIX) as server:
            here = os.open(path.parent, os.O_RDONLY)
            server.bind(f"/proc/self/fd/{here}/{path.name}")
            os.close(here)
    elif kind == "hard-link":
        path.hardlink_to(victim)
    else:
        path.write_text(kind)


PLANTED = ["symlink", "dangling", "folder", "fifo", "socket", "hard-link", "other bytes", HUGE]


@pytest.mark.parametrize("kind", PLANTED, ids=lambda kind: kind[:12])
@pytest.mark.parametrize("is_equal", [False, True])
def test_what_is_planted_is_neither_followed_nor_trusted(
    session: Session, tmp_path: Path, kind: str, *, is_equal: bool
) -> None:
    """FS 32: the victim is unchanged and the result gets a fresh name; equal bytes are no proof."""
    victim = tmp_path / "victim"
    victim.write_text(HUGE if is_equal else "precious")
    before = victim.read_bytes(), victim.stat().st_mtime_ns, victim.stat().st_mode
    place = session.directory / "tool-results" / "t1.txt"
    plant(place, kind, victim)
    status = place.lstat()
    messages = turn("Fetch", t1=HUGE)
    sent = enforce(session, messages)
    assert check_references(messages, sent, session.directory) == ["t1"]
    path = read_reference(sent[1]["content"][0]["content"]).path
    is_same = kind == HUGE or (kind == "hard-link" and is_equal)
    assert (path == place) is is_same
    assert (place.lstat().st_ino, place.lstat().st_mtime_ns) == (status.st_ino, status.st_mtime_ns)
    assert (victim.read_bytes(), victim.stat().st_mtime_ns, victim.stat().st_mode) == before
    assert not victim.with_name("nothing").exists()
    assert session.report.bytes_stored == (0 if is_same else len(HUGE))


@pytest.mark.parametrize("linked", ["session", "session/tool-results"])
@pytest.mark.parametrize("is_dangling", [False, True])
@pytest.mark.parametrize("is_before_opening", [True, False])
def test_a_linked_folder_is_not_followed(
    root: Path, linked: str, *, is_dangling: bool, is_before_opening: bool
) -> None:
    """FS 32: a symbolic link in the place of a folder leaves its target alone; the result stays."""
    target = root.with_name("target")
    if not is_dangling:
        target.mkdir()
    (root / linked).parent.mkdir(parents=True)
    if is_before_opening:
        (root / linked).symlink_to(target)
    messages = turn("Fetch", t1=HUGE)
    with Session.open(root, "session", durability="process") as session:
        if not is_before_opening:
            (root / linked).symlink_to(target)
        assert session.enforce(messages) is messages
        assert len(session.report.failures) == 1
    assert target.exists() is not is_dangling
    assert files_below(target) == set()


@pytest.mark.parametrize("is_dangling", [False, True])
def test_a_linked_transcript_is_not_followed(
    root: Path, tmp_path: Path, *, is_dangling: bool
) -> None:
    """FS 32: records are not appended through a symbolic link either."""
    victim = tmp_path / "victim"
    if not is_dangling:
        victim.write_bytes(b"")
    messages = turn("Fetch", t1=HUGE)
    with Session.open(root, "session", durability="process") as session:
        root.mkdir()
        session.transcript_path.symlink_to(victim)
        assert session.enforce(messages) is messages
        assert [failure.stage for failure in session.report.failures] == ["record"]
    assert victim.exists() is not is_dangling
    assert is_dangling or victim.read_bytes() == b""


def test_links_above_the_root_are_the_users_own(tmp_path: Path) -> None:
    """FS 32: a root that is reached by a link works; the path is shown as it was given."""
    (tmp_path / "real").mkdir()
    (tmp_path / "root").symlink_to(tmp_path / "real")
    with Session.open(tmp_path / "root", "session", durability="process") as session:
        block = res("t1", LARGE)
        check_reference(block, gate(session, block), tmp_path / "root" / "session")


def test_a_replay_uses_the_file_that_is_there(root: Path) -> None:
    """FS 32: the same bytes under the same name are success, and nothing is written again."""
    with Session.open(root, "session", ephemeral=True, durability="process") as session:
        block = res("t1", LARGE)
        first = gate(session, block)
        place = session.directory / "tool-results" / "t1.txt"
        before = place.stat()
    with Session.open(root, "session", ephemeral=True, durability="process") as session:
        assert gate(session, block) == first
        assert session.report.bytes_stored == 0
    assert (place.stat().st_ino, place.stat().st_mtime_ns) == (before.st_ino, before.st_mtime_ns)
    assert set(stored_files(session)) == {"t1.txt"}
