from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.layer.storage.record_samples import (
    FOREIGN_LINE,
    MESSAGE,
    append,
    load,
    named,
    record,
)
from toolbudget.errors import TranscriptError
from toolbudget.storage import line_reader
from toolbudget.storage.record_log import RecordLog
from toolbudget.storage.records import encode_record, header_line

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

pytestmark = pytest.mark.usefixtures("no_leaked_descriptors")


class TestTail:
    """Inside the lock only what is new is read."""

    def test_records_of_others_come_once(self, tmp_path: Path) -> None:
        """Each log sees what the other one appended, once, and never its own."""
        first, second = RecordLog(tmp_path, "s1"), RecordLog(tmp_path, "s1")
        assert list(first.load()) == list(second.load()) == []
        append(first, "a", "b")
        with second.locked() as locked:
            assert named(locked.read_tail()) == ["a", "b"]
            assert locked.read_tail() == []
            locked.append(record("c"), sync=False)
            assert locked.read_tail() == []
        with first.locked() as locked:
            assert named(locked.read_tail()) == ["c"]
        with second.locked() as locked:
            assert locked.read_tail() == []

    def test_without_a_load_the_tail_is_everything(self, tmp_path: Path) -> None:
        """A log that has read nothing yet finds all records at its first reading."""
        append(RecordLog(tmp_path, "s1"), "a")
        with RecordLog(tmp_path, "s1").locked() as locked:
            assert named(locked.read_tail()) == ["a"]

    def test_an_append_does_not_hide_what_was_not_read(self, tmp_path: Path) -> None:
        """Who appends without having read still finds the others' records afterwards."""
        log = RecordLog(tmp_path, "s1")
        list(log.load())
        append(RecordLog(tmp_path, "s1"), "a")
        with log.locked() as locked:
            locked.append(record("b"), sync=False)
            assert named(locked.read_tail()) == ["a", "b"]

    def test_records_in_the_other_file_come_too(self, tmp_path: Path) -> None:
        """What another program adds to its transcript is found while ours go to the sidecar."""
        (tmp_path / "s1.jsonl").write_bytes(MESSAGE)
        log = RecordLog(tmp_path, "s1")
        list(log.load())
        with (tmp_path / "s1.jsonl").open("ab") as file:
            file.write(FOREIGN_LINE[:20])
            file.flush()
            with log.locked() as locked:
                assert locked.read_tail() == []
            assert log.skipped == 1
            file.write(FOREIGN_LINE[20:] + b"\n")
        with log.locked() as locked:
            assert [found.is_ours for found in locked.read_tail()] == [False]
        assert log.skipped == 0

    @pytest.mark.parametrize("is_longer", [False, True])
    def test_a_replaced_file_is_read_from_its_start(
        self, tmp_path: Path, *, is_longer: bool
    ) -> None:
        """Another file in the same place is a new one, whatever its length."""
        log = RecordLog(tmp_path, "s1")
        append(log, "a", "b", "c")
        names = ["d"] * (9 if is_longer else 1)
        append(RecordLog(tmp_path / "other", "s1"), *names)
        (tmp_path / "other" / "s1.jsonl").replace(tmp_path / "s1.jsonl")
        with log.locked() as locked:
            assert named(locked.read_tail()) == names

    @pytest.mark.parametrize("count", [1, 9])
    def test_a_file_rewritten_in_place_is_read_from_its_start(
        self, tmp_path: Path, count: int
    ) -> None:
        """The same inode with other bytes is noticed too."""
        log = RecordLog(tmp_path, "s1")
        append(log, "a", "b", "c")
        lines = [encode_record(record(f"n{number}")) for number in range(count)]
        with (tmp_path / "s1.jsonl").open("r+b") as file:
            file.truncate()
            file.write(header_line("s1") + b"".join(lines))
        with log.locked() as locked:
            assert named(locked.read_tail()) == [f"n{number}" for number in range(count)]

    def test_a_vanished_file_is_begun_anew(self, tmp_path: Path) -> None:
        """After the file is gone, the next append makes it again, with its header."""
        log = RecordLog(tmp_path, "s1")
        append(log, "a")
        log.path.unlink()
        append(log, "b")
        assert log.path.read_bytes() == header_line("s1") + encode_record(record("b"))

    def test_a_reading_that_fails_is_forgotten(self, tmp_path: Path) -> None:
        """Nothing that was read before a failure is lost for the next reading."""
        log = RecordLog(tmp_path, "s1")
        list(log.load())
        append(RecordLog(tmp_path, "s1"), "a")
        sidecar = tmp_path / "s1" / "content-replacements.jsonl"
        sidecar.mkdir(parents=True)
        with pytest.raises(TranscriptError):
            log.read_new()
        sidecar.rmdir()
        with log.locked() as locked:
            assert named(locked.read_tail()) == ["a"]

    def test_a_load_left_early_is_forgotten(self, tmp_path: Path) -> None:
        """An iteration that is given up has read nothing, and leaves nothing open."""
        append(RecordLog(tmp_path, "s1"), "a", "b")
        log = RecordLog(tmp_path, "s1")
        next(log.load())
        with log.locked() as locked:
            assert named(locked.read_tail()) == ["a", "b"]


class TestDamagedFiles:
    """Good records count, the damage is counted, and the next append is safe from it."""

    def test_a_torn_tail_stays_by_itself(self, tmp_path: Path) -> None:
        """Row 25: the torn line is skipped, and the next record begins on its own line."""
        log = RecordLog(tmp_path, "s1")
        append(log, "a")
        with log.path.open("ab") as file:
            file.write(b'{"type":"con')
        log = RecordLog(tmp_path, "s1")
        assert named(log.load()) == ["a"]
        assert log.skipped == 1
        append(log, "b")
        assert log.skipped == 1
        assert log.path.read_bytes().endswith(b'\n{"type":"con\n' + encode_record(record("b")))
        log = RecordLog(tmp_path, "s1")
        assert named(log.load()) == ["a", "b"]
        assert log.skipped == 1

    def test_a_whole_record_without_line_end_counts(self, tmp_path: Path) -> None:
        """Only the line end is missing: the record counts once, and the next has its own line."""
        append(RecordLog(tmp_path, "s1"), "a", "b")
        path = tmp_path / "s1.jsonl"
        path.write_bytes(path.read_bytes()[:-1])
        log = RecordLog(tmp_path, "s1")
        assert named(log.load()) == ["a", "b"]
        with log.locked() as locked:
            assert locked.read_tail() == []
            locked.append(record("c"), sync=True)
            assert locked.read_tail() == []
        assert load(tmp_path) == ["a", "b", "c"]
        assert log.skipped == 0

    def test_a_record_glued_to_a_torn_one_at_the_end_counts(self, tmp_path: Path) -> None:
        """Damage in front of the last record does not hide it, also without line end."""
        append(RecordLog(tmp_path, "s1"), "a")
        with (tmp_path / "s1.jsonl").open("ab") as file:
            file.write(b'{"type":"con' + encode_record(record("b")).strip())
        log = RecordLog(tmp_path, "s1")
        assert named(log.load()) == ["a", "b"]
        assert log.skipped == 1

    def test_separators_of_unicode_end_no_line(self, tmp_path: Path) -> None:
        """U+2028, NEL, form feed and CR inside another program's record split nothing."""
        text = FOREIGN_LINE.replace(b"short", "a\u2028b\u2029c\x85d\\f\\r".encode())
        (tmp_path / "s1.jsonl").write_bytes(MESSAGE.replace(b"\n", b"\r\n") + text + b"\r\n")
        (found,) = RecordLog(tmp_path, "s1").load()
        assert found.replacements[0].replacement == "a\u2028b\u2029c\x85d\f\r"

    def test_a_huge_line_is_passed_over(
        self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        """A line beyond the maximum is skipped and counted, and the next one counts again."""
        monkeypatch.setattr(line_reader, "MAX_LINE_BYTES", 3_000_000)
        append(RecordLog(tmp_path, "s1"), "a")
        path = tmp_path / "s1.jsonl"
        huge = b'{"x":"' + b"y" * 3_000_000 + b'"}'
        path.write_bytes(path.read_bytes() + huge + b"\n" + encode_record(record("b")) + huge)
        log = RecordLog(tmp_path, "s1")
        assert named(log.load()) == ["a", "b"]
        assert log.skipped == 2
        append(log, "c")
        assert log.skipped == 2
        assert load(tmp_path) == ["a", "b", "c"]

    def test_a_record_that_could_not_be_read_back_is_not_written(self, tmp_path: Path) -> None:
        """A record beyond the maximum raises before anything is changed."""
        log = RecordLog(tmp_path, "s1")
        append(log, "a")
        before = log.path.read_bytes()
        too_long = {**record("b"), "note": "x" * line_reader.MAX_LINE_BYTES}
        with log.locked() as locked, pytest.raises(TranscriptError, match="too long"):
            locked.append(too_long, sync=True)
        assert log.path.read_bytes() == before

    @given(
        pieces=st.lists(
            st.binary(max_size=40)
            | st.sampled_from(
                [b"\n", b"\x00" * 64, b'{"type":"con', b"\xe2\x80\xa8", b"{", b"\r\n"]
            ),
            min_size=1,
            max_size=6,
        ),
        position=st.integers(0, 5),
        is_on_its_own_line=st.booleans(),
    )
    def test_garbage_loses_at_most_itself(
        self,
        tmp_path_factory: pytest.TempPathFactory,
        pieces: Sequence[bytes],
        position: int,
        *,
        is_on_its_own_line: bool,
    ) -> None:
        """Whatever stands between good lines, every good record counts."""
        garbage = b"".join(pieces) + b"\n" * is_on_its_own_line
        good = [encode_record(record(f"r{number}")) for number in range(5)]
        lines = [*good[:position], garbage, *good[position:]]
        root = tmp_path_factory.mktemp("garbage")
        (root / "s1.jsonl").write_bytes(header_line("s1") + b"".join(lines))
        log = RecordLog(root, "s1", durability="process")
        assert named(log.load()) == [f"r{number}" for number in range(5)]
        assert log.skipped <= garbage.count(b"\n") + 1
        append(log, "next")
        assert load(root)[-1] == "next"

    @given(cut_bytes=st.integers(0, 3_000))
    def test_a_cut_file_loses_only_the_torn_record(
        self, tmp_path_factory: pytest.TempPathFactory, cut_bytes: int
    ) -> None:
        """Wherever the file ends, the whole records before count, and the next append counts."""
        good = [encode_record(record(f"r{number}")) for number in range(5)]
        whole = header_line("s1") + b"".join(good)
        cut = whole[: max(0, len(whole) - cut_bytes)]
        root = tmp_path_factory.mktemp("cut")
        (root / "s1.jsonl").write_bytes(cut)
        # A record that lacks only its line end is whole.
        expected = [f"r{number}" for number, line in enumerate(good) if line.strip() in cut]
        log = RecordLog(root, "s1", durability="process")
        assert named(log.load()) == expected
        append(log, "next")
        assert load(root) == [*expected, "next"]
