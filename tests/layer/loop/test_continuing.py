"""The continuation budget within the loop."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from tests.layer.loop.agents import BOTH_WAYS, checked, run
from toolbudget.loop import (
    AgentLoop,
    Continued,
    ModelRequest,
    ModelResponse,
    RequestReady,
    ScriptedModel,
)

if TYPE_CHECKING:
    from toolbudget import Session
    from toolbudget.loop import LoopEvent

both_ways = pytest.mark.parametrize("is_async", BOTH_WAYS, ids=["sync", "async"])


def writing(*tokens: int) -> ScriptedModel:
    """Make a model whose answers have so many output tokens."""
    return ScriptedModel(
        ModelResponse([{"type": "text", "text": "Done."}], "end_turn", {"output_tokens": one})
        for one in tokens
    )


@both_ways
def test_a_budget_makes_the_model_go_on(session: Session, *, is_async: bool) -> None:
    """Until nine tenths are used, with a message of the host's behind each answer."""
    events: list[LoopEvent] = []
    model = writing(30_000, 30_000, 30_000)
    loop = AgentLoop(model, session=session, on_event=events.append)
    result = run(loop, "+100k Fix every test.", is_async=is_async)
    assert result.turns == 3
    assert result.completion is not None
    assert (result.completion.continuation_count, result.completion.pct) == (2, 90)
    assert not result.completion.diminishing_returns
    ready = [event.transition for event in events if isinstance(event, RequestReady)]
    assert ready == ["user_input", "token_budget_continuation", "token_budget_continuation"]
    nudges = [event.decision.nudge_message for event in events if isinstance(event, Continued)]
    requests = checked(model)
    assert requests[1].messages == [
        {"role": "user", "content": [{"type": "text", "text": "+100k Fix every test."}]},
        {"role": "assistant", "content": [{"type": "text", "text": "Done."}]},
        {"role": "user", "content": [{"type": "text", "text": nudges[0]}]},
    ]
    is_meta = [bool(record.get("isMeta")) for record in loop.messages]
    assert is_meta == [False, False, True, False, True, False]


@both_ways
def test_it_stops_when_going_on_brings_nothing(session: Session, *, is_async: bool) -> None:
    """Two gains of less than 500 tokens in a row end it, from the third continuation on."""
    model = writing(9_000, 9_000, 400, 300, 300)
    result = run(AgentLoop(model, session=session), "+100k Go.", is_async=is_async)
    assert result.turns == 4
    assert result.completion is not None
    assert result.completion.diminishing_returns


def test_the_budget_holds_until_another_is_given(session: Session) -> None:
    """A new input begins a new count; one without a budget keeps the one in force."""
    model = writing(95_000, 50_000, 45_000, 900)
    loop = AgentLoop(model, session=session)
    assert loop.run("+100k One.").turns == 1
    assert loop.run("Two.").turns == 2
    assert session.turn_budget.turn_output_tokens == 95_000
    assert loop.run("Use 1k tokens. Three.").turns == 1


@both_ways
def test_it_ends_at_the_bound_of_turns(session: Session, *, is_async: bool) -> None:
    """Whatever is left of the budget, the bound holds."""
    model = writing(*[1_000] * 10)
    loop = AgentLoop(model, session=session, max_turns=4)
    assert run(loop, "+100k Go.", is_async=is_async).reason == "max_turns"
    assert len(model.requests) == 4


def test_an_abort_is_not_gone_on_from(session: Session) -> None:
    """The host has said that it shall end."""
    loop: AgentLoop

    def model(_request: ModelRequest) -> ModelResponse:
        loop.abort()
        return ModelResponse([{"type": "text", "text": "Done."}], "end_turn")

    loop = AgentLoop(model, session=session)
    result = loop.run("+100k Go.")
    assert (result.reason, result.turns) == ("aborted", 1)
