"""The continuation budget: whether an agent goes on until it has used what it was given.

Example:
    >>> from toolbudget.continuation import parse_token_budget
    >>> parse_token_budget("+500k fix every flaky test")
    500000
"""

from __future__ import annotations

from toolbudget.continuation.decision import (
    COMPLETION_THRESHOLD,
    DIMINISHING_THRESHOLD,
    BudgetTracker,
    CompletionEvent,
    ContinueDecision,
    StopDecision,
    check_token_budget,
    create_budget_tracker,
)
from toolbudget.continuation.parse import (
    BudgetSpan,
    find_token_budget_positions,
    parse_token_budget,
)
from toolbudget.continuation.turn import TurnBudget

__all__ = [
    "COMPLETION_THRESHOLD",
    "DIMINISHING_THRESHOLD",
    "BudgetSpan",
    "BudgetTracker",
    "CompletionEvent",
    "ContinueDecision",
    "StopDecision",
    "TurnBudget",
    "check_token_budget",
    "create_budget_tracker",
    "find_token_budget_positions",
    "parse_token_budget",
]
