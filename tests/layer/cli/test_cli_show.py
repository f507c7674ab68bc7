"""What ``toolbudget show`` lists and shows, and what it never lets out."""

from __future__ import annotations

import json
import os
import pty
import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from tests.builders import call, res
from tests.layer.cli.transcripts import Ran, assistant, other_record, to_lines, user, write
from toolbudget import Session
from toolbudget import _core as core
from toolbudget.budget.clearing import OldResult

if TYPE_CHECKING:
    from collections.abc import Callable

LINES = "".join(f"line {number}\n" for number in range(1, 20_001))
HOSTILE_ID = "../evil\x1b[31m"
HOSTILE = "\x1b[31mred\x07\r\n" * 20_000


def gate(session: Session, tool_use_id: str, content: object) -> None:
    """Let a session replace one result."""
    block = {"type": "tool_result", "tool_use_id": tool_use_id, "content": content}
    assert session.gate(block, tool_name="Fetch") is not block


@pytest.fixture
def root(tmp_path: Path) -> Path:
    """Give a folder with one session of three results, and a fork of it with one more."""
    folder = tmp_path / "root"
    with Session.open(folder, "demo", durability="process") as session:
        gate(session, "toolu_01", LINES)
        gate(session, HOSTILE_ID, HOSTILE)
        texts = ["a\n" * 40_000, "error here\n" * 2_000]
        gate(session, "toolu_json", [{"type": "text", "text": text} for text in texts])
        with session.fork("fork") as fork:
            gate(fork, "toolu_f", "y" * 60_000)
    return folder


@pytest.fixture
def needs_search() -> None:
    """Skip on the core that does not search."""
    if core.NAME != "native":
        pytest.skip("searching takes the native core")


def listed(run: Callable[..., Ran], *words: object) -> list[dict[str, Any]]:
    """Give the rows of the table."""
    rows: list[dict[str, Any]] = json.loads(run("show", *words, "--json").out)["results"]
    return rows


class TestTable:
    """Without an id."""

    @pytest.mark.parametrize("columns", [80, 200])
    def test_each_result_with_its_size(
        self, run: Callable[..., Ran], root: Path, monkeypatch: pytest.MonkeyPatch, columns: int
    ) -> None:
        """No line is wider than the terminal, and no control character of an id comes through."""
        monkeypatch.setenv("COLUMNS", str(columns))
        ran = run("show", root / "fork")
        assert (ran.code, ran.err) == (0, "")
        assert max(map(len, ran.out.splitlines())) <= columns
        assert ran.out.replace("\n", "").isprintable()
        rows = [line.split() for line in ran.out.splitlines() if line.strip()]
        assert rows[0][0] == "id"
        assert [row[0] for row in rows[2:-1]] == [
            "toolu_01",
            r"../evil\x1b[31m",
            "toolu_json",
            "toolu_f",
        ]
        assert [row[-2:] == ["from", "demo"] for row in rows[2:-1]] == [True, True, True, False]
        assert rows[-1][:4] == ["4", "results,", "4", "files,"]

    def test_for_machines(self, run: Callable[..., Ran], root: Path) -> None:
        """Where each is, how large, and who stored it."""
        first, *_, last = listed(run, root / "fork.jsonl")
        path = root / "demo" / "tool-results" / "toolu_01.txt"
        assert (first["path"], first["inherited_from"]) == (str(path), "demo")
        assert (first["size_chars"], first["file_bytes"]) == (len(LINES), path.stat().st_size)
        assert (last["file"], last["inherited_from"], last["line"]) == ("toolu_f.txt", None, 3)
        assert (last["replaced"], last["cleared"], last["missing"]) == (True, False, False)

    def test_what_is_missing_or_cleared_is_marked(
        self, run: Callable[..., Ran], root: Path
    ) -> None:
        """A file that is gone counts, and is no failure of the command."""
        with Session.open(root, "demo", durability="process") as session:
            session.clear_results([OldResult("toolu_new", "old output\n" * 1_000)])
        (root / "demo" / "tool-results" / "toolu_01.txt").unlink()
        ran = run("show", root / "demo")
        assert ran.code == 0
        [gone] = [line for line in ran.out.splitlines() if "toolu_01 " in line]
        [cleared] = [line for line in ran.out.splitlines() if "toolu_new" in line]
        assert gone.rstrip().endswith("file missing")
        assert cleared.rstrip().endswith("cleared")
        assert "1 file missing" in ran.out

    def test_tool_and_turn_of_the_transcript(self, run: Callable[..., Ran], tmp_path: Path) -> None:
        """Another program's transcript beside the results names the calls."""
        root = tmp_path / "root"
        root.mkdir()
        transcript = to_lines(
            assistant("m1", call("other", "Grep")),
            user(res("other", "x")),
            assistant("m2", {"type": "text", "text": "so"}),
            assistant("m2", call("t1", "We\x1b[2Jb")),
            user(res("t1", "x" * 60_000)),
        )
        write(root / "s1.jsonl", transcript)
        with Session.open(root, "s1", durability="process") as session:
            gate(session, "t1", "x" * 60_000)
        [row] = listed(run, root / "s1")
        assert (row["tool"], row["turn"]) == ("We\x1b[2Jb", 2)
        ran = run("show", root / "s1")
        assert r"We\x1b[2Jb" in ran.out
        assert "\x1b" not in ran.out

    def test_a_sub_agents_results_count_once(self, run: Callable[..., Ran], root: Path) -> None:
        """What it has from its session is the session's; its own names it."""
        with Session.open(root, "demo", durability="process") as session:
            agent = session.subagent("explore")
            gate(agent, "toolu_a", "z" * 60_000)
            agent.close()
        rows = listed(run, root / "demo")
        agents = {row["tool_use_id"]: row["agent"] for row in rows}
        assert len(rows) == len(agents)
        assert agents == {
            "toolu_01": None,
            HOSTILE_ID: None,
            "toolu_json": None,
            "toolu_a": "explore",
        }

    def test_what_another_program_replaced(self, run: Callable[..., Ran], tmp_path: Path) -> None:
        """It is listed; no record names a file, so nothing of it is opened."""
        record = other_record("t9", "see /etc/passwd")
        write(tmp_path / "s1.jsonl", to_lines(record))
        [row] = listed(run, tmp_path / "s1.jsonl")
        assert (row["file"], row["path"], row["missing"]) == (None, None, False)
        ran = run("show", tmp_path / "s1.jsonl", "t9")
        assert ran.code == 1
        assert "another program" in ran.err

    def test_a_session_without_results(self, run: Callable[..., Ran], tmp_path: Path) -> None:
        """It is said, and is no failure."""
        write(tmp_path / "s1.jsonl", b"")
        assert run("show", tmp_path / "s1.jsonl")[:2] == (
            0,
            "No replaced results in session s1\n",
        )


class TestOne:
    """One result."""

    @pytest.mark.parametrize("tool_use_id", ["toolu_01", HOSTILE_ID, "toolu_json", "toolu_f"])
    def test_a_pipe_gets_the_stored_bytes(
        self, capsysbinary: pytest.CaptureFixture[bytes], root: Path, tool_use_id: str
    ) -> None:
        """Exactly, also of a fork's parent."""
        from toolbudget.cli import main

        [row] = [
            row for row in _rows(capsysbinary, root / "fork") if row["tool_use_id"] == tool_use_id
        ]
        assert main(["show", str(root / "fork"), tool_use_id]) == 0
        assert capsysbinary.readouterr().out == Path(row["path"]).read_bytes()

    @pytest.mark.parametrize(
        ("lines", "expected"),
        [
            ("10-12", "line 10\nline 11\nline 12\n"),
            ("7", "line 7\n"),
            ("1-1", "line 1\n"),
            ("19999-", "line 19999\nline 20000\n"),
            ("20000-99999", "line 20000\n"),
            ("1-", LINES),
        ],
    )
    def test_lines(self, run: Callable[..., Ran], root: Path, lines: str, expected: str) -> None:
        """Both ends are shown."""
        assert run("show", root / "demo", "toolu_01", "--lines", lines) == (0, expected, "")

    def test_lines_that_are_not_there(self, run: Callable[..., Ran], root: Path) -> None:
        """The last line is said."""
        ran = run("show", root / "demo", "toolu_01", "--lines", "20001-")
        assert (ran.code, ran.out) == (1, "")
        assert ran.err == "Error: --lines is past the last line, 20000: 20001\n"

    @pytest.mark.usefixtures("needs_search")
    def test_a_search_in_one(self, run: Callable[..., Ran], root: Path) -> None:
        """With numbers, and lines around it."""
        ran = run("show", root / "demo", "toolu_01", "--grep", "line 777$", "-C", 1)
        assert ran == (0, "776- line 776\n777: line 777\n778- line 778\n", "")

    @pytest.mark.usefixtures("needs_search")
    def test_a_search_in_all(self, run: Callable[..., Ran], root: Path) -> None:
        """Each line says which result it is of; nothing of a terminal's commands comes through."""
        ran = run("show", root / "fork", "--grep", "red|line 1999[89]|error")
        lines = ran.out.splitlines()
        assert lines[:2] == ["toolu_01:19998: line 19998", "toolu_01:19999: line 19999"]
        assert lines[2] == r"../evil\x1b[31m:1: \x1b[31mred\x07"
        assert ran.out.replace("\n", "").isprintable()

    @pytest.mark.usefixtures("needs_search")
    def test_nothing_matches(self, run: Callable[..., Ran], root: Path) -> None:
        """As with grep."""
        assert run("show", root / "demo", "toolu_01", "--grep", "zebra") == (1, "", "")

    @pytest.mark.usefixtures("needs_search")
    def test_a_pattern_that_is_none(self, run: Callable[..., Ran], root: Path) -> None:
        """The option is named."""
        ran = run("show", root / "demo", "toolu_01", "--grep", "(")
        assert (ran.code, ran.out) == (1, "")
        assert "--grep" in ran.err
        assert "Traceback" not in ran.err

    @pytest.mark.usefixtures("needs_search")
    def test_a_pattern_that_is_none_without_results(
        self, run: Callable[..., Ran], tmp_path: Path
    ) -> None:
        """It is told also where there is nothing to search."""
        (tmp_path / "demo.jsonl").write_text('{"type":"toolbudget-session","version":1}\n')
        ran = run("show", tmp_path / "demo.jsonl", "--grep", "(")
        assert (ran.code, ran.out) == (1, "")
        assert "--grep" in ran.err

    def test_an_unknown_id(self, run: Callable[..., Ran], root: Path) -> None:
        """What is close to it is said."""
        ran = run("show", root / "demo", "toolu_1")
        assert (ran.code, ran.out) == (1, "")
        assert "'toolu_1'" in ran.err
        assert "close to it: toolu_01" in ran.err
        assert "close to it: toolu_0" in run("show", root / "demo", "too").err

    def test_a_file_that_is_gone(self, run: Callable[..., Ran], root: Path) -> None:
        """One line, and no traceback."""
        path = root / "demo" / "tool-results" / "toolu_01.txt"
        path.unlink()
        ran = run("show", root / "demo", "toolu_01")
        assert (ran.code, ran.out) == (1, "")
        assert ran.err == f"Error: the stored result is gone, no such file: {str(path)!r}\n"

    @pytest.mark.parametrize("is_folder", [False, True])
    def test_no_link_is_followed(
        self, run: Callable[..., Ran], root: Path, tmp_path: Path, *, is_folder: bool
    ) -> None:
        """Neither in the place of a file nor of the folder."""
        secret = write(tmp_path / "toolu_01.txt", b"secret")
        folder = root / "demo" / "tool-results"
        if is_folder:
            folder.rename(tmp_path / "aside")
            folder.symlink_to(tmp_path)
        else:
            (folder / "toolu_01.txt").unlink()
            (folder / "toolu_01.txt").symlink_to(secret)
        ran = run("show", root / "demo", "toolu_01")
        assert (ran.code, ran.out) == (1, "")
        assert "toolu_01.txt" in ran.err

    def test_a_result_is_named_by_its_file_too(self, run: Callable[..., Ran], root: Path) -> None:
        """By name or by path."""
        path = root / "demo" / "tool-results" / "toolu_01.txt"
        for name in (path.name, path):
            assert run("show", root / "demo", name, "--lines", "1").out == "line 1\n"


def test_a_session_by_its_id(run: Callable[..., Ran], root: Path) -> None:
    """``--root`` takes the id as the host gave it."""
    assert run("show", "demo", "toolu_01", "--root", root, "--lines", "3").out == "line 3\n"
    ran = run("show", "nope/\x1b", "--root", root)
    assert (ran.code, ran.out) == (1, "")
    assert "no such file or folder" in ran.err


@pytest.mark.parametrize(
    ("named", "hint"), [("nope", "; the id of a session goes with --root ROOT"), ("./nope", "")]
)
def test_an_id_where_a_path_is_wanted(run: Callable[..., Ran], named: str, hint: str) -> None:
    """Lists of sessions show ids: whoever gives one is told where it belongs."""
    ran = run("show", named)
    assert (ran.code, ran.err) == (1, f"Error: no such file or folder: {named!r}{hint}\n")


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["--lines", "1"], "--lines needs the ID"),
        (["-C", "1"], "-C needs --grep"),
        (["t1", "--lines", "1", "--grep", "x"], "exclude each other"),
        (["t1", "--json"], "--json lists all"),
        (["t1", "--lines", "0"], "'--lines': must be lines from 1 on"),
        (["t1", "--lines", "5-3"], "'--lines': ends before it begins: '5-3'"),
        (["t1", "--lines", "-3"], "'--lines': must be lines"),
        (["t1", "--lines", ""], "or 10: ''"),
        (["--root", ""], "'--root': must name a folder"),
    ],
)
def test_wrong_usage(run: Callable[..., Ran], root: Path, words: list[str], message: str) -> None:
    """It ends with 2 and says what is wrong with which word."""
    ran = run("show", root / "demo", *words)
    assert (ran.code, ran.out) == (2, "")
    assert message in ran.err


def test_a_folder_of_several_sessions(run: Callable[..., Ran], root: Path) -> None:
    """Wrong usage; the names are said."""
    ran = run("show", root)
    assert (ran.code, ran.out) == (2, "")
    assert ran.err.endswith("holds 2 sessions; name one: demo, fork\n")


def test_a_terminal_gets_pages_without_control_characters(root: Path, tmp_path: Path) -> None:
    """The pager of the environment shows it; what would move the cursor stands as an escape."""
    seen = tmp_path / "seen"
    pager = tmp_path / "pager"
    pager.write_text(f"#!/bin/sh\ncat > {seen}\n")
    pager.chmod(0o700)
    leader, follower = pty.openpty()
    finished = subprocess.run(
        [sys.executable, "-m", "toolbudget", "show", str(root / "demo"), HOSTILE_ID],
        check=False,
        stdin=follower,
        stdout=follower,
        stderr=subprocess.PIPE,
        env={**os.environ, "PAGER": str(pager), "TERM": "xterm"},
    )
    os.close(follower)
    os.close(leader)
    assert (finished.returncode, finished.stderr) == (0, b"")
    assert seen.read_text().rstrip("\n") == "\\x1b[31mred\\x07\n".rstrip() + (
        "\n\\x1b[31mred\\x07" * 19_999
    )


@pytest.mark.parametrize(
    ("redirection", "code", "message"),
    [("| true", 1, ""), (">&-", 0, ""), ("> /dev/full", 1, "Error: No space left on device\n")],
)
def test_output_that_nobody_takes(root: Path, redirection: str, code: int, message: str) -> None:
    """A reader that has seen enough is no news; a full disk is told as what it is."""
    command = f"{sys.executable} -m toolbudget show {root / 'demo'} toolu_01"
    finished = subprocess.run(
        ["bash", "-c", f"{command} {redirection}; exit ${{PIPESTATUS[0]}}"],  # noqa: S607
        check=False,
        capture_output=True,
        text=True,
    )
    assert (finished.returncode, finished.stdout, finished.stderr) == (code, "", message)


def _rows(capture: pytest.CaptureFixture[bytes], path: Path) -> list[dict[str, Any]]:
    from toolbudget.cli import main

    main(["show", str(path), "--json"])
    rows: list[dict[str, Any]] = json.loads(capture.readouterr().out)["results"]
    return rows
