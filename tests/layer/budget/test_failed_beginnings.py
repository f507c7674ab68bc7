from __future__ import annotations

import errno
import fcntl
from typing import TYPE_CHECKING

import pytest

from tests.faults.opening import open_session
from tests.layer.storage.faulty import FaultyFiles
from toolbudget import ConfigError, Session, TranscriptError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

BIG = {"type": "tool_result", "tool_use_id": "t1", "content": 60_000 * "a"}

BRANCHES: dict[str, Callable[[Session], Session]] = {
    "fork": lambda session: session.fork("child"),
    "subagent": lambda session: session.subagent("child"),
}


def locked_files(root: Path) -> Iterator[str]:
    """Name the files that someone holds a lock on."""
    for path in filter(type(root).is_file, root.rglob("*")):
        with path.open("rb") as file:
            try:
                fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError:
                yield path.name


@pytest.fixture
def disk() -> FaultyFiles:
    """A disk that is well until a test says otherwise."""
    return FaultyFiles()


@pytest.fixture
def root(tmp_path: Path, disk: FaultyFiles) -> Path:
    """A root with a session that has recorded a decision, and is closed."""
    with open_session(tmp_path, "main", files=disk.files) as session:
        session.gate(BIG, tool_name="Fetch")
    return tmp_path


def test_unreadable_transcript_leaves_no_lock(root: Path, disk: FaultyFiles) -> None:
    """An opening that fails leaves the session as free as it was: a clean-up may take it."""
    disk.fail_method("read", errno.EIO)
    with pytest.raises(TranscriptError):
        open_session(root, "main", files=disk.files)
    assert list(locked_files(root)) == []


@pytest.mark.parametrize("branch", BRANCHES.values(), ids=BRANCHES)
def test_failed_branch_leaves_no_lock(
    root: Path, disk: FaultyFiles, branch: Callable[[Session], Session]
) -> None:
    """A fork or sub-agent that cannot be begun holds no lock when its session is closed."""
    with open_session(root, "main", files=disk.files) as session:
        disk.fail_method("write", errno.ENOSPC)
        with pytest.raises(TranscriptError):
            branch(session)
    assert list(locked_files(root)) == []


@pytest.mark.parametrize("branch", BRANCHES.values(), ids=BRANCHES)
@pytest.mark.parametrize("error", [errno.EMFILE, errno.ENOMEM, errno.ESTALE, errno.EIO])
def test_failed_look_is_no_sighting(
    root: Path, disk: FaultyFiles, branch: Callable[[Session], Session], error: int
) -> None:
    """Where the disk does not say whether an id is taken, nobody is told that it is."""
    with open_session(root, "main", files=disk.files) as session:
        disk.fail_method("open_file", error)
        with pytest.raises(TranscriptError):
            branch(session)
        disk.heal()
        branch(session).close()


def test_unreadable_file_is_a_sighting(root: Path, disk: FaultyFiles) -> None:
    """What may not be opened has the id's name all the same."""
    with open_session(root, "main", files=disk.files) as session:
        disk.fail_method("open_file", errno.EACCES)
        with pytest.raises(ConfigError, match="exists already"):
            session.fork("child")
