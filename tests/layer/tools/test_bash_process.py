"""The tool ``bash`` and its processes: they end, all of them, and what they wrote is told."""

from __future__ import annotations

import asyncio
import math
import os
import signal
import subprocess
import sys
import threading
import time
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from tests.layer.storage.conftest import unchanged_descriptors
from toolbudget.errors import ToolError, ToolInputError
from toolbudget.tools import _process, abash, bash

if TYPE_CHECKING:
    from collections.abc import Mapping


@pytest.fixture(autouse=True)
def short_patience(monkeypatch: pytest.MonkeyPatch) -> None:
    """Nobody waits long for what does not end by itself."""
    monkeypatch.setattr(_process, "GRACE_S", 0.15)
    monkeypatch.setattr(_process, "_LINGER_S", 0.15)


def is_alive(pid: int) -> bool:
    """Tell whether a process runs; one that has ended and waits to be reaped does not."""
    try:
        state = Path(f"/proc/{pid}/stat").read_text("ascii").rpartition(")")[2].split()[0]
    except (FileNotFoundError, ProcessLookupError):
        return False
    return state != "Z"


def pid_in(path: Path, patience_s: float = 5.0) -> int:
    """Return the process number that a command has written to a file."""
    deadline_s = time.monotonic() + patience_s
    while not (path.exists() and path.read_text("ascii").endswith("\n")):
        assert time.monotonic() < deadline_s, "the command has not begun"
        time.sleep(0.005)
    return int(path.read_text("ascii"))


def await_end(pid: int, patience_s: float = 5.0) -> None:
    """Fail unless a process is gone soon."""
    deadline_s = time.monotonic() + patience_s
    while is_alive(pid):
        assert time.monotonic() < deadline_s, "it runs on"
        time.sleep(0.005)


def test_both_streams_and_the_exit_code_are_told() -> None:
    """A failing command says so first, then what it wrote."""
    result = bash("echo out; echo err >&2; exit 3")
    assert (result.exit_code, result.signal, result.is_error) == (3, None, True)
    assert (result.stdout, result.stderr) == ("out\n", "err\n")
    assert (result.stdout_bytes, result.stderr_bytes, result.total_bytes) == (4, 4, 8)
    assert result.text.splitlines()[0] == "Exit code: 3"
    assert {"out", "err"} < set(result.text.splitlines())
    assert result.path is None
    assert result.is_whole
    assert 0 < result.elapsed_s < 30


@pytest.mark.parametrize(
    ("command", "exit_code", "name", "line"),
    [
        ("kill -9 $$", None, "SIGKILL", "Exit code: none, killed by SIGKILL"),
        ("kill -SEGV $$", None, "SIGSEGV", "Exit code: none, killed by SIGSEGV"),
        ("bash -c 'kill -9 $$'; exit $?", 137, None, "Exit code: 137 (128 + SIGKILL)"),
        ("exit 255", 255, None, "Exit code: 255"),
        ("true", 0, None, "Exit code: 0"),
    ],
)
def test_signal_is_told(command: str, exit_code: int | None, name: str | None, line: str) -> None:
    """Whether the shell itself or a command of it was killed, the signal is named."""
    result = bash(command)
    assert (result.exit_code, result.signal) == (exit_code, name)
    assert result.text.splitlines()[0] == line
    assert result.is_error == (exit_code != 0)


def test_input_is_empty() -> None:
    """A command that reads its input meets the end of it at once."""
    result = bash("cat; read -r line || echo nothing to read", timeout_s=10)
    assert (result.stdout, result.timed_out) == ("nothing to read\n", False)


@pytest.mark.parametrize(
    "command",
    [
        "echo $$ >pid; sleep 100",
        "trap '' TERM; echo $$ >pid; while true; do sleep 0.05; done",
        "sleep 100 & echo $! >pid; wait",
        "(trap '' TERM; sh -c 'echo $$ >pid; exec sleep 100') & wait",
        "echo $$ >pid; exec >&- 2>&-; sleep 100",
        "echo $$ >pid; yes >&2",
    ],
)
def test_timeout_ends_the_whole_group(tmp_path: Path, command: str) -> None:
    """Whoever ignores a request, hides in the background or floods, is gone when it returns."""
    started_s = time.monotonic()
    result = bash(command, timeout_s=0.3, cwd=tmp_path)
    assert result.timed_out
    assert result.stop == "timeout"
    assert result.is_error
    assert "it ran longer than 0.3 s" in result.text.splitlines()[1]
    await_end(pid_in(tmp_path / "pid"))
    assert time.monotonic() - started_s < 5


def test_output_before_the_timeout_is_kept() -> None:
    """What was written before is shown; a request to end can be answered."""
    result = bash("trap 'echo saved; exit 7' TERM; echo begun; sleep 50 & wait", timeout_s=0.3)
    assert result.timed_out
    assert (result.exit_code, result.stdout) == (7, "begun\nsaved\n")


def test_background_process_does_not_hold_the_call(tmp_path: Path) -> None:
    """A process left behind with the output open is ended soon after the shell, and it is told."""
    result = bash("sleep 1000 & echo $! >pid; echo started", timeout_s=60, cwd=tmp_path)
    assert (result.exit_code, result.stop, result.is_error) == (0, "output_held_open", False)
    assert result.stdout == "started\n"
    assert "left running" in result.text
    assert result.elapsed_s < 10
    await_end(pid_in(tmp_path / "pid"))


def test_late_output_of_a_substitution_is_read() -> None:
    """What comes within the patience after the shell's end belongs to the output."""
    result = bash("(sleep 0.05; echo late) & echo early")
    assert (result.stdout, result.stop) == ("early\nlate\n", None)


def test_process_with_its_output_elsewhere_runs_on(tmp_path: Path) -> None:
    """A server that was started as one starts servers is left alone."""
    result = bash("sleep 1000 >log 2>&1 & echo $! >pid", cwd=tmp_path)
    pid = pid_in(tmp_path / "pid")
    try:
        assert (result.exit_code, result.stop) == (0, None)
        assert is_alive(pid)
    finally:
        os.kill(pid, signal.SIGKILL)


def test_too_much_output_ends_the_command() -> None:
    """A command that would write for ever is stopped, and what it wrote counts."""
    result = bash("yes", max_output_bytes=3_000_000, timeout_s=60)
    assert (result.stop, result.timed_out, result.is_error) == ("output_limit", False, True)
    assert result.total_bytes > 3_000_000
    assert "it wrote over 3,000,000 bytes" in result.text


def test_nothing_is_left_open() -> None:
    """Neither a descriptor nor an ended child is left, however the command ended."""
    before = _children()
    with unchanged_descriptors():
        for command, timeout_s in (
            ("true", 9),
            ("sleep 9", 0.05),
            ("sleep 9 &", 9),
            ("kill $$", 9),
        ):
            bash(command, timeout_s=timeout_s)
        with pytest.raises(ToolError):
            bash("true", cwd="/no/such/folder")
    assert _children() <= before


def _children() -> set[str]:
    """Give the children of this process; the parser of outlines may be one of them."""
    tasks = Path("/proc/self/task").glob("*/children")
    return {child for task in tasks for child in task.read_text().split()}


def test_interrupt_ends_the_command(tmp_path: Path) -> None:
    """Ctrl-C in the host's main thread ends the command before it goes on."""
    program = (
        "import sys; from toolbudget.tools import bash\n"
        "try:\n    bash('trap \"\" INT; echo $$ >pid; sleep 100')\n"
        "except KeyboardInterrupt:\n    sys.exit(42)\n"
    )
    host = subprocess.Popen([sys.executable, "-c", program], cwd=tmp_path)
    pid = pid_in(tmp_path / "pid", 30)
    host.send_signal(signal.SIGINT)
    assert host.wait(30) == 42
    assert not is_alive(pid)


def test_async_twin_gives_the_same() -> None:
    """Many at once do not wait for each other, nor for the threads of the event loop."""

    async def run() -> list[str]:
        loop = asyncio.get_running_loop()
        busy = threading.Event()
        waiting = [loop.run_in_executor(None, busy.wait) for _ in range(40)]
        results = await asyncio.gather(*(abash(f"sleep 0.1; echo {n}") for n in range(12)))
        busy.set()
        await asyncio.gather(*waiting)
        return [result.stdout for result in results]

    assert asyncio.run(run()) == [f"{n}\n" for n in range(12)]


def test_cancelled_call_ends_the_command_first(tmp_path: Path) -> None:
    """When the cancellation comes out, the command is gone, also if it came twice."""

    async def run() -> int:
        command = "echo $$ >pid; trap '' TERM; while true; do sleep 0.05; done"
        task = asyncio.create_task(abash(command, cwd=tmp_path))
        pid = await asyncio.to_thread(pid_in, tmp_path / "pid")
        task.cancel()
        await asyncio.sleep(0.02)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        return pid

    assert not is_alive(asyncio.run(run()))


@pytest.mark.parametrize(
    ("command", "problem"),
    [
        ("", "command is empty: ''"),
        (" \n", r"command is empty: ' \n'"),
        ("echo a\0b", r"NUL character: 'echo a\x00b'"),
        ("echo \ud800", r"lone surrogate: 'echo \ud800'"),
        (7, "command must be text: 7"),
        (None, "command must be text: None"),
    ],
)
def test_command_that_cannot_be_run_is_told(command: str, problem: str) -> None:
    """The error names the parameter and the value; nothing is started."""
    with pytest.raises(ToolInputError) as caught:
        bash(command)
    assert problem in str(caught.value)


@pytest.mark.parametrize("timeout_s", [0, -1, math.nan, True, "5", None])
def test_timeout_that_cannot_be_used_is_told(timeout_s: float) -> None:
    """A timeout is a positive number of seconds; one beyond every float waits for ever, too."""
    with pytest.raises(ToolInputError, match="timeout_s must be a positive number of seconds"):
        bash("true", timeout_s=timeout_s)
    assert bash("true", timeout_s=math.inf).exit_code == 0
    assert bash("true", timeout_s=10**400).exit_code == 0


def test_folder_that_cannot_be_used_is_told(tmp_path: Path) -> None:
    """A missing folder and a file in its place are errors that name it."""
    missing, file = tmp_path / "missing", tmp_path / "file"
    file.touch()
    with pytest.raises(ToolError, match=r"does not exist.*missing"):
        bash("true", cwd=missing)
    with pytest.raises(ToolError, match=r"cannot run in.*file.*Not a directory"):
        bash("true", cwd=file)


def test_command_that_is_too_long_is_told() -> None:
    """The system's limit for one argument is an error, not a crash."""
    with pytest.raises(ToolError, match="too long to be started: 3000007 bytes"):
        bash("true # " + 3_000_000 * "x")


def test_without_bash_sh_runs_it(tmp_path: Path) -> None:
    """Where there is no bash, sh runs the command and the text says so; without both, an error."""
    with pytest.raises(ToolError, match="neither bash nor sh"):
        bash("true", env={"PATH": str(tmp_path)})
    (tmp_path / "sh").symlink_to("/bin/sh")
    result = bash("echo hello", env={"PATH": str(tmp_path)})
    assert result.stdout == "hello\n"
    assert "Run by sh: there is no bash here." in result.text


@pytest.mark.parametrize("env", [{"A": "x"}, {"LC_ALL": "C"}, {"LC_ALL": "de_DE.ISO-8859-1"}])
def test_environment_is_the_given_one(env: Mapping[str, str]) -> None:
    """Nothing of the host's environment reaches the command, and text is UTF-8 in any locale."""
    command = "echo \u65e5\u672c; printf '%s' \"${HOME-unset} ${A-none}\""
    result = bash(command, env={"PATH": os.environ["PATH"], **env})
    assert result.stdout == f"\u65e5\u672c\nunset {env.get('A', 'none')}"


def test_threads_do_not_disturb_each_other() -> None:
    """Calls from many threads each get their own output."""
    outputs: list[str] = []

    def run(number: int) -> None:
        outputs.append(bash(f"echo {number}").stdout)

    threads = [threading.Thread(target=run, args=(number,)) for number in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert sorted(outputs) == [f"{n}\n" for n in range(8)]
