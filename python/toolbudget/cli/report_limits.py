"""What other limits would do to the results of many transcripts, a batch of them at a time."""

from __future__ import annotations

import dataclasses
from dataclasses import dataclass, field
from itertools import product
from typing import TYPE_CHECKING, Final, NamedTuple

import numpy as np

from toolbudget._core.pure import Standing
from toolbudget.budget.what_if import USUAL_PATH_CHARS, replacement_chars
from toolbudget.limits import PREVIEW_SIZE_BYTES, Limits

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from toolbudget.budget.columns import CandidateColumns

__all__ = ["MESSAGE_LIMITS_CHARS", "RESULT_LIMITS_CHARS", "LimitPair", "LimitTable", "Outcome"]

RESULT_LIMITS_CHARS: Final = (20_000, 30_000, 50_000)
"""Limits of one result that are tried: the built-in ones of Grep and Bash, and the default."""

MESSAGE_LIMITS_CHARS: Final = (100_000, 200_000)
"""Limits of a message that are tried: half the default, and the default."""


class LimitPair(NamedTuple):
    """One row of the table."""

    result_chars: float
    message_chars: float


@dataclass(slots=True)
class Outcome:
    """What a pair of limits would do.

    Attributes:
        gated: Results that the limit of one result would replace.
        budgeted: Results that the limit of a message would replace besides.
        chars_after: Characters of all text results afterwards.
        messages_over: Messages that would still be over their limit.
    """

    gated: int = 0
    budgeted: int = 0
    chars_after: int = 0
    messages_over: int = 0


@dataclass(slots=True)
class LimitTable:
    """Adds up, for each pair of limits, what it would do.

    Attributes:
        outcomes: By pair of limits.
        by_tool: For the default limits, characters that would be saved of each tool's results.
    """

    outcomes: dict[LimitPair, Outcome] = field(
        default_factory=lambda: {
            LimitPair(*pair): Outcome()
            for pair in product(RESULT_LIMITS_CHARS, MESSAGE_LIMITS_CHARS)
        }
    )
    _limits: dict[float, Limits] = field(default_factory=dict)

    def add(self, columns: CandidateColumns) -> None:
        """Take in a batch of whole messages."""
        if not len(columns):
            return
        for limit_chars in {pair.result_chars for pair in self.outcomes}:
            gated, rows = self._gate(columns, limit_chars)
            pairs = [pair for pair in self.outcomes if pair.result_chars == limit_chars]
            answer = gated.what_if([pair.message_chars for pair in pairs])
            for number, pair in enumerate(pairs):
                outcome = self.outcomes[pair]
                outcome.gated += rows
                outcome.budgeted += int(answer.replaced[number])
                outcome.chars_after += int(answer.chars_after[number])
                outcome.messages_over += int(answer.groups_left_over[number])

    def _gate(self, columns: CandidateColumns, limit_chars: float) -> tuple[CandidateColumns, int]:
        """Replace what the limit of one result would, and count it."""
        limits = self._limits.setdefault(limit_chars, Limits(max_result_chars=limit_chars))
        # The last one is for results whose call is not there.
        by_tool = np.array(
            [limits.for_tool(name) for name in (*columns.tool_names, "")], np.float64
        )
        path_chars: NDArray[np.int64] = np.full(len(columns), USUAL_PATH_CHARS, np.int64)
        shorter = replacement_chars(columns.size, path_chars, PREVIEW_SIZE_BYTES)
        is_gated = columns.decision == Standing.FRESH
        is_gated &= columns.size > by_tool[columns.tool]
        is_gated &= shorter < columns.size
        decision = np.where(is_gated, np.int8(Standing.REPLACED), columns.decision)
        shown = np.where(is_gated, shorter, columns.shown)
        gated = dataclasses.replace(columns, decision=decision, shown=shown)
        return gated, int(is_gated.sum())
