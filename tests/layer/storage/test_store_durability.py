from __future__ import annotations

import errno
import threading
from typing import TYPE_CHECKING

import pytest

from tests.layer.storage.faulty import FaultyFiles, without_unnamed_files
from tests.layer.storage.store_samples import (
    TEXT,
    TEXT_BYTES,
    files_in,
    second_name,
)
from toolbudget.errors import StoreError
from toolbudget.storage._files import POSIX
from toolbudget.storage.store import (
    DirectoryStore,
    StoredResult,
)

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from toolbudget.storage._files import Durability

pytestmark = pytest.mark.usefixtures("no_leaked_descriptors")


class TestDurability:
    """What is synced, in which order, and what follows when a sync fails."""

    @pytest.mark.parametrize(
        ("durability", "syncs"),
        [
            ("full", {"sync": 3, "sync_data": 0, "sync_directory": 1}),
            ("data", {"sync": 0, "sync_data": 3, "sync_directory": 0}),
            ("process", {"sync": 0, "sync_data": 0, "sync_directory": 0}),
        ],
    )
    def test_level_says_what_is_synced(
        self, results: Path, durability: Durability, syncs: dict[str, int]
    ) -> None:
        """In a batch each file is synced once, and the directory once for all."""
        faulty = FaultyFiles()
        store = DirectoryStore(results, durability=durability, files=faulty.files)
        store.put("t0", "the directory is there now")
        faulty.calls.clear()
        store.put_many([(f"t{number}", f"text {number}") for number in range(1, 4)])
        assert {name: faulty.count(name) for name in syncs} == syncs

    @pytest.mark.parametrize("make", [FaultyFiles, without_unnamed_files])
    def test_name_comes_after_the_bytes_and_before_its_own_sync(
        self, results: Path, make: Callable[[], FaultyFiles]
    ) -> None:
        """Bytes are safe before a name shows them, and the name is safe at the end."""
        faulty = make()
        store = DirectoryStore(results, files=faulty.files)
        store.put("t0", "the directory is there now")
        faulty.calls.clear()
        store.put("t1", TEXT)
        order = [call for call in faulty.calls if call in {"write", "sync", "sync_directory"}]
        links = [number for number, call in enumerate(faulty.calls) if call.startswith("link")]
        assert order == ["write", "sync", "sync_directory"]
        assert faulty.calls.index("sync") < links[0] < faulty.calls.index("sync_directory")

    def test_directories_of_another_are_synced_once(self, results: Path) -> None:
        """Who made them may have died before doing so; afterwards it is known."""
        results.mkdir(parents=True)
        faulty = FaultyFiles()
        store = DirectoryStore(results, files=faulty.files, anchor=results.parents[1])
        store.put("t1", "one")
        names_above = 3
        assert faulty.count("sync_directory") == names_above + 1
        store.put("t2", "two")
        assert faulty.count("sync_directory") == names_above + 2

    def test_file_of_another_is_synced_before_it_counts(self, results: Path) -> None:
        """A file that is only in the other process's memory is not taken for durable."""
        DirectoryStore(results, durability="process").put("t1", TEXT)
        faulty = FaultyFiles()
        DirectoryStore(results, files=faulty.files).put("t1", TEXT)
        assert faulty.count("sync") == 1
        assert faulty.calls.index("sync") < len(faulty.calls) - 1 - faulty.calls[::-1].index(
            "sync_directory"
        )

    @pytest.mark.parametrize("method", ["sync", "sync_directory"])
    @pytest.mark.parametrize("is_there", [False, True])
    def test_failed_sync_is_never_repeated_on_the_same_file(
        self, results: Path, method: str, *, is_there: bool
    ) -> None:
        """After a failed sync the kernel may report success for lost bytes: a new file is made."""
        if is_there:
            DirectoryStore(results, durability="process").put("t1", TEXT)
        faulty = FaultyFiles()
        store = DirectoryStore(results, files=faulty.files)
        store.put("t0", "the directory is there now")
        faulty.fail_method(method, errno.EIO, times=1)
        with pytest.raises(StoreError, match="Input/output error"):
            store.put("t1", TEXT)
        doubtful = {path.stat().st_ino for path in results.glob("t1*")}
        again = store.put("t1", TEXT)
        assert again.path.stat().st_ino not in doubtful
        assert again.path.read_bytes() == TEXT_BYTES

    def test_failed_sync_of_a_file_found_at_the_link_is_remembered(self, results: Path) -> None:
        """A twin that appeared meanwhile and cannot be synced is not relied on either."""
        faulty = FaultyFiles()
        store = DirectoryStore(results, files=faulty.files)
        store.put("t0", "the directory is there now")

        def be_faster() -> None:
            (results / "t1.txt").write_bytes(TEXT_BYTES)
            faulty.fail_method("sync", errno.EIO, times=1)

        faulty.before("link_unnamed", be_faster)
        with pytest.raises(StoreError):
            store.put("t1", TEXT)
        assert store.put("t1", TEXT).path.name == second_name("t1", TEXT_BYTES)

    def test_failed_sync_of_one_file_is_its_own(self, results: Path) -> None:
        """The others of the batch are stored."""
        faulty = FaultyFiles()
        faulty.fail_method("sync", errno.EIO, times=1)
        items = [(f"t{number}", f"text {number}") for number in range(5)]
        outcomes = DirectoryStore(results, files=faulty.files).put_many(items)
        failed = [isinstance(outcome, StoreError) for outcome in outcomes]
        assert failed.count(True) == 1
        stored = {f"{name}.txt": text.encode() for name, text in items}
        del stored[f"t{failed.index(True)}.txt"]
        assert files_in(results) == stored

    def test_batch_is_synced_in_parallel(self, results: Path) -> None:
        """All files of a batch wait for the disk at the same time."""
        together = threading.Barrier(4, timeout=10)
        faulty = FaultyFiles()
        sync = faulty.files.sync

        def sync_together(handle: int) -> None:
            together.wait()
            sync(handle)

        faulty.sync = sync_together  # type: ignore[attr-defined]
        items = [(f"t{number}", f"text {number}") for number in range(4)]
        outcomes = DirectoryStore(results, files=faulty.files).put_many(items)
        assert all(isinstance(outcome, StoredResult) for outcome in outcomes)

    def test_no_file_gets_its_name_before_all_are_synced(self, results: Path) -> None:
        """The slowest sync of a batch is waited for."""
        is_slow = threading.Event()
        faulty = FaultyFiles()
        finished: list[int] = []
        finished_at_link: list[int] = []

        def sync(handle: int) -> None:
            if threading.current_thread() is not threading.main_thread():
                is_slow.wait(0.05)
            finished.append(handle)

        def link_unnamed(handle: int, name: str, *, parent: int) -> None:
            finished_at_link.append(len(finished))
            POSIX.link_unnamed(handle, name, parent=parent)

        faulty.sync = sync  # type: ignore[attr-defined]
        faulty.link_unnamed = link_unnamed  # type: ignore[attr-defined]
        store = DirectoryStore(results, files=faulty.files)
        store.put_many([(f"t{number}", TEXT) for number in range(3)])
        assert finished_at_link == [3, 3, 3]

    def test_single_result_starts_no_thread(
        self, results: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        """One file is synced by its caller."""

        def refuse(_thread: threading.Thread) -> None:
            pytest.fail("a thread was started")

        monkeypatch.setattr(threading.Thread, "start", refuse)
        DirectoryStore(results).put("t1", TEXT)

    def test_batch_is_synced_without_threads_too(
        self, results: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        """A system that is out of threads only takes longer."""

        def refuse(_thread: threading.Thread) -> None:
            raise RuntimeError("can't start new thread")

        monkeypatch.setattr(threading.Thread, "start", refuse)
        faulty = FaultyFiles()
        DirectoryStore(results, files=faulty.files).put_many([("t1", "one"), ("t2", "two")])
        assert faulty.count("sync") == 2
        assert len(files_in(results)) == 2

    @pytest.mark.parametrize("count", [1, 3])
    def test_interrupt_during_a_sync_reaches_the_caller(self, results: Path, count: int) -> None:
        """An interrupt is not taken for a failure of the disk, and leaves nothing behind."""
        faulty = FaultyFiles()

        def interrupt(_handle: int) -> None:
            raise KeyboardInterrupt

        faulty.sync = interrupt  # type: ignore[attr-defined]
        store = DirectoryStore(results, files=faulty.files)
        with pytest.raises(KeyboardInterrupt):
            store.put_many([(f"t{number}", TEXT) for number in range(count)])
        assert files_in(results.parent) == {}
