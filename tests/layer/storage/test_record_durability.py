from __future__ import annotations

import errno
from typing import TYPE_CHECKING

import pytest

from tests.layer.storage.faulty import FaultyFiles
from tests.layer.storage.record_samples import MESSAGE, append, load, named, record
from toolbudget.errors import TranscriptError
from toolbudget.storage._files import POSIX
from toolbudget.storage.record_log import RecordLog
from toolbudget.storage.records import encode_record, header_line

if TYPE_CHECKING:
    from pathlib import Path

    from toolbudget.storage._files import Durability

pytestmark = pytest.mark.usefixtures("no_leaked_descriptors")


class Replacing(FaultyFiles):
    """A file system on which the file is gone as soon as it is locked, a few times."""

    def __init__(self, path: Path, *, times: int) -> None:
        super().__init__()
        self._path = path
        self._times = times

    def lock(self, handle: int, *, exclusive: bool, blocking: bool = True) -> None:
        """Lock the file, which loses its name meanwhile."""
        POSIX.lock(handle, exclusive=exclusive, blocking=blocking)
        if exclusive and self._times:
            self._times -= 1
            self._path.unlink()


class TakenOver(FaultyFiles):
    """A file system on which another program fills the transcript while its lock is awaited."""

    def __init__(self, path: Path) -> None:
        super().__init__()
        self._path = path

    def lock(self, handle: int, *, exclusive: bool, blocking: bool = True) -> None:
        """Lock the file, which is no longer ours then."""
        self._path.write_bytes(MESSAGE)
        POSIX.lock(handle, exclusive=exclusive, blocking=blocking)


class TestDurability:
    """What is synced, and when."""

    @pytest.mark.parametrize(
        ("durability", "sync", "expected"),
        [
            ("full", True, {"sync": 1, "sync_data": 0}),
            ("full", False, {"sync": 0, "sync_data": 0}),
            ("data", True, {"sync": 0, "sync_data": 1}),
            ("data", False, {"sync": 0, "sync_data": 0}),
            ("process", True, {"sync": 0, "sync_data": 0}),
        ],
    )
    def test_later_records_are_synced_on_demand(
        self, tmp_path: Path, durability: Durability, expected: dict[str, int], *, sync: bool
    ) -> None:
        """A record of kept results alone is not synced; ``process`` never syncs."""
        faulty = FaultyFiles()
        log = RecordLog(tmp_path, "s1", durability=durability, files=faulty.files)
        append(log, "a")
        faulty.calls.clear()
        with log.locked() as locked:
            locked.append(record("b"), sync=sync)
        assert {method: faulty.count(method) for method in expected} == expected
        assert faulty.count("sync_directory") == 0

    @pytest.mark.parametrize(
        ("durability", "method"), [("full", "sync"), ("data", "sync_data"), ("process", None)]
    )
    def test_the_first_record_of_a_file_is_always_synced(
        self, tmp_path: Path, durability: Durability, method: str | None
    ) -> None:
        """The file and its entry in the directory, even without being asked for."""
        faulty = FaultyFiles()
        with RecordLog(
            tmp_path, "s1", durability=durability, files=faulty.files
        ).locked() as locked:
            faulty.calls.clear()
            locked.append(record("a"), sync=False)
        syncs = [call for call in faulty.calls if call.startswith("sync")]
        assert syncs == ([method, "sync_directory"] if method else [])

    def test_header_and_record_are_one_write(self, tmp_path: Path) -> None:
        """Line end, header and record reach the kernel together."""
        (tmp_path / "s1.jsonl").write_bytes(b"\x00" * 9)
        faulty = FaultyFiles()
        append(RecordLog(tmp_path, "s1", files=faulty.files), "a")
        assert faulty.count("write") == 1
        data = (tmp_path / "s1.jsonl").read_bytes()
        assert data == b"\x00" * 9 + b"\n" + header_line("s1") + encode_record(record("a"))

    @pytest.mark.parametrize("durability", ["full", "data"])
    def test_records_of_others_are_synced_before_they_are_believed(
        self, tmp_path: Path, durability: Durability
    ) -> None:
        """Their writer may have died before its own sync."""
        append(RecordLog(tmp_path, "s1", durability="process"), "a")
        faulty = FaultyFiles()
        log = RecordLog(tmp_path, "s1", durability=durability, files=faulty.files)
        assert named(log.load()) == ["a"]
        method = "sync" if durability == "full" else "sync_data"
        assert (faulty.count(method), faulty.count("sync_directory")) == (1, 1)
        append(RecordLog(tmp_path, "s1", durability="process"), "b")
        with log.locked() as locked:
            assert named(locked.read_tail()) == ["b"]
        assert faulty.count(method) == 2

    def test_a_failing_sync_of_others_records_changes_nothing(
        self, tmp_path: Path, caplog: pytest.LogCaptureFixture
    ) -> None:
        """They stand in the file, and the next process reads them too."""
        append(RecordLog(tmp_path, "s1"), "a")
        faulty = FaultyFiles()
        faulty.fail_method("sync", errno.EIO)
        assert named(RecordLog(tmp_path, "s1", files=faulty.files).load()) == ["a"]
        assert "cannot sync" in caplog.text

    def test_reading_only_never_locks(self, tmp_path: Path) -> None:
        """A viewer neither waits for writers nor keeps them waiting."""
        append(RecordLog(tmp_path, "s1"), "a")
        faulty = FaultyFiles()
        log = RecordLog(tmp_path, "s1", files=faulty.files)
        assert named(log.load(wait_for_writers=False)) == ["a"]
        assert faulty.count("lock") == 0
        assert named(log.load()) == ["a"]
        assert faulty.count("lock") == 1

    def test_where_files_cannot_be_locked_loading_still_works(self, tmp_path: Path) -> None:
        """Some network file systems have no locks; what is there can be read."""
        append(RecordLog(tmp_path, "s1"), "a")
        faulty = FaultyFiles()
        faulty.fail_method("lock", errno.ENOLCK)
        assert named(RecordLog(tmp_path, "s1", files=faulty.files).load()) == ["a"]

    def test_a_file_replaced_while_waiting_is_opened_again(self, tmp_path: Path) -> None:
        """The record goes to the file that has the name now."""
        append(RecordLog(tmp_path, "s1"), "a")
        replacing = Replacing(tmp_path / "s1.jsonl", times=2)
        append(RecordLog(tmp_path, "s1", files=replacing.files), "b")
        assert load(tmp_path) == ["b"]

    def test_a_file_replaced_for_ever_is_an_error(self, tmp_path: Path) -> None:
        """Waiting for the lock of a file that keeps vanishing ends."""
        replacing = Replacing(tmp_path / "s1.jsonl", times=10_000)
        with (
            pytest.raises(TranscriptError, match="keeps being replaced"),
            RecordLog(tmp_path, "s1", files=replacing.files).locked(),
        ):
            pass

    def test_a_file_taken_over_while_waiting_is_left_alone(self, tmp_path: Path) -> None:
        """If another program came first, the record goes to the sidecar."""
        path = tmp_path / "s1.jsonl"
        append(RecordLog(tmp_path, "s1", files=TakenOver(path).files), "a")
        assert path.read_bytes() == MESSAGE
        assert load(tmp_path) == ["a"]
        assert RecordLog(tmp_path, "s1").path.name == "content-replacements.jsonl"
