from __future__ import annotations

import errno
import logging
import resource
from typing import TYPE_CHECKING, Final

import pytest

from tests.layer.storage.faulty import FaultyFiles
from tests.layer.storage.record_samples import MESSAGE, append, load, record
from toolbudget.errors import TranscriptError
from toolbudget.storage._files import POSIX, PosixFileSystem
from toolbudget.storage.record_log import LockedLog, RecordLog
from toolbudget.storage.records import encode_record

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

pytestmark = pytest.mark.usefixtures("no_leaked_descriptors")

# Called on the way of an append, each of them at least once.
METHODS: Final = (
    *("open_root", "make_root", "open_directory", "make_directory", "sync_directory"),
    *("open_file", "open_append", "status", "lock", "read", "write", "sync", "unlock", "close"),
)
HARMLESS: Final = frozenset({"unlock", "close"})
LINE: Final = encode_record(record("b"))


def faulty_log(root: Path, faulty: FaultyFiles) -> RecordLog:
    """A log of session ``s1`` on a faulty file system."""
    return RecordLog(root, "s1", files=faulty.files)


def try_append(log: RecordLog, name: str) -> bool:
    """Append as a session does; tell whether the record counts."""
    try:
        with log.locked() as locked:
            locked.read_tail()
            locked.append(record(name), sync=True)
            return True
    except TranscriptError:
        return False


class UnsyncedFiles(PosixFileSystem):
    """A file system that says it has synced at once: hundreds of tries would wait for the disk."""

    def sync(self, handle: int) -> None:
        """Do nothing."""

    def sync_directory(self, handle: int) -> None:
        """Do nothing."""


class TornWrites(FaultyFiles):
    """A file system on which a disk can be full in the middle of a line."""

    def __init__(self) -> None:
        super().__init__()
        self._is_torn = False

    def tear_next_write(self, max_bytes: int) -> None:
        """Let the next write be short and every later one fail."""
        self._is_torn = True
        self.write_at_most(max_bytes)

    def write(self, handle: int, data: bytes | memoryview) -> int:
        """Write what there is room for."""
        written_bytes = super().write(handle, data)
        if self._is_torn:
            self.fail_method("write", errno.ENOSPC)
        return written_bytes

    def heal(self) -> None:
        """Let nothing fail any more."""
        super().heal()
        self._is_torn = False


def nothing(_root: Path) -> None:
    """Begin without any file."""


def own_record(root: Path) -> None:
    """Begin with a record in a transcript of ours."""
    append(RecordLog(root, "s1", durability="process"), "before")


def foreign_transcript(root: Path) -> None:
    """Begin with another program's transcript."""
    root.mkdir()
    (root / "s1.jsonl").write_bytes(MESSAGE)


@pytest.mark.parametrize("is_sticky", [False, True])
@pytest.mark.parametrize("error", [errno.ENOSPC, errno.EIO])
@pytest.mark.parametrize("begin", [nothing, own_record, foreign_transcript])
def test_each_call_may_fail(
    tmp_path: Path, begin: Callable[[Path], None], error: int, *, is_sticky: bool
) -> None:
    """Whichever call fails, once or from then on: a record counts if the append returned."""
    for number in range(1, 500):
        root = tmp_path / str(number)
        begin(root)
        names = load(root)
        faulty = FaultyFiles(UnsyncedFiles())
        faulty.fail_call(number, error, and_all_after=is_sticky)
        log = faulty_log(root, faulty)
        if try_append(log, "first"):
            names.append("first")
        calls = len(faulty.calls)
        assert load(root) == names
        faulty.heal()
        append(log, "second")
        assert load(root) == [*names, "second"]
        if number > calls:
            return
    pytest.fail("an append never ends")


@pytest.mark.parametrize("times", [1, None])
@pytest.mark.parametrize("method", METHODS)
def test_each_method_may_fail(tmp_path: Path, method: str, times: int | None) -> None:
    """Methods after the record is durable never make a difference; the others take it back."""
    faulty = FaultyFiles()
    faulty.fail_method(method, errno.EIO, times=times)
    log = RecordLog(tmp_path / "root", "s1", force_sidecar=True, files=faulty.files)
    counts = try_append(log, "a")
    assert counts or method not in HARMLESS
    assert faulty.count(method) > 0
    assert load(tmp_path / "root") == (["a"] if counts else [])
    faulty.heal()
    assert try_append(log, "b")
    assert load(tmp_path / "root") == (["a", "b"] if counts else ["b"])


def test_the_error_says_what_where_and_why(tmp_path: Path) -> None:
    """The message names the file and ends with the reason of the operating system."""
    faulty = FaultyFiles()
    faulty.fail_method("write", errno.ENOSPC)
    path = tmp_path / "s1.jsonl"
    with pytest.raises(TranscriptError) as caught:
        append(faulty_log(tmp_path, faulty), "a")
    assert str(caught.value) == f"cannot append to transcript {path}: No space left on device"
    assert isinstance(caught.value.__cause__, OSError)


class TestTakingBack:
    """RR2: a record that is not durable is taken back, or it stands and is called ambiguous."""

    @pytest.fixture
    def faulty(self) -> TornWrites:
        """A file system without faults as yet."""
        return TornWrites()

    @pytest.fixture
    def locked(self, tmp_path: Path, faulty: TornWrites) -> Iterator[LockedLog]:
        """A log with one record, locked, with everything read."""
        append(RecordLog(tmp_path, "s1"), "a")
        log = faulty_log(tmp_path, faulty)
        list(log.load())
        with log.locked() as locked:
            assert locked.read_tail() == []
            yield locked

    @pytest.mark.parametrize("method", ["write", "sync"])
    def test_a_failure_leaves_the_file_as_it_was(
        self, locked: LockedLog, faulty: TornWrites, method: str
    ) -> None:
        """After a failed write or sync the file has its old length."""
        before = locked.path.read_bytes()
        faulty.fail_method(method, errno.ENOSPC)
        with pytest.raises(TranscriptError, match="No space left on device"):
            locked.append(record("b"), sync=True)
        assert locked.ambiguous is None
        assert locked.path.read_bytes() == before

    def test_a_torn_write_leaves_the_file_as_it_was(
        self, locked: LockedLog, faulty: TornWrites
    ) -> None:
        """A write that fails half-way is cut off again."""
        before = locked.path.read_bytes()
        faulty.tear_next_write(100)
        with pytest.raises(TranscriptError):
            locked.append(record("b"), sync=True)
        assert faulty.count("write") == 2
        assert locked.path.read_bytes() == before

    def test_short_writes_are_completed(self, locked: LockedLog, faulty: TornWrites) -> None:
        """A record that is taken in pieces is whole in the end."""
        before = locked.path.read_bytes()
        faulty.write_at_most(7)
        locked.append(record("b"), sync=True)
        assert locked.path.read_bytes() == before + LINE

    def test_a_write_of_nothing_is_a_failure(self, locked: LockedLog, faulty: TornWrites) -> None:
        """A file system that takes no bytes and says nothing does not hang the host."""
        faulty.write_at_most(0)
        with pytest.raises(TranscriptError, match="no bytes"):
            locked.append(record("b"), sync=True)

    def test_what_cannot_be_taken_back_stands(
        self, locked: LockedLog, faulty: TornWrites, caplog: pytest.LogCaptureFixture
    ) -> None:
        """Written whole, not synced, not cut off: the next process reads it, so it counts here."""
        faulty.fail_method({"sync", "truncate"}, errno.EIO)
        with caplog.at_level(logging.WARNING, logger="toolbudget"):
            locked.append(record("b"), sync=True)
        assert isinstance(locked.ambiguous, OSError)
        assert str(locked.path) in caplog.text
        assert "Input/output error" in caplog.text
        assert locked.read_tail() == []
        assert load(locked.path.parent) == ["a", "b"]

    def test_a_torn_record_that_cannot_be_taken_back_does_not_count(
        self, locked: LockedLog, faulty: TornWrites
    ) -> None:
        """What is left of it is a torn line like any other."""
        faulty.tear_next_write(100)
        faulty.fail_method("truncate", errno.EIO)
        with pytest.raises(TranscriptError):
            locked.append(record("b"), sync=True)
        assert locked.ambiguous is None
        faulty.heal()
        locked.append(record("c"), sync=True)
        assert load(locked.path.parent) == ["a", "c"]

    def test_a_record_lacking_only_its_line_end_stands(
        self, locked: LockedLog, faulty: TornWrites
    ) -> None:
        """It is read like a whole one, so it counts like one."""
        faulty.tear_next_write(len(LINE) - 1)
        faulty.fail_method("truncate", errno.EIO)
        locked.append(record("b"), sync=True)
        assert isinstance(locked.ambiguous, OSError)
        assert load(locked.path.parent) == ["a", "b"]
        faulty.heal()
        assert locked.read_tail() == []
        locked.append(record("c"), sync=True)
        assert load(locked.path.parent) == ["a", "b", "c"]

    def test_bytes_of_others_are_never_cut_off(
        self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        """If a program without locks wrote behind the record, the record stands."""
        append(RecordLog(tmp_path, "s1"), "a")
        log = RecordLog(tmp_path, "s1")
        with log.locked() as locked:

            def write_behind_and_fail(_handle: int) -> None:
                with log.path.open("ab") as file:
                    file.write(MESSAGE)
                raise OSError(errno.EIO, "Input/output error")

            monkeypatch.setattr(type(POSIX), "sync", staticmethod(write_behind_and_fail))
            locked.append(record("b"), sync=True)
            assert isinstance(locked.ambiguous, OSError)
        monkeypatch.undo()
        assert load(tmp_path) == ["a", "b"]
        assert log.path.read_bytes().endswith(MESSAGE)

    def test_a_file_size_limit_leaves_no_tail(self, tmp_path: Path) -> None:
        """The kernel's own short write (RLIMIT_FSIZE) costs the record, not the file."""
        log = RecordLog(tmp_path, "s1")
        append(log, "a")
        before = log.path.read_bytes()
        soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
        resource.setrlimit(resource.RLIMIT_FSIZE, (len(before) + 50, hard))
        try:
            with pytest.raises(TranscriptError, match="too large"):
                append(log, "b")
        finally:
            resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))
        assert log.path.read_bytes() == before
        append(log, "c")
        assert load(tmp_path) == ["a", "c"]
