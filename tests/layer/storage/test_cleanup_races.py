"""What happens between a plan and its end: forks, moves, kills, and what was planted there."""

from __future__ import annotations

import errno
import os
from typing import TYPE_CHECKING, cast

import pytest

from tests.layer.storage.faulty import FaultyFiles, without_unnamed_files
from tests.layer.storage.old_sessions import DAY_S, age, dangling, fork, go, make, result
from toolbudget import ConfigError, Session
from toolbudget.storage.cleanup import carry_out, plan_cleanup
from toolbudget.storage.session_lock import SessionLock

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from toolbudget.storage._files import RemovingFileSystem

pytestmark = pytest.mark.usefixtures("no_leaked_descriptors")

FOREIGN_LINE = b'{"type":"user","message":{"role":"user","content":"hi"}}\n'


def make_foreign(root: Path, name: str, *, days: float) -> list[Path]:
    """Let a session beside another program's transcript be old; give what is not ours."""
    transcript = root / f"{name}.jsonl"
    transcript.write_bytes(FOREIGN_LINE)
    with Session.open(root, name, durability="process") as session:
        session.gate(result("t1"), tool_name="Fetch")
        with session.subagent("helper") as helper:
            helper.gate(result("t2"), tool_name="Fetch")
    theirs = root / name / "tool-results" / "theirs.txt"
    theirs.write_text("x")
    age(root, name, days)
    return [transcript, theirs]


class TestAFork:
    """What a fork has of its parent stays, however the fork came to be."""

    def test_made_after_the_plan(self, tmp_path: Path) -> None:
        """It refers to the parent's results from its first line on."""
        make(tmp_path, "parent", days=31)
        plan = plan_cleanup(tmp_path, older_than_s=DAY_S)
        fork(tmp_path, "parent", "child")
        assert [one.problem for one in carry_out(plan)] == ["it has been written since"]
        assert dangling(tmp_path) == []

    def test_of_a_fork_made_after_the_plan(self, tmp_path: Path) -> None:
        """It refers to the results of both."""
        make(tmp_path, "a", days=90)
        fork(tmp_path, "a", "b", days=60)
        plan = plan_cleanup(tmp_path, older_than_s=DAY_S)
        fork(tmp_path, "b", "c")
        assert None not in [one.problem for one in carry_out(plan)]
        assert dangling(tmp_path) == []

    def test_that_writes_no_records(self, tmp_path: Path) -> None:
        """An ephemeral one leaves no trace on disk, yet uses the results while it is open."""
        make(tmp_path, "parent", days=31)
        with Session.open(tmp_path, "parent", durability="process") as parent:
            child = parent.fork("child", ephemeral=True)
            grandchild = child.fork("grandchild", ephemeral=True)
        child.close()
        age(tmp_path, "parent", 31)
        assert plan_cleanup(tmp_path, older_than_s=DAY_S).kept == {"in-use": 1}
        grandchild.close()
        assert go(tmp_path, older_than_s=DAY_S) == [None]


class TestTheRoot:
    """Who needs which session can be told only of all sessions."""

    @pytest.mark.parametrize(
        "part", ["parent", "parent.jsonl", "parent/tool-results", "parent/session.lock"]
    )
    def test_one_session_is_refused(self, tmp_path: Path, part: str) -> None:
        """Its forks stand beside it and would not be looked at."""
        make(tmp_path, "parent", days=31)
        fork(tmp_path, "parent", "child")
        with pytest.raises(ConfigError, match="folder of all sessions"):
            plan_cleanup(tmp_path / part, older_than_s=1)
        assert dangling(tmp_path) == []

    @pytest.mark.parametrize("name", ["", "missing", "file"])
    def test_no_folder(self, tmp_path: Path, name: str) -> None:
        """It is named."""
        (tmp_path / "file").write_text("x")
        root = tmp_path / name if name else ""
        with pytest.raises(ConfigError, match=name or "no folder"):
            plan_cleanup(root, older_than_s=1)

    def test_one_with_a_file_beside_that_looks_like_its_transcript(self, tmp_path: Path) -> None:
        """It is a folder of sessions all the same."""
        root = tmp_path / "project"
        make(root, "s", days=31)
        (tmp_path / "project.jsonl").write_bytes(FOREIGN_LINE)
        assert go(root, older_than_s=DAY_S) == [None]
        assert list(root.iterdir()) == []


def test_a_file_moved_into_the_folder_after_the_plan_stays(tmp_path: Path) -> None:
    """It may be older than the plan."""
    make(tmp_path, "s", days=31)
    plan = plan_cleanup(tmp_path, older_than_s=DAY_S)
    note = tmp_path / "note"
    note.write_text("mine")
    os.utime(note, (1e9, 1e9))
    note.rename(tmp_path / "s" / "notes.md")
    assert [one.problem for one in carry_out(plan)] == [None]
    left = [path.name for path in tmp_path.rglob("*") if path.is_file()]
    assert left == ["notes.md"]


def test_a_session_without_a_lock_goes_too(tmp_path: Path) -> None:
    """The lock that is made for the removal does not make it young."""
    make(tmp_path, "s", days=31)
    (tmp_path / "s" / "session.lock").unlink()
    assert go(tmp_path, older_than_s=DAY_S) == [None]
    assert list(tmp_path.iterdir()) == []


class TestKilled:
    """Killed at any step, it leaves no record without its file, and the next run ends it."""

    def test_beside_another_programs_transcript(self, tmp_path: Path) -> None:
        """Nothing of ours is left, all of theirs is."""
        number = 0
        while True:
            number += 1
            root = tmp_path / str(number)
            root.mkdir()
            theirs = make_foreign(root, "s", days=31)
            plan = plan_cleanup(root, older_than_s=DAY_S)
            faulty = FaultyFiles()
            faulty.fail_call(number, errno.EIO, and_all_after=True)
            try:
                done = list(carry_out(plan, files=cast("RemovingFileSystem", faulty)))
            except OSError:
                done = []
            assert dangling(root) == [], number
            for removed in carry_out(plan_cleanup(root, older_than_s=DAY_S)):
                assert removed.problem is None
            left = [path for path in root.rglob("*") if path.is_file()]
            assert sorted(left) == sorted(theirs), number
            if len(faulty.calls) < number:
                assert [one.problem for one in done] == [None]
                return

    def test_records_that_stay_keep_their_files(self, tmp_path: Path) -> None:
        """Records of ours within a transcript that another program has rewritten."""
        make(tmp_path, "s", days=31)
        transcript = tmp_path / "s.jsonl"
        transcript.write_bytes(FOREIGN_LINE + transcript.read_bytes().partition(b"\n")[2])
        with Session.open(tmp_path, "s", durability="process") as session:
            assert set(session.state.replacements) == {"t1"}
            session.gate(result("t2"), tool_name="Fetch")
        age(tmp_path, "s", 31)
        assert go(tmp_path, older_than_s=DAY_S) == [None]
        assert dangling(tmp_path) == []
        assert [path.name for path in (tmp_path / "s").rglob("*.txt")] == ["t1.txt"]


def test_what_an_earlier_run_left_goes_however_deep_it_is(tmp_path: Path) -> None:
    """A tree of any depth takes neither the stack nor the descriptors."""
    trash = tmp_path / ".trash-0123456789abcdef"
    trash.mkdir()
    handle = os.open(trash, os.O_RDONLY)
    for _ in range(1500):
        os.mkdir("d", dir_fd=handle)
        below = os.open("d", os.O_RDONLY, dir_fd=handle)
        os.close(handle)
        handle = below
    os.symlink("/", "link", dir_fd=handle)
    os.mkfifo("pipe", dir_fd=handle)
    os.close(handle)
    make(tmp_path, "s", days=31)
    assert go(tmp_path, older_than_s=DAY_S) == [None]
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("new_files", [FaultyFiles, without_unnamed_files])
def test_a_lock_that_tells_of_others_is_never_seen_empty(
    tmp_path: Path, new_files: Callable[[], FaultyFiles]
) -> None:
    """A process that dies at any of its calls leaves no lock that says nothing."""
    theirs = tmp_path / "s" / "tool-results" / "toolu_1.txt"
    theirs.parent.mkdir(parents=True)
    theirs.write_text("x")
    lock_path = tmp_path / "s" / "session.lock"
    seen: set[bytes | None] = set()

    def look() -> None:
        seen.add(lock_path.read_bytes() if lock_path.exists() else None)

    files = new_files()
    for method in ("write", "sync", "link", "link_unnamed", "sync_directory", "lock"):
        files.before(method, look)
    lock = SessionLock(tmp_path, "s", files=files.files)
    lock.take(create=False)
    assert lock.is_held
    assert seen == {None, b"tool-results was here before\n"}
    assert sorted(path.name for path in (tmp_path / "s").iterdir()) == [
        "session.lock",
        "tool-results",
    ]
