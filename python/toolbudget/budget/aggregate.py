"""What a plan and its stored choices come to: the messages of the request."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from toolbudget import _core as core
from toolbudget._core.pure import Change

if TYPE_CHECKING:
    from collections.abc import Sequence

    from toolbudget._core.pure import Plan
    from toolbudget.budget.storing import StoreOutcome

__all__ = ["changes_of", "rewrite"]


def changes_of(plan: Plan, outcome: StoreOutcome) -> Sequence[Change]:
    """Return what is to be rewritten: recorded replacements and new ones, wherever they stand."""
    if not outcome.replaced:
        return plan.changes
    changes = list(plan.changes)
    for item in outcome.replaced:
        followers = (candidate for candidate, _ in item.choice.followers)
        changes += (
            Change(candidate.message_index, candidate.block_index, item.replacement)
            for candidate in (*item.choice.occurrences, *followers)
        )
    return changes


def rewrite(messages: Sequence[object], plan: Plan, outcome: StoreOutcome) -> list[Any]:
    """Return the messages with every replacement put in; a list without any is the same object."""
    output = core.rewrite(messages, changes_of(plan, outcome))
    return output if isinstance(output, list) else list(output)
