"""The pipeline: order, failures, what may go on, and what is reported."""

from __future__ import annotations

import asyncio
from copy import deepcopy
from functools import partial
from typing import TYPE_CHECKING, Any, cast

import pytest

from tests.builders import answer, call, msg, res
from tests.layer.pipeline.agents import RaisingStage, contents, history_of, opened, round_of
from toolbudget import ConfigError, ContextWindow, InvalidMessageError, Limits
from toolbudget.pipeline import (
    STAGE_ORDER,
    Budget,
    HistorySnip,
    Microcompact,
    Pipeline,
    RefusedStageError,
    StageResult,
    TurnContext,
)

if TYPE_CHECKING:
    from pathlib import Path

    from toolbudget.pipeline import PipelineResult, Stage, StageName


class Recorded:
    """A stage that writes down that it ran, and gives what it is told to."""

    def __init__(self, name: StageName, ran: list[str], give: Any = None) -> None:  # noqa: ANN401
        """Begin without a run."""
        self.name: StageName = name
        self._ran = ran
        self._give = give

    def run(self, context: TurnContext) -> StageResult | None:
        """Give what was asked for."""
        self._ran.append(self.name)
        return None if self._give is None else self._give(context)


class Awaited(Recorded):
    """The same, waiting for it."""

    async def arun(self, context: TurnContext) -> StageResult | None:
        """Wait, then give."""
        await asyncio.sleep(0)
        return self.run(context)


@pytest.mark.parametrize("given", [STAGE_ORDER, STAGE_ORDER[::-1], ("autocompact", "snip")])
def test_stages_run_in_the_order_of_the_rules(given: tuple[StageName, ...]) -> None:
    """Q1: whatever order they are given in."""
    ran: list[str] = []
    pipeline = Pipeline([Recorded(name, ran) for name in given], session=None)
    result = pipeline.run([{"role": "user", "content": "hi"}])
    assert ran == [name for name in STAGE_ORDER if name in given]
    assert [report.name for report in result.reports] == ran


def test_the_asynchronous_twin_runs_the_same_stages() -> None:
    """``arun`` awaits what can be awaited, and gives the rest to a thread."""
    ran: list[str] = []
    pipeline = Pipeline([Awaited("collapse", ran), Recorded("snip", ran)], session=None)
    history = [{"role": "user", "content": "hi"}]
    assert asyncio.run(pipeline.arun(history)).messages == history
    assert ran == ["snip", "collapse"]


@pytest.mark.parametrize("names", [["snip", "snip"], ["compress"], [5]])
def test_stages_that_have_no_place_are_refused(names: list[Any]) -> None:
    """A stage that would never run is an error at once, not a silence."""
    with pytest.raises(ConfigError, match=str(names[-1])):
        Pipeline([Recorded(cast("StageName", name), []) for name in names], session=None)


@pytest.mark.parametrize(
    ("argument", "value"),
    [
        ("stages", None),
        ("session", 5),
        ("session", "main"),
        ("window", 200_000),
        ("clock", 1_700_000_000.0),
    ],
)
def test_parts_that_a_turn_could_not_use_are_refused(argument: str, value: object) -> None:
    """At once, not in the middle of the first turn; the error names the argument and its value."""
    parts: dict[str, Any] = {"stages": [Budget()], "session": None, argument: value}
    with pytest.raises(ConfigError, match=rf"{argument} \(argument\) .*{value!r}"):
        Pipeline(parts.pop("stages"), **parts)


@pytest.mark.parametrize("stages", [[Budget], Budget()], ids=["a class", "no list"])
def test_a_slip_in_the_list_of_stages_is_told(stages: Any) -> None:  # noqa: ANN401 - what is no stage
    """Each turn would pass over a class as a stage that fails, and decide nothing."""
    with pytest.raises(ConfigError, match=r"stages \(argument\) must be .*Budget"):
        Pipeline(stages, session=None)


def run_async(pipeline: Pipeline, messages: list[Any], **options: Any) -> PipelineResult:  # noqa: ANN401
    """Run a turn by the asynchronous twin."""
    return asyncio.run(pipeline.arun(messages, **options))


ODD_TURNS = [
    ("used_tokens", float("nan")),
    ("used_tokens", -1),
    ("used_tokens", 1.5),
    ("used_tokens", True),
    ("idle_s", "3600"),
    ("idle_s", float("nan")),
    ("now_s", float("inf")),
    ("now_s", "now"),
]


@pytest.mark.parametrize("is_async", [False, True], ids=["sync", "async"])
@pytest.mark.parametrize(("argument", "value"), ODD_TURNS)
def test_an_odd_argument_of_a_turn_is_refused_before_any_stage(
    tmp_path: Path, argument: str, value: object, *, is_async: bool
) -> None:
    """A count that is none raised behind the stages: what they had cut out was never announced."""
    history = history_of(6)
    with opened(tmp_path) as session:
        stages: list[Stage] = [Budget(), HistorySnip(max_rounds=3)]
        pipeline = Pipeline(stages, session=session, window=ContextWindow())
        options: dict[str, Any] = {argument: value}
        run = partial(run_async if is_async else Pipeline.run, pipeline, history, **options)
        with pytest.raises(ConfigError, match=rf"{argument} \(argument\) .*{value!r}"):
            run()
        assert session.context_edits == ()
        assert not session.transcript_path.exists()


def test_a_clock_that_was_put_back_ends_no_turn(tmp_path: Path) -> None:
    """The time since the last request is then negative, which is no time to clear anything."""
    history = history_of(6)
    with opened(tmp_path) as session:
        pipeline = Pipeline([Budget(), Microcompact(keep=1)], session=session)
        pipeline.run(history, now_s=1_800_000_000)
        later = pipeline.run(history, now_s=1_700_000_000)
        assert later.messages == history
        assert pipeline.run(history, idle_s=-5.0).messages == history


def test_a_stage_that_fails_is_passed_over(tmp_path: Path) -> None:
    """The turn goes on with what the stage before left, and says what was wrong."""
    session = opened(tmp_path, limits=Limits(max_message_chars=500))
    ran: list[str] = []
    stages: list[Stage] = [RaisingStage(), Budget(), Recorded("autocompact", ran)]
    result = Pipeline(stages, session=session).run(history_of(1))
    assert contents(result.messages)["t0"].startswith("<persisted-output>")
    failed = result.report("microcompact")
    assert failed is not None
    assert failed.status == "failed"
    assert "no luck with 3 messages" in str(failed.error)
    assert result.failures == (failed,)
    assert ran == ["autocompact"]


def half_a_pair(context: TurnContext) -> StageResult:
    """Drop a result and keep its call."""
    return StageResult(messages=list(context.messages[:-1]))


def nothing(_context: TurnContext) -> StageResult:
    """Drop everything."""
    return StageResult(messages=[])


def no_list(_context: TurnContext) -> StageResult:
    """Give what is no message list."""
    return StageResult(messages="hello")


def no_user_first(context: TurnContext) -> StageResult:
    """Drop the question."""
    return StageResult(messages=list(context.messages[1:]))


def an_empty_note(context: TurnContext) -> StageResult:
    """Put in a message that the API refuses."""
    return StageResult(messages=[*context.messages, msg({"type": "text", "text": " "})])


def an_answer_without_a_call(context: TurnContext) -> StageResult:
    """Put in a result that nobody asked for."""
    return StageResult(messages=[*context.messages, msg(res("t9", "out"))])


@pytest.mark.parametrize(
    "give",
    [half_a_pair, nothing, no_list, no_user_first, an_empty_note, an_answer_without_a_call],
)
def test_what_cannot_be_sent_is_refused(give: Any) -> None:  # noqa: ANN401 - a stage's function
    """What a stage gives is looked at before the turn goes on with it."""
    history = history_of(1)
    result = Pipeline([Recorded("snip", [], give)], session=None).run(history)
    assert result.messages == history
    [report] = result.reports
    assert report.status == "refused"
    assert isinstance(report.error, RefusedStageError)


def test_what_was_broken_before_may_stay() -> None:
    """A history that the host has broken itself is no stage's fault."""
    history = [{"role": "user", "content": "hi"}, answer(call("t1", "Bash")), msg("go on")]
    stage = Recorded("snip", [], lambda context: StageResult(messages=list(context.messages[:2])))
    result = Pipeline([stage], session=None).run(history)
    assert result.reports[0].status == "changed"


def test_the_break_of_the_cached_prefix_is_named() -> None:
    """What only concerns messages that were never sent breaks nothing."""
    history = history_of(3)

    def without(index: int) -> Any:  # noqa: ANN401 - a stage's function
        def give(context: TurnContext) -> StageResult:
            changed = list(context.messages)
            changed[index] = {**changed[index], "extra": True}
            return StageResult(messages=changed, changed=1)

        return give

    for index, broken_at in ((2, 2), (4, 4), (5, None), (6, None)):
        result = Pipeline([Recorded("snip", [], without(index))], session=None).run(history)
        assert result.prefix_broken_at == broken_at, index


def test_messages_that_are_none_are_the_hosts_error() -> None:
    """Bad input raises before any stage runs."""
    with pytest.raises(InvalidMessageError, match="message 1"):
        Pipeline([], session=None).run([{"role": "user", "content": "hi"}, 5])


def test_with_only_the_budget_the_prefix_never_breaks(tmp_path: Path) -> None:
    """Each request begins with the one before it, byte for byte."""
    session = opened(tmp_path, limits=Limits(max_message_chars=500))
    pipeline = Pipeline(
        [Budget()], session=session, window=ContextWindow(size=2_000, reserve_output=0)
    )
    history = [{"role": "user", "content": "Find the bug."}]
    before: list[Any] = []
    for number in range(12):
        result = pipeline.run(history)
        assert result.messages[: len(before)] == before
        assert result.prefix_broken_at is None
        before = deepcopy(result.messages)
        history += round_of(number, 300 + 100 * (number % 5))


def test_the_idle_time_is_that_between_two_runs() -> None:
    """It comes from the host's clock, or from the time stamps after a resume."""
    seen: list[float | None] = []

    def note(context: TurnContext) -> None:
        seen.append(context.idle_s)

    now_s = 100.0
    stage = Recorded("snip", [], note)
    record = {
        "type": "assistant",
        "message": answer({"type": "text", "text": "hi"}),
        "timestamp": "1970-01-01T00:00:40Z",
    }
    history = [{"role": "user", "content": "hi"}, record]
    pipeline = Pipeline([stage], session=None, clock=lambda: now_s)
    pipeline.run(history)
    now_s = 130.0
    pipeline.run(history)
    pipeline.run(history, idle_s=7.0)
    Pipeline([stage], session=None, clock=lambda: now_s).run(history[:1])
    assert seen == [60.0, 30.0, 7.0, None]


def test_no_session_is_no_reason_to_fail() -> None:
    """Stages that cut something out do nothing without a place to record it."""
    history = history_of(5)
    result = Pipeline([Budget(), Microcompact(keep=0)], session=None).run(history, idle_s=1e6)
    assert result.messages == history
    assert [report.status for report in result.reports] == ["unchanged", "unchanged"]
