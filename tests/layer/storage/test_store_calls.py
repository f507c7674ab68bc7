"""How many calls of the system storing takes, and that saving them changes nothing."""

from __future__ import annotations

import errno
from typing import TYPE_CHECKING, Final

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.layer.storage.faulty import FaultyFiles, without_unnamed_files
from tests.layer.storage.store_samples import files_in, second_name
from toolbudget.storage.encoding import (
    encode_content,
    encode_small,
    measure_bytes,
    measure_chunks,
)
from toolbudget.storage.record_log import RecordLog
from toolbudget.storage.records import content_replacement
from toolbudget.storage.store import DirectoryStore, StoredResult

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from toolbudget.storage._files import Durability

pytestmark = pytest.mark.usefixtures("no_leaked_descriptors")

# Made without a name, written, linked, closed.
CALLS_OF_A_NEW_RESULT: Final = 4
# Opened, its size looked at, read, closed.
CALLS_OF_THE_SAME_BYTES: Final = 4
# Seven to open and lock it, five to see that there is no sidecar, two to read what is new, four to
# append, three to close.
MOST_CALLS_OF_A_RECORD: Final = 21


def items(numbers: range) -> list[tuple[str, str]]:
    """Name results and their texts by number."""
    return [(f"t{number}", f"text {number}") for number in numbers]


def stored_by(store: DirectoryStore, numbers: range) -> list[StoredResult]:
    """Store results, none of which may fail."""
    outcomes = store.put_many(items(numbers))
    stored = [outcome for outcome in outcomes if isinstance(outcome, StoredResult)]
    assert len(stored) == len(outcomes), outcomes
    return stored


class TestCalls:
    """Each call that every result takes counts a thousand times."""

    def calls_of(self, store: DirectoryStore, faulty: FaultyFiles, numbers: range) -> int:
        """Count the calls of one batch."""
        faulty.calls.clear()
        stored_by(store, numbers)
        return len(faulty.calls)

    @pytest.mark.parametrize(("durability", "extra"), [("process", 0), ("data", 1), ("full", 2)])
    def test_a_new_result_takes_four_calls(
        self, results: Path, durability: Durability, extra: int
    ) -> None:
        """And its sync; at the highest level also a look at which file it is."""
        faulty = FaultyFiles()
        store = DirectoryStore(results, durability=durability, files=faulty.files)
        store.put("begun", "the directory is there now")
        few = self.calls_of(store, faulty, range(10))
        many = self.calls_of(store, faulty, range(100, 130))
        assert many - few == 20 * (CALLS_OF_A_NEW_RESULT + extra)

    def test_the_same_bytes_take_four_calls(self, results: Path) -> None:
        """What is there is read once, and not written."""
        DirectoryStore(results, durability="process").put_many(items(range(30)))
        faulty = FaultyFiles()
        store = DirectoryStore(results, durability="process", files=faulty.files)
        few = self.calls_of(store, faulty, range(10))
        many = self.calls_of(store, faulty, range(30))
        assert many - few == 20 * CALLS_OF_THE_SAME_BYTES

    def test_a_record_takes_few_calls(self, tmp_path: Path) -> None:
        """A decision opens each directory and file once or twice, not at every step."""
        faulty = FaultyFiles()
        log = RecordLog(tmp_path, "s1", durability="process", files=faulty.files)
        for number in range(3):
            faulty.calls.clear()
            with log.locked() as locked:
                assert locked.read_tail() == []
                locked.append(
                    content_replacement(
                        session_id="s1", timestamp="now", frozen=[(f"t{number}", 1, "0" * 32)]
                    ),
                    sync=True,
                )
        assert len(faulty.calls) <= MOST_CALLS_OF_A_RECORD, faulty.calls


class TestUnseenNames:
    """After a free name the next are expected to be free; what is there counts all the same."""

    @pytest.mark.parametrize("make", [FaultyFiles, without_unnamed_files])
    @pytest.mark.parametrize("there", [range(1), range(1, 5), range(0, 9, 2), range(9)])
    def test_what_is_there_is_told_from_what_is_new(
        self, results: Path, make: Callable[[], FaultyFiles], there: range
    ) -> None:
        """Whichever of a batch are there already."""
        DirectoryStore(results).put_many([item for n in there for item in items(range(n, n + 1))])
        stored = stored_by(DirectoryStore(results, files=make().files), range(9))
        assert [result.is_new for result in stored] == [n not in there for n in range(9)]
        assert files_in(results) == {f"t{n}.txt": b"text %d" % n for n in range(9)}

    @pytest.mark.parametrize("make", [FaultyFiles, without_unnamed_files])
    def test_other_bytes_under_a_name_stay(
        self, results: Path, make: Callable[[], FaultyFiles]
    ) -> None:
        """The second result then gets another name, although the first one's was free."""
        DirectoryStore(results).put("t1", "other bytes")
        stored = stored_by(DirectoryStore(results, files=make().files), range(3))
        expected = ["t0.txt", second_name("t1", b"text 1"), "t2.txt"]
        assert [result.path.name for result in stored] == expected
        assert files_in(results)["t1.txt"] == b"other bytes"

    def test_where_nothing_can_be_written_the_same_bytes_still_count(self, results: Path) -> None:
        """A full disk does not make a stored result unstored."""
        DirectoryStore(results).put_many(items(range(1, 3)))
        faulty = FaultyFiles()
        # Once the first name has been found free, and its file been written.
        faulty.before("write", lambda: faulty.fail_method("create_unnamed", errno.ENOSPC))
        stored = stored_by(DirectoryStore(results, files=faulty.files), range(3))
        assert [result.is_new for result in stored] == [True, False, False]

    def test_a_full_disk_is_told_for_each(self, results: Path) -> None:
        """What cannot be written and is not there fails, and nothing of it is left."""
        faulty = FaultyFiles()
        faulty.before("write", lambda: faulty.fail_method("create_unnamed", errno.ENOSPC))
        outcomes = DirectoryStore(results, files=faulty.files).put_many(items(range(3)))
        is_stored = [isinstance(outcome, StoredResult) for outcome in outcomes]
        assert is_stored == [True, False, False]
        assert files_in(results) == {"t0.txt": b"text 0"}


class TestSmallTexts:
    """A text that is one chunk is encoded and measured at once, to the same bytes."""

    @given(st.text(st.characters(codec=None), max_size=300))
    def test_it_is_what_the_chunks_are(self, text: str) -> None:
        """Whatever the characters, in a block too."""
        for content in (text, [{"type": "text", "text": text}]):
            stored = encode_small(content)
            assert stored == b"".join(encode_content(content))
            assert stored is not None
            assert measure_bytes(stored) == measure_chunks(encode_content(content))

    def test_what_is_more_than_a_text_is_left_to_the_chunks(self) -> None:
        """Several blocks, and a text of several chunks."""
        block = {"type": "text", "text": "x"}
        assert encode_small([block, block]) is None
        assert encode_small("\U0001f600" * 300_000) is None
