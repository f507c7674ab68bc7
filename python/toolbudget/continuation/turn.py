"""The budget of the turn that runs: what it is, and how much of it is used."""

from __future__ import annotations

from toolbudget._mutex import Mutex
from toolbudget.continuation.checks import check_tokens
from toolbudget.errors import ConfigError

__all__ = ["TurnBudget"]


class TurnBudget:
    """Counts the output tokens of one session, and remembers the budget in force.

    Only output counts: input is sent again with every request. Safe to use from many threads.

    Example:
        >>> turn = TurnBudget()
        >>> turn.snapshot_output_tokens_for_turn(500_000)
        >>> turn.add_output_tokens(1_200)
        >>> turn.turn_output_tokens, turn.current_turn_token_budget
        (1200, 500000)
        >>> turn.snapshot_output_tokens_for_turn(None)
        >>> turn.turn_output_tokens, turn.current_turn_token_budget
        (0, 500000)
    """

    __slots__ = ("_budget_tokens", "_lock", "_output_tokens", "_output_tokens_before")

    def __init__(self) -> None:
        """Begin without a budget."""
        self._lock = Mutex()
        self._output_tokens = 0
        self._output_tokens_before = 0
        self._budget_tokens: int | None = None

    def add_output_tokens(self, output_tokens: int) -> None:
        """Count what one response brought.

        Args:
            output_tokens: As the provider's usage says; each response once.

        Raises:
            ConfigError: It is negative or no ``int``.
        """
        check_tokens("output_tokens", output_tokens)
        if output_tokens < 0:
            raise ConfigError(f"output_tokens (argument) must not be negative: {output_tokens}")
        with self._lock:
            self._output_tokens += output_tokens

    def snapshot_output_tokens_for_turn(self, budget: int | None) -> None:
        """Begin a turn: count from here.

        Args:
            budget: What the new input names, as from ``parse_token_budget``; ``None`` keeps the one
                in force, and 0 ends it.

        Raises:
            ConfigError: It is neither an ``int`` nor ``None``.
        """
        if budget is not None:
            check_tokens("budget", budget, or_none=True)
        with self._lock:
            self._output_tokens_before = self._output_tokens
            if budget is not None:
                self._budget_tokens = budget

    @property
    def current_turn_token_budget(self) -> int | None:
        """The budget in force, in tokens."""
        with self._lock:
            return self._budget_tokens

    @property
    def turn_output_tokens(self) -> int:
        """Output tokens since the turn began."""
        with self._lock:
            return self._output_tokens - self._output_tokens_before
