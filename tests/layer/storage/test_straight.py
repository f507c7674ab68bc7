"""The short way of plain texts stores as single calls would, and leaves them what it cannot."""

from __future__ import annotations

import errno
import os
import resource
import stat
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.layer.storage.conftest import unchanged_descriptors
from tests.layer.storage.store_samples import BLOCKS, TEXT, digest_of, files_in
from tests.layer.storage.test_store_faults import descriptors_up_to, limited
from tests.strategies import any_text
from toolbudget import _core
from toolbudget.errors import StoreError
from toolbudget.storage import _straight
from toolbudget.storage._files import POSIX, PosixFileSystem
from toolbudget.storage._straight import place_straight
from toolbudget.storage.encoding import encode_content
from toolbudget.storage.store import DirectoryStore, StoredResult

if TYPE_CHECKING:
    from collections.abc import Callable

    from toolbudget.storage.store import Content

pytestmark = pytest.mark.usefixtures("no_leaked_descriptors")

needs_native = pytest.mark.skipif(_core.NAME != "native", reason="only the native core has it")


class SingleCalls(PosixFileSystem):
    """The real file system, but not exactly that class: so it is asked call by call."""


def put_all(
    root: Path, files: PosixFileSystem, items: list[tuple[str, Content]], planted: dict[str, bytes]
) -> tuple[list[tuple[str, int, str, bool] | str], dict[str, bytes]]:
    """Store a batch beside files that are there already; tell the outcomes and all files."""
    results = root / "tool-results"
    results.mkdir(mode=0o700)
    for name, data in planted.items():
        (results / name).write_bytes(data)
    outcomes = DirectoryStore(results, durability="process", files=files).put_many(items)
    told = [
        (outcome.path.name, outcome.size_bytes, outcome.digest, outcome.is_new)
        if isinstance(outcome, StoredResult)
        else str(outcome).replace(str(results), "")
        for outcome in outcomes
    ]
    return told, files_in(results)


texts: st.SearchStrategy[Content] = st.one_of(
    any_text(),
    st.sampled_from(["", "one", "two", "é", TEXT, "x" * 70_000, "\ud800" * 9, "日" * 300_000]),
    any_text().map(lambda text: [{"type": "text", "text": text}]),
    st.sampled_from([BLOCKS, [{"type": "text", "text": float("nan")}], []]),
)
ids = st.sampled_from(["a", "b", "A", "../c", "d"])


@settings(max_examples=60)
@given(
    items=st.lists(st.tuples(ids, texts), max_size=8),
    planted=st.dictionaries(st.sampled_from(["a.txt", "b.txt", "d.txt"]), st.binary(max_size=4)),
    again=st.booleans(),
)
def test_it_stores_what_single_calls_store(
    items: list[tuple[str, Content]], planted: dict[str, bytes], *, again: bool
) -> None:
    """Names, sizes, digests, errors and bytes are the same, whatever stands there before."""
    if again:
        stored = {
            f"{tool_use_id}.txt": b"".join(encode_content(content))
            for tool_use_id, content in items
            if isinstance(content, str) and "/" not in tool_use_id
        }
        planted = planted | stored
    with tempfile.TemporaryDirectory() as one, tempfile.TemporaryDirectory() as other:
        straight = put_all(Path(one), POSIX, items, planted)
        assert straight == put_all(Path(other), SingleCalls(), items, planted)


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """Give an existing folder of results."""
    results = tmp_path / "tool-results"
    results.mkdir(mode=0o700)
    return results


def store_in(folder: Path) -> DirectoryStore:
    """Give a store of the level that waits for no disk."""
    return DirectoryStore(folder, durability="process")


def left_of(folder: Path, *items: tuple[str, Content]) -> list[str]:
    """Send texts the short way; give the names of those that are left."""
    handle = POSIX.open_root(str(folder))
    try:
        placed = place_straight(POSIX, items, results=handle)
    finally:
        POSIX.close(handle)
    names = [f"{tool_use_id}.txt" for tool_use_id, _ in items]
    pairs = list(zip(names, placed, strict=True))
    assert all(found[0] == name for name, found in pairs if found is not None)
    return [name for name, found in pairs if found is None]


@needs_native
def test_files_that_share_a_buffer_are_each_compared_by_their_own_bytes(folder: Path) -> None:
    """S4: what an earlier, longer file left in the buffer counts for no later one."""
    long, part = "x" * 100_000, "x" * 40_000
    (folder / "first.txt").write_text(long)
    (folder / "beginning.txt").write_text("y" + part[1:])
    (folder / "end.txt").write_text(part[1:] + "y")
    (folder / "same.txt").write_text(part)
    items: list[tuple[str, Content]] = [
        ("first", long),
        ("beginning", part),
        ("end", part),
        ("same", part),
    ]
    assert left_of(folder, *items) == ["beginning.txt", "end.txt"]


@needs_native
def test_plain_texts_go_straight(folder: Path) -> None:
    """New texts and those that are there take the short way, other names and blocks do not."""
    (folder / "other.txt").write_bytes(b"other bytes")
    texts_to_store: list[tuple[str, Content]] = [
        ("ascii", "text"),
        ("other", "text"),
        ("empty", ""),
        ("wide", "日本" * 10),
        ("ascii", "again"),
        ("blocks", BLOCKS),
        ("last", "text"),
    ]
    assert left_of(folder, *texts_to_store) == ["other.txt", "ascii.txt", "blocks.txt"]
    assert left_of(folder, *texts_to_store) == ["other.txt", "ascii.txt", "blocks.txt"]
    assert files_in(folder) == {
        "ascii.txt": b"text",
        "other.txt": b"other bytes",
        "empty.txt": b"",
        "wide.txt": ("日本" * 10).encode(),
        "last.txt": b"text",
    }


def test_texts_of_more_bytes_than_may_wait_are_stored(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Encoded texts go in several calls, each of which counts."""
    monkeypatch.setattr(_straight, "_MAX_WAITING_BYTES", 10)
    items = [(f"t{number}", "日" * number) for number in range(9)]
    outcomes = store_in(folder).put_many(items)
    assert [type(outcome) for outcome in outcomes] == [StoredResult] * len(items)
    assert files_in(folder) == {f"{name}.txt": text.encode() for name, text in items}


@pytest.mark.parametrize("mask", [0, 0o777])
def test_files_are_private_under_any_umask(
    folder: Path, umask: Callable[[int], None], mask: int
) -> None:
    """Mode 0600 does not depend on the umask of the host."""
    umask(mask)
    stored = store_in(folder).put("t1", "text")
    assert stat.S_IMODE(stored.path.stat().st_mode) == 0o600


@pytest.mark.parametrize("kind", ["link", "dangling link", "FIFO", "folder", "twin"])
def test_what_stands_under_a_name_is_neither_followed_nor_changed(folder: Path, kind: str) -> None:
    """A planted object is passed by, also if it leads to exactly the bytes to be stored."""
    planted, outside = folder / "t1.txt", folder.parent / "outside.txt"
    outside.write_bytes(b"text")
    if kind == "FIFO":
        os.mkfifo(planted)
    elif kind == "folder":
        planted.mkdir()
    elif kind == "twin":
        planted.write_bytes(b"TEXT")
    else:
        planted.symlink_to(outside if kind == "link" else folder / "nowhere")
    before = planted.lstat()
    stored = store_in(folder).put("t1", "text")
    assert stored.path.name == f"t1-{digest_of(b'text')}.txt"
    assert stored.path.read_bytes() == b"text"
    assert planted.lstat()[:8] == before[:8]


def test_a_file_that_is_cut_short_gets_no_name(folder: Path) -> None:
    """A failed write is told with the system's reason, and nothing of the text is left."""
    items: list[tuple[str, Content]] = [("t1", "a" * 900), ("t2", "b" * 9_000), ("t3", "c")]
    with limited(resource.RLIMIT_FSIZE, 1_000):
        outcomes = store_in(folder).put_many(items)
    assert [getattr(outcome, "errno", None) for outcome in outcomes] == [None, errno.EFBIG, None]
    assert sorted(files_in(folder.parent)) == ["tool-results/t1.txt", "tool-results/t3.txt"]


@pytest.mark.parametrize("spare", range(5))
def test_without_descriptors_a_text_is_stored_or_fails(folder: Path, spare: int) -> None:
    """The limit of open files costs no bytes and no descriptor."""
    store = store_in(folder)
    with unchanged_descriptors():
        with limited(resource.RLIMIT_NOFILE, descriptors_up_to(spare)):
            outcomes = store.put_many([("t1", "text one"), ("t2", "text two")])
        assert {isinstance(outcome, StoredResult) for outcome in outcomes} == {spare >= 3}
        assert all(
            outcome.errno == errno.EMFILE for outcome in outcomes if isinstance(outcome, StoreError)
        )
        assert len(files_in(folder)) == (2 if spare >= 3 else 0)


@needs_native
def test_a_defect_of_the_short_way_costs_no_result(folder: Path) -> None:
    """If the native code panics, single calls store the texts."""
    from toolbudget._core import _native

    _native._panic_after(1)
    stored = store_in(folder).put("t1", "text")
    assert _native._panic_after(0) == 0
    assert stored.path.read_bytes() == b"text"
