"""The asynchronous twins give what the plain functions give, and hold up no event loop."""

from __future__ import annotations

import asyncio
import threading
import time
from concurrent.futures import Future, ThreadPoolExecutor
from typing import TYPE_CHECKING, Any, Final

import pytest

from tests.builders import gate, res
from toolbudget import Session, ToolError, ToolInputError, _core
from toolbudget.tools import (
    ToolResult,
    agrep,
    aread_file,
    bash_tool,
    grep,
    read_file,
    result_tools,
    tool,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Coroutine
    from pathlib import Path

TEXT: Final = "".join(f"line {number}\n" for number in range(1, 30_001))
needs_native: Final = pytest.mark.skipif(
    _core.NAME != "native", reason="the pure core does not search"
)


@pytest.fixture
def session(tmp_path: Path) -> Session:
    """Open a session with one stored result."""
    session = Session.open(tmp_path / "root", "session", durability="process")
    gate(session, res("t1", TEXT))
    return session


class HeldPool(ThreadPoolExecutor):
    """A pool whose calls begin when they are let go."""

    def __init__(self) -> None:
        super().__init__()
        self.let_go = threading.Event()

    def submit(self, function: Callable[..., Any], /, *args: Any, **kwargs: Any) -> Future[Any]:  # noqa: ANN401 - as the base
        """Take a call."""

        def held() -> Any:  # noqa: ANN401 - whatever the call gives
            self.let_go.wait()
            return function(*args, **kwargs)

        return super().submit(held)


def run_beside(call: Coroutine[Any, Any, Any]) -> Any:  # noqa: ANN401 - whatever it gives
    """Await a call whose threads stand still until others had many turns of the event loop."""

    async def both() -> Any:  # noqa: ANN401 - as above
        pool = HeldPool()
        asyncio.get_running_loop().set_default_executor(pool)
        task = asyncio.ensure_future(call)
        for _ in range(20):
            await asyncio.sleep(0)
        is_held = not task.done()
        pool.let_go.set()
        outcome = await task
        assert is_held
        return outcome

    return asyncio.run(both())


@pytest.mark.parametrize(
    "options",
    [
        {},
        {"start_line": 5, "end_line": 7},
        {"start_byte": 50_000, "max_chars": 30},
        {"explanation": "where is 29999?"},
        {"explanation": "where is 29999?", "skip_pruning": True},
    ],
)
def test_a_file(tmp_path: Path, options: dict[str, Any]) -> None:
    """Every argument comes through."""
    path = tmp_path / "file.txt"
    path.write_text(TEXT * 3)
    assert run_beside(aread_file(path, **options)) == read_file(path, **options)


def test_errors_are_the_same(tmp_path: Path, session: Session) -> None:
    """What cannot be read or found raises in the task that asked."""
    for wrong, error in (
        (aread_file(tmp_path), ToolError),
        (aread_file(__file__, -1), ToolInputError),
        (session.aread_result("t2"), ToolError),
        (session.aread_result("t1", start_line=0), ToolInputError),
        (session.asearch_results("x", tool_use_id="t2"), ToolError),
        (agrep("x", tmp_path / "missing"), ToolError),
    ):
        with pytest.raises(error):
            asyncio.run(wrong)


@needs_native
def test_a_search_of_files(tmp_path: Path) -> None:
    """Every argument comes through."""
    for name in ("a.py", "b.txt"):
        (tmp_path / name).write_text(TEXT)
    assert run_beside(agrep("99", tmp_path, "*.py")) == grep("99", tmp_path, "*.py")
    assert run_beside(agrep("99", tmp_path)) == grep("99", tmp_path)


def test_a_stored_result(session: Session) -> None:
    """It is read in pages as without an event loop."""
    for options in ({}, {"start_line": 3, "end_line": 4}, {"start_byte": 9, "max_chars": 8}):
        given: dict[str, Any] = options
        assert run_beside(session.aread_result("t1", **given)) == session.read_result("t1", **given)
    assert run_beside(session.aread_result("t1", raw=True, max_chars=5)).startswith("line ")


@needs_native
def test_a_search_of_stored_results(session: Session) -> None:
    """Every argument comes through."""
    found = run_beside(
        session.asearch_results("2999", tool_use_id="t1", context_lines=1, max_matches=3)
    )
    expected = session.search_results("2999", tool_use_id="t1", context_lines=1, max_matches=3)
    assert found == expected
    assert "t1:2999: line 2999" in found


def test_a_tool_answers_in_an_event_loop(session: Session) -> None:
    """The block is that of `answer`, of a failure too; what the schema refuses is refused."""
    read_result = result_tools(session)[0]
    for given in ({"tool_use_id": "t1", "start_line": 7, "end_line": 8}, {"tool_use_id": 5}, {}):
        call = {"type": "tool_use", "id": "t2", "name": "read_result", "input": given}
        assert asyncio.run(read_result.aanswer(call)) == read_result.answer(call)
    with pytest.raises(ToolInputError, match="another tool"):
        asyncio.run(read_result.aanswer({"id": "t2", "name": "grep", "input": {}}))
    assert asyncio.run(read_result.arun({"tool_use_id": "t1", "max_chars": 7})).text.startswith(
        "line 1\n["
    )


def test_a_tool_of_a_host() -> None:
    """One that blocks runs in a thread; one with a twin of its own has that awaited."""
    threads: list[int] = []

    @tool()
    def where() -> ToolResult:
        """Say where it runs."""
        threads.append(threading.get_ident())
        return ToolResult(text="there", is_error=True)

    call = {"type": "tool_use", "id": "t1", "name": "where"}
    assert asyncio.run(where.aanswer(call)) == where.answer(call)
    assert threads[0] != threads[1] == threading.get_ident()


def wait_for(path: Path) -> None:
    """Wait until a file is there."""
    while not path.exists():
        time.sleep(0.01)


def test_a_cancelled_command_is_stopped(tmp_path: Path) -> None:
    """The tool `bash` answers by its own twin: nothing runs on when `CancelledError` comes."""
    run = bash_tool(cwd=tmp_path)
    command = "echo begun >begun; sleep 0.4; echo ended >ended"
    call = {"type": "tool_use", "id": "t1", "name": "bash", "input": {"command": command}}

    async def cancelled() -> None:
        task = asyncio.create_task(run.aanswer(call))
        await asyncio.to_thread(wait_for, tmp_path / "begun")
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        await asyncio.sleep(0.6)

    asyncio.run(cancelled())
    assert not (tmp_path / "ended").exists()
