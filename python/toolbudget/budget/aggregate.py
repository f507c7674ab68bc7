"""What a plan and its stored choices come to: the messages of the request."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, cast

from toolbudget import _core as core
from toolbudget._core.pure import Change
from toolbudget.budget.taking import unchanged

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
    changes += [
        Change(place.message_index, place.block_index, item.replacement)
        for item in outcome.replaced
        for place in item.choice.occurrences
    ]
    changes += [
        Change(place.message_index, place.block_index, item.replacement)
        for item in outcome.replaced
        for place, _ in item.choice.followers
    ]
    return changes


def rewrite(
    given: Sequence[Any], taken: Sequence[Any], plan: Plan, outcome: StoreOutcome
) -> list[Any]:
    """Return the messages with every replacement put in; a list without any is the same object.

    Args:
        given: The host's own.
        taken: What the plan was made of.
        plan: What is reapplied.
        outcome: What is newly replaced.
    """
    output = core.rewrite(taken, changes_of(plan, outcome))
    return unchanged(given, taken) if output is taken else cast("list[Any]", output)
