"""A result that comes in piece by piece: the same promises as for one that is put at once."""

from __future__ import annotations

import contextlib
import errno
import itertools
import tracemalloc
from typing import TYPE_CHECKING, Final

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.faults.model_crashes import crash_images, durable_image
from tests.faults.model_files import Crash, ModelFiles
from tests.faults.model_nodes import File
from tests.faults.model_rules import walk
from tests.layer.storage.conftest import unchanged_descriptors
from tests.layer.storage.faulty import FaultyFiles, UnsyncedFiles, without_unnamed_files
from tests.layer.storage.store_samples import digest_of, files_in, second_name
from toolbudget import DirectoryStore, MemoryStore
from toolbudget.errors import StoreError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable
    from pathlib import Path

    from toolbudget.storage._files import Durability, FileSystem
    from toolbudget.storage.store import StoredResult, StreamingStore

CHUNKS: Final = [b"line one\nline \xff", b"", b"two\r\n\0", b"\xb3\xc9"]
DATA: Final = b"".join(CHUNKS)
MAX_CALLS: Final = 200
MAKERS: Final = [FaultyFiles, without_unnamed_files]


def store_stream(store: StreamingStore, tool_use_id: str, chunks: Iterable[bytes]) -> StoredResult:
    """Store chunks as one result."""
    stream = store.open_stream(tool_use_id)
    try:
        for chunk in chunks:
            stream.write(chunk)
        return stream.commit()
    finally:
        stream.close()


@given(chunks=st.lists(st.binary(max_size=40), max_size=6))
def test_bytes_are_stored_as_they_came(
    tmp_path_factory: pytest.TempPathFactory, chunks: list[bytes]
) -> None:
    """Whatever the bytes and pieces are, the file holds them and the answer describes them."""
    directory = tmp_path_factory.mktemp("store") / "tool-results"
    data = b"".join(chunks)
    stored = store_stream(DirectoryStore(directory, durability="process"), "t1", chunks)
    assert (stored.size_bytes, stored.digest) == (len(data), digest_of(data))
    assert files_in(directory.parent) == {"tool-results/t1.txt": data}
    assert stored.is_new


@pytest.mark.parametrize("make", MAKERS)
def test_same_bytes_are_stored_once(results: Path, make: Callable[[], FaultyFiles]) -> None:
    """A replayed result finds its file; one put as text and one streamed are the same."""
    store = DirectoryStore(results, files=make().files)
    text = "same text \u65e5\n"
    store.put("t1", text)
    for cut in (0, 5, 12):
        stored = store_stream(store, "t1", [text.encode()[:cut], text.encode()[cut:]])
        assert not stored.is_new
    assert files_in(results) == {"t1.txt": text.encode()}


@pytest.mark.parametrize("make", MAKERS)
def test_other_bytes_get_another_name(results: Path, make: Callable[[], FaultyFiles]) -> None:
    """Nothing is overwritten, also where another one of that name is stored meanwhile."""
    faulty = make()
    store = DirectoryStore(results, files=faulty.files)
    other = DirectoryStore(results)
    for method in ("link_unnamed", "link"):
        faulty.before(method, lambda: other.put("t1", "TEXT"))
    stored = store_stream(store, "t1", CHUNKS)
    assert files_in(results) == {"t1.txt": b"TEXT", second_name("t1", DATA): DATA}
    assert store_stream(store, "t1", CHUNKS).path == stored.path
    assert [path.name for path in results.parent.iterdir()] == ["tool-results"]


@pytest.mark.parametrize("make", MAKERS)
def test_unfinished_stream_leaves_nothing(results: Path, make: Callable[[], FaultyFiles]) -> None:
    """Without a commit no file, name or descriptor stays."""
    store = DirectoryStore(results, files=make().files)
    with unchanged_descriptors():
        with store.open_stream("t1") as stream:
            stream.write(DATA)
            assert list(results.iterdir()) == []
        with pytest.raises(StoreError, match="stream is closed"):
            stream.write(b"more")
        with pytest.raises(StoreError, match="stream is closed"):
            stream.commit()
    assert files_in(results.parent) == {}


@pytest.mark.parametrize("make", MAKERS)
@pytest.mark.parametrize("error", [errno.EIO, errno.ENOENT, errno.EPERM])
@pytest.mark.parametrize("and_all_after", [False, True])
def test_fault_at_every_call(
    tmp_path: Path,
    make: Callable[[FileSystem], FaultyFiles],
    error: int,
    *,
    and_all_after: bool,
) -> None:
    """Whichever call fails, the result is whole under its name or it is told, and nothing leaks."""
    with unchanged_descriptors():
        for number in range(1, MAX_CALLS):
            session = tmp_path / str(number)
            faulty = make(UnsyncedFiles())
            faulty.fail_call(number, error, and_all_after=and_all_after)
            store = DirectoryStore(session / "tool-results", files=faulty.files)
            is_stored = False
            with contextlib.suppress(StoreError):
                is_stored = store_stream(store, "t1", CHUNKS).digest == digest_of(DATA)
            names = files_in(session) if session.exists() else {}
            left = {name for name in names if "/.tmp-" in f"/{name}"}
            assert not left or and_all_after
            assert all(names[name] == DATA for name in names.keys() - left)
            assert not is_stored or names.keys() - left
            if number > len(faulty.calls):
                assert is_stored
                return
    pytest.fail(f"it takes more than {MAX_CALLS} calls")


def test_full_disk_gives_the_room_back(results: Path) -> None:
    """When a write fails, what was written before is dropped at once and the error says why."""
    faulty = FaultyFiles()
    with unchanged_descriptors():
        stream = DirectoryStore(results, files=faulty.files).open_stream("t1")
        stream.write(b"one")
        faulty.fail_method("write", errno.ENOSPC)
        with pytest.raises(StoreError, match="No space left") as caught:
            stream.write(b"two")
    assert caught.value.errno == errno.ENOSPC
    assert list(results.iterdir()) == []


@pytest.mark.parametrize("make", MAKERS)
@pytest.mark.parametrize("moved", [True, False])
def test_vanished_directory_is_made_anew(
    results: Path, make: Callable[[], FaultyFiles], *, moved: bool
) -> None:
    """A folder removed or moved away while the result comes in: it lands where it is said to be."""
    store = DirectoryStore(results, files=make().files)
    stream = store.open_stream("t1")
    stream.write(DATA)
    if moved:
        results.rename(results.with_name("old"))
    else:
        results.rmdir()
    stored = stream.commit()
    assert stored.path == results / "t1.txt"
    assert files_in(results.parent) == {"tool-results/t1.txt": DATA}


@pytest.mark.parametrize("error", [errno.ENOENT, errno.EPERM, errno.EXDEV, errno.ENOSYS])
def test_unnamed_file_that_cannot_be_linked_is_copied(results: Path, error: int) -> None:
    """Where a policy forbids linking an unnamed file, a named one takes its place."""
    faulty = FaultyFiles()
    faulty.fail_method("link_unnamed", error)
    stored = store_stream(DirectoryStore(results, files=faulty.files), "t1", CHUNKS)
    assert stored.path.read_bytes() == DATA
    assert files_in(results.parent) == {"tool-results/t1.txt": DATA}


@pytest.mark.parametrize(
    ("durability", "syncs"), [("full", (1, True)), ("data", (1, False)), ("process", (0, False))]
)
def test_durability_is_that_of_the_store(
    results: Path, durability: Durability, syncs: tuple[int, bool]
) -> None:
    """The file is synced before it gets its name, the directory behind that."""
    faulty = FaultyFiles()
    store = DirectoryStore(results, durability=durability, files=faulty.files)
    store.put("t0", "so that all folders are there")
    faulty.calls.clear()
    store_stream(store, "t1", CHUNKS)
    calls = faulty.calls
    assert calls.count("sync") + calls.count("sync_data") == syncs[0]
    assert ("sync_directory" in calls[calls.index("link_unnamed") :]) == syncs[1]
    if syncs[0]:
        sync = next(index for index, call in enumerate(calls) if call in {"sync", "sync_data"})
        last_write = len(calls) - 1 - calls[::-1].index("write")
        assert last_write < sync < calls.index("link_unnamed")


@pytest.mark.parametrize("has_unnamed", [True, False])
def test_power_cut_leaves_the_whole_or_nothing(*, has_unnamed: bool) -> None:
    """At each step, whatever lasts: a name shows all bytes, and an answer means that it lasts."""
    for operation in itertools.count(1):
        files = ModelFiles(has_unnamed=has_unnamed)
        files.crash_at(operation)
        is_stored = False
        try:
            store = DirectoryStore("/home/session/tool-results", files=files)
            store_stream(store, "t1", CHUNKS)
            is_stored = True
        except Crash:
            pass
        for image in itertools.islice(crash_images(files), 200):
            assert stored_in(image) in {None, DATA}, operation
        assert stored_in(files.restarted()) in {None, DATA}, operation
        if is_stored:
            assert stored_in(durable_image(files)) == DATA
            return


def stored_in(files: ModelFiles) -> bytes | None:
    """Return what stands under the result's name."""
    try:
        node = walk(files.top, "/home/session/tool-results/t1.txt")
    except OSError:
        return None
    assert isinstance(node, File)
    return node.content


def test_memory_does_not_grow_with_the_result(results: Path) -> None:
    """32 MB in pieces take no more than a few pieces, also when they are found to be there."""
    store = DirectoryStore(results, durability="process")
    chunk = b"x" * (1 << 16)
    for _ in range(2):
        tracemalloc.start()
        try:
            store_stream(store, "t1", itertools.repeat(chunk, 512))
            assert tracemalloc.get_traced_memory()[1] < 8 << 20
        finally:
            tracemalloc.stop()


def test_memory_store_streams_by_the_same_rules() -> None:
    """A dry run gives the same names, and nothing is overwritten."""
    store = MemoryStore()
    assert store_stream(store, "t1", CHUNKS).is_new
    assert not store_stream(store, "t1", [DATA]).is_new
    store_stream(store, "t1", [b"other"])
    with store.open_stream("t2") as stream:
        stream.write(b"never committed")
    assert set(store.contents.values()) == {DATA, b"other"}
