"""The loop over a pipeline: its stages before each request, and room made when one is too long."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Any, Final

import pytest

from tests.layer.loop.agents import BOTH_WAYS, FunctionTool, call, checked, results_of, run, say
from toolbudget import ConfigError, ContextWindow, Limits, PrefixGuard, Session
from toolbudget.loop import AgentLoop, Overflowed, RequestReady, ScriptedModel
from toolbudget.pipeline import Autocompact, Budget, Pipeline, PipelineResult, StageResult

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from toolbudget.loop import LoopEvent
    from toolbudget.pipeline import Stage, StageName, TurnContext

both_ways = pytest.mark.parametrize("is_async", BOTH_WAYS, ids=["sync", "async"])
TOO_LONG: Final = "prompt is too long: 208310 tokens > 200000 maximum"


class Shorten:
    """Cuts every result to ``kept_chars``, by half again each time that a request is too long."""

    name: Final[StageName] = "microcompact"

    def __init__(self, *, kept_chars: int = 100_000, can_recover: bool = True) -> None:
        self.kept_chars = kept_chars
        self.can_recover = can_recover

    def run(self, context: TurnContext) -> StageResult | None:
        """Cut results to what is kept now."""
        return StageResult(messages=[self._cut(message) for message in context.messages], changed=1)

    def recover_from_overflow(self, context: TurnContext) -> StageResult | None:
        """Keep half of it from now on."""
        if not self.can_recover:
            return None
        self.kept_chars //= 2
        return self.run(context)

    def _cut(self, record: dict[str, Any]) -> dict[str, Any]:
        content = record["message"]["content"]
        if not isinstance(content, list) or "tool_use_id" not in content[0]:
            return record
        block = {**content[0], "content": content[0]["content"][: self.kept_chars]}
        return {**record, "message": {**record["message"], "content": [block]}}


@both_ways
def test_what_the_pipeline_gives_is_what_is_sent(session: Session, *, is_async: bool) -> None:
    """The history stays whole; the report of each request is the pipeline's."""
    events: list[LoopEvent] = []
    pipeline = Pipeline([Shorten(kept_chars=10), Budget()], session=session)
    model = ScriptedModel([[call("t1", text="x" * 1_000)], "Done."])
    loop = AgentLoop(model, session=session, pipeline=pipeline, tools=[say], on_event=events.append)
    run(loop, "Go.", is_async=is_async)
    assert results_of(checked(model)[-1])["t1"]["content"] == "x" * 10
    assert loop.messages[2]["message"]["content"][0]["content"] == "x" * 1_000
    reports = [event.report for event in events if isinstance(event, RequestReady)]
    assert all(isinstance(report, PipelineResult) for report in reports)
    assert [one.name for one in reports[-1].reports] == ["budget", "microcompact"]  # type: ignore[attr-defined]


def test_parameters_may_follow_the_messages(session: Session) -> None:
    """A function is asked for each request, with what goes out."""
    model = ScriptedModel([[call("t1", text="one")], "Done."])
    loop = AgentLoop(
        model, session=session, tools=[say], parameters=lambda messages: {"count": len(messages)}
    )
    loop.run("Go.")
    assert [request.parameters for request in model.requests] == [{"count": 1}, {"count": 3}]


@both_ways
def test_a_stage_that_fails_is_passed_over(session: Session, *, is_async: bool) -> None:
    """The request goes out with what the stages before left."""

    class Broken(Shorten):
        def run(self, context: TurnContext) -> StageResult | None:
            raise RuntimeError(len(context.messages))

    pipeline = Pipeline([Budget(), Broken()], session=session)
    model = ScriptedModel([[call("t1", text="x" * 150_000)], "Done."])
    loop = AgentLoop(model, session=session, pipeline=pipeline, tools=[say])
    assert run(loop, "Go.", is_async=is_async).text == "Done."
    assert results_of(checked(model)[-1])["t1"]["content"].startswith("<persisted-output>")


@both_ways
def test_a_request_that_is_too_long_is_made_shorter_once(
    session: Session, *, is_async: bool
) -> None:
    """The next one is shorter; after an answer there may be another time."""
    events: list[LoopEvent] = []
    pipeline = Pipeline([Budget(), Shorten(kept_chars=800)], session=session)
    too_long = RuntimeError(TOO_LONG)
    model = ScriptedModel([[call("t1", text="x" * 1_000)], too_long, "Yes.", too_long, "Done."])
    loop = AgentLoop(model, session=session, pipeline=pipeline, tools=[say], on_event=events.append)
    assert run(loop, "Go.", is_async=is_async).text == "Yes."
    assert run(loop, "More.", is_async=is_async).text == "Done."
    sizes = [len(results_of(request)["t1"]["content"]) for request in checked(model)[1:]]
    assert sizes == [800, 400, 400, 200]
    ready = [event.transition for event in events if isinstance(event, RequestReady)]
    assert ready == [
        "user_input",
        "tool_results",
        "overflow_recovery",
        "user_input",
        "overflow_recovery",
    ]
    assert [event.error for event in events if isinstance(event, Overflowed)] == [too_long] * 2


@both_ways
@pytest.mark.parametrize(
    ("errors", "can_recover", "asked"),
    [
        ([TOO_LONG, TOO_LONG], True, 3),
        ([TOO_LONG, "rate limit exceeded"], True, 3),
        (["rate limit exceeded"], True, 2),
        ([TOO_LONG], False, 2),
    ],
    ids=["twice", "another error", "no overflow", "no room"],
)
def test_what_cannot_be_recovered_is_the_hosts(
    session: Session, errors: list[str], asked: int, *, can_recover: bool, is_async: bool
) -> None:
    """The last error is raised as it is, and the conversation can be gone on with."""
    raised = [RuntimeError(text) for text in errors]
    stages: list[Stage] = [Budget(), Shorten(kept_chars=800, can_recover=can_recover)]
    model = ScriptedModel([[call("t1", text="x" * 1_000)], *raised, "Done."])
    pipeline = Pipeline(stages, session=session)
    loop = AgentLoop(model, session=session, pipeline=pipeline, tools=[say])
    with pytest.raises(RuntimeError) as caught:
        run(loop, "Go.", is_async=is_async)
    assert caught.value is raised[-1]
    assert len(model.requests) == asked
    assert run(loop, is_async=is_async).text == "Done."


def test_without_a_pipeline_an_overflow_is_the_hosts(session: Session) -> None:
    """The budget alone has nothing that it may change."""
    model = ScriptedModel([RuntimeError(TOO_LONG)])
    with pytest.raises(RuntimeError, match="prompt is too long"):
        AgentLoop(model, session=session).run("Go.")


def test_a_pipeline_of_another_session_is_refused(session: Session, tmp_path: Path) -> None:
    """Its decisions would be recorded elsewhere than the messages."""
    with Session.open(tmp_path / "other", "other") as other:
        pipeline = Pipeline([Budget()], session=other)
        with pytest.raises(ConfigError, match="must be of the same session"):
            AgentLoop(ScriptedModel([]), session=session, pipeline=pipeline)


@both_ways
@pytest.mark.parametrize("has_pipeline", [False, True], ids=["session", "pipeline"])
def test_with_the_budget_only_the_prefix_never_breaks(
    root: Path, *, has_pipeline: bool, is_async: bool
) -> None:
    """Each of many requests begins with the one before, byte for byte."""
    turns: list[Any] = [
        [call(f"t{turn}_{one}", "big", word=f"{turn} ") for one in range(turn % 9)] or "Hm."
        for turn in range(1, 40)
    ]
    big = FunctionTool("big", lambda given: given["word"] * 1_300)
    limits = Limits(max_message_chars=20_000, max_result_chars=6_000, preview_bytes=500)
    session = Session.open(root, "s", limits=limits, durability="process")
    pipeline = Pipeline([Budget()], session=session) if has_pipeline else None
    guard, model = PrefixGuard(), ScriptedModel([*turns, "Done."])
    loop = AgentLoop(model, session=session, pipeline=pipeline, tools=[big])
    for _ in range(5):
        run(loop, "Go.", is_async=is_async)
    assert len(checked(model)) == 40
    for request in model.requests:
        assert guard.check(list(request.messages)).kind in {"first", "extended"}
    assert len(session.state.replacements) > 10
    session.close()


def test_an_abort_does_not_wait_for_a_summary(tmp_path: Path) -> None:
    """It may take as long as an answer; what is broken off is asked for again later."""
    asked: list[int] = []

    async def summarise(messages: Sequence[object]) -> str:
        asked.append(len(messages))
        if len(asked) == 1:
            loop.abort()
            await asyncio.Event().wait()
        return "short"

    session = Session.open(tmp_path, "session", durability="process")
    window = ContextWindow(size=4_000, reserve_output=1_000)
    stages: list[Stage] = [Budget(), Autocompact(summarise, min_gain_tokens=10)]
    pipeline = Pipeline(stages, session=session, window=window)
    script = [[call(f"t{number}", text="y " * 1_000)] for number in range(4)]
    loop = AgentLoop(
        ScriptedModel([*script, "Done."]), session=session, pipeline=pipeline, tools=[say]
    )
    assert run(loop, "Go.", is_async=True).reason == "aborted"
    assert run(loop, is_async=True).text == "Done."
    assert len(asked) > 1
