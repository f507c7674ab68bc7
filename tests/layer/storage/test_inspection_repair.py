from __future__ import annotations

import errno
import os
from typing import TYPE_CHECKING

import pytest

from tests.builders import files_below
from tests.layer.storage.inspected import codes, report_of, results_of, store
from toolbudget.storage._files import POSIX, PosixFileSystem
from toolbudget.storage.inspection import SessionPlace, inspect_session
from toolbudget.storage.record_log import RecordLog
from toolbudget.storage.repair import repair_session, without_repaired

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from toolbudget.storage._files import Entry, InspectableFileSystem
    from toolbudget.storage.repair import Repair

pytestmark = pytest.mark.usefixtures("no_leaked_descriptors")

_HOUR_S = 3600.0


def repair(root: Path, files: InspectableFileSystem = POSIX) -> tuple[Repair, ...]:
    """Check a session, then repair what was found."""
    return repair_session(report_of(root), files=files)


def leave_over(root: Path, *, age_s: float = 2 * _HOUR_S) -> Path:
    """Leave a temporary file over."""
    path = root / "s1" / ".tmp-0123456789abcdef"
    path.write_bytes(b"half")
    path.chmod(0o600)
    modified_s = path.stat().st_mtime - age_s
    os.utime(path, (modified_s, modified_s))
    return path


def outcome(repairs: tuple[Repair, ...]) -> list[tuple[str, str | None]]:
    """Give what was done, or why not."""
    return [(done.action, done.error) for done in repairs]


class TestPrivacy:
    """Files and folders of the session are closed to others."""

    @pytest.mark.parametrize(
        ("name", "before", "after"),
        [
            ("s1", 0o755, 0o700),
            ("s1/tool-results", 0o777, 0o700),
            ("s1/tool-results/a.txt", 0o644, 0o600),
            ("s1/tool-results/a.txt", 0o444, 0o400),
            ("s1.jsonl", 0o660, 0o600),
        ],
    )
    def test_it_is_tightened(self, tmp_path: Path, name: str, before: int, after: int) -> None:
        """The rights of others go, and no right is added."""
        store(tmp_path, "a")
        (tmp_path / name).chmod(before)
        [done] = repair(tmp_path)
        assert done.path == tmp_path / name
        assert (done.action, done.error) == (f"mode {before:04o} made {after:04o}", None)
        assert (tmp_path / name).stat().st_mode & 0o7777 == after
        assert codes(report_of(tmp_path)) == []

    def test_a_file_of_someone_else_is_left_alone(self, tmp_path: Path) -> None:
        """A hard link to a file of another user keeps its mode, also if the superuser repairs."""
        directory = store(tmp_path, "a")
        (directory / "a.txt").chmod(0o644)

        class Owned(PosixFileSystem):
            def look(self, name: str, *, parent: int) -> Entry:
                entry = super().look(name, parent=parent)
                return entry._replace(owner=4242) if name == "a.txt" else entry

        report = inspect_session(SessionPlace(tmp_path, "s1"), files=Owned())
        repairs = repair_session(report, files=Owned())
        assert outcome(repairs) == [("left as it is", "it belongs to another user")]
        assert (directory / "a.txt").stat().st_mode & 0o777 == 0o644

    def test_what_became_a_link_is_left_alone(self, tmp_path: Path) -> None:
        """A link that takes the place after the check leads nowhere."""
        directory = store(tmp_path, "a")
        (directory / "a.txt").chmod(0o644)
        report = report_of(tmp_path)
        outside = tmp_path / "outside"
        outside.touch(mode=0o644)
        (directory / "a.txt").unlink()
        (directory / "a.txt").symlink_to(outside)
        repairs = repair_session(report)
        assert outcome(repairs) == [("left as it is", "it has become a symbolic link")]
        assert outside.stat().st_mode & 0o777 == 0o644

    def test_what_is_replaced_between_two_calls_is_left_alone(self, tmp_path: Path) -> None:
        """What is changed is what was looked at."""
        directory = store(tmp_path, "a", "b")
        (directory / "a.txt").chmod(0o644)

        class Swapping(PosixFileSystem):
            def open_file(self, name: str, *, parent: int) -> int:  # noqa: ARG002 - as the base
                return super().open_file("b.txt", parent=parent)

        repairs = repair(tmp_path, Swapping())
        assert outcome(repairs) == [("left as it is", "it has been replaced meanwhile")]

    def test_a_failure_is_told(self, tmp_path: Path) -> None:
        """If the mode cannot be changed, the reason is told and the finding stays."""
        directory = store(tmp_path, "a")
        (directory / "a.txt").chmod(0o644)

        class Failing(PosixFileSystem):
            def change_mode(self, handle: int, mode: int) -> None:  # noqa: ARG002 - as the base
                raise OSError(errno.EROFS, os.strerror(errno.EROFS))

        report = report_of(tmp_path)
        repairs = repair_session(report, files=Failing())
        assert outcome(repairs) == [("left as it is", "read-only file system")]
        assert codes(without_repaired(report, repairs)) == ["open-permissions"]


class TestLeftovers:
    """Temporary files are removed when nobody can be writing them any more."""

    def test_it_is_removed(self, tmp_path: Path) -> None:
        """One that nobody has written for an hour goes, whatever its mode, and nothing else."""
        directory = store(tmp_path, "a")
        (directory / "orphan.txt").touch(mode=0o600)
        kept = files_below(tmp_path)
        leave_over(tmp_path).chmod(0o644)
        report = report_of(tmp_path)
        repairs = repair_session(report)
        assert outcome(repairs) == [("removed (4 bytes)", None)]
        assert files_below(tmp_path) == kept
        assert codes(without_repaired(report, repairs)) == codes(report_of(tmp_path))

    def test_a_young_one_stays(self, tmp_path: Path) -> None:
        """One that is being written is not even found."""
        store(tmp_path, "a")
        path = leave_over(tmp_path, age_s=_HOUR_S / 2)
        assert repair(tmp_path) == ()
        assert path.exists()

    def test_one_that_is_written_again_stays(self, tmp_path: Path) -> None:
        """Its age is looked at again."""
        store(tmp_path, "a")
        path = leave_over(tmp_path)
        report = report_of(tmp_path)
        path.write_bytes(b"more")
        assert outcome(repair_session(report)) == [("left as it is", "it has been written since")]
        assert path.exists()

    def test_a_locked_one_stays(self, tmp_path: Path) -> None:
        """Whoever holds a lock on it is alive."""
        store(tmp_path, "a")
        path = leave_over(tmp_path)
        with path.open("rb") as file:
            POSIX.lock(file.fileno(), exclusive=True)
            assert outcome(repair(tmp_path)) == [("left as it is", "it is in use")]
        assert path.exists()

    def test_without_locks_the_age_decides(self, tmp_path: Path) -> None:
        """Where files cannot be locked the age is enough."""
        store(tmp_path, "a")
        path = leave_over(tmp_path)

        class Lockless(PosixFileSystem):
            def lock(self, handle: int, *, exclusive: bool, blocking: bool = True) -> None:  # noqa: ARG002
                raise OSError(errno.ENOLCK, os.strerror(errno.ENOLCK))

        assert outcome(repair(tmp_path, Lockless())) == [("removed (4 bytes)", None)]
        assert not path.exists()


class TestLastLine:
    """An unfinished last line gets the line end that the next append would write first."""

    @pytest.mark.parametrize(("cut_bytes", "left"), [(1, []), (9, ["torn-line"])])
    def test_it_is_ended(self, tmp_path: Path, cut_bytes: int, left: list[str]) -> None:
        """One byte is added, none is taken away, and records appended later count."""
        store(tmp_path, "a")
        path = tmp_path / "s1.jsonl"
        os.truncate(path, path.stat().st_size - cut_bytes)
        before = path.read_bytes()
        report = report_of(tmp_path)
        repairs = repair_session(report)
        assert outcome(repairs) == [("line end added", None)]
        assert path.read_bytes() == before + b"\n"
        assert [c for c in codes(without_repaired(report, repairs)) if "line" in c] == left
        store(tmp_path, "b")
        assert "b" in {
            entry.tool_use_id
            for record in RecordLog(tmp_path, "s1").load()
            for entry in record.replacements
        }

    def test_a_file_in_use_is_left_alone(self, tmp_path: Path) -> None:
        """Whoever holds the lock is not waited for."""
        store(tmp_path, "a")
        path = tmp_path / "s1.jsonl"
        os.truncate(path, path.stat().st_size - 1)
        report = report_of(tmp_path)
        with RecordLog(tmp_path, "s1").locked():
            assert outcome(repair_session(report)) == [("left as it is", "it is in use")]

    def test_a_line_that_was_ended_meanwhile(self, tmp_path: Path) -> None:
        """Nothing is written if another process has done it."""
        store(tmp_path, "a")
        path = tmp_path / "s1.jsonl"
        whole = path.read_bytes()
        path.write_bytes(whole[:-1])
        report = report_of(tmp_path)
        path.write_bytes(whole)
        assert outcome(repair_session(report)) == [("line end is there already", None)]
        assert path.read_bytes() == whole

    def test_another_programs_file_is_never_written(self, tmp_path: Path) -> None:
        """Neither one that is another program's, nor one that has become so since."""
        store(tmp_path, "a")
        path = tmp_path / "s1.jsonl"
        os.truncate(path, path.stat().st_size - 1)
        report = report_of(tmp_path)
        path.write_bytes(b'{"type":"user"}')
        assert repair(tmp_path) == ()
        assert outcome(repair_session(report)) == [
            ("left as it is", "it belongs to another program")
        ]
        assert path.read_bytes() == b'{"type":"user"}'


class TestEverything:
    """Results and records survive every repair."""

    @pytest.mark.parametrize(
        "spoil",
        [lambda path: path.unlink(), lambda path: path.chmod(0o600)],
        ids=["gone", "private"],
    )
    def test_a_session_that_vanishes(self, tmp_path: Path, spoil: Callable[[Path], None]) -> None:
        """Whatever happens between check and repair, the repair ends and says so."""
        directory = store(tmp_path, "a")
        (directory / "a.txt").chmod(0o644)
        report = report_of(tmp_path)
        spoil(directory / "a.txt")
        assert len(repair_session(report)) == 1

    def test_nothing_is_repaired_that_could_be_lost(self, tmp_path: Path) -> None:
        """Missing, changed, unrecorded and unknown files and damaged lines are left alone."""
        store(tmp_path, "a", "b", "c")
        directory = results_of(tmp_path)
        (directory / "a.txt").unlink()
        (directory / "b.txt").write_bytes(b"other")
        (directory / "orphan.txt").touch(mode=0o600)
        (directory.parent / "notes.md").touch()
        with (tmp_path / "s1.jsonl").open("ab") as file:
            file.write(b"garbage\n")
        before = files_below(tmp_path), (tmp_path / "s1.jsonl").read_bytes()
        report = report_of(tmp_path)
        assert repair_session(report) == ()
        assert (files_below(tmp_path), (tmp_path / "s1.jsonl").read_bytes()) == before
        assert without_repaired(report, ()) == report
