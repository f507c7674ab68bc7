"""What breaks a loop without care: outputs that are no JSON, and an end that no future can hold."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Any, Final

import pytest

from tests.layer.loop.agents import BOTH_WAYS, FunctionTool, call, checked, results_of, run, say
from toolbudget import Session
from toolbudget.loop import AgentLoop, ScriptedModel, Unrecorded
from toolbudget.pipeline import Pipeline, StageResult

if TYPE_CHECKING:
    from pathlib import Path

    from toolbudget.loop import LoopEvent
    from toolbudget.pipeline import StageName, TurnContext

both_ways = pytest.mark.parametrize("is_async", BOTH_WAYS, ids=["sync", "async"])


@both_ways
@pytest.mark.parametrize(
    "output",
    [
        [{"type": "text", "text": "half", "score": float("nan")}],
        {"type": "tool_result", "content": "half", "score": float("inf")},
        {"type": "tool_result", "content": b"bytes"},
    ],
)
def test_an_output_that_is_no_json_is_a_failure(
    session: Session,
    output: Any,  # noqa: ANN401
    *,
    is_async: bool,
) -> None:
    """It could neither be sent nor recorded, and would keep what follows out of the transcript."""
    model = ScriptedModel([[call("t1", "odd")], "Done."])
    loop = AgentLoop(model, session=session, tools=[FunctionTool("odd", lambda _given: output)])
    assert run(loop, "Go.", is_async=is_async).text == "Done."
    assert results_of(checked(model)[-1])["t1"]["is_error"]
    assert AgentLoop(ScriptedModel([]), session=session).messages == loop.messages


def test_a_message_that_can_never_be_written_keeps_no_other_out(session: Session) -> None:
    """A server's call holds a number that JSON does not have: only that message is not recorded."""
    events: list[LoopEvent] = []
    model = ScriptedModel([[call("t1", text="one", score=float("nan"))], "Done."])
    loop = AgentLoop(model, session=session, tools=[say], on_event=events.append)
    loop.run("Go.")
    assert len([event for event in events if isinstance(event, Unrecorded)]) == 1
    again = AgentLoop(ScriptedModel(["More."]), session=session)
    assert again.messages == [loop.messages[0], *loop.messages[2:]]
    assert again.run("More?").text == "More."


def test_a_stop_iteration_hangs_no_event_loop(tmp_path: Path) -> None:
    """No future can hold it: `next` at the end of an iterator, in a tool, a model, or a hook."""

    def ended(_given: object) -> str:
        return next(iter(()))

    async def all_of_them() -> None:
        model = ScriptedModel([[call("t1", "ended")], "Done."])
        loop = AgentLoop(model, tools=[FunctionTool("ended", ended)])
        assert (await loop.arun("Go.")).text == "Done."
        assert results_of(checked(model)[-1])["t1"]["is_error"]
        with pytest.raises(RuntimeError, match="StopIteration"):
            await AgentLoop(ended).arun("Go.")
        pipeline = Pipeline([EndedStage()], session=None)
        assert [one.name for one in (await pipeline.arun([])).failures] == ["snip"]
        with (
            Session.open(tmp_path, "strict", redact=ended, strict=True) as session,
            pytest.raises(RuntimeError, match="StopIteration"),
        ):
            await session.agate(
                {"type": "tool_result", "tool_use_id": "t1", "content": "x" * 200_000},
                tool_name="Fetch",
            )

    class EndedStage:
        name: Final[StageName] = "snip"

        def run(self, context: TurnContext) -> StageResult:
            return StageResult(messages=ended(context))

    asyncio.run(asyncio.wait_for(all_of_them(), 30))
