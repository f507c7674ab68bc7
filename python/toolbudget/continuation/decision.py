"""Deciding whether an agent that has stopped goes on."""

from __future__ import annotations

import time
from dataclasses import dataclass, field
from typing import Final, Literal

from toolbudget.continuation.checks import check_tokens

__all__ = [
    "COMPLETION_THRESHOLD",
    "DIMINISHING_THRESHOLD",
    "BudgetTracker",
    "CompletionEvent",
    "ContinueDecision",
    "StopDecision",
    "check_token_budget",
    "create_budget_tracker",
]

COMPLETION_THRESHOLD: Final = 0.9
"""Share of the budget from which on it counts as used (SPEC C2)."""

DIMINISHING_THRESHOLD: Final = 500
"""Output tokens below which a continuation has brought next to nothing (SPEC C2)."""

# The first continuations may be short: the agent is looking around.
_MIN_CONTINUATIONS: Final = 3


@dataclass(slots=True)
class BudgetTracker:
    """What is remembered about the continuations of one turn.

    :func:`check_token_budget` updates it.

    Attributes:
        continuation_count: How often the agent was told to go on.
        last_delta_tokens: Output tokens that the last continuation brought.
        last_global_turn_tokens: Output tokens of the turn when it was last told so.
        started_at: When the turn began, in seconds of ``time.monotonic``.
    """

    continuation_count: int = 0
    last_delta_tokens: int = 0
    last_global_turn_tokens: int = 0
    started_at: float = field(default_factory=time.monotonic)


@dataclass(frozen=True, slots=True)
class ContinueDecision:
    """Go on.

    Attributes:
        nudge_message: What to tell the agent, as a meta user message after its own.
        continuation_count: Which continuation of the turn this is, from 1.
        pct: Share of the budget used, in percent, rounded half up.
        turn_tokens: Output tokens of the turn so far.
        budget: The budget in tokens.
        action: ``"continue"``.
    """

    nudge_message: str
    continuation_count: int
    pct: int
    turn_tokens: int
    budget: int
    action: Literal["continue"] = "continue"


@dataclass(frozen=True, slots=True)
class CompletionEvent:
    """How a turn that was continued ended, for a host's log.

    Attributes:
        continuation_count: How often it was continued.
        pct: Share of the budget used, in percent, rounded half up.
        turn_tokens: Output tokens of the turn.
        budget: The budget in tokens.
        diminishing_returns: Whether it ended because going on brought next to nothing.
        duration_ms: Milliseconds since the turn began.
    """

    continuation_count: int
    pct: int
    turn_tokens: int
    budget: int
    diminishing_returns: bool
    duration_ms: int


@dataclass(frozen=True, slots=True)
class StopDecision:
    """Stop here.

    Attributes:
        completion_event: What to log; ``None`` if there was nothing to continue.
        action: ``"stop"``.
    """

    completion_event: CompletionEvent | None = None
    action: Literal["stop"] = "stop"


def create_budget_tracker() -> BudgetTracker:
    """Return the tracker of a turn that begins now.

    Example:
        >>> create_budget_tracker().continuation_count
        0
    """
    return BudgetTracker()


def check_token_budget(
    tracker: BudgetTracker, agent_id: str | None, budget: int | None, turn_tokens: int
) -> ContinueDecision | StopDecision:
    """Decide whether an agent that has ended its turn is told to go on.

    It goes on until nine tenths of the budget are used, or until two continuations in a row bring
    less than :data:`DIMINISHING_THRESHOLD` tokens. Sub-agents never go on.

    Args:
        tracker: Of this turn; changed only if the agent goes on.
        agent_id: The sub-agent; ``None`` for the main agent.
        budget: In output tokens; ``None`` if there is none.
        turn_tokens: Output tokens of this turn so far; input that is sent again does not count.

    Raises:
        ConfigError: ``budget`` or ``turn_tokens`` is no ``int``, such as an infinite number.

    Example:
        >>> tracker = create_budget_tracker()
        >>> decision = check_token_budget(tracker, None, 500_000, 100_000)
        >>> decision.action, decision.pct, tracker.continuation_count
        ('continue', 20, 1)
        >>> check_token_budget(tracker, None, 500_000, 450_000).action
        'stop'
    """
    if budget is not None:
        check_tokens("budget", budget, or_none=True)
    check_tokens("turn_tokens", turn_tokens)
    if agent_id is not None or budget is None or budget <= 0:
        return StopDecision()
    pct = (200 * turn_tokens + budget) // (2 * budget)
    delta_tokens = turn_tokens - tracker.last_global_turn_tokens
    is_diminishing = (
        tracker.continuation_count >= _MIN_CONTINUATIONS
        and delta_tokens < DIMINISHING_THRESHOLD
        and tracker.last_delta_tokens < DIMINISHING_THRESHOLD
    )
    if not is_diminishing and turn_tokens < budget * COMPLETION_THRESHOLD:
        tracker.continuation_count += 1
        tracker.last_delta_tokens = delta_tokens
        tracker.last_global_turn_tokens = turn_tokens
        nudge = _nudge(pct, turn_tokens, budget)
        return ContinueDecision(nudge, tracker.continuation_count, pct, turn_tokens, budget)
    if not (is_diminishing or tracker.continuation_count):
        return StopDecision()
    duration_ms = round((time.monotonic() - tracker.started_at) * 1_000)
    return StopDecision(
        CompletionEvent(
            tracker.continuation_count, pct, turn_tokens, budget, is_diminishing, duration_ms
        )
    )


def _nudge(pct: int, turn_tokens: int, budget: int) -> str:
    """Say where the agent stands; asking for a report would end the run."""
    return (
        f"{pct}% of the token budget is used ({turn_tokens:,} of {budget:,})."
        " Keep working on the task; do not summarise."
    )
