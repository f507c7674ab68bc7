from __future__ import annotations

import errno
import json
import tracemalloc
from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.layer.storage.faulty import FaultyFiles
from tests.layer.storage.record_samples import FOREIGN_LINE, LINE, MESSAGE, record
from tests.strategies import any_text
from toolbudget.errors import ConfigError, TranscriptError
from toolbudget.storage import line_reader
from toolbudget.storage.records import encode_record, header_line
from toolbudget.storage.transcript import Transcript

if TYPE_CHECKING:
    from pathlib import Path

    from toolbudget.storage._files import Durability

pytestmark = pytest.mark.usefixtures("no_leaked_descriptors")

USER = {"type": "user", "message": {"role": "user", "content": "hi"}}
ASSISTANT = {"type": "assistant", "message": {"id": "m1", "role": "assistant", "content": []}}


@pytest.fixture
def path(tmp_path: Path) -> Path:
    """Where a transcript will be."""
    return tmp_path / "s1.jsonl"


class TestAppend:
    """Appending to a transcript of our own."""

    def test_it_makes_the_file_with_its_header(self, tmp_path: Path) -> None:
        """Directories, file and header come with the first record."""
        path = tmp_path / "a" / "b" / "s1.jsonl"
        transcript = Transcript(path)
        assert list(transcript.messages()) == list(transcript.records()) == []
        assert not (tmp_path / "a").exists()
        transcript.append(USER)
        transcript.append(record("t"))
        assert path.read_bytes() == (
            header_line("s1") + encode_record(USER) + encode_record(record("t"))
        )
        assert path.stat().st_mode & 0o777 == 0o600

    @pytest.mark.parametrize(
        ("session_id", "first", "expected"),
        [
            ("given", {"type": "user", "sessionId": "named"}, "given"),
            ("", {"type": "user", "sessionId": "named"}, ""),
            (None, {"type": "user", "sessionId": "named"}, "named"),
            (None, {"type": "user", "sessionId": 7}, "s1"),
            (None, {"type": "user"}, "s1"),
        ],
    )
    def test_the_header_names_the_session(
        self, path: Path, session_id: str | None, first: dict[str, object], expected: str
    ) -> None:
        """The session is the one given, else that of the record, else the name of the file."""
        Transcript(path, session_id=session_id).append(first)
        assert path.read_bytes().startswith(header_line(expected))

    def test_another_programs_file_is_never_written(self, path: Path) -> None:
        """Appending to a file without our header raises and changes nothing."""
        path.write_bytes(MESSAGE)
        with pytest.raises(TranscriptError, match="belongs to another program"):
            Transcript(path).append(USER)
        assert path.read_bytes() == MESSAGE

    def test_a_torn_line_stays_by_itself(self, path: Path) -> None:
        """A record behind a torn line begins on a line of its own."""
        path.write_bytes(header_line("s1") + b'{"type":"us')
        transcript = Transcript(path)
        transcript.append(USER)
        assert path.read_bytes() == header_line("s1") + b'{"type":"us\n' + encode_record(USER)
        assert list(transcript.messages()) == [USER]
        assert transcript.skipped == 1

    def test_what_is_no_json_changes_nothing(self, path: Path) -> None:
        """A record that cannot be encoded does not even make the file."""
        with pytest.raises(TranscriptError, match="JSON"):
            Transcript(path).append({"type": "user", "x": object()})
        assert not path.exists()

    @pytest.mark.parametrize(
        ("durability", "method"), [("full", "sync"), ("data", "sync_data"), ("process", None)]
    )
    def test_every_record_is_synced(
        self, path: Path, durability: Durability, method: str | None
    ) -> None:
        """Each append is durable at the level asked for; the directory only the first time."""
        faulty = FaultyFiles()
        transcript = Transcript(path, durability=durability, files=faulty.files)
        transcript.append(USER)
        faulty.calls.clear()
        transcript.append(USER)
        syncs = [call for call in faulty.calls if call.startswith("sync")]
        assert syncs == ([method] if method else [])

    def test_a_failed_append_leaves_nothing(self, path: Path) -> None:
        """RR2: what could not be made durable is taken back, and the reason is said."""
        faulty = FaultyFiles()
        transcript = Transcript(path, files=faulty.files)
        transcript.append(USER)
        before = path.read_bytes()
        faulty.fail_method("sync", errno.ENOSPC)
        with pytest.raises(TranscriptError, match="No space left on device"):
            transcript.append(ASSISTANT)
        assert path.read_bytes() == before

    def test_threads_never_mix_lines(self, path: Path) -> None:
        """One transcript serves several threads."""
        transcript = Transcript(path, durability="process")

        def append_many(worker: int) -> None:
            for number in range(40):
                transcript.append({"type": "user", "n": [worker, number], "x": "y" * 9_000})

        with ThreadPoolExecutor(4) as pool:
            list(pool.map(append_many, range(4)))
        expected = [[worker, number] for worker in range(4) for number in range(40)]
        found = [message["n"] for message in transcript.messages()]
        assert len(found) == len(expected)
        assert all(numbers in found for numbers in expected)

    @given(
        value=st.recursive(
            st.none() | st.booleans() | st.integers() | any_text(max_size=20),
            lambda inner: st.lists(inner, max_size=3) | st.dictionaries(any_text(), inner),
            max_leaves=10,
        )
    )
    def test_messages_come_back_exactly(
        self, tmp_path_factory: pytest.TempPathFactory, value: object
    ) -> None:
        """Any JSON value survives, big integers, lone surrogates and line breaks included."""
        path = tmp_path_factory.mktemp("transcript") / "t.jsonl"
        transcript = Transcript(path, durability="process")
        transcript.append({"type": "user", "value": value})
        # Two surrogates that form a pair are the character in any JSON.
        assert list(transcript.messages()) == [
            json.loads(json.dumps({"type": "user", "value": value}))
        ]
        assert transcript.skipped == 0


class TestReading:
    """Reading any program's transcript."""

    def test_messages_are_those_of_users_and_assistants(self, path: Path) -> None:
        """Other records, blank lines and the header are passed over without a count."""
        others = b'{"type":"progress"}\n\n{"type":"summary"}\n'
        assistant = json.dumps(ASSISTANT).encode() + b"\r\n"
        path.write_bytes(header_line("s1") + MESSAGE + others + LINE + b"\n" + assistant)
        transcript = Transcript(path)
        assert list(transcript.messages()) == [json.loads(MESSAGE), ASSISTANT]
        assert transcript.skipped == 0

    @pytest.mark.parametrize("kind", [b"[]", b'["user"]', b"{}", b"null", b"1", b'"User"'])
    def test_a_line_of_any_other_kind_is_passed_over(self, path: Path, kind: bytes) -> None:
        """B11: what has no hash ends no reading either."""
        path.write_bytes(b'{"type":%b}\n' % kind + MESSAGE)
        transcript = Transcript(path)
        assert list(transcript.messages()) == [json.loads(MESSAGE)]
        assert transcript.skipped == 0

    @pytest.mark.parametrize("first", [header_line("s1"), MESSAGE])
    def test_records_are_those_that_can_be_trusted(self, path: Path, first: bytes) -> None:
        """Verified records of ours and records of other programs, in both kinds of file."""
        damaged = LINE.replace(b"toolu_1", b"toolu_X")
        path.write_bytes(first + b"\n".join([LINE, damaged, b'{"type":"con', FOREIGN_LINE]))
        transcript = Transcript(path)
        assert list(transcript.records()) == [json.loads(LINE), json.loads(FOREIGN_LINE)]
        assert transcript.skipped == 2

    def test_records_of_one_session_can_be_asked_for(self, path: Path) -> None:
        """Row 24: with a session id, records of other sessions are left out."""
        transcript = Transcript(path, session_id="s1")
        transcript.append(record("a", "s1"))
        transcript.append(record("b", "s2"))
        transcript.append(record("c", None))
        sessions = [found.get("sessionId") for found in transcript.records()]
        assert sessions == ["s1", None]
        assert len(list(Transcript(path).records())) == 3

    def test_glued_messages_are_told_apart(self, path: Path) -> None:
        """Two whole messages on one line both count."""
        path.write_bytes(MESSAGE.strip() + json.dumps(ASSISTANT).encode() + b"\n")
        transcript = Transcript(path)
        assert list(transcript.messages()) == [json.loads(MESSAGE), ASSISTANT]
        assert transcript.skipped == 0

    def test_a_count_holds_when_a_reading_has_ended(self, path: Path) -> None:
        """An iteration that is given up leaves the count of the one before."""
        path.write_bytes(MESSAGE + b"bad\n" + MESSAGE + b"bad\n")
        transcript = Transcript(path)
        next(iter(transcript.messages()))
        assert transcript.skipped == 0
        assert len(list(transcript.messages())) == 2
        assert transcript.skipped == 2

    def test_a_huge_line_is_passed_over(self, path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        """A line beyond the maximum is skipped and counted by both readings."""
        monkeypatch.setattr(line_reader, "MAX_LINE_BYTES", 2_000_000)
        path.write_bytes(MESSAGE + b'{"type":"user","x":"' + b"y" * 2_000_000 + b'"}\n' + MESSAGE)
        transcript = Transcript(path)
        assert len(list(transcript.messages())) == 2
        assert transcript.skipped == 1
        assert list(transcript.records()) == []
        assert transcript.skipped == 1

    def test_memory_does_not_grow_with_the_file(self, path: Path) -> None:
        """Reading 20 MB takes a few MB, whatever is in the lines."""
        path.write_bytes(header_line("s1") + (MESSAGE * 10 + b"x" * 9_000 + b"\n") * 2_000)
        transcript = Transcript(path)
        tracemalloc.start()
        try:
            assert sum(1 for _ in transcript.messages()) == 20_000
            assert sum(1 for _ in transcript.records()) == 0
            _, peak_bytes = tracemalloc.get_traced_memory()
        finally:
            tracemalloc.stop()
        assert peak_bytes < 8_000_000
        assert transcript.skipped == 2_000

    def test_a_read_error_is_said(self, path: Path) -> None:
        """A failing disk raises, naming the file and the reason."""
        path.write_bytes(MESSAGE)
        faulty = FaultyFiles()
        faulty.fail_method("read", errno.EIO)
        transcript = Transcript(path, files=faulty.files)
        for reading in (transcript.messages, transcript.records):
            with pytest.raises(TranscriptError, match=f"{path}: Input/output error"):
                list(reading())


class TestAnchor:
    """From where on no symbolic link is followed."""

    def test_links_below_the_anchor_are_not_followed(self, tmp_path: Path) -> None:
        """Behind a directory below the anchor that is a link nothing is read or written."""
        Transcript(tmp_path / "elsewhere" / "s1.jsonl").append(USER)
        before = (tmp_path / "elsewhere" / "s1.jsonl").read_bytes()
        (tmp_path / "root").mkdir()
        (tmp_path / "root" / "link").symlink_to(tmp_path / "elsewhere")
        path = tmp_path / "root" / "link" / "s1.jsonl"
        transcript = Transcript(path, anchor=tmp_path / "root")
        with pytest.raises(TranscriptError):
            transcript.append(USER)
        assert list(transcript.messages()) == []
        assert (tmp_path / "elsewhere" / "s1.jsonl").read_bytes() == before
        assert list(Transcript(path).messages()) == [USER]

    def test_the_file_itself_is_never_a_link(self, tmp_path: Path) -> None:
        """A link in place of the file is an error."""
        (tmp_path / "victim").write_bytes(b"")
        (tmp_path / "s1.jsonl").symlink_to("victim")
        with pytest.raises(TranscriptError):
            Transcript(tmp_path / "s1.jsonl").append(USER)
        assert (tmp_path / "victim").read_bytes() == b""

    def test_a_path_elsewhere_is_refused(self, tmp_path: Path) -> None:
        """A transcript that is not below its anchor cannot be protected by it."""
        with pytest.raises(ConfigError, match="must be below"):
            Transcript(tmp_path / "a" / "s1.jsonl", anchor=tmp_path / "b")

    def test_a_relative_path_stays_where_it_was_given(
        self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        """Changing the working directory later does not move the transcript."""
        monkeypatch.chdir(tmp_path)
        transcript = Transcript("s1.jsonl")
        (tmp_path / "other").mkdir()
        monkeypatch.chdir(tmp_path / "other")
        transcript.append(USER)
        assert (tmp_path / "s1.jsonl").exists()
