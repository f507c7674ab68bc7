from __future__ import annotations

import errno
import os
import socket
import tracemalloc
from pathlib import Path
from typing import TYPE_CHECKING, cast

import pytest
import xxhash

from tests.builders import files_below, gate, res
from tests.layer.storage.faulty import FaultyFiles
from tests.layer.storage.inspected import TEXT, codes, items, record_of, report_of, store
from toolbudget import DirectoryStore, Session, StoredResult
from toolbudget.storage import _findings
from toolbudget.storage._files import POSIX, PosixFileSystem
from toolbudget.storage.inspection import (
    SessionPlace,
    inspect_root,
    inspect_session,
)
from toolbudget.storage.record_log import RecordLog
from toolbudget.storage.records import encode_record, header_line

if TYPE_CHECKING:
    from toolbudget.storage._files import Entry, InspectableFileSystem

pytestmark = pytest.mark.usefixtures("no_leaked_descriptors")

_READING = {
    "open_root",
    "open_directory",
    "open_file",
    "read",
    "status",
    "names",
    "close",
    "look",
    "user",
}


def append(root: Path, *records: object, session_id: str = "s1") -> None:
    """Append records as a session does."""
    with RecordLog(root, session_id, durability="process").locked() as locked:
        for record in records:
            locked.append(record, sync=False)  # type: ignore[arg-type]


class TestHealthy:
    """What a session leaves behind is as it should be."""

    def test_a_whole_session(self, tmp_path: Path) -> None:
        """Stored and recorded results are compared, and nothing is found."""
        store(tmp_path, "a", "b")
        report = report_of(tmp_path)
        assert (report.findings, report.is_healthy) == ((), True)
        assert (report.replacements, report.stored_files, report.checked_files) == (2, 2, 2)
        assert report.checked_bytes == 2 * len(TEXT)
        [record_file] = report.record_files
        assert (record_file.lines, record_file.records, record_file.is_ours) == (3, 2, True)

    def test_a_session_that_does_not_exist(self, tmp_path: Path) -> None:
        """Nothing on disk is nothing to find."""
        assert report_of(tmp_path).findings == ()

    def test_it_only_reads(self, tmp_path: Path) -> None:
        """A check uses no call that locks, makes, changes or removes anything."""
        directory = store(tmp_path, "a")
        (directory / "a.txt").chmod(0o644)
        before = files_below(tmp_path)
        faulty = FaultyFiles()
        inspect_session(
            SessionPlace(tmp_path, "s1"), files=cast("InspectableFileSystem", faulty.files)
        )
        assert set(faulty.calls) <= _READING
        assert files_below(tmp_path) == before

    def test_progress_is_told(self, tmp_path: Path) -> None:
        """All bytes of records and results are announced and then told piece by piece."""
        store(tmp_path, "a")
        totals: list[int] = []
        pieces: list[int] = []

        def begin(total_bytes: int) -> object:
            totals.append(total_bytes)
            return pieces.append

        inspect_session(SessionPlace(tmp_path, "s1"), progress=begin)  # type: ignore[arg-type]
        assert totals == [sum(pieces)] == [len(TEXT) + (tmp_path / "s1.jsonl").stat().st_size]


class TestStoredFiles:
    """Each file that a record names is there, with the recorded bytes."""

    def test_a_missing_file(self, tmp_path: Path) -> None:
        """A reference whose file is gone dangles."""
        directory = store(tmp_path, "a", "b")
        (directory / "a.txt").unlink()
        report = report_of(tmp_path)
        assert codes(report) == ["missing-file"]
        [item] = items(report, "missing-file")
        assert (item.path, item.tool_use_id) == (directory / "a.txt", "a")
        assert not report.is_healthy

    def test_all_results_gone(self, tmp_path: Path) -> None:
        """The whole folder of results may be missing."""
        directory = store(tmp_path, "a", "b")
        for name in ("a.txt", "b.txt"):
            (directory / name).unlink()
        directory.rmdir()
        assert report_of(tmp_path).findings[0].count == 2

    @pytest.mark.parametrize("data", [b"", TEXT.encode()[:-1], TEXT.encode().upper()])
    def test_other_bytes(self, tmp_path: Path, data: bytes) -> None:
        """Bytes that differ in length or only in value are found by their digest."""
        directory = store(tmp_path, "a")
        (directory / "a.txt").write_bytes(data)
        report = report_of(tmp_path)
        assert codes(report) == ["wrong-bytes"]
        assert items(report, "wrong-bytes")[0].detail.startswith(f"{len(data)} bytes")

    def test_a_file_without_a_record(self, tmp_path: Path) -> None:
        """What a crash left between file and record is a note."""
        directory = store(tmp_path, "a")
        DirectoryStore(directory, durability="process").put("b", TEXT)
        report = report_of(tmp_path)
        assert codes(report) == ["unrecorded-file"]
        assert items(report, "unrecorded-file")[0].path == directory / "b.txt"
        assert report.is_healthy

    def test_a_moved_root(self, tmp_path: Path) -> None:
        """After a move the files are there, but the model was shown the old paths."""
        store(tmp_path / "old", "a")
        (tmp_path / "old").rename(tmp_path / "new")
        report = report_of(tmp_path / "new")
        assert codes(report) == ["moved-path"]
        assert items(report, "moved-path")[0].detail == str(
            tmp_path / "old" / "s1" / "tool-results" / "a.txt"
        )

    def test_files_kept_elsewhere(self, tmp_path: Path) -> None:
        """With a store of the host's own nothing is here; that is as it should be."""
        append(tmp_path, record_of(tmp_path / "elsewhere" / "a.txt"))
        report = report_of(tmp_path)
        assert codes(report) == ["stored-elsewhere", "moved-path"]
        assert report.is_healthy

    def test_files_that_a_move_has_left_behind(self, tmp_path: Path) -> None:
        """Whoever was shown a session's own folder misses the file, wherever that folder was."""
        append(tmp_path, record_of(tmp_path / "old" / "s1" / "tool-results" / "a.txt"))
        assert codes(report_of(tmp_path)) == ["missing-elsewhere", "moved-path"]

    def test_files_gone_from_the_folder_behind_a_mapped_path(self, tmp_path: Path) -> None:
        """A session that has a folder of results has no store elsewhere."""
        directory = store(tmp_path, "b")
        (directory / "b.txt").unlink()
        (tmp_path / "s1.jsonl").unlink()
        append(tmp_path, record_of(tmp_path / "mapped" / "a.txt"))
        assert codes(report_of(tmp_path)) == ["missing-elsewhere", "moved-path"]

    @pytest.mark.parametrize("name", ["t1", "t1.txt", "a b.bin", "5f/../x"])
    def test_a_store_of_the_hosts_own(self, tmp_path: Path, name: str) -> None:
        """Whatever it calls its results: it is healthy, and doctor does not look for them."""

        class OwnStore:
            def put(self, tool_use_id: str, content: object) -> StoredResult:
                text = str(content)
                path = Path("bucket") / f"{tool_use_id}-{name}"
                digest = xxhash.xxh3_128_hexdigest(text.encode())
                return StoredResult(path, len(text), digest, shown_path=f"s3://{path}")

        with Session.open(tmp_path, "s1", store=OwnStore(), durability="process") as session:
            gate(session, res("call", "x" * 60_000))
        report = report_of(tmp_path)
        assert "stored-elsewhere" in codes(report)
        assert report.is_healthy

    def test_a_file_that_was_left_behind_by_a_move(self, tmp_path: Path) -> None:
        """If other files of the session are at the new place, one that is not there is missing."""
        store(tmp_path / "old", "a")
        directory = store(tmp_path / "old", "b")
        (directory / "b.txt").unlink()
        (tmp_path / "old").rename(tmp_path / "new")
        assert codes(report_of(tmp_path / "new")) == ["missing-file", "moved-path"]

    def test_files_without_any_record(self, tmp_path: Path) -> None:
        """If the file of records is gone, everything is decided anew: that is no small thing."""
        store(tmp_path, "a")
        (tmp_path / "s1.jsonl").unlink()
        report = report_of(tmp_path)
        assert codes(report) == ["no-records", "unrecorded-file"]
        assert not report.is_healthy

    def test_a_fork_refers_to_its_parent(self, tmp_path: Path) -> None:
        """An inherited result is looked for in the parent's folder, not in the fork's own."""
        parent = store(tmp_path, "call_0", session_id="parent")
        own = store(tmp_path, "call_1", session_id="fork")
        (own / "call_0.txt").write_bytes(b"another result with the same id")
        (own / "call_0.txt").chmod(0o600)
        inherited = record_of(parent / "call_0.txt", "fork", inheritedFrom="parent")
        append(tmp_path, inherited, session_id="fork")
        assert codes(report_of(tmp_path, "fork")) == ["unrecorded-file"]
        (parent / "call_0.txt").unlink()
        report = report_of(tmp_path, "fork")
        assert items(report, "missing-file")[0].path == parent / "call_0.txt"

    def test_a_sub_agent_refers_to_the_session(self, tmp_path: Path) -> None:
        """Results of sub-agents are in the session's folder and in no record of the session."""
        directory = store(tmp_path, "a")
        line = encode_record(record_of(directory / "a.txt", agentId="x"))
        (tmp_path / "s1.jsonl").unlink()
        agents = tmp_path / "s1" / "subagents"
        agents.mkdir(mode=0o700)
        (agents / "agent-x.jsonl").write_bytes(header_line("s1") + line)
        (agents / "agent-x.jsonl").chmod(0o600)
        report = report_of(tmp_path)
        assert (codes(report), report.replacements) == ([], 1)

    def test_a_large_file_is_read_in_pieces(self, tmp_path: Path) -> None:
        """Memory does not grow with a stored file."""
        directory = store(tmp_path, "a")
        os.truncate(directory / "a.txt", 64 * 1024 * 1024)
        tracemalloc.start()
        report = report_of(tmp_path)
        _, peak_bytes = tracemalloc.get_traced_memory()
        tracemalloc.stop()
        assert codes(report) == ["wrong-bytes"]
        assert peak_bytes < 8 * 1024 * 1024

    def test_many_places_are_counted(self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        """More places than are listed still count."""
        monkeypatch.setattr(_findings, "MAX_ITEMS", 3)
        directory = store(tmp_path, "a")
        for number in range(10):
            (directory / f"orphan_{number}.txt").touch(mode=0o600)
        [finding] = report_of(tmp_path).findings
        assert (finding.count, len(finding.items)) == (10, 3)


class TestKinds:
    """Whatever stands in the place of a file or folder is neither followed nor opened."""

    @pytest.mark.parametrize("kind", ["symbolic link", "FIFO", "socket", "directory"])
    @pytest.mark.parametrize("place", ["a.txt", "../session.lock", "../../s1.jsonl"])
    def test_no_regular_file(
        self, tmp_path: Path, kind: str, place: str, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        """A link, FIFO, socket or folder in the place of a file is an error of its own."""
        directory = store(tmp_path, "a")
        path = (directory / place).resolve()
        path.unlink(missing_ok=True)
        monkeypatch.chdir(path.parent)  # the names of sockets are short
        make(kind, path, target=tmp_path)
        report = report_of(tmp_path)
        assert [item.detail for item in items(report, "wrong-kind")] == [kind]
        assert items(report, "wrong-kind")[0].path == path
        assert "missing-file" not in codes(report)

    @pytest.mark.parametrize("name", ["s1", "s1/tool-results"])
    def test_a_folder_that_is_a_link(self, tmp_path: Path, name: str) -> None:
        """What is behind a link in the place of a folder counts as missing."""
        root = tmp_path / "root"
        store(root, "a")
        (root / name).rename(tmp_path / "elsewhere")
        (root / name).symlink_to(tmp_path / "elsewhere")
        assert codes(report_of(root)) == ["missing-file", "wrong-kind"]

    def test_no_fifo_or_device_is_opened(self, tmp_path: Path) -> None:
        """Only what is a regular file or a directory is opened at all."""
        directory = store(tmp_path, "a", "b")
        (directory / "a.txt").unlink()
        os.mkfifo(directory / "a.txt", 0o600)
        opened: list[str] = []

        class Watching(PosixFileSystem):
            def open_file(self, name: str, *, parent: int) -> int:
                opened.append(name)
                return super().open_file(name, parent=parent)

        inspect_session(SessionPlace(tmp_path, "s1"), files=Watching())
        assert sorted(set(opened)) == ["b.txt", "s1.jsonl"]

    def test_unknown_names(self, tmp_path: Path) -> None:
        """What does not belong to a session is named and otherwise left alone."""
        directory = store(tmp_path, "a")
        (directory.parent / "notes.md").write_text("x")
        (directory / "no result").mkdir()
        report = report_of(tmp_path)
        assert codes(report) == ["unknown-file"]
        assert {(item.path.name, item.detail) for item in items(report, "unknown-file")} == {
            ("notes.md", "file"),
            ("no result", "directory"),
        }


class TestPermissions:
    """Folders are 0700 and files 0600, and all belong to one user."""

    @pytest.mark.parametrize("name", ["s1", "s1/tool-results", "s1/tool-results/a.txt", "s1.jsonl"])
    def test_open_to_others(self, tmp_path: Path, name: str) -> None:
        """One bit for others is too much."""
        store(tmp_path, "a")
        path = tmp_path / name
        path.chmod(path.stat().st_mode | 0o004)
        report = report_of(tmp_path)
        assert codes(report) == ["open-permissions"]
        assert items(report, "open-permissions")[0].path == path

    @pytest.mark.parametrize(("name", "mode"), [("s1/tool-results", 0o500), ("s1.jsonl", 0o400)])
    def test_too_narrow(self, tmp_path: Path, name: str, mode: int) -> None:
        """Where the owner may not write, nothing can be stored or recorded."""
        store(tmp_path, "a")
        (tmp_path / name).chmod(mode)
        assert codes(report_of(tmp_path)) == ["narrow-permissions"]

    def test_another_owner(self, tmp_path: Path) -> None:
        """A file of someone else in a session of ours is a warning."""
        directory = store(tmp_path, "a")

        class Owned(PosixFileSystem):
            def look(self, name: str, *, parent: int) -> Entry:
                entry = super().look(name, parent=parent)
                return entry._replace(owner=4242) if name == "a.txt" else entry

        report = inspect_session(SessionPlace(tmp_path, "s1"), files=Owned())
        assert [(item.path, item.detail) for item in items(report, "other-owner")] == [
            (directory / "a.txt", "user 4242")
        ]

    def test_the_superuser_may_check_a_session_of_someone_else(self, tmp_path: Path) -> None:
        """What counts for the superuser is that all of a session has one owner."""
        store(tmp_path, "a")

        class Owned(PosixFileSystem):
            def look(self, name: str, *, parent: int) -> Entry:
                return super().look(name, parent=parent)._replace(owner=4242)

            def user(self) -> int:
                return 0

        assert inspect_session(SessionPlace(tmp_path, "s1"), files=Owned()).findings == ()

    @pytest.mark.parametrize(
        ("mode", "expected"),
        [(0o700, []), (0o755, []), (0o1777, []), (0o777, ["writable-root"])],
    )
    def test_the_root(self, tmp_path: Path, mode: int, expected: list[str]) -> None:
        """A folder of sessions in which others may replace sessions is a warning."""
        tmp_path.chmod(mode)
        found = [finding.kind.code for finding in inspect_root(tmp_path)]
        tmp_path.chmod(0o700)
        assert found == expected

    def test_leftovers(self, tmp_path: Path) -> None:
        """A temporary file is a leftover when nobody has written it for an hour."""
        directory = store(tmp_path, "a")
        leftover = directory.parent / ".tmp-0123456789abcdef"
        leftover.touch(mode=0o600)
        modified_s = leftover.stat().st_mtime
        place = SessionPlace(tmp_path, "s1")
        assert inspect_session(place, now_s=modified_s + 3600).findings == ()
        report = inspect_session(place, now_s=modified_s + 3601)
        assert codes(report) == ["leftover-file"]


class TestFaults:
    """A disk that fails is a finding, never an exception."""

    @pytest.mark.parametrize("number", range(1, 60))
    def test_a_failure_at_each_step(self, tmp_path: Path, number: int) -> None:
        """Whichever call fails, the check ends with a report, and leaves nothing open."""
        store(tmp_path, "a")
        faulty = FaultyFiles()
        faulty.fail_call(number, errno.EIO)
        report = inspect_session(
            SessionPlace(tmp_path, "s1"), files=cast("InspectableFileSystem", faulty.files)
        )
        assert set(codes(report)) <= {"unreadable", "missing-file", "unrecorded-file"}
        if len(faulty.calls) < number:
            assert report.findings == ()

    def test_a_file_that_cannot_be_read(self, tmp_path: Path) -> None:
        """The reason is the operating system's."""
        store(tmp_path, "a")

        class Broken(PosixFileSystem):
            def open_file(self, name: str, *, parent: int) -> int:
                if name == "a.txt":
                    raise PermissionError(errno.EACCES, os.strerror(errno.EACCES))
                return super().open_file(name, parent=parent)

        report = inspect_session(SessionPlace(tmp_path, "s1"), files=Broken())
        assert [item.detail for item in items(report, "unreadable")] == ["permission denied"]

    def test_what_vanishes_meanwhile(self, tmp_path: Path) -> None:
        """A name that is gone before it is looked at was none of a session's files."""
        directory = store(tmp_path, "a")
        leftover = directory.parent / ".tmp-0123456789abcdef"
        leftover.touch(mode=0o600)

        class Vanishing(PosixFileSystem):
            def names(self, handle: int) -> list[str]:
                found = super().names(handle)
                leftover.unlink(missing_ok=True)
                return found

        assert inspect_session(SessionPlace(tmp_path, "s1"), files=Vanishing()).findings == ()

    def test_a_result_stored_during_the_check(self, tmp_path: Path) -> None:
        """What a running session stores and records meanwhile is neither missing nor unknown."""
        store(tmp_path, "a")

        class Running(PosixFileSystem):
            def names(self, handle: int) -> list[str]:
                found = super().names(handle)
                if "a.txt" in found:
                    store(tmp_path, "b")
                return found

        report = inspect_session(SessionPlace(tmp_path, "s1"), files=Running())
        assert (report.findings, report.checked_files) == ((), 2)


def make(kind: str, path: Path, *, target: Path) -> None:
    """Put something that is no regular file in a place."""
    match kind:
        case "symbolic link":
            path.symlink_to(target)
        case "FIFO":
            os.mkfifo(path)
        case "socket":
            with socket.socket(socket.AF_UNIX) as plug:
                plug.bind(path.name)
        case _:
            path.mkdir()


def test_looking_tells_devices() -> None:
    """A device is told from files without being opened."""
    handle = POSIX.open_root("/dev")
    try:
        assert POSIX.look("null", parent=handle).kind == "device"
    finally:
        POSIX.close(handle)
    assert POSIX.user() == os.geteuid()
