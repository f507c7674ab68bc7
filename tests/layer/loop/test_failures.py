"""What goes wrong within a run: tools, aborts, cancellation, strict sessions, full transcripts."""

from __future__ import annotations

import asyncio
import threading
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any

import pytest

from tests.layer.loop.agents import (
    BOTH_WAYS,
    FunctionTool,
    Gate,
    call,
    checked,
    results_of,
    run,
    say,
)
from toolbudget import Session, StoreError, ToolError
from toolbudget.loop import (
    AgentLoop,
    ModelRequest,
    ModelResponse,
    RequestReady,
    ScriptedModel,
    TextPiece,
    ToolCalled,
    ToolFinished,
    Unrecorded,
)
from toolbudget.tools import Parameter, ToolResult, tool

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

    from toolbudget.loop import LoopEvent

both_ways = pytest.mark.parametrize("is_async", BOTH_WAYS, ids=["sync", "async"])


@tool(Parameter("lines", "integer", "How many.", is_required=True, minimum=1))
def count(lines: int) -> ToolResult:
    """Count."""
    return ToolResult(text=f"{lines} counted", is_error=lines > 9)


def fail(given: Mapping[str, Any]) -> str:
    """Raise what the call asks for."""
    raise {"tool": ToolError, "value": ValueError, "exit": SystemExit}[given["kind"]](
        *given["says"]
    )


@both_ways
@pytest.mark.parametrize(
    ("asked", "told"),
    [
        (call("t1", "missing"), "there is no tool 'missing'; there are: say, fail, odd, count"),
        (call("t1", "fail", kind="tool", says=["no such file: 'a'"]), "no such file: 'a'"),
        (call("t1", "fail", kind="value", says=["too far"]), "fail failed: ValueError: too far"),
        (call("t1", "fail", kind="value", says=[]), "fail failed: ValueError"),
        (call("t1", "fail", kind="exit", says=[2]), "fail failed: SystemExit: 2"),
        (call("t1", "say", word="hi"), "say failed: KeyError: 'text'"),
        (call("t1", "count", lines="many"), "count: lines must be a whole number: 'many'"),
        (call("t1", "count", lines=0), "count: lines must be at least 1: 0"),
        (call("t1", "count", lines=10), "10 counted"),
        ({**call("t1", "count"), "input": [1]}, "count: input must be an object: [1]"),
        (
            call("t1", "odd", gives=7),
            "odd failed: TypeError: it gave back neither a text nor blocks, but int: 7",
        ),
    ],
)
def test_what_a_tool_cannot_do_is_told_to_the_model(
    asked: dict[str, Any], told: str, *, is_async: bool
) -> None:
    """The result says what is wrong and is marked as an error; the run goes on."""
    odd = FunctionTool("odd", lambda given: given["gives"])
    model = ScriptedModel([[asked], "I see."])
    loop = AgentLoop(model, tools=[say, FunctionTool("fail", fail), odd, count])
    assert run(loop, "Go.", is_async=is_async).text == "I see."
    assert results_of(checked(model)[-1])["t1"] == {
        "type": "tool_result",
        "tool_use_id": "t1",
        "content": told,
        "is_error": True,
    }


@both_ways
def test_other_outputs_than_texts(session: Session, *, is_async: bool) -> None:
    """Blocks stay as they are, nothing is said to be nothing, and what is no JSON is an error."""
    image = {"type": "image", "source": {"type": "url", "url": "https://example.org/a.png"}}
    block = {"type": "tool_result", "tool_use_id": "other", "content": "whole"}
    odd = [{"type": "text", "text": b"a"}]
    outputs: dict[str, object] = {"t1": [image], "t2": None, "t3": odd, "t4": block}
    give = FunctionTool("give", lambda given: outputs[given["key"]])
    model = ScriptedModel([[call(key, "give", key=key) for key in outputs], "Done."])
    run(AgentLoop(model, session=session, tools=[give, count]), "Go.", is_async=is_async)
    found = results_of(checked(model)[-1])
    assert found["t1"]["content"] == [image]
    assert found["t2"]["content"] == "(give completed with no output)"
    assert found["t3"]["content"].startswith("give failed: TypeError")
    assert found["t4"]["content"] == "whole"


@both_ways
def test_an_output_may_be_any_object_with_a_text(*, is_async: bool) -> None:
    """It says itself whether it is an error; a toolset's name is echoed, as the API wants it."""
    outputs = {"t1": SimpleNamespace(text="fine", is_error=False), "t2": ToolResult(text="no")}
    outputs["t3"] = SimpleNamespace(text="broken", is_error=True)
    give = FunctionTool("give", lambda given: outputs[given["key"]])
    calls = [call(key, "give", key=key) | {"toolset_name": "browser"} for key in outputs]
    model = ScriptedModel([calls, "Done."])
    run(AgentLoop(model, tools=[give]), "Go.", is_async=is_async)
    found = results_of(checked(model)[-1])
    assert [block["content"] for block in found.values()] == ["fine", "no", "broken"]
    assert [block.get("is_error", False) for block in found.values()] == [False, False, True]
    assert {block["toolset_name"] for block in found.values()} == {"browser"}


@pytest.mark.parametrize("stop_reason", ["max_tokens", "model_context_window_exceeded"])
@both_ways
def test_an_input_that_was_cut_off_is_not_run(stop_reason: str, *, is_async: bool) -> None:
    """A limit of tokens falls into the last call; those before it are whole."""
    ran: list[object] = []
    note = FunctionTool("note", lambda given: ran.append(given["key"]))
    cut = ModelResponse([call("t1", "note", key=1), call("t2", "note", key=2)], stop_reason)
    model = ScriptedModel([cut, "Again."])
    run(AgentLoop(model, tools=[note]), "Go.", is_async=is_async)
    assert ran == [1]
    assert "cut off" in results_of(checked(model)[-1])["t2"]["content"]


@both_ways
def test_an_abort_in_the_middle_of_parallel_calls(session: Session, *, is_async: bool) -> None:
    """What is done has its result, what is not gets one that says so, and the run ends at once."""
    gate, quick_is_done = Gate(), threading.Event()

    def tell(event: LoopEvent) -> None:
        if isinstance(event, ToolFinished) and event.name == "say":
            quick_is_done.set()

    calls = [call("t1", text="quick"), call("t2", "hold"), call("t3", "hold")]
    model = ScriptedModel([calls, "Ok."])
    tools = [say, gate.tool()]
    loop = AgentLoop(model, session=session, tools=tools, max_parallel_calls=2, on_event=tell)

    def abort() -> None:
        assert gate.has_begun.wait(10)
        assert quick_is_done.wait(10)
        loop.abort()

    thread = threading.Thread(target=abort)
    thread.start()
    try:
        result = run_with_threads(loop, gate) if is_async else loop.run("Go.")
    finally:
        thread.join()
        gate.may_end.set()
    assert (result.reason, result.turns) == ("aborted", 1)
    assert run(loop, "Go on.", is_async=is_async).text == "Ok."
    found = results_of(checked(model)[-1])
    assert found["t1"]["content"] == "quick"
    for name in ("t2", "t3"):
        assert found[name]["is_error"] is True
        assert "aborted by the user" in found[name]["content"]


def run_with_threads(loop: AgentLoop, gate: Gate) -> Any:  # noqa: ANN401
    """Run with tasks; the held thread is let go before the event loop waits for it."""

    async def go() -> object:
        result = await loop.arun("Go.")
        gate.may_end.set()
        return result

    return asyncio.run(go())


@both_ways
def test_an_abort_before_the_calls_runs_none(*, is_async: bool) -> None:
    """The answer is kept, since it was paid for; its calls are told not to have been run."""
    ran: list[object] = []
    loop: AgentLoop

    def model(request: ModelRequest) -> ModelResponse:
        request.on_text("I shall ")
        return ModelResponse([call("t1", "note")], "tool_use")

    def tell(event: LoopEvent) -> None:
        if isinstance(event, TextPiece):
            loop.abort()

    loop = AgentLoop(model, tools=[FunctionTool("note", ran.append)], on_event=tell)
    assert run(loop, "Go.", is_async=is_async).reason == "aborted"
    assert ran == []


@both_ways
def test_an_abort_when_a_request_is_ready_sends_none(*, is_async: bool) -> None:
    """The callback is the last occasion before it costs something."""
    loop: AgentLoop

    def tell(event: LoopEvent) -> None:
        if isinstance(event, RequestReady):
            loop.abort()

    model = ScriptedModel(["never"])
    loop = AgentLoop(model, on_event=tell)
    assert run(loop, "Go.", is_async=is_async).reason == "aborted"
    assert model.requests == []


def test_an_abort_ends_a_stream() -> None:
    """The next piece of text raises within the model, so that it lets go of its connection."""
    pieces: list[str] = []
    loop: AgentLoop

    def model(request: ModelRequest) -> ModelResponse:
        for piece in ("one", "two", "three"):
            request.on_text(piece)
        raise AssertionError

    def tell(event: LoopEvent) -> None:
        if isinstance(event, TextPiece):
            pieces.append(event.text)
            loop.abort()

    loop = AgentLoop(model, on_event=tell)
    assert loop.run("Go.").reason == "aborted"
    assert pieces == ["one"]
    assert [record["type"] for record in loop.messages] == ["user"]


def test_an_abort_does_not_wait_for_an_asynchronous_model() -> None:
    """Its task is cancelled; the conversation can be gone on with."""
    was_cancelled = False

    async def model(_request: ModelRequest) -> ModelResponse:
        nonlocal was_cancelled
        try:
            await asyncio.sleep(60)
        except asyncio.CancelledError:
            was_cancelled = True
            raise
        raise AssertionError

    async def go() -> str:
        loop = AgentLoop(model)
        running = asyncio.create_task(loop.arun("Go."))
        await asyncio.sleep(0.05)
        loop.abort()
        return (await running).reason

    assert asyncio.run(go()) == "aborted"
    assert was_cancelled


def test_a_cancelled_task_leaves_no_call_without_a_result(session: Session) -> None:
    """Asynchronous tools are cancelled too; the cancellation goes on to the host."""
    started, ended = asyncio.Event(), []

    async def wait(_given: Mapping[str, Any]) -> str:
        started.set()
        try:
            await asyncio.sleep(60)
        finally:
            ended.append("cleaned up")
        return "late"

    model = ScriptedModel([[call("t1", "wait"), call("t2", text="quick")], "Ok."])
    loop = AgentLoop(model, session=session, tools=[FunctionTool("wait", wait), say])

    async def go() -> None:
        running = asyncio.create_task(loop.arun("Go."))
        await started.wait()
        await asyncio.sleep(0.05)
        running.cancel()
        await running

    with pytest.raises(asyncio.CancelledError):
        asyncio.run(go())
    assert ended == ["cleaned up"]
    assert loop.run("Go on.").text == "Ok."
    found = results_of(checked(model)[-1])
    assert (found["t2"]["content"], found["t1"]["is_error"]) == ("quick", True)


def test_an_interrupt_of_the_keyboard_leaves_no_call_without_a_result(session: Session) -> None:
    """It is raised where the loop waits; the results are written down before it goes on."""

    class StoppedError(KeyboardInterrupt):
        pass

    def interrupt(event: LoopEvent) -> None:
        if isinstance(event, ToolCalled):
            raise StoppedError

    model = ScriptedModel([[call("t1", text="one")], "Ok."])
    with pytest.raises(StoppedError):
        AgentLoop(model, session=session, tools=[say], on_event=interrupt).run("Go.")
    loop = AgentLoop(ScriptedModel(["Ok."]), session=session, tools=[say])
    assert loop.run().text == "Ok."
    assert loop.messages[2]["message"]["content"][0]["is_error"] is True


@both_ways
def test_an_error_of_the_model_is_the_hosts(session: Session, *, is_async: bool) -> None:
    """Nothing is lost: the same request is made when the host goes on."""
    model = ScriptedModel([[call("t1", text="one")], ConnectionError("reset by peer"), "Done."])
    loop = AgentLoop(model, session=session, tools=[say])
    with pytest.raises(ConnectionError, match="reset by peer"):
        run(loop, "Go.", is_async=is_async)
    assert run(loop, is_async=is_async).text == "Done."
    assert model.requests[1].messages == model.requests[2].messages


@both_ways
def test_a_strict_session_raises_but_keeps_the_result(tmp_path: Path, *, is_async: bool) -> None:
    """The result that could not be stored stays in the conversation in full."""
    (tmp_path / "s").mkdir()
    (tmp_path / "s" / "tool-results").write_text("in the way")
    text = "x" * 120_000
    with Session.open(tmp_path, "s", strict=True, durability="process") as session:
        loop = AgentLoop(ScriptedModel([[call("t1", text=text)]]), session=session, tools=[say])
        with pytest.raises(StoreError):
            run(loop, "Go.", is_async=is_async)
        assert loop.messages[-1]["message"]["content"][0]["content"] == text


def test_messages_that_could_not_be_written_are_written_with_the_next(tmp_path: Path) -> None:
    """A transcript that cannot be written ends nothing; the host is told, nothing is missing."""
    events: list[LoopEvent] = []
    aside = tmp_path / "aside"
    with Session.open(tmp_path, "s", durability="process") as session:
        script = ScriptedModel(["One.", "Two.", "Three."])
        loop = AgentLoop(script, session=session, on_event=events.append)
        loop.run("First.")
        session.transcript_path.rename(aside)
        (tmp_path / "s.jsonl").mkdir()
        assert loop.run("Second.").text == "Two."
        (tmp_path / "s.jsonl").rmdir()
        aside.rename(tmp_path / "s.jsonl")
        loop.run("Third.")
    assert len([event for event in events if isinstance(event, Unrecorded)]) == 2
    with Session.open(tmp_path, "s") as session:
        again = AgentLoop(ScriptedModel([]), session=session)
        again.run()
    assert again.messages == loop.messages
