from __future__ import annotations

import json
import os
import socket
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from tests.layer.storage.record_samples import (
    FOREIGN_LINE,
    HASH,
    MESSAGE,
    append,
    load,
    named,
    record,
)
from toolbudget.errors import TranscriptError
from toolbudget.storage.record_log import RecordLog
from toolbudget.storage.records import encode_record, header_line

if TYPE_CHECKING:
    from collections.abc import Callable

pytestmark = pytest.mark.usefixtures("no_leaked_descriptors")


class TestOwnFile:
    """The transcript is ours: missing, empty, or begun by us."""

    def test_nothing_is_made_before_it_is_needed(self, tmp_path: Path) -> None:
        """A log that is only opened and read leaves no trace."""
        log = RecordLog(tmp_path / "root", "s1")
        assert list(log.load()) == []
        assert log.path == tmp_path / "root" / "s1.jsonl"
        assert list(tmp_path.iterdir()) == []

    def test_the_first_record_brings_the_header(self, tmp_path: Path) -> None:
        """A new file begins with the header line; later records follow on lines of their own."""
        log = RecordLog(tmp_path, "s1")
        append(log, "a")
        append(log, "b")
        lines = encode_record(record("a")) + encode_record(record("b"))
        assert log.path.read_bytes() == header_line("s1") + lines

    def test_it_is_private(self, tmp_path: Path) -> None:
        """Files are 0600 and directories 0700."""
        log = RecordLog(tmp_path / "root", "s1", agent_id="x")
        append(log, "a")
        assert log.path.stat().st_mode & 0o777 == 0o600
        for directory in (log.path.parent, log.path.parent.parent, tmp_path / "root"):
            assert directory.stat().st_mode & 0o777 == 0o700

    @pytest.mark.parametrize(
        "content", [b"", b"\x00" * 5_000, b" \r\n\n", b"\xef\xbb\xbf", b"\x00\n"]
    )
    def test_a_file_without_any_text_is_ours(self, tmp_path: Path, content: bytes) -> None:
        """An empty, NUL-filled or blank file gets the header like a missing one."""
        (tmp_path / "s1.jsonl").write_bytes(content)
        append(RecordLog(tmp_path, "s1"), "a")
        data = (tmp_path / "s1.jsonl").read_bytes()
        newline = b"" if not content or content.endswith(b"\n") else b"\n"
        assert data == content + newline + header_line("s1") + encode_record(record("a"))
        assert RecordLog(tmp_path, "s1").path == tmp_path / "s1.jsonl"
        assert load(tmp_path) == ["a"]

    @pytest.mark.parametrize(
        "before", [b"\x00" * 9_000, b"\n\n", b"\xef\xbb\xbf", b"\x00\x00\n \n"]
    )
    def test_what_means_nothing_may_stand_before_the_header(
        self, tmp_path: Path, before: bytes
    ) -> None:
        """Leading NULs and blank lines do not make the file another program's."""
        (tmp_path / "s1.jsonl").write_bytes(before + header_line("s1"))
        log = RecordLog(tmp_path, "s1")
        assert log.path == tmp_path / "s1.jsonl"
        append(log, "a")
        assert load(tmp_path) == ["a"]

    def test_a_header_without_line_end_is_completed(self, tmp_path: Path) -> None:
        """A file cut right behind its header goes on in a new line."""
        (tmp_path / "s1.jsonl").write_bytes(header_line("s1").strip())
        append(RecordLog(tmp_path, "s1"), "a")
        assert (tmp_path / "s1.jsonl").read_bytes() == header_line("s1") + encode_record(
            record("a")
        )

    @pytest.mark.parametrize("session_id", ["../x", "a/b", "", "con", "日本", "\ud800", "x" * 500])
    def test_any_session_id_has_its_file_below_the_root(
        self, tmp_path: Path, session_id: str
    ) -> None:
        """Odd ids get safe names, and the record still names the exact id."""
        root = tmp_path / "root"
        log = RecordLog(root, session_id)
        with log.locked() as locked:
            locked.append(record("a", session_id), sync=True)
        assert [path.parent for path in tmp_path.rglob("*.jsonl")] == [root]
        assert load(root, session_id) == ["a"]

    def test_lines_of_other_programs_are_passed_over(self, tmp_path: Path) -> None:
        """In a file of ours another program's records count by D2, its other lines not at all."""
        append(RecordLog(tmp_path, "s1"), "a")
        with (tmp_path / "s1.jsonl").open("ab") as file:
            file.write(MESSAGE + FOREIGN_LINE + b"\n")
        log = RecordLog(tmp_path, "s1")
        assert [(found.is_ours, found.session_id) for found in log.load()] == [
            (True, "s1"),
            (False, "s1"),
        ]
        assert (log.skipped, log.dropped_entries) == (0, 0)

    def test_malformed_entries_are_counted(self, tmp_path: Path) -> None:
        """What is wrong inside a readable record is reported apart from damaged lines."""
        log = RecordLog(tmp_path, "s1")
        with log.locked() as locked:
            locked.append({**record("a"), "withdrawn": [["t", -1, HASH]]}, sync=False)
        assert named(log.load()) == ["a"]
        assert (log.skipped, log.dropped_entries) == (0, 1)


class TestForeignFile:
    """The transcript belongs to another program: it is read, never written."""

    @pytest.mark.parametrize(
        "content",
        [
            MESSAGE,
            b"\xef\xbb\xbf" + MESSAGE,
            b"not json\n",
            b'{"type":"toolbudget-session","version":2,"sessionId":"s1"}\n',
            b'{"type":"toolbudget-sess',
            b'{"type":"toolbudget-session","version":1,"sessionId":"s1"}{}\n',
            b"\x00\n" + MESSAGE + header_line("s1"),
        ],
    )
    def test_records_go_to_the_sidecar(self, tmp_path: Path, content: bytes) -> None:
        """Whatever does not begin with our header keeps every byte."""
        (tmp_path / "s1.jsonl").write_bytes(content)
        log = RecordLog(tmp_path, "s1")
        sidecar = tmp_path / "s1" / "content-replacements.jsonl"
        assert log.path == sidecar
        append(log, "a")
        assert (tmp_path / "s1.jsonl").read_bytes() == content
        assert sidecar.read_bytes() == header_line("s1") + encode_record(record("a"))
        assert load(tmp_path) == ["a"]

    def test_it_is_never_opened_for_writing(
        self, tmp_path: Path, unprivileged: Callable[[Callable[[], None]], None]
    ) -> None:
        """A read-only transcript of another program does not hinder the sidecar."""
        (tmp_path / "s1.jsonl").write_bytes(MESSAGE)
        (tmp_path / "s1.jsonl").chmod(0o400)
        unprivileged(lambda: append(RecordLog(tmp_path, "s1"), "a"))
        assert load(tmp_path) == ["a"]

    def test_the_sidecar_can_be_asked_for(self, tmp_path: Path) -> None:
        """With force_sidecar the transcript is left alone even if it is ours; both are read."""
        append(RecordLog(tmp_path, "s1"), "a")
        before = (tmp_path / "s1.jsonl").read_bytes()
        log = RecordLog(tmp_path, "s1", force_sidecar=True)
        assert log.path == tmp_path / "s1" / "content-replacements.jsonl"
        append(log, "b")
        assert (tmp_path / "s1.jsonl").read_bytes() == before
        assert load(tmp_path) == ["a", "b"]

    def test_a_file_taken_over_meanwhile_is_noticed(self, tmp_path: Path) -> None:
        """The owner is asked for again at each append; another program's file stays as it is."""
        log = RecordLog(tmp_path, "s1")
        append(log, "a")
        with log.locked() as locked:
            (tmp_path / "s1.jsonl").write_bytes(MESSAGE)
            with pytest.raises(TranscriptError, match="another program"):
                locked.append(record("b"), sync=True)
        assert (tmp_path / "s1.jsonl").read_bytes() == MESSAGE
        append(log, "c")
        assert load(tmp_path) == ["c"]
        assert (tmp_path / "s1.jsonl").read_bytes() == MESSAGE

    def test_a_foreign_sidecar_is_not_written_either(self, tmp_path: Path) -> None:
        """If both files are another program's, appending raises and changes nothing."""
        (tmp_path / "s1.jsonl").write_bytes(MESSAGE)
        sidecar = tmp_path / "s1" / "content-replacements.jsonl"
        sidecar.parent.mkdir()
        sidecar.write_bytes(MESSAGE)
        with pytest.raises(TranscriptError, match="another program"):
            append(RecordLog(tmp_path, "s1"), "a")
        assert sidecar.read_bytes() == MESSAGE

    def test_records_count_in_both_files(self, tmp_path: Path) -> None:
        """The transcript is read first; a valid checksum counts in either file."""
        (tmp_path / "s1.jsonl").write_bytes(
            MESSAGE + FOREIGN_LINE + b"\n" + encode_record(record("b"))
        )
        append(RecordLog(tmp_path, "s1"), "a")
        records = list(RecordLog(tmp_path, "s1").load())
        assert [found.is_ours for found in records] == [False, True, True]
        assert named(records[1:]) == ["b", "a"]

    def test_torn_lines_are_counted(self, tmp_path: Path) -> None:
        """Row 25: a torn line in another program's file costs itself and is reported."""
        (tmp_path / "s1.jsonl").write_bytes(
            MESSAGE + b'{"type":"con\n' + FOREIGN_LINE + b'\n{"type":"con'
        )
        log = RecordLog(tmp_path, "s1")
        assert len(list(log.load())) == 1
        assert log.skipped == 2


class TestWhoseRecords:
    """Only records of this session, and of this agent, are given."""

    def test_records_of_others_are_left_out(self, tmp_path: Path) -> None:
        """Row 24: a record of session B in the file of session A is not A's."""
        append(RecordLog(tmp_path, "s1"), "a")
        with RecordLog(tmp_path, "s1").locked() as locked:
            locked.append(record("other", "s2"), sync=False)
            locked.append(record("agents", "s1", agent_id="x"), sync=False)
            locked.append({**record("nobodys"), "sessionId": None}, sync=False)
        log = RecordLog(tmp_path, "s1")
        assert named(log.load()) == ["a", "nobodys"]
        assert log.skipped == 0

    def test_an_agent_has_a_transcript_of_its_own(self, tmp_path: Path) -> None:
        """A sub-agent's records go below the session's directory."""
        log = RecordLog(tmp_path, "s1", agent_id="x")
        assert log.path == tmp_path / "s1" / "subagents" / "agent-x.jsonl"
        with log.locked() as locked:
            locked.append(record("a", agent_id="x"), sync=True)
        assert load(tmp_path, agent_id="x") == ["a"]
        assert load(tmp_path) == []
        assert load(tmp_path, agent_id="y") == []

    def test_an_agent_shares_the_sidecar_of_its_session(self, tmp_path: Path) -> None:
        """Where transcripts are foreign, session and agents are told apart by the agent's id."""
        own = tmp_path / "s1" / "subagents" / "agent-x.jsonl"
        own.parent.mkdir(parents=True)
        own.write_bytes(MESSAGE + FOREIGN_LINE + b"\n")
        (tmp_path / "s1.jsonl").write_bytes(MESSAGE)
        agent = RecordLog(tmp_path, "s1", agent_id="x")
        assert agent.path == RecordLog(tmp_path, "s1").path
        with agent.locked() as locked:
            locked.append(record("agents", agent_id="x"), sync=True)
        append(RecordLog(tmp_path, "s1"), "sessions")
        assert load(tmp_path) == ["sessions"]
        records = list(RecordLog(tmp_path, "s1", agent_id="x").load())
        assert [found.is_ours for found in records] == [False, True]
        assert named(records[1:]) == ["agents"]


class TestPlantedObjects:
    """What lies in the way is never followed, written or waited for."""

    PLACES = ("s1.jsonl", "s1/content-replacements.jsonl")

    @pytest.mark.parametrize("place", PLACES)
    @pytest.mark.parametrize("kind", ["symlink", "dangling", "fifo", "directory", "socket"])
    def test_it_is_an_error(self, tmp_path: Path, kind: str, place: str) -> None:
        """Loading and locking raise at once, and the victim keeps its bytes."""
        victim = tmp_path / "victim"
        victim.write_bytes(b"precious")
        path = tmp_path / "root" / place
        path.parent.mkdir(parents=True)
        _plant(path, kind, victim)
        log = RecordLog(tmp_path / "root", "s1", force_sidecar=place != "s1.jsonl")
        with pytest.raises(TranscriptError, match=str(path)):
            list(log.load())
        with pytest.raises(TranscriptError, match=str(path)), log.locked():
            pass
        assert victim.read_bytes() == b"precious"
        assert not (tmp_path / "nowhere").exists()

    @pytest.mark.parametrize("name", ["s1", "s1/subagents"])
    def test_directories_are_not_followed(self, tmp_path: Path, name: str) -> None:
        """Behind a symbolic link in place of a directory nothing is read, made or written."""
        elsewhere = tmp_path / "elsewhere"
        append(RecordLog(elsewhere, "s1", force_sidecar=True), "planted")
        before = sorted(elsewhere.rglob("*"))
        link = tmp_path / "root" / name
        link.parent.mkdir(parents=True)
        link.symlink_to(elsewhere / "s1")
        log = RecordLog(tmp_path / "root", "s1", agent_id="x")
        assert list(log.load()) == []
        assert load(tmp_path / "root") == []
        with pytest.raises(TranscriptError), log.locked():
            pass
        assert sorted(elsewhere.rglob("*")) == before

    def test_the_root_may_be_a_link(self, tmp_path: Path) -> None:
        """Links at and above the root are the user's business."""
        (tmp_path / "real").mkdir()
        (tmp_path / "root").symlink_to("real")
        append(RecordLog(tmp_path / "root", "s1"), "a")
        assert load(tmp_path / "real") == ["a"]

    def test_an_unusable_path_is_an_error(self) -> None:
        """A path that no system call takes raises the same error."""
        with pytest.raises(TranscriptError, match="null"):
            list(RecordLog(Path("a\0b"), "s1").load())


def _plant(path: Path, kind: str, victim: Path) -> None:
    if kind == "symlink":
        path.symlink_to(victim)
    elif kind == "dangling":
        path.symlink_to(victim.parent / "nowhere")
    elif kind == "fifo":
        os.mkfifo(path)
    elif kind == "directory":
        path.mkdir()
    else:
        # The path itself may be longer than an address can be.
        with socket.socket(socket.AF_UNIX) as listener:
            folder = os.open(path.parent, os.O_RDONLY)
            listener.bind(f"/proc/self/fd/{folder}/{path.name}")
            os.close(folder)


def test_records_are_readable_by_any_json_reader(tmp_path: Path) -> None:
    """Every line of a file of ours is one JSON object."""
    log = RecordLog(tmp_path, "s1")
    append(log, "a", "b")
    types = [json.loads(line)["type"] for line in log.path.read_text().splitlines()]
    assert types == ["toolbudget-session", "content-replacement", "content-replacement"]
