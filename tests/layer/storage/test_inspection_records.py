from __future__ import annotations

import json
import os
from typing import TYPE_CHECKING

import pytest

from tests.layer.storage.inspected import codes, framed, items, record_of, report_of, store
from tests.layer.storage.record_samples import FOREIGN_LINE, MESSAGE
from toolbudget.storage._files import PosixFileSystem
from toolbudget.storage._log_scan import header_of
from toolbudget.storage.inspection import SessionPlace, inspect_session
from toolbudget.storage.records import encode_record, header_line

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

pytestmark = pytest.mark.usefixtures("no_leaked_descriptors")


@pytest.fixture(autouse=True)
def pauses(monkeypatch: pytest.MonkeyPatch) -> list[float]:
    """Let nobody wait before a last line is looked at again, and list the pauses."""
    made: list[float] = []
    monkeypatch.setattr("toolbudget.storage._log_scan.time.sleep", made.append)
    return made


def line_of(root: Path, name: str = "a.txt", **keys: str) -> bytes:
    """Give a record about a stored file as it stands on a line."""
    return encode_record(record_of(root / "s1" / "tool-results" / name, **keys))


def write(path: Path, *lines: bytes) -> Path:
    """Write a private file of records."""
    path.parent.mkdir(mode=0o700, exist_ok=True)
    path.write_bytes(b"".join(lines))
    path.chmod(0o600)
    return path


class TestDamage:
    """Each kind of damage is told, with the line's number and where it begins."""

    @pytest.mark.parametrize(
        ("damage", "code", "kind"),
        [
            (lambda line: line[:50] + b"\n", "torn-line", "torn"),
            (lambda line: b"\0" * len(line) + b"\n", "damaged-line", "NUL run"),
            (
                lambda line: line[:40] + b"\0" * 40 + line[80:],
                "damaged-line",
                "NUL run",
            ),
            (lambda line: line.replace(b'"t"', b'"u"'), "damaged-line", "bad checksum"),
            (lambda line: line[:50] + line, "damaged-line", "glued"),
            (lambda _line: b"garbage\n", "damaged-line", "not JSON"),
            (lambda line: b"{" + line.strip() + b"\n", "damaged-line", "glued"),
        ],
        ids=["torn", "nul-line", "nul-run", "check", "glued", "garbage", "nested"],
    )
    def test_in_the_middle(
        self, tmp_path: Path, damage: Callable[[bytes], bytes], code: str, kind: str
    ) -> None:
        """A damaged line in the middle costs itself; the records around it count."""
        store(tmp_path, "a", "b")
        line = line_of(tmp_path)
        beginning = header_line("s1") + line
        write(tmp_path / "s1.jsonl", beginning, damage(line), line_of(tmp_path, "b.txt"))
        report = report_of(tmp_path)
        assert codes(report) == [code]
        [item] = items(report, code)
        assert (item.detail, item.line, item.offset) == (kind, 3, len(beginning))
        assert report.checked_files == 2

    def test_too_long(self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        """A line beyond the maximum is never held in memory, and told."""
        monkeypatch.setattr("toolbudget.storage.line_reader.MAX_LINE_BYTES", 4096)
        write(tmp_path / "s1.jsonl", header_line("s1"), b"x" * (2 << 20) + b"\n")
        assert items(report_of(tmp_path), "damaged-line")[0].detail == "too long"

    @pytest.mark.parametrize(
        ("cut_bytes", "expected"), [(1, "unterminated-line"), (2, "torn-line"), (90, "torn-line")]
    )
    def test_a_last_line(self, tmp_path: Path, cut_bytes: int, expected: str) -> None:
        """A last line that lacks its end only counts; one that lacks more was torn."""
        store(tmp_path, "a")
        path = tmp_path / "s1.jsonl"
        os.truncate(path, path.stat().st_size - cut_bytes)
        report = report_of(tmp_path)
        is_lost = expected == "torn-line"
        found = ["no-records", "unrecorded-file", expected] if is_lost else [expected]
        assert codes(report) == found
        assert report.is_healthy is not is_lost
        assert report.record_files[0].is_unterminated

    def test_blank_lines_are_no_damage(self, tmp_path: Path) -> None:
        """Blank lines mean nothing, also as the last one."""
        store(tmp_path, "a")
        with (tmp_path / "s1.jsonl").open("ab") as file:
            file.write(b"\n \r\n  ")
        assert report_of(tmp_path).findings == ()


class TestLive:
    """A record that is just being appended is not damaged."""

    def test_it_is_looked_at_again(self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        """What was half there at the first look is whole at the second."""
        store(tmp_path, "a", "b")
        path = tmp_path / "s1.jsonl"
        whole = path.read_bytes()
        path.write_bytes(whole[:-100])
        monkeypatch.setattr(
            "toolbudget.storage._log_scan.time.sleep", lambda _pause_s: path.write_bytes(whole)
        )
        report = report_of(tmp_path)
        assert (report.findings, report.checked_files) == ((), 2)

    def test_it_may_be_taken_back(self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        """A writer that fails cuts the file back to where it was."""
        store(tmp_path, "a")
        path = tmp_path / "s1.jsonl"
        whole = path.read_bytes()
        path.write_bytes(whole + b'{"type":')
        monkeypatch.setattr(
            "toolbudget.storage._log_scan.time.sleep", lambda _pause_s: path.write_bytes(whole)
        )
        assert report_of(tmp_path).findings == ()

    def test_only_once(self, tmp_path: Path, pauses: list[float]) -> None:
        """A torn line that stays is waited for once, in a file just written only."""
        store(tmp_path, "a")
        path = tmp_path / "s1.jsonl"
        os.truncate(path, path.stat().st_size - 9)
        report_of(tmp_path)
        assert len(pauses) == 1
        os.utime(path, (0, 0))
        report_of(tmp_path)
        assert len(pauses) == 1


class TestWhoseRecords:
    """Records count where they belong."""

    def test_records_of_another_session(self, tmp_path: Path) -> None:
        """A transcript that was copied by hand keeps the decisions of the other session."""
        store(tmp_path, "a")
        write(tmp_path / "copy.jsonl", (tmp_path / "s1.jsonl").read_bytes())
        report = report_of(tmp_path, "copy")
        assert codes(report) == ["other-session", "other-header"]
        assert items(report, "other-session")[0].detail == "session 's1'"
        assert report.replacements == 0

    @pytest.mark.parametrize(
        ("name", "agent_id", "expected"),
        [
            ("s1.jsonl", "x", ["other-session"]),
            ("s1/subagents/agent-x.jsonl", "y", ["other-session"]),
            ("s1/subagents/agent-x.jsonl", "x", ["missing-file"]),
            ("s1/content-replacements.jsonl", "x", ["missing-file"]),
        ],
    )
    def test_records_of_an_agent(
        self, tmp_path: Path, name: str, agent_id: str, expected: list[str]
    ) -> None:
        """An agent's records belong into its own file or into the sidecar."""
        (tmp_path / "s1").mkdir(mode=0o700)
        write(tmp_path / name, header_line("s1"), line_of(tmp_path, agentId=agent_id))
        assert codes(report_of(tmp_path)) == expected

    def test_both_files(self, tmp_path: Path) -> None:
        """Records in the transcript and in a sidecar both count, which is good to know."""
        store(tmp_path, "a", "b")
        sidecar = tmp_path / "s1" / "content-replacements.jsonl"
        write(sidecar, header_line("s1"), line_of(tmp_path, "b.txt"))
        report = report_of(tmp_path)
        assert codes(report) == ["two-record-files"]
        assert items(report, "two-record-files")[0].path == sidecar

    def test_another_programs_transcript(self, tmp_path: Path) -> None:
        """Its permissions and lines are its own; its records are none of ours."""
        store(tmp_path, "a")
        (tmp_path / "s1.jsonl").unlink()
        write(tmp_path / "s1" / "content-replacements.jsonl", header_line("s1"), line_of(tmp_path))
        foreign = write(tmp_path / "s1.jsonl", MESSAGE, FOREIGN_LINE + b"\n", b"torn", b"\n")
        foreign.chmod(0o644)
        (tmp_path / "s1").chmod(0o755)
        report = report_of(tmp_path)
        assert codes(report) == ["foreign-damage", "shared-folder"]
        assert [found.is_ours for found in report.record_files] == [False, True]
        assert report.is_healthy

    def test_other_sessions_in_another_programs_transcript(self, tmp_path: Path) -> None:
        """Records of its other sessions are passed over."""
        write(tmp_path / "s2.jsonl", MESSAGE, FOREIGN_LINE + b"\n")
        assert codes(report_of(tmp_path, "s2")) == ["foreign-session"]

    def test_results_of_another_program(self, tmp_path: Path) -> None:
        """Files beside ours that no record names may be another program's, with its modes."""
        write(tmp_path / "s1.jsonl", MESSAGE)
        results = tmp_path / "s1" / "tool-results"
        results.mkdir(parents=True, mode=0o700)
        (tmp_path / "s1").chmod(0o700)
        (results / "toolu_1.txt").write_text("x")
        (results / "toolu_1.txt").chmod(0o644)
        assert codes(report_of(tmp_path)) == ["unrecorded-file"]

    def test_a_newer_version(self, tmp_path: Path) -> None:
        """A header of a version to come means: read, but not written."""
        header = {"type": "toolbudget-session", "version": 2, "sessionId": "s1", "more": 1}
        write(tmp_path / "s1.jsonl", b"\0\0\n", json.dumps(header).encode() + b"\n")
        report = report_of(tmp_path)
        assert codes(report) == ["newer-version", "foreign-damage"]
        [item] = items(report, "newer-version")
        assert (item.detail, item.line) == ("version 2", 2)
        assert report.record_files[0].is_ours is False

    @pytest.mark.parametrize(
        "line",
        [b"toolbudget-session", b'["toolbudget-session"]', b'{"type":"toolbudget-session"}'],
    )
    def test_what_is_no_header(self, line: bytes) -> None:
        """A line that merely holds the word is no header."""
        assert header_of(line) is None


class TestHostileRecords:
    """Nothing that a record says leads out of the session's folder."""

    @pytest.mark.parametrize(
        "name", ["../x.txt", "/etc/passwd", "a\0b.txt", "..", "", "a b.txt", "a.exe", "x" * 9000]
    )
    def test_odd_file_names(self, tmp_path: Path, name: str) -> None:
        """A name that no store has made is told and never opened."""
        opened: list[str] = []

        class Watching(PosixFileSystem):
            def open_file(self, name: str, *, parent: int) -> int:
                opened.append(name)
                return super().open_file(name, parent=parent)

        write(tmp_path / "x.txt", b"outside")
        record = record_of(tmp_path / "s1" / "tool-results" / "a.txt", name=name)
        write(tmp_path / "s1.jsonl", header_line("s1"), encode_record(record))
        report = inspect_session(SessionPlace(tmp_path, "s1"), files=Watching())
        assert codes(report) == ["unusable-file-name"]
        assert set(opened) == {"s1.jsonl"}

    @pytest.mark.parametrize("parent", ["../..", "/etc", "..", "a/../../b"])
    def test_odd_parents(self, tmp_path: Path, parent: str) -> None:
        """A parent's id leads to a folder beside this session, whatever it is."""
        root = tmp_path / "root"
        (root / "s1").mkdir(parents=True, mode=0o700)
        record = record_of(root / "s1" / "tool-results" / "a.txt", inheritedFrom=parent)
        write(root / "s1.jsonl", header_line("s1"), encode_record(record))
        [item] = items(report_of(root), "missing-elsewhere")
        assert item.path.parent.parent.parent == root
        assert ".." not in item.path.parts

    @pytest.mark.parametrize(
        "replacement", ["", "read /etc/passwd", "<persisted-output>\nno end", framed("/x") + "!"]
    )
    def test_a_text_without_the_frame(self, tmp_path: Path, replacement: str) -> None:
        """A replacement that this library would not write is a warning."""
        directory = store(tmp_path, "a")
        record = record_of(directory / "a.txt", replacement=replacement)
        write(tmp_path / "s1.jsonl", header_line("s1"), encode_record(record))
        assert "unframed-text" in codes(report_of(tmp_path))

    @pytest.mark.parametrize(
        "change",
        [
            {"replacements": 5},
            {"replacements": [5]},
            {"replacements": [{"kind": "tool-result", "toolUseId": 1}]},
            {"frozen": [["a", -1, "x"]]},
        ],
    )
    def test_malformed_entries(self, tmp_path: Path, change: dict[str, object]) -> None:
        """An entry that is not as the format says is ignored and told."""
        record: dict[str, object] = {"type": "content-replacement", "sessionId": "s1"}
        write(tmp_path / "s1.jsonl", header_line("s1"), encode_record(record | change))
        report = report_of(tmp_path)
        assert codes(report) == ["unusable-entry"]
        assert items(report, "unusable-entry")[0].detail == "1 malformed in this line"

    def test_two_digests_for_one_file(self, tmp_path: Path) -> None:
        """If records contradict each other, the file cannot have the bytes of both."""
        directory = store(tmp_path, "a")
        record = dict(record_of(directory / "a.txt"))
        record["replacements"] = [record["replacements"][0] | {"fileDigest": "0" * 32}]  # type: ignore[index]
        with (tmp_path / "s1.jsonl").open("ab") as file:
            file.write(encode_record(record))
        assert codes(report_of(tmp_path)) == ["wrong-bytes"]
