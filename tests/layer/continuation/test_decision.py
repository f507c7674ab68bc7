"""Whether an agent goes on."""

from __future__ import annotations

import dataclasses
from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st

from toolbudget.continuation import (
    BudgetTracker,
    ContinueDecision,
    StopDecision,
    TurnBudget,
    check_token_budget,
    create_budget_tracker,
)


def halves_up(value: Fraction) -> int:
    """Round as it is taught at school."""
    return int(value + Fraction(1, 2)) if value >= 0 else -int(-value + Fraction(1, 2))


@given(
    tracker=st.builds(
        BudgetTracker,
        continuation_count=st.integers(0, 6),
        last_delta_tokens=st.integers(0, 1_000),
        last_global_turn_tokens=st.integers(0, 1_000),
        started_at=st.just(0.0),
    ),
    agent_id=st.sampled_from([None, None, None, "agent"]),
    budget=st.none() | st.integers(-10, 3_000),
    turn_tokens=st.integers(0, 4_000),
)
def test_the_decision_table(
    tracker: BudgetTracker, agent_id: str | None, budget: int | None, turn_tokens: int
) -> None:
    """C2, said a second time from the rules."""
    before = dataclasses.replace(tracker)
    decision = check_token_budget(tracker, agent_id, budget, turn_tokens)
    if agent_id is not None or budget is None or budget <= 0:
        assert decision == StopDecision(None)
        assert tracker == before
        return
    delta = turn_tokens - before.last_global_turn_tokens
    diminishing = before.continuation_count >= 3 and delta < 500 and before.last_delta_tokens < 500
    pct = halves_up(Fraction(100 * turn_tokens, budget))
    if not diminishing and turn_tokens < Fraction(9, 10) * budget:
        assert isinstance(decision, ContinueDecision)
        assert decision.continuation_count == before.continuation_count + 1
        assert (decision.pct, decision.turn_tokens, decision.budget) == (pct, turn_tokens, budget)
        assert tracker == BudgetTracker(before.continuation_count + 1, delta, turn_tokens, 0.0)
        return
    assert isinstance(decision, StopDecision)
    assert tracker == before
    event = decision.completion_event
    assert (event is not None) is (diminishing or before.continuation_count > 0)
    if event is not None:
        assert event.continuation_count == before.continuation_count
        assert (event.pct, event.turn_tokens, event.budget) == (pct, turn_tokens, budget)
        assert event.diminishing_returns is diminishing
        assert event.duration_ms > 0


def test_two_small_gains_in_a_row_end_it() -> None:
    """TOKENS 37: the last two gains were 400 and 300 tokens."""
    tracker = create_budget_tracker()
    for turn_tokens in (1_000, 2_000, 2_400):
        assert check_token_budget(tracker, None, 500_000, turn_tokens).action == "continue"
    decision = check_token_budget(tracker, None, 500_000, 2_700)
    assert isinstance(decision, StopDecision)
    assert decision.completion_event is not None
    assert decision.completion_event.diminishing_returns


def test_the_nudge_says_where_it_stands_and_to_go_on() -> None:
    """C3: a request for a report would end the run."""
    decision = check_token_budget(create_budget_tracker(), None, 500_000, 123_456)
    assert isinstance(decision, ContinueDecision)
    for words in ("25%", "123,456", "500,000", "Keep working", "do not summarise"):
        assert words in decision.nudge_message


def test_decisions_cannot_be_changed() -> None:
    """A host may keep and share them."""
    decision = check_token_budget(create_budget_tracker(), None, 500_000, 1)
    with pytest.raises(dataclasses.FrozenInstanceError):
        decision.action = "stop"  # type: ignore[misc]


def test_a_turn_counts_from_its_beginning() -> None:
    """C3: a new input counts anew; without a budget in its text the one in force stays."""
    turn = TurnBudget()
    assert (turn.current_turn_token_budget, turn.turn_output_tokens) == (None, 0)
    turn.add_output_tokens(70)
    turn.snapshot_output_tokens_for_turn(1_000)
    turn.add_output_tokens(5)
    turn.add_output_tokens(6)
    assert (turn.current_turn_token_budget, turn.turn_output_tokens) == (1_000, 11)
    turn.snapshot_output_tokens_for_turn(None)
    assert (turn.current_turn_token_budget, turn.turn_output_tokens) == (1_000, 0)
    turn.snapshot_output_tokens_for_turn(2_000)
    assert turn.current_turn_token_budget == 2_000


@pytest.mark.parametrize("value", [-1, 1.5, True, "3", None])
def test_an_odd_count_is_refused(value: object) -> None:
    """Nothing is counted then."""
    turn = TurnBudget()
    with pytest.raises(ValueError, match="output_tokens"):
        turn.add_output_tokens(value)  # type: ignore[arg-type]
    assert turn.turn_output_tokens == 0
