"""The process that parses: it is kept, it may die, and its host lives on."""

from __future__ import annotations

import os
import subprocess
import sys
import threading
from typing import TYPE_CHECKING, Final

from toolbudget.pruning import _isolation, outline_code, truncate_tool_result

if TYPE_CHECKING:
    from pathlib import Path

    import pytest

SOURCE: Final = "def f(a):\n" + "    return a\n" * 50
OUTLINE: Final = outline_code(SOURCE, "python")


def child_pid() -> int:
    """Give the number of the process that is kept."""
    child = _isolation._children.child
    assert child is not None
    return child._process.pid


def test_one_process_answers_again_and_again() -> None:
    """The next text is parsed by the same process."""
    assert outline_code(SOURCE, "python") == OUTLINE
    pid = child_pid()
    assert outline_code(SOURCE, "python") == OUTLINE
    assert child_pid() == pid != os.getpid()


def test_a_process_that_has_died_costs_nothing(caplog: pytest.LogCaptureFixture) -> None:
    """P4: the same text has the same outline, whatever became of the process that was kept."""
    outline_code(SOURCE, "python")
    child = _isolation._children.child
    assert child is not None
    child._process.kill()
    child._process.wait()
    assert outline_code(SOURCE, "python") == OUTLINE
    assert not caplog.records


def test_a_text_that_a_process_dies_of_is_cut(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    """That is logged, and the next text is outlined."""
    outline_code(SOURCE, "python")
    program = "import sys; sys.stdin.buffer.readline(); sys.stdin.buffer.readline()"
    with monkeypatch.context() as patch:
        patch.setattr(_isolation, "_PROGRAM", program)
        _isolation._children.close()
        assert outline_code(SOURCE, "python", max_size=200) == truncate_tool_result(SOURCE, 200)
    assert "the parser of python ended" in caplog.text
    assert outline_code(SOURCE, "python") == OUTLINE


def test_an_interrupt_from_the_keyboard_is_not_for_it() -> None:
    """A host that lives on after Ctrl-C still has its parser: no signal to its group reaches it."""
    outline_code(SOURCE, "python")
    assert os.getpgid(child_pid()) != os.getpgrp()


def test_nothing_of_the_working_directory_is_run(tmp_path: Path) -> None:
    """L5: a host that works in a repository which it does not trust runs nothing that is there."""
    for name in ("toolbudget", "tree_sitter", "tree_sitter_python", "resource", "json"):
        (tmp_path / f"{name}.py").write_text("open('run', 'a').write(__name__)")
    program = f"""
import os, sys
sys.path.insert(0, "")
from toolbudget.pruning import outline_code
os.chdir({str(tmp_path)!r})
print(outline_code({SOURCE!r}, "python"))
"""
    finished = subprocess.run(
        [sys.executable, "-c", program], check=False, capture_output=True, text=True
    )
    assert not (tmp_path / "run").exists()
    assert finished.stdout == OUTLINE + "\n", finished.stderr


def test_a_forked_process_that_lives_on_does_not_hold_up_the_end() -> None:
    """The parser learns that its host has ended, although a fork of the host has not."""
    program = f"""
import os, time
from toolbudget.pruning import outline_code
outline_code({SOURCE!r}, "python")
if not os.fork():
    os.closerange(0, 3)
    time.sleep(30)
    os._exit(0)
started_s = time.monotonic()
import atexit
atexit._run_exitfuncs()
print(time.monotonic() - started_s, flush=True)
os.kill(0, 9)
"""
    finished = subprocess.run(
        [sys.executable, "-c", program],
        check=False,
        capture_output=True,
        text=True,
        start_new_session=True,
    )
    assert float(finished.stdout) < 3, finished.stderr


def test_a_process_that_hangs_is_ended(monkeypatch: pytest.MonkeyPatch) -> None:
    """A child that never answers is killed, and the text is cut."""
    _isolation._children.close()
    monkeypatch.setattr(_isolation, "_MAX_WAIT_S", 0.2)
    monkeypatch.setattr(_isolation, "_PROGRAM", "import time; time.sleep(60)")
    assert outline_code(SOURCE, "python", max_size=200) == truncate_tool_result(SOURCE, 200)


def test_where_no_process_can_be_started_the_text_is_cut(monkeypatch: pytest.MonkeyPatch) -> None:
    """A frozen application, or one without an interpreter of its own, gets no outline."""
    _isolation._children.close()
    for name, value in (("frozen", True), ("executable", ""), ("executable", "/no/such/file")):
        with monkeypatch.context() as patch:
            patch.setattr(sys, name, value, raising=False)
            result = outline_code(SOURCE, "python", max_size=200)
            assert result == truncate_tool_result(SOURCE, 200)


def test_a_large_text_is_the_last_of_its_process() -> None:
    """The memory of a process that has read much is given back."""
    outline_code(SOURCE, "python")
    pid = child_pid()
    for _ in range(3):
        outline_code(SOURCE + "# a comment, and no code\n" * 80_000, "python")
    outline_code(SOURCE, "python")
    assert child_pid() != pid


def test_threads_share_it() -> None:
    """Many threads at once get their own answers."""
    sources = [SOURCE.replace("f(a)", f"f{n}(a)") for n in range(8)]
    results: dict[int, str] = {}

    def run(number: int) -> None:
        results[number] = outline_code(sources[number], "python")

    threads = [threading.Thread(target=run, args=(number,)) for number in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert all(f"def f{n}(a)" in results[n] for n in range(8))


def test_a_forked_process_starts_its_own_and_nothing_stays_behind() -> None:
    """A fork does not read the answers of its parent, and both end without a warning."""
    program = f"""
import os, sys
from toolbudget.pruning import outline_code, _isolation
source = {SOURCE!r}
outline_code(source, "python")
parent = _isolation._children.child._process.pid
pid = os.fork()
outline = outline_code(source, "python")
assert "def f(a)" in outline
assert (_isolation._children.child._process.pid == parent) == bool(pid)
if pid:
    assert os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]) == 0
"""
    finished = subprocess.run(
        [sys.executable, "-W", "error", "-c", program], check=False, capture_output=True, text=True
    )
    assert (finished.returncode, finished.stderr) == (0, "")
