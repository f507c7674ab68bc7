"""Every call of the write path fails once, or from there on, and nothing is lost or left over."""

from __future__ import annotations

import errno
import os
import resource
import subprocess
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import pytest

from tests.layer.storage.conftest import unchanged_descriptors
from tests.layer.storage.faulty import FaultyFiles, UnsyncedFiles, without_unnamed_files
from toolbudget.errors import StoreError
from toolbudget.storage.store import DirectoryStore, StoredResult

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

    from toolbudget.storage._files import Durability, FileSystem
    from toolbudget.storage.store import Content

    Unprivileged = Callable[[Callable[[], Any]], Any]

MAX_CALLS = 200
# One of each kind: a bad disk, no room, nothing left to open with, a vanished directory, a refusal.
ERRORS = [errno.EIO, errno.ENOSPC, errno.EMFILE, errno.ENOENT, errno.EPERM]
ITEMS: list[tuple[str, Content]] = [
    ("t1", "text one"),
    ("t2", [{"type": "text", "text": "two"}, {"type": "text", "text": "blocks"}]),
    ("t1", "text one"),
    ("t1", "same id, other text"),
]
STORED = [
    b"text one",
    b'[{"type":"text","text":"two"},{"type":"text","text":"blocks"}]',
    b"text one",
    b"same id, other text",
]


@dataclass
class Scenario:
    """What is there before the fault."""

    name: str
    prepare: Callable[[DirectoryStore], object]


SCENARIOS = [
    Scenario("nothing there", lambda _store: None),
    Scenario("directory there", lambda store: store.put("t0", "text zero")),
    Scenario("same bytes there", lambda store: store.put_many(ITEMS)),
    Scenario("other bytes there", lambda store: store.put("t1", "TEXT ONE")),
]
ALLOWED = {b"text zero", b"TEXT ONE", *STORED}


@pytest.fixture
def results(tmp_path: Path) -> Path:
    """Give the folder of the results of a session that does not exist yet."""
    return tmp_path / "session" / "tool-results"


def check_files(results: Path, *, is_leftover_allowed: bool = False) -> None:
    """Fail if a name shows a part of a content, or if anything but results was left over."""
    files = [path for path in results.parent.rglob("*") if not path.is_dir()]
    for path in files:
        is_leftover = path.parent == results.parent and path.name.startswith(".tmp-")
        assert path.parent == results or (is_leftover and is_leftover_allowed), path
        assert is_leftover or path.read_bytes() in ALLOWED, path


def check_outcomes(outcomes: list[StoredResult | StoreError], *, is_all_stored: bool) -> None:
    """Fail if an outcome is neither an error nor a file with exactly the right bytes."""
    for outcome, expected in zip(outcomes, STORED, strict=True):
        if isinstance(outcome, StoredResult):
            assert outcome.path.read_bytes() == expected
        else:
            assert isinstance(outcome, StoreError)
            assert not is_all_stored, outcome


@pytest.mark.parametrize("scenario", SCENARIOS, ids=lambda scenario: scenario.name)
@pytest.mark.parametrize("make", [FaultyFiles, without_unnamed_files], ids=["unnamed", "named"])
@pytest.mark.parametrize("and_all_after", [False, True], ids=["once", "sticky"])
@pytest.mark.parametrize(
    ("durability", "error"),
    [("process", errno.EIO), *(("full", error) for error in ERRORS)],
    ids=lambda value: errno.errorcode.get(value, value),
)
def test_fault_at_every_call(
    tmp_path: Path,
    scenario: Scenario,
    durability: Durability,
    make: Callable[[FileSystem], FaultyFiles],
    error: int,
    *,
    and_all_after: bool,
) -> None:
    """Whichever call fails, what is stored is whole and the rest told; the next try succeeds."""
    for number in range(1, MAX_CALLS):
        results = tmp_path / str(number) / "session" / "tool-results"
        scenario.prepare(DirectoryStore(results, durability=durability, files=UnsyncedFiles()))
        faulty = make(UnsyncedFiles())
        faulty.fail_call(number, error, and_all_after=and_all_after)
        store = DirectoryStore(
            results, durability=durability, files=faulty.files, anchor=results.parents[1]
        )
        with unchanged_descriptors():
            check_outcomes(store.put_many(ITEMS), is_all_stored=False)
            check_files(results, is_leftover_allowed=and_all_after and make is not FaultyFiles)
            calls = len(faulty.calls)
            faulty.heal()
            if make is without_unnamed_files:
                faulty.fail_method("create_unnamed", errno.EOPNOTSUPP)
            check_outcomes(store.put_many(ITEMS), is_all_stored=True)
            check_files(results, is_leftover_allowed=and_all_after and make is not FaultyFiles)
        if number > calls:
            return
    pytest.fail(f"the batch takes more than {MAX_CALLS} calls")


@pytest.mark.parametrize("make", [FaultyFiles, without_unnamed_files], ids=["unnamed", "named"])
@pytest.mark.parametrize(
    "method",
    ["open_file", "create_unnamed", "create_exclusive", "write", "status", "sync", "read", "close"],
)
def test_fault_of_one_item_leaves_the_others_alone(
    results: Path, make: Callable[[], FaultyFiles], method: str
) -> None:
    """In a batch, each failure belongs to one result."""
    DirectoryStore(results).put("t1", "text 1")
    faulty = make()
    store = DirectoryStore(results, files=faulty.files)
    store.put("t0", "text zero")
    # From when the directories are open: those are the whole batch's.
    faulty.before("open_file", lambda: faulty.fail_method(method, errno.EIO, times=1))
    items = [(f"t{number}", f"text {number}") for number in range(1, 6)]
    outcomes = store.put_many(items)
    failed = [outcome for outcome in outcomes if isinstance(outcome, StoreError)]
    assert len(failed) <= 1
    for (_, text), outcome in zip(items, outcomes, strict=True):
        if isinstance(outcome, StoredResult):
            assert outcome.path.read_text() == text


def test_failure_told_at_closing_counts(results: Path) -> None:
    """Network file systems tell a failed write only then, and it is not too late for it."""
    faulty = without_unnamed_files()
    store = DirectoryStore(results, durability="process", files=faulty.files)
    faulty.before("write", lambda: faulty.fail_method("close", errno.EDQUOT, times=1))
    with pytest.raises(StoreError) as caught:
        store.put("t1", "text one")
    assert caught.value.errno == errno.EDQUOT
    assert list(results.iterdir()) == []


def test_short_writes_are_continued(results: Path) -> None:
    """However little each write takes, the file is whole."""
    faulty = FaultyFiles()
    faulty.write_at_most(3)
    assert DirectoryStore(results, files=faulty.files).put("t1", "text one").path.read_text() == (
        "text one"
    )


def test_vanished_directory_is_made_anew(results: Path) -> None:
    """A sweeper that removes the folder between two turns, or within one, costs nothing."""
    faulty = FaultyFiles()
    store = DirectoryStore(results, files=faulty.files)
    store.put("t1", "text one")

    def remove() -> None:
        for path in results.iterdir():
            path.unlink()
        results.rmdir()

    remove()
    assert store.put("t1", "text one").is_new
    for method in ("open_file", "create_unnamed", "link_unnamed"):
        faulty.calls.clear()
        faulty.before(method, remove)
        stored = store.put(method, "text two")
        assert stored.is_new
        assert stored.path.read_text() == "text two"
        assert list(results.iterdir()) == [stored.path]
        assert faulty.count("link_unnamed") + faulty.count("link") <= 2


def test_vanished_session_is_made_anew(results: Path) -> None:
    """The folders above are made again as well."""
    faulty = FaultyFiles()
    store = DirectoryStore(results, files=faulty.files, anchor=results.parents[1])

    def remove() -> None:
        results.rmdir()
        results.parent.rmdir()

    faulty.before("create_unnamed", remove)
    assert store.put("t1", "text one").path.read_text() == "text one"


@pytest.mark.parametrize("error", [errno.ENOENT, errno.EPERM, errno.EXDEV, errno.ENOSYS])
def test_unnamed_file_that_cannot_be_linked_is_replaced(results: Path, error: int) -> None:
    """Without /proc, or where a policy forbids it, a named file takes the unnamed one's place."""
    faulty = FaultyFiles()
    faulty.fail_method("link_unnamed", error)
    stored = DirectoryStore(results, files=faulty.files).put("t1", "text one")
    assert stored.path.read_text() == "text one"
    assert [path.name for path in results.parent.iterdir()] == ["tool-results"]


def test_file_system_without_hard_links_stores_nothing(results: Path) -> None:
    """Where no link is possible, the failure is told: overwriting is never the way out."""
    faulty = FaultyFiles()
    faulty.fail_method(["link", "link_unnamed"], errno.EPERM)
    with pytest.raises(StoreError) as caught:
        DirectoryStore(results, files=faulty.files).put("t1", "text one")
    assert caught.value.errno == errno.EPERM
    assert [path.name for path in results.parent.iterdir()] == ["tool-results"]
    assert list(results.iterdir()) == []


def test_read_only_directory_is_told(
    results: Path, unprivileged: Unprivileged, request: pytest.FixtureRequest
) -> None:
    """A folder that may not be written to fails the store, but not what is there already."""
    store = DirectoryStore(results)
    store.put("t1", "text one")
    results.chmod(0o500)
    request.addfinalizer(lambda: results.chmod(0o700))
    first, second = unprivileged(lambda: store.put_many([("t1", "text one"), ("t2", "text two")]))
    assert isinstance(first, StoredResult)
    assert isinstance(second, StoreError)
    assert second.errno == errno.EACCES
    assert str(second).endswith("Permission denied")
    check_files(results)


def test_directory_that_is_a_file_is_told(results: Path) -> None:
    """A file in the folder's place stays as it is."""
    results.parent.mkdir()
    results.write_bytes(b"not a folder")
    with pytest.raises(StoreError, match="Not a directory"):
        DirectoryStore(results).put("t1", "text one")
    assert results.read_bytes() == b"not a folder"


@contextmanager
def limited(kind: int, soft_limit: int) -> Iterator[None]:
    """Lower a limit of this process for a while."""
    before, hard_limit = resource.getrlimit(kind)
    resource.setrlimit(kind, (soft_limit, hard_limit))
    try:
        yield
    finally:
        resource.setrlimit(kind, (before, hard_limit))


def descriptors_up_to(spare: int) -> int:
    """Give the limit under which so many more files can be opened: open ones may leave gaps."""
    handles = [os.open(os.devnull, os.O_RDONLY) for _ in range(spare + 1)]
    for handle in handles:
        os.close(handle)
    return handles[-1]


@pytest.mark.parametrize("make", [FaultyFiles, without_unnamed_files], ids=["unnamed", "named"])
def test_file_size_limit_is_told(results: Path, make: Callable[[], FaultyFiles]) -> None:
    """A file cut short by a limit never gets its name."""
    store = DirectoryStore(results, files=make().files)
    store.put("t0", "text zero")
    with limited(resource.RLIMIT_FSIZE, 1_000), pytest.raises(StoreError) as caught:
        store.put("t1", "x" * 10_000)
    assert caught.value.errno == errno.EFBIG
    check_files(results)


@pytest.mark.parametrize("spare", range(8))
def test_running_out_of_descriptors_is_told(results: Path, spare: int) -> None:
    """With few descriptors left a result is stored or fails, and none of them is lost."""
    store = DirectoryStore(results)
    with unchanged_descriptors():
        with limited(resource.RLIMIT_NOFILE, descriptors_up_to(spare)):
            [outcome] = store.put_many([("t1", "text one")])
        assert isinstance(outcome, StoredResult) is (spare >= 3)
        assert isinstance(outcome, StoredResult) or outcome.errno == errno.EMFILE
        check_files(results)
        assert store.put("t1", "text one").path.read_text() == "text one"


def test_batch_makes_do_with_few_descriptors(results: Path) -> None:
    """A batch takes what there is: as few as for a single result are enough."""
    items = [(f"t{number}", f"text {number}") for number in range(20)]
    store = DirectoryStore(results)
    store.put("t0", "text 0")
    with limited(resource.RLIMIT_NOFILE, descriptors_up_to(4)):
        outcomes = store.put_many(items)
    assert all(isinstance(outcome, StoredResult) for outcome in outcomes)
    assert len(list(results.iterdir())) == len(items)


@pytest.fixture
def small_disk(tmp_path: Path) -> Iterator[Path]:
    """Give a file system of 256 KiB and 16 inodes."""
    disk = tmp_path / "disk"
    disk.mkdir()
    options = "size=256k,nr_inodes=16"
    mounted = subprocess.run(
        ["mount", "-t", "tmpfs", "-o", options, "tmpfs", str(disk)],  # noqa: S607
        check=False,
        capture_output=True,
    )
    if mounted.returncode != 0:
        pytest.skip("file systems cannot be mounted here")
    yield disk
    subprocess.run(["umount", str(disk)], check=True)  # noqa: S607


@pytest.mark.parametrize("make", [FaultyFiles, without_unnamed_files], ids=["unnamed", "named"])
def test_full_disk_is_told(small_disk: Path, make: Callable[[], FaultyFiles]) -> None:
    """What has no room fails with the reason, the rest is stored, and room freed is used again."""
    results = small_disk / "session" / "tool-results"
    store = DirectoryStore(results, files=make().files)
    items = [("t1", "a" * 100_000), ("t2", "b" * 200_000), ("t3", "c" * 50_000)]
    first, second, third = store.put_many(items)
    assert isinstance(first, StoredResult)
    assert isinstance(second, StoreError)
    assert isinstance(third, StoredResult)
    assert second.errno == errno.ENOSPC
    assert str(second).endswith("No space left on device")
    assert sorted(path.name for path in results.iterdir()) == ["t1.txt", "t3.txt"]
    assert [path.name for path in results.parent.iterdir()] == ["tool-results"]
    first.path.unlink()
    assert store.put("t2", "b" * 200_000).path.stat().st_size == 200_000


@pytest.mark.parametrize("make", [FaultyFiles, without_unnamed_files], ids=["unnamed", "named"])
def test_disk_without_inodes_is_told(small_disk: Path, make: Callable[[], FaultyFiles]) -> None:
    """Files that cannot be created fail, and those before them stay."""
    results = small_disk / "session" / "tool-results"
    store = DirectoryStore(results, files=make().files)
    # One by one: on tmpfs the second name of a file takes an inode too.
    outcomes = [
        outcome
        for number in range(20)
        for outcome in store.put_many([(f"t{number}", f"text {number}")])
    ]
    stored = [outcome for outcome in outcomes if isinstance(outcome, StoredResult)]
    failed = [outcome for outcome in outcomes if isinstance(outcome, StoreError)]
    assert stored
    assert failed
    assert {failure.errno for failure in failed} == {errno.ENOSPC}
    assert sorted(path.name for path in results.iterdir()) == sorted(
        outcome.path.name for outcome in stored
    )
    assert [path.name for path in results.parent.iterdir()] == ["tool-results"]
