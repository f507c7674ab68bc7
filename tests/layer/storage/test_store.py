from __future__ import annotations

import errno
import json
import math
import subprocess
import sys
import threading
import tracemalloc
from typing import TYPE_CHECKING, Any, cast

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.layer.storage.faulty import FaultyFiles
from tests.layer.storage.store_samples import (
    BLOCKS,
    TEXT,
    TEXT_BYTES,
    digest_of,
    files_in,
    second_name,
)
from tests.strategies import any_text, hostile_text
from toolbudget.errors import StoreError
from toolbudget.storage._files import POSIX
from toolbudget.storage.names import collision_name
from toolbudget.storage.store import (
    DirectoryStore,
    MemoryStore,
    StoredResult,
    get_tool_result_path,
    persist_tool_result,
)

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from toolbudget.storage.store import Content, ResultStore

pytestmark = pytest.mark.usefixtures("no_leaked_descriptors")


class TestStoring:
    """Every result is kept byte for byte and found again by its id."""

    def test_text_is_stored_byte_for_byte(self, results: Path) -> None:
        """The file holds the exact text, and the outcome describes it."""
        stored = DirectoryStore(results).put("toolu_1", TEXT)
        assert stored == StoredResult(
            path=results / "toolu_1.txt",
            size_bytes=len(TEXT_BYTES),
            digest=digest_of(TEXT_BYTES),
            shown_path=str(results / "toolu_1.txt"),
            is_new=True,
        )
        assert files_in(results) == {"toolu_1.txt": TEXT_BYTES}

    def test_one_text_block_is_stored_as_its_text(self, results: Path) -> None:
        """A file of one text can be searched and paged by lines."""
        text = 20_000 * "l1\nl2\n"
        content = [{"type": "text", "text": text, "cache_control": {"type": "ephemeral"}}]
        stored = DirectoryStore(results).put("t1", content)
        assert stored.path.name == "t1.txt"
        assert stored.path.read_text() == text

    def test_several_blocks_are_stored_as_json(self, results: Path) -> None:
        """Nothing of a block list is lost."""
        stored = DirectoryStore(results).put("t1", BLOCKS)
        assert stored.path.name == "t1.json"
        assert json.loads(stored.path.read_bytes()) == BLOCKS
        assert stored.digest == digest_of(stored.path.read_bytes())

    def test_nothing_is_touched_before_the_first_result(self, results: Path) -> None:
        """A session without large results leaves no folder."""
        store = DirectoryStore(results)
        assert store.directory == results
        store.expected_shown_path("t1", is_json=True)
        assert store.put_many([]) == []
        assert not results.parent.parent.exists()

    def test_batch_keeps_order_and_ids(self, results: Path) -> None:
        """The outcomes stand in the order of the items, also with an id given twice."""
        items: list[tuple[str, Content]] = [
            ("b", "text b"),
            ("a", "text a"),
            ("b", "text b"),
            ("b", "other"),
            ("c", BLOCKS),
        ]
        outcomes = DirectoryStore(results).put_many(items)
        names = [outcome.path.name for outcome in outcomes if isinstance(outcome, StoredResult)]
        assert names == ["b.txt", "a.txt", "b.txt", second_name("b", b"other"), "c.json"]
        assert [getattr(outcome, "is_new", None) for outcome in outcomes] == [
            *(True, True, False, True, True)
        ]
        assert files_in(results)[second_name("b", b"other")] == b"other"

    def test_batch_may_be_larger_than_the_number_of_open_files(self, results: Path) -> None:
        """A turn with hundreds of results takes few descriptors from the rest of the process."""
        handles: list[int] = []
        faulty = FaultyFiles()

        def create_unnamed(*, parent: int) -> int:
            handles.append(POSIX.create_unnamed(parent=parent))
            return handles[-1]

        faulty.create_unnamed = create_unnamed  # type: ignore[attr-defined]
        items = [(f"id_{number}", f"text {number}") for number in range(300)]
        store = DirectoryStore(results, durability="process", files=faulty.files)
        outcomes = store.put_many(items)
        assert len(set(handles)) < 100
        assert all(isinstance(outcome, StoredResult) for outcome in outcomes)
        assert files_in(results) == {f"{name}.txt": text.encode() for name, text in items}

    @given(st.lists(st.tuples(any_text(max_size=5), hostile_text()), max_size=6))
    def test_everything_put_is_read_back(
        self, tmp_path_factory: pytest.TempPathFactory, items: list[tuple[str, str]]
    ) -> None:
        """Whatever ids and texts, each outcome's file holds its text, in the folder itself."""
        directory = tmp_path_factory.mktemp("store") / "tool-results"
        store = DirectoryStore(directory, durability="process")
        for (_, text), outcome in zip(items, store.put_many(items), strict=True):
            assert isinstance(outcome, StoredResult)
            assert outcome.path.parent == directory
            assert outcome.path.read_bytes() == text.encode("utf-8", "surrogatepass")
        assert len(list(directory.parent.iterdir())) == bool(items)

    @pytest.mark.parametrize("unit", ["a", "\u00e9"])
    def test_huge_text_is_never_held_twice(self, results: Path, unit: str) -> None:
        """Storing takes a few MiB, however large the text."""
        text = unit * (32 << 20)
        store = DirectoryStore(results, durability="process")
        tracemalloc.start()
        try:
            store.put("t1", text)
            peak_bytes = tracemalloc.get_traced_memory()[1]
        finally:
            tracemalloc.stop()
        assert peak_bytes < 8 << 20


class TestManyAtOnce:
    """Threads and processes share a folder without loss."""

    def test_threads_put_the_same_and_other_results(self, results: Path) -> None:
        """Each thread gets its own bytes, and equal ones share a file."""
        store = DirectoryStore(results, durability="process")
        outcomes: list[tuple[str, StoredResult]] = []

        def work(number: int) -> None:
            for turn in range(10):
                texts = (f"shared {turn}", f"of {number % 4} in {turn}")
                outcomes.extend((text, store.put(f"call_{turn}", text)) for text in texts)

        threads = [threading.Thread(target=work, args=(number,)) for number in range(16)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert len(outcomes) == 16 * 20
        assert all(stored.path.read_text() == text for text, stored in outcomes)
        assert len(files_in(results)) == 10 * 5
        assert len([stored for _, stored in outcomes if stored.is_new]) == 10 * 5

    def test_processes_put_the_same_results(self, results: Path) -> None:
        """Several processes that store one turn at once all end with the same files."""
        code = (
            "import sys; from toolbudget.storage.store import DirectoryStore;"
            "store = DirectoryStore(sys.argv[1]);"
            "items = [(f'id_{number}', f'text {number}') for number in range(40)];"
            "names = [each.path.name for each in store.put_many(items)];"
            "assert names == [f'{name}.txt' for name, _ in items], names"
        )
        command = [sys.executable, "-c", code, str(results)]
        processes = [subprocess.Popen(command, stderr=subprocess.PIPE) for _ in range(3)]
        errors = [process.communicate()[1] for process in processes]
        assert [process.returncode for process in processes] == [0, 0, 0], errors
        assert files_in(results) == {f"id_{n}.txt": f"text {n}".encode() for n in range(40)}


class TestErrors:
    """An error says what, where and why, and concerns one result only."""

    def test_error_names_result_place_and_reason(self, results: Path) -> None:
        """A person sees at once what to do."""
        faulty = FaultyFiles()
        faulty.fail_method("write", errno.ENOSPC)
        with pytest.raises(StoreError) as caught:
            DirectoryStore(results, files=faulty.files).put("toolu_1", TEXT)
        message = str(caught.value)
        assert "'toolu_1'" in message
        assert repr(str(results)) in message
        assert message.endswith("No space left on device")
        assert caught.value.errno == errno.ENOSPC
        assert isinstance(caught.value.__cause__, OSError)

    def test_error_does_not_repeat_a_huge_id(self, results: Path) -> None:
        """A log stays readable."""
        faulty = FaultyFiles()
        faulty.fail_method("write", errno.ENOSPC)
        outcome = DirectoryStore(results, files=faulty.files).put_many([("x" * 10**6, TEXT)])
        assert len(str(outcome[0])) < 500

    @pytest.mark.parametrize("make", [DirectoryStore, lambda _directory: MemoryStore()])
    @pytest.mark.parametrize(
        "content",
        [[{"x": math.nan}], [{"x": {1}}], [{"x": b""}], 42, None],
        ids=["nan", "set", "bytes", "number", "none"],
    )
    def test_content_without_a_stored_form_is_told(
        self, results: Path, make: Callable[[Path], DirectoryStore | MemoryStore], content: object
    ) -> None:
        """What JSON cannot tell fails for its own id, and for no other."""
        store = make(results)
        odd_content = cast("Content", content)
        items: list[tuple[str, Content]] = [("t1", "one"), ("odd", odd_content), ("t2", "two")]
        first, odd, second = store.put_many(items)
        assert isinstance(odd, StoreError)
        assert "'odd'" in str(odd)
        assert odd.errno is None
        assert isinstance(first, StoredResult)
        assert isinstance(second, StoredResult)
        with pytest.raises(StoreError, match="'odd'"):
            store.put("odd", odd_content)

    def test_id_that_is_no_text_is_told(self, results: Path) -> None:
        """An id of another kind fails for itself."""
        items: list[tuple[Any, str]] = [(None, TEXT), ("t1", TEXT)]
        outcomes = DirectoryStore(results).put_many(items)
        assert isinstance(outcomes[0], StoreError)
        assert isinstance(outcomes[1], StoredResult)

    def test_error_keeps_no_content_alive(self, results: Path) -> None:
        """A report of failures does not hold the texts that failed."""
        faulty = FaultyFiles()
        faulty.fail_method("write", errno.ENOSPC)
        [outcome] = DirectoryStore(results, files=faulty.files).put_many([("t1", TEXT)])
        assert isinstance(outcome, StoreError)
        assert outcome.__cause__ is not None
        assert outcome.__cause__.__traceback__ is None


class TestMemoryStore:
    """A store without a disk, by the same rules."""

    def test_results_are_kept_by_path(self) -> None:
        """The stored bytes can be looked up by what the model is shown."""
        store = MemoryStore()
        stored = store.put("t1", TEXT)
        assert (
            stored.shown_path == "memory:/t1.txt" == store.expected_shown_path("t1", is_json=False)
        )
        assert (stored.size_bytes, stored.digest) == (len(TEXT_BYTES), digest_of(TEXT_BYTES))
        assert store.contents == {"memory:/t1.txt": TEXT_BYTES}
        assert store.put("t1", BLOCKS).shown_path == "memory:/t1.json"

    def test_nothing_is_overwritten(self) -> None:
        """Same bytes are success, other bytes get another name."""
        store = MemoryStore()
        store.put("t1", "one")
        assert not store.put("t1", "one").is_new
        second = store.put("t1", "two")
        assert second.is_new
        assert second.path.name == second_name("t1", b"two")
        assert store.contents["memory:/t1.txt"] == b"one"

    def test_names_run_out_at_last(self) -> None:
        """If every name holds something else, that is told."""
        store = MemoryStore()
        stem = collision_name("t1", digest_of(b"text"))
        for name in ("t1", stem, *(f"{stem}-{number}" for number in range(2, 20))):
            store.contents[f"memory:/{name}.txt"] = b"taken"
        with pytest.raises(StoreError, match="something else"):
            store.put("t1", "text")


@pytest.mark.parametrize("make", [DirectoryStore, lambda _directory: MemoryStore()])
def test_persisting_is_putting(results: Path, make: Callable[[Path], ResultStore]) -> None:
    """The plain function stores whatever the size, in any store."""
    store = make(results)
    stored = persist_tool_result(TEXT, "t1", store=store)
    assert stored.path.name == "t1.txt"
    assert stored.is_new


def test_result_path_is_absolute(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The path of a result can be told without any store."""
    monkeypatch.chdir(tmp_path)
    assert get_tool_result_path("d", "t1") == tmp_path / "d" / "t1.txt"
    assert get_tool_result_path("d", "t1", is_json=True) == tmp_path / "d" / "t1.json"
