"""The process that parses: it is kept, it may die, and its host lives on."""

from __future__ import annotations

import os
import subprocess
import sys
import threading
from typing import TYPE_CHECKING, Final

from toolbudget.pruning import _isolation, outline_code, truncate_tool_result

if TYPE_CHECKING:
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


def test_a_process_that_has_died_costs_one_outline(caplog: pytest.LogCaptureFixture) -> None:
    """The text on which it ended is cut instead, which is logged; the next one is outlined."""
    outline_code(SOURCE, "python")
    child = _isolation._children.child
    assert child is not None
    child._process.kill()
    child._process.wait()
    assert outline_code(SOURCE, "python", max_size=200) == truncate_tool_result(SOURCE, 200)
    assert "the parser of python ended" in caplog.text
    assert outline_code(SOURCE, "python") == OUTLINE


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
