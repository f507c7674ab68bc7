"""A process that is forked while one of its threads decides: nobody waits for who is not there."""

from __future__ import annotations

import subprocess
import sys
import textwrap
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from pathlib import Path

# Python warns of a fork beside threads, which is what this is about.
FORKS: Final = """
    import os, signal, sys, threading
    from toolbudget import DirectoryStore, Session, ToolBudgetError

    class WaitingStore(DirectoryStore):
        begun, may_end = threading.Event(), threading.Event()

        def put_many(self, items):
            self.begun.set()
            self.may_end.wait()
            return super().put_many(items)

    def result(name):
        return {"type": "tool_result", "tool_use_id": name, "content": name * 100_000}

    root = sys.argv[1]
    store = WaitingStore(os.path.join(root, "s", "tool-results"), durability="process")
    session = Session.open(root, "s", store=store, durability="process")
    idle = Session.open(root, "idle", durability="process")
    shown = []
    thread = threading.Thread(
        target=lambda: shown.append(session.gate(result("t1"), tool_name="Fetch"))
    )
    thread.start()
    store.begun.wait()
    child = os.fork()
    if not child:
        signal.alarm(20)  # a child that hangs is killed by it
        idle.gate(result("t2"), tool_name="Fetch")
        try:
            session.gate(result("t3"), tool_name="Fetch")
        except ToolBudgetError as error:
            assert "when this process was forked, open it again: 's'" in str(error)
            session.close()
            with Session.open(root, "s", durability="process") as again:
                assert "persisted" in again.gate(result("t3"), tool_name="Fetch")["content"]
            os._exit(3)
        os._exit(4)
    store.may_end.set()
    thread.join()
    _, status = os.waitpid(child, 0)
    assert os.waitstatus_to_exitcode(status) == 3, status
    assert "persisted" in shown[0]["content"]
    assert "persisted" in session.gate(result("t3"), tool_name="Fetch")["content"]
    session.close()
    with Session.open(root, "s") as again:
        assert set(again.state.replacements) == {"t1", "t3"}
    with Session.open(root, "idle") as again:
        assert set(again.state.replacements) == {"t2"}
"""


def test_a_child_does_not_wait_for_a_thread_that_it_does_not_have(tmp_path: Path) -> None:
    """It is told to open the session again; all that goes on in the parent comes to its end."""
    forked = subprocess.run(
        [sys.executable, "-W", "ignore", "-c", textwrap.dedent(FORKS), str(tmp_path)],
        check=False,
        capture_output=True,
        text=True,
        timeout=60,
    )
    assert (forked.returncode, forked.stderr) == (0, "")
