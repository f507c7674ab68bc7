"""What ``toolbudget gc`` and ``toolbudget sessions`` tell, and what they refuse."""

from __future__ import annotations

import errno
import json
import os
import re
import time
from typing import TYPE_CHECKING

import pytest

from toolbudget import Session
from toolbudget.cli.sessions_view import age_words
from toolbudget.storage._files import PosixFileSystem
from toolbudget.storage.cleanup import plan_cleanup

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from tests.layer.cli.transcripts import Ran

TEXT = "a line of output\n" * 5000


@pytest.fixture
def root(tmp_path: Path) -> Path:
    """Give a folder with one session of yesterday and one of last month."""
    folder = tmp_path / "root"
    for name, days in (("recent", 1.5), ("old", 40)):
        with Session.open(folder, name, durability="process") as session:
            block = {"type": "tool_result", "tool_use_id": "t1", "content": TEXT}
            session.gate(block, tool_name="Fetch")
        then_s = time.time() - days * 86_400
        for path in [folder / f"{name}.jsonl", *(folder / name).rglob("*")]:
            os.utime(path, (then_s, then_s))
    return folder


class TestCleanUp:
    """Removing sessions."""

    def test_the_plan_says_what_would_go_and_changes_nothing(
        self, run: Callable[..., Ran], root: Path
    ) -> None:
        """A table, a sum, what stays, and how to go on."""
        before = sorted(root.rglob("*"))
        ran = run("gc", root, "--older-than", "30d")
        assert (ran.code, ran.err) == (0, "")
        assert "old" in ran.out
        assert re.search(r"1 session would be removed, 8\d(\.\d)?KB freed", ran.out)
        assert "1 session too young stays" in ran.out
        assert "--yes does it" in ran.out
        assert sorted(root.rglob("*")) == before

    def test_a_run_that_replaced_nothing_goes_too(
        self, run: Callable[..., Ran], tmp_path: Path
    ) -> None:
        """S10: it has no records, but its folder is ours."""
        body, root = tmp_path / "body.json", tmp_path / "root"
        body.write_text('{"messages": [{"role": "user", "content": "hi"}]}')
        assert run("apply", body, "--root", root, "--session", "s").code == 0
        assert "not ours" not in run("sessions", root).out
        for path in (root / "s").iterdir():
            os.utime(path, (0, 0))
        assert run("gc", root, "--older-than", "30d", "--yes").code == 0
        assert not (root / "s").exists()

    def test_what_others_keep_in_the_folder_stays(
        self, run: Callable[..., Ran], tmp_path: Path
    ) -> None:
        """S10: where a run that replaced nothing has put its output, only that goes."""
        body, theirs = tmp_path / "body.json", tmp_path / "root" / "s" / "notes.txt"
        body.write_text('{"messages": [{"role": "user", "content": "hi"}]}')
        theirs.parent.mkdir(parents=True)
        theirs.write_text("theirs")
        assert run("apply", body, "--root", tmp_path / "root", "--session", "s").code == 0
        for path in (tmp_path / "root" / "s").rglob("*"):
            os.utime(path, (0, 0))
        assert run("gc", tmp_path / "root", "--older-than", "30d", "--yes").code == 0
        assert [one.name for one in theirs.parent.iterdir()] == ["notes.txt"]

    def test_with_yes_it_goes(self, run: Callable[..., Ran], root: Path) -> None:
        """And only it."""
        ran = run("gc", root, "--older-than", "30d", "--yes")
        assert ran.code == 0
        assert "1 session removed" in ran.out
        assert sorted(path.name for path in root.iterdir()) == ["recent", "recent.jsonl"]

    def test_nothing_to_do(self, run: Callable[..., Ran], root: Path) -> None:
        """It is said, and is no failure."""
        ran = run("gc", root, "--older-than", "90d", "--yes")
        assert (ran.code, ran.out.splitlines()[0]) == (0, f"Nothing to remove in {root}")

    def test_for_machines(self, run: Callable[..., Ran], root: Path) -> None:
        """The plan, the reason of each, and what is over."""
        told = json.loads(run("gc", root, "--max-bytes", "10KB", "--json").out)
        assert [(one["name"], one["reason"]) for one in told["removals"]] == [
            ("old", "total-quota"),
            ("recent", "total-quota"),
        ]
        assert (told["done"], told["over_bytes"]) == (False, 0)

    def test_one_in_use_stays_and_that_is_a_failure(
        self, run: Callable[..., Ran], root: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        """What was planned and could not be done is told, with the exit code of a failure."""
        sessions: list[Session] = []

        def plan_and_open(*arguments: object, **options: object) -> object:
            plan = plan_cleanup(*arguments, **options)  # type: ignore[arg-type]
            sessions.append(Session.open(root, "old", durability="process"))
            return plan

        monkeypatch.setattr("toolbudget.cli.gc.plan_cleanup", plan_and_open)
        ran = run("gc", root, "--older-than", "30d", "--yes")
        sessions[0].close()
        assert ran.code == 1
        assert "stays: it is in use" in ran.out

    def test_what_is_out_of_sight_and_not_deleted_is_said_to_be_gone(
        self, run: Callable[..., Ran], root: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        """Nothing of it stays in view; the bytes are not free yet, and that is a failure."""

        def refuse(_files: object, _name: str, *, parent: int) -> None:
            raise OSError(errno.EPERM, os.strerror(errno.EPERM), parent)

        with monkeypatch.context() as patched:
            patched.setattr(PosixFileSystem, "unlink", refuse)
            table = run("gc", root, "--older-than", "30d", "--yes")
            told = json.loads(run("gc", root, "--older-than", "1d", "--yes", "--json").out)
        assert table.code == 1
        assert "gone, but not deleted: Operation not permitted" in table.out
        [removal] = told["removals"]
        assert (removal["name"], removal["gone"]) == ("recent", True)
        assert (removal["problem"], told["freed_bytes"]) == ("Operation not permitted", 0)
        assert [path.name[:7] for path in root.iterdir()] == [".trash-"] * 4
        assert run("gc", root, "--older-than", "1d", "--yes").code == 0
        assert list(root.iterdir()) == []

    @pytest.mark.parametrize("age", ["0", "0d", "-1d", "30", "nand", "infd", "1e9d", "", "d", "٣d"])
    def test_an_age_that_is_none(self, run: Callable[..., Ran], root: Path, age: str) -> None:
        """Wrong usage, never everything."""
        ran = run("gc", root, f"--older-than={age}", "--yes")
        assert (ran.code, len(list(root.iterdir()))) == (2, 4)
        assert "--older-than" in ran.err
        assert repr(age) in ran.err

    @pytest.mark.parametrize("size", ["0", "0.1", "-5", "10XB", "", "nan"])
    def test_a_size_that_is_none(self, run: Callable[..., Ran], root: Path, size: str) -> None:
        """Wrong usage too."""
        ran = run("gc", root, f"--max-bytes={size}", "--yes")
        assert (ran.code, len(list(root.iterdir()))) == (2, 4)

    def test_a_folder_that_is_not_there(self, run: Callable[..., Ran], root: Path) -> None:
        """No mistake in the words of the call, as with the other commands that take a root."""
        ran = run("gc", root / "nope", "--older-than", "30d")
        assert (ran.code, ran.out) == (1, "")
        assert ran.err == f"Error: no such file or folder: {str(root / 'nope')!r}\n"

    def test_without_a_limit(self, run: Callable[..., Ran], root: Path) -> None:
        """Wrong usage, and what to give is said."""
        ran = run("gc", root, "--yes")
        assert (ran.code, len(list(root.iterdir()))) == (2, 4)
        assert "--older-than" in ran.err


class TestSessions:
    """Listing sessions."""

    def test_each_with_its_size_and_age(self, run: Callable[..., Ran], root: Path) -> None:
        """The youngest first, and the sum."""
        with Session.open(root, "recent", durability="process"):
            ran = run("sessions", root)
        out = re.sub(r"\b8\d(\.\d)?KB", "8xKB", ran.out)
        lines = [line.split() for line in out.splitlines() if line.strip()]
        assert lines[0] == ["session", "results", "size", "age"]
        assert lines[2] == ["recent", "1", "8xKB", "36h", "in", "use"]
        assert lines[3] == ["old", "1", "8xKB", "5w"]
        assert lines[4] == ["2", "sessions,", "2", "stored", "results,", lines[4][-1]]

    def test_limited_and_sorted(self, run: Callable[..., Ran], root: Path) -> None:
        """Only so many are shown; the sums are of all."""
        told = json.loads(run("sessions", root, "--sort", "name", "--limit", 1, "--json").out)
        assert ([one["name"] for one in told["sessions"]], told["count"]) == (["old"], 2)

    def test_no_folder(self, run: Callable[..., Ran], tmp_path: Path) -> None:
        """What is not there fails as with every command; the words of the call may be right."""
        ran = run("sessions", tmp_path / "missing")
        assert ran.code == 1
        assert "missing" in ran.err

    def test_an_empty_folder(self, run: Callable[..., Ran], tmp_path: Path) -> None:
        """No sessions are none, and no failure."""
        assert run("sessions", tmp_path).out == f"No sessions in {tmp_path}\n"


@pytest.mark.parametrize(
    ("age_s", "words"),
    [(0.5, "now"), (1, "1s"), (119, "119s"), (120, "2m"), (7200, "2h"), (86_400 * 13, "13d")],
)
def test_ages_for_a_reader(age_s: float, words: str) -> None:
    """The largest unit of which there are two."""
    assert age_words(age_s) == words
