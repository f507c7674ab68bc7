"""What ``toolbudget doctor`` tells a person and a machine, and how it ends."""

from __future__ import annotations

import io
import json
import os
from typing import TYPE_CHECKING, Any

import pytest
from rich.console import Console

from tests.builders import files_below, gate, res
from toolbudget import Session
from toolbudget.cli.doctor import Checked
from toolbudget.cli.doctor_view import DoctorView
from toolbudget.storage.inspection import SessionPlace, inspect_session

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from tests.layer.cli.transcripts import Ran

TEXT = "a line of output\n" * 5000


@pytest.fixture
def root(tmp_path: Path) -> Path:
    """Give a folder with one session of three replaced results."""
    return make(tmp_path / "root", "s1", "a", "b", "c")


def make(root: Path, session_id: str, *ids: str) -> Path:
    """Let a session replace results."""
    with Session.open(root, session_id, durability="process") as session:
        for tool_use_id in ids:
            session.gate(
                {"type": "tool_result", "tool_use_id": tool_use_id, "content": TEXT},
                tool_name="Fetch",
            )
    return root


def results(root: Path, session_id: str = "s1") -> Path:
    """Give the folder of a session's results."""
    return root / session_id / "tool-results"


class TestHealthy:
    """A session that is as it should be."""

    @pytest.mark.parametrize("name", ["", "s1", "s1.jsonl"])
    def test_it_is_said(self, run: Callable[..., Ran], root: Path, name: str) -> None:
        """One line sums it up, by whatever name the session is called."""
        ran = run("doctor", root / name)
        assert (ran.code, ran.err) == (0, "")
        assert ran.out.splitlines()[0] == "Session s1"
        assert "3 replaced results, 3 stored results compared (249KB)" in ran.out
        assert ran.out.splitlines()[-1] == "1 session checked: healthy (nothing found)"

    def test_healthy_ones_of_many_are_only_counted(
        self, run: Callable[..., Ran], root: Path
    ) -> None:
        """Among many sessions only those with something to say are shown."""
        make(root, "s2", "a")
        make(root, "s3", "a")
        (results(root, "s2") / "a.txt").unlink()
        ran = run("doctor", root)
        shown = [line for line in ran.out.splitlines() if line.startswith("Session")]
        assert (ran.code, shown) == (1, ["Session s2"])
        assert ran.out.splitlines()[-1] == "3 sessions checked: 1 error"

    def test_notes_are_healthy(self, run: Callable[..., Ran], root: Path) -> None:
        """With notes only the exit code is that of success."""
        (results(root) / "orphan.txt").touch(mode=0o600)
        ran = run("doctor", root)
        assert ran.code == 0
        assert "note: 1 stored result is in no record" in ran.out
        assert ran.out.splitlines()[-1] == "1 session checked: healthy (1 note)"

    def test_an_open_session(self, run: Callable[..., Ran], root: Path) -> None:
        """A session in use may be checked, and changes nothing for it."""
        with Session.open(root, "s1", durability="process"):
            before = files_below(root)
            assert run("doctor", root).code == 0
            assert files_below(root) == before

    def test_no_sessions(self, run: Callable[..., Ran], tmp_path: Path) -> None:
        """A folder without sessions is nothing bad."""
        ran = run("doctor", tmp_path)
        assert (ran.code, ran.out) == (0, f"No sessions in {tmp_path}\n")

    def test_forks_and_agents(self, run: Callable[..., Ran], root: Path) -> None:
        """What a fork and a sub-agent leave on disk is healthy too."""
        with Session.open(root, "s1", durability="process") as session:
            with session.fork("fork") as fork:
                gate(fork, res("d", TEXT))
            with session.subagent("explore") as agent:
                gate(agent, res("e", TEXT))
        assert run("doctor", root).out == "2 sessions checked: healthy (nothing found)\n"

    def test_after_apply(self, run: Callable[..., Ran], tmp_path: Path) -> None:
        """What ``apply`` leaves on disk is healthy."""
        source = tmp_path / "input.json"
        source.write_text(json.dumps([{"role": "user", "content": [res("a", TEXT)]}]))
        assert run("apply", source, "--root", tmp_path / "out", "--session", "s9").code == 0
        assert run("doctor", tmp_path / "out").out.endswith("healthy (nothing found)\n")


class TestProblems:
    """What is wrong is told with its meaning and what to do."""

    def test_a_missing_file(self, run: Callable[..., Ran], root: Path) -> None:
        """The path stands on a line of its own, with meaning and advice below."""
        (results(root) / "a.txt").unlink()
        ran = run("doctor", root)
        assert ran.code == 1
        lines = ran.out.splitlines()
        start = lines.index("  error: 1 stored result is missing")
        assert lines[start + 1] == f"    {results(root) / 'a.txt'}"
        assert lines[start + 2].startswith("    The conversation goes on with the same bytes")
        assert lines[start + 3].startswith("    to do: Restore the file from a backup")

    def test_the_line_is_told(self, run: Callable[..., Ran], root: Path) -> None:
        """Damage in a transcript is told by line and byte."""
        path = root / "s1.jsonl"
        offset = path.stat().st_size
        with path.open("ab") as file:
            file.write(b"garbage\n")
        ran = run("doctor", root)
        assert f"    {path}\n      line 5 at byte {offset}, not JSON\n" in ran.out

    def test_many_places(self, run: Callable[..., Ran], root: Path) -> None:
        """Ten places are shown; the rest is counted."""
        for number in range(25):
            (results(root) / f"orphan_{number:02}.txt").touch(mode=0o600)
        out = run("doctor", root).out
        assert out.count("orphan_") == 10
        assert "note: 25 stored results are in no record" in out
        assert "and 15 more; --json lists them" in out

    def test_an_open_root(self, run: Callable[..., Ran], root: Path) -> None:
        """A folder of sessions that others can write is told before the sessions."""
        root.chmod(0o777)
        ran = run("doctor", root)
        assert (ran.code, ran.out.splitlines()[0]) == (1, "Folder of all sessions")
        assert ran.out.splitlines()[-1] == "1 session checked: 1 warning"

    def test_names_that_could_deceive(self, run: Callable[..., Ran], root: Path) -> None:
        """Control characters of a name never reach the terminal."""
        (root / "s1" / "\x1b[31mred\n").touch()
        out = run("doctor", root).out
        assert "\\x1b[31mred\\n" in out
        assert "\x1b" not in out

    def test_wrong_usage(self, run: Callable[..., Ran], tmp_path: Path) -> None:
        """A path that stands for no session is wrong usage."""
        (tmp_path / "file").touch()
        ran = run("doctor", tmp_path / "file")
        assert (ran.code, ran.out) == (2, "")
        assert ran.err.startswith("Error: neither a session nor a folder of sessions: ")

    @pytest.mark.parametrize("name", ["missing", "missing/below.jsonl"])
    def test_nothing_there(self, run: Callable[..., Ran], tmp_path: Path, name: str) -> None:
        """A path where nothing is fails, as with every command that reads."""
        ran = run("doctor", tmp_path / name)
        assert (ran.code, ran.out) == (1, "")
        assert ran.err == f"Error: no such file or folder: {str(tmp_path / name)!r}\n"


class TestRepair:
    """``--repair`` says what it did; what is left decides how it ends."""

    def test_it_repairs(self, run: Callable[..., Ran], root: Path) -> None:
        """After a repair of everything the session is healthy."""
        (results(root) / "a.txt").chmod(0o644)
        os.truncate(root / "s1.jsonl", (root / "s1.jsonl").stat().st_size - 1)
        assert run("doctor", root).code == 1
        ran = run("doctor", root, "--repair")
        assert ran.code == 0
        assert "repaired: mode 0644 made 0600" in ran.out
        assert "repaired: line end added" in ran.out
        assert ran.out.splitlines()[-1] == "1 session checked: healthy (nothing found)"
        assert run("doctor", root).out.endswith("healthy (nothing found)\n")

    def test_what_is_left(self, run: Callable[..., Ran], root: Path) -> None:
        """What cannot be repaired is found as before."""
        (results(root) / "a.txt").unlink()
        (results(root) / "b.txt").chmod(0o644)
        ran = run("doctor", root, "--repair", "--json")
        assert ran.code == 1
        [session] = ran.report["sessions"]
        assert [finding["code"] for finding in session["findings"]] == ["missing-file"]
        assert session["repairs"] == [
            {
                "code": "open-permissions",
                "path": str(results(root) / "b.txt"),
                "action": "mode 0644 made 0600",
                "error": None,
            }
        ]
        assert ran.report["counts"]["repaired"] == 1

    def test_many_repairs(self, run: Callable[..., Ran], root: Path) -> None:
        """Ten repairs are shown; the rest is counted."""
        for number in range(12):
            (results(root) / f"orphan_{number:02}.txt").touch(mode=0o600)
            (results(root) / f"orphan_{number:02}.txt").chmod(0o640)
        out = run("doctor", root, "--repair").out
        assert out.count("repaired: ") == 10
        assert "and 2 more; --json lists them" in out

    def test_what_is_in_use(self, run: Callable[..., Ran], root: Path) -> None:
        """A repair that had to be left out is told with its reason."""
        os.truncate(root / "s1.jsonl", (root / "s1.jsonl").stat().st_size - 1)
        with (root / "s1.jsonl").open("rb") as file:
            from toolbudget.storage._files import POSIX

            POSIX.lock(file.fileno(), exclusive=True)
            out = run("doctor", root, "--repair").out
        assert "not repaired: left as it is: it is in use" in out


class TestMachines:
    """``--json`` has everything under documented keys."""

    def test_the_keys(self, run: Callable[..., Ran], root: Path) -> None:
        """The keys are those that the command's source documents."""
        (results(root) / "a.txt").unlink()
        ran = run("doctor", root, "--json")
        report: dict[str, Any] = ran.report
        assert ran.code == 1
        assert set(report) == {"root", "healthy", "counts", "findings", "sessions"}
        assert report["counts"] == {
            "sessions": 1,
            "errors": 1,
            "warnings": 0,
            "notes": 0,
            "repaired": 0,
        }
        [session] = report["sessions"]
        assert set(session) == {
            "name",
            "directory",
            "transcript",
            "healthy",
            "record_files",
            "replacements",
            "stored_files",
            "checked_files",
            "checked_bytes",
            "findings",
            "repairs",
        }
        [finding] = session["findings"]
        assert (finding["code"], finding["severity"], finding["count"]) == (
            "missing-file",
            "error",
            1,
        )
        assert finding["items"] == [
            {
                "path": str(results(root) / "a.txt"),
                "detail": None,
                "line": None,
                "offset": None,
                "tool_use_id": "a",
            }
        ]

    def test_no_content_is_told(self, run: Callable[..., Ran], root: Path) -> None:
        """Texts of results appear in no report, whatever is wrong with them."""
        (results(root) / "a.txt").write_text("secret\n")
        with (root / "s1.jsonl").open("ab") as file:
            file.write(b'{"type":"content-replacement","text":"secret\n')
        for option in ([], ["--json"]):
            assert "secret" not in run("doctor", root, *option).out


class TestLooks:
    """What a terminal shows."""

    @pytest.mark.parametrize("columns", [20, 40, 80, 200])
    def test_paths_are_never_wrapped(self, root: Path, columns: int) -> None:
        """A path stays in one piece on however narrow a terminal; sentences are wrapped."""
        (results(root) / "a.txt").unlink()
        shown = show(root, columns=columns)
        assert f"    {results(root) / 'a.txt'}" in shown.splitlines()
        longest = max(len(line) for line in shown.splitlines() if str(root) not in line)
        assert longest <= max(columns, 24, len("  100 records in 1 file"))

    def test_colours(self, root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        """A terminal gets colours, unless NO_COLOR is set."""
        monkeypatch.delenv("NO_COLOR", raising=False)
        monkeypatch.setenv("TERM", "xterm-256color")
        (results(root) / "a.txt").unlink()
        assert "\x1b[1;31merror" in show(root, columns=80, is_terminal=True)
        monkeypatch.setenv("NO_COLOR", "1")
        assert "\x1b[1;31m" not in show(root, columns=80, is_terminal=True)


def show(root: Path, *, columns: int, is_terminal: bool = False) -> str:
    """Give what the view prints about a session."""
    output = io.StringIO()
    console = Console(
        file=output,
        width=columns,
        force_terminal=is_terminal,
        highlight=False,
        markup=False,
        emoji=False,
    )
    report = inspect_session(SessionPlace(root, "s1"))
    DoctorView(root, is_single=True, console=console).show(Checked(report, ()))
    return output.getvalue()
