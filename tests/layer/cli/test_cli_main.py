"""The command itself: help, version, wrong usage, and how it ends when it must."""

from __future__ import annotations

import contextlib
import os
import re
import signal
import subprocess
import sys
from importlib.metadata import version
from typing import TYPE_CHECKING

import pytest

from tests.builders import res
from tests.layer.cli.talk import TALK
from tests.layer.cli.transcripts import to_lines, user, write
from toolbudget import Session
from toolbudget.cli.main import _COMMANDS

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from tests.layer.cli.transcripts import Ran

COMMAND = [sys.executable, "-m", "toolbudget"]
COMMANDS = tuple(_COMMANDS)
LINES = to_lines(user(res("t1", "x" * 60_000), sessionId="s1"))


def test_help_names_every_command(run: Callable[..., Ran]) -> None:
    """Whoever asks for help learns the commands and exit codes."""
    ran = run("--help")
    assert ran.code == 0
    assert all(f"  {name} " in ran.out for name in COMMANDS)
    assert all(words in ran.out for words in ("--version", "Exit codes"))


@pytest.mark.parametrize("command", COMMANDS)
def test_each_command_has_help(run: Callable[..., Ran], command: str) -> None:
    """``-h`` works for each command and fits into 80 columns."""
    ran = run(command, "-h")
    assert (ran.code, ran.err) == (0, "")
    assert f"toolbudget {command}" in ran.out
    assert max(map(len, ran.out.splitlines())) <= 80
    assert "\\b" not in ran.out
    assert re.search(rf"\n  Examples?:\n    toolbudget {command} ?.*\n", ran.out)


@pytest.mark.parametrize("command", ["config", "context", "gc", "report", "sessions"])
def test_an_example_stands_on_a_line_of_its_own(run: Callable[..., Ran], command: str) -> None:
    """It is there to be copied."""
    lines = run(command, "--help").out.splitlines()
    assert any(line.startswith(f"    toolbudget {command} ") for line in lines)


@pytest.mark.parametrize(
    "command", ["apply", "context", "diff", "doctor", "gc", "sessions", "show"]
)
def test_an_unset_variable_names_nothing(
    run: Callable[..., Ran], tmp_path: Path, command: str
) -> None:
    """An empty path is wrong usage, and never the folder that one happens to be in."""
    with Session.open(tmp_path, "s1", durability="process") as session:
        block = {"type": "tool_result", "tool_use_id": "t1", "content": "x" * 60_000}
        session.gate(block, tool_name="Fetch")
    before = sorted(tmp_path.rglob("*"))
    options = {"gc": ["--max-bytes", "1", "--yes"], "diff": ["b"]}.get(command, [])
    ran = run(command, "", *options)
    assert (ran.code, ran.out) == (2, "")
    assert ran.err.endswith("must name a file or folder: ''\n")
    assert sorted(tmp_path.rglob("*")) == before


@pytest.mark.parametrize(
    ("words", "wanted", "shell"),
    [
        (["sh"], {"show"}, "bash"),
        (["show", "--"], {"--root", "--lines", "--grep", "--context", "--help"}, "zsh"),
        (["gc", "--m"], {"--max-bytes", "--max-session-bytes"}, "fish"),
        (["sessions", "--sort", ""], {"age", "size", "name"}, "bash"),
    ],
)
def test_a_shell_completes(words: list[str], wanted: set[str], shell: str) -> None:
    """Commands, options and choices are offered to each shell that click serves."""
    script = "import sys; from toolbudget.cli import main; sys.exit(main())"
    finished = subprocess.run(
        [sys.executable, "-c", script],
        check=False,
        capture_output=True,
        text=True,
        env={
            **os.environ,
            "_TOOLBUDGET_COMPLETE": f"{shell}_complete",
            "COMP_WORDS": " ".join(["toolbudget", *words]),
            "COMP_CWORD": words[-1] if shell == "fish" else str(len(words)),
        },
    )
    offered = set(re.findall(r"[-a-z]+", finished.stdout))
    assert wanted <= offered
    assert finished.returncode == 0


@pytest.mark.parametrize(
    ("option", "value"),
    [("--size", "0"), ("--reserve-output", "-1"), ("--near", "2"), ("--over", "nan")],
)
def test_a_window_that_is_none_is_named_by_its_option(
    run: Callable[..., Ran], option: str, value: str
) -> None:
    """What the library calls an argument is an option here."""
    ran = run("context", "in", f"{option}={value}")
    assert (ran.code, ran.out) == (2, "")
    assert f"Error: {option} must be " in ran.err


HOSTILE_PATHS = {
    "missing": "missing",
    "folder": "folder",
    "empty": "empty",
    "plain": "plain",
    "binary": "binary",
    "loop": "loop",
    "too long": "a" * 5_000,
    "control": "c\x1b[31m\nd",
    "surrogate": "a\udcffb",
    "device": "/dev/null",
    "below a file": "plain/below",
}
READERS = {
    "apply": [],
    "context": [],
    "diff": ["plain"],
    "doctor": [],
    "gc": ["--older-than", "1d", "--yes"],
    "report": [],
    "sessions": [],
    "show": ["t1"],
}


@pytest.mark.parametrize("path", HOSTILE_PATHS.values(), ids=HOSTILE_PATHS)
@pytest.mark.parametrize("command", READERS)
def test_an_odd_path_is_told_in_one_line(
    run: Callable[..., Ran], tmp_path: Path, command: str, path: str
) -> None:
    """No traceback, no control character, and one of the documented exit codes."""
    (tmp_path / "folder").mkdir()
    for name, data in (("empty", b""), ("plain", b"hello"), ("binary", b"\xff\xfe\x00")):
        write(tmp_path / name, data)
    (tmp_path / "loop").symlink_to("loop")
    before = sorted(tmp_path.iterdir())
    ran = run(command, path, *READERS[command])
    assert ran.code in {0, 1, 2}
    assert (ran.code == 0) == (ran.err == "")
    errors = [line for line in ran.err.splitlines() if line.startswith("Error: ")]
    assert len(errors) == (ran.code != 0)
    assert all(line.isprintable() for line in ran.err.splitlines())
    assert sorted(tmp_path.iterdir()) == before


def test_version(run: Callable[..., Ran]) -> None:
    """The version is that of the installed package."""
    assert run("--version").out == f"toolbudget {version('toolbudget')}\n"


def test_the_module_is_the_command() -> None:
    """``python -m toolbudget`` does what ``toolbudget`` does."""
    finished = subprocess.run([*COMMAND, "--version"], check=False, capture_output=True, text=True)
    assert finished.stdout == f"toolbudget {version('toolbudget')}\n"


@pytest.mark.parametrize(
    "words",
    [
        ("sessions", "root"),
        ("gc", "root", "--older-than", "30d"),
        ("show", "root/s"),
        ("report", "in"),
        ("config",),
        ("context", "in"),
        ("doctor", "root"),
        ("apply", "in", "--root", "root", "--session", "s"),
    ],
    ids=lambda words: words[0],
)
def test_what_is_piped_has_no_trailing_blanks(
    run: Callable[..., Ran],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    words: tuple[str, ...],
) -> None:
    """A table that is filled up to its width would differ in a diff or a log for nothing."""
    monkeypatch.chdir(tmp_path)
    write(tmp_path / "in", to_lines(*TALK, user(res("t1", 60_000 * "x"))))
    run("apply", "in", "--root", "root", "--session", "s")
    ran = run(*words)
    assert ran.code == 0
    lines = ran.out.splitlines()
    assert lines
    assert [line for line in lines if line != line.rstrip(" ")] == []


@pytest.mark.parametrize(
    ("words", "message"),
    [
        ([], "Usage: toolbudget"),
        (["nope"], "No such command 'nope'.\n"),
        (["aply"], "No such command 'aply'. Did you mean 'apply'?\n"),
        (["apply"], "Missing argument 'INPUT'"),
        (["apply", "a", "b"], "unexpected extra argument"),
        (["apply", "a", "--nope"], "--nope"),
        (["apply", "a", "--format", "xml"], "'--format': 'xml'"),
        (["apply", "a", "--max-result-chars", "0"], "'--max-result-chars': must be a whole number"),
        (["apply", "a", "--max-result-chars", "-5"], "or 'off': '-5'"),
        (["apply", "a", "--max-message-chars", "5k"], "'--max-message-chars': must be a whole"),
        (["apply", "a", "--max-message-chars", "nan"], "or 'off': 'nan'"),
        (["apply", "a", "--max-message-chars", ""], "or 'off': ''"),
    ],
)
def test_wrong_usage(run: Callable[..., Ran], words: list[str], message: str) -> None:
    """Wrong usage ends with 2 and says on standard error what is wrong with which word."""
    ran = run(*words)
    assert (ran.code, ran.out) == (2, "")
    assert message in ran.err


@pytest.mark.parametrize(
    ("variable", "value"),
    [
        ("TOOLBUDGET_MAX_RESULT_CHARS", "many"),
        ("TOOLBUDGET_MAX_MESSAGE_CHARS", "0"),
        ("TOOLBUDGET_PREVIEW_BYTES", ""),
        ("TOOLBUDGET_DURABILITY", "some"),
    ],
)
def test_a_wrong_environment_is_wrong_usage(
    apply: Callable[..., Ran],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    variable: str,
    value: str,
) -> None:
    """A variable that cannot be used is named with its value."""
    monkeypatch.setenv(variable, value)
    ran = apply(write(tmp_path / "in", LINES))
    assert (ran.code, ran.out) == (2, "")
    assert variable in ran.err
    assert ran.err.endswith(f"{value!r}\n")


def test_an_unusable_root_is_wrong_usage(run: Callable[..., Ran], tmp_path: Path) -> None:
    """A root whose paths no model could be shown is refused before anything is written."""
    ran = run("apply", write(tmp_path / "in", LINES), "--root", tmp_path / "a\nb")
    assert ran.code == 2
    assert "line break" in ran.err
    assert [path.name for path in tmp_path.iterdir()] == ["in"]


@pytest.mark.parametrize(
    "words",
    [
        ["config", "--config", ""],
        ["apply", "in", "--config", ""],
        ["apply", "in", "--out", ""],
        ["report", "in", "--html", ""],
        ["report", "in", "--csv", ""],
    ],
)
def test_a_file_without_a_name_is_wrong_usage(
    run: Callable[..., Ran], tmp_path: Path, words: list[str]
) -> None:
    """An unset variable names no file; the option is named, and nothing is written."""
    path = write(tmp_path / "in", LINES)
    ran = run(*(path if word == "in" else word for word in words))
    assert (ran.code, ran.out) == (2, "")
    assert ran.err.endswith(f"Error: Invalid value for '{words[-2]}': must name a file: ''\n")
    assert [path.name for path in tmp_path.iterdir()] == ["in"]


@pytest.mark.parametrize(
    "words", ["apply in --root root", "doctor .", "sessions .", "report in", "context in"]
)
def test_a_closed_stream_takes_what_nobody_reads(tmp_path: Path, words: str) -> None:
    """Without standard error the report is the same, and without standard output the exit code."""
    write(tmp_path / "in", LINES)
    run_in_shell("$COMMAND apply in --root root", tmp_path)
    usual = run_in_shell(f"$COMMAND {words}", tmp_path)
    assert usual.stdout
    without_error = run_in_shell(f"$COMMAND {words} 2>&-", tmp_path)
    assert (without_error.returncode, without_error.stdout) == (usual.returncode, usual.stdout)
    without_any = run_in_shell(f"$COMMAND {words} <&- >&- 2>&-", tmp_path)
    assert (without_any.returncode, without_any.stdout) == (usual.returncode, "")


def test_an_unknown_core_is_wrong_usage() -> None:
    """A core that does not exist is an error, not a traceback."""
    finished = subprocess.run(
        [*COMMAND, "info"],
        check=False,
        capture_output=True,
        text=True,
        env={**os.environ, "TOOLBUDGET_CORE": "zig"},
    )
    assert (finished.returncode, finished.stdout) == (2, "")
    assert finished.stderr.endswith("must be 'python' or 'native': 'zig'\n")


def test_records_that_cannot_be_read(apply: Callable[..., Ran], tmp_path: Path) -> None:
    """A transcript that is no file is a failure that names it."""
    (tmp_path / "root" / "s1.jsonl").mkdir(parents=True)
    ran = apply(write(tmp_path / "in", LINES))
    assert (ran.code, ran.out) == (1, "")
    assert str(tmp_path / "root" / "s1.jsonl") in ran.err


def run_in_shell(script: str, folder: Path) -> subprocess.CompletedProcess[str]:
    """Run a script in which ``$COMMAND`` is the command, in a folder."""
    return subprocess.run(
        ["bash", "-c", script],  # noqa: S607
        check=False,
        capture_output=True,
        text=True,
        cwd=folder,
        env={**os.environ, "COMMAND": " ".join(COMMAND), "TOOLBUDGET_DURABILITY": "process"},
    )


@pytest.mark.parametrize("options", ["", "--json"])
def test_a_reader_that_leaves_early(tmp_path: Path, options: str) -> None:
    """A closed pipe ends the command without a word."""
    write(tmp_path / "in", LINES)
    script = f"(sleep 0.2; $COMMAND apply in --root root {options}) | true"
    finished = run_in_shell(script, tmp_path)
    assert (finished.stdout, finished.stderr) == ("", "")
    assert (tmp_path / "root" / "s1" / "applied.jsonl").exists()


def test_a_full_disk_behind_standard_output(tmp_path: Path) -> None:
    """A report that cannot be printed is a failure with the operating system's reason."""
    write(tmp_path / "in", LINES)
    finished = run_in_shell("$COMMAND apply in --root root > /dev/full", tmp_path)
    assert finished.returncode == 1
    assert "No space left on device" in finished.stderr
    assert "Traceback" not in finished.stderr


def test_a_terminal_without_unicode(tmp_path: Path) -> None:
    """What an encoding lacks is shown as an escape."""
    lines = to_lines(user(res("t1", "x" * 60_000), sessionId="caf\u00e9"))
    write(tmp_path / "in", lines)
    script = "PYTHONIOENCODING=ascii $COMMAND apply in --root root"
    finished = run_in_shell(script, tmp_path)
    assert (finished.returncode, finished.stderr) == (0, "")
    assert finished.stdout.startswith("Session caf\\xe9\n")


def test_an_interrupt_ends_quietly(tmp_path: Path) -> None:
    """Ctrl-C ends with 130 and no traceback."""
    with subprocess.Popen(
        [*COMMAND, "apply", "-", "--root", "root"],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        cwd=tmp_path,
    ) as process:
        assert process.stdin is not None
        process.stdin.write(LINES)
        process.stdin.flush()
        # The root is made when reading begins: from then on an interrupt is the command's own.
        while not (tmp_path / "root").exists():
            assert process.poll() is None
        process.send_signal(signal.SIGINT)
        # CPython loses an interrupt that falls into a callback of its import system.
        with contextlib.suppress(subprocess.TimeoutExpired):
            process.wait(timeout=5)
        process.send_signal(signal.SIGINT)
        out, err = process.communicate()
    assert (process.returncode, out, err.strip()) == (130, b"", b"")


def test_a_command_loads_only_what_it_needs() -> None:
    """Help and version do not wait for what draws tables."""
    code = (
        "import sys; from toolbudget.cli import main; main(['--version']);"
        "print([name for name in ('rich', 'numpy', 'asyncio') if name in sys.modules])"
    )
    finished = subprocess.run(
        [sys.executable, "-c", code], check=True, capture_output=True, text=True
    )
    assert finished.stdout.endswith("[]\n")
