"""The report of one call, after its choices were stored or given up."""

from __future__ import annotations

import math
import time
from types import MappingProxyType
from typing import TYPE_CHECKING

from toolbudget import _core as core
from toolbudget.budget.report import EnforcementReport

if TYPE_CHECKING:
    from toolbudget._core.pure import Accounting, Plan
    from toolbudget.budget.journal import Transaction
    from toolbudget.budget.storing import StoreOutcome

__all__ = ["report_of"]


def report_of(
    transaction: Transaction, *, limit: float, accounting: Accounting, started_s: float
) -> EnforcementReport:
    """Sum up a call that began at ``started_s`` of ``time.perf_counter``."""
    plan, outcome = transaction.plan, transaction.outcome
    _settle_totals(outcome, accounting)
    replaced = followed = 0
    gained = plan.chars_gained
    for item in outcome.replaced:
        occurrences, followers = len(item.choice.occurrences), len(item.choice.followers)
        replaced += occurrences
        followed += followers
        gained += (item.choice.size - len(item.replacement)) * (occurrences + followers)
    reapplied = len(plan.changes) + followed
    skipped = dict[str, int](plan.skipped.items())
    return EnforcementReport(
        groups=len(plan.totals),
        candidates=plan.candidates,
        replaced=replaced,
        reapplied=reapplied,
        frozen=plan.candidates - replaced - reapplied,
        skipped=sum(skipped.values()),
        skipped_by_reason=MappingProxyType(skipped),
        chars_before=plan.chars_before,
        chars_after=plan.chars_before - gained,
        over_limit_chars=_over_limit_chars(plan, limit, accounting),
        bytes_stored=outcome.bytes_stored,
        failures=tuple(transaction.failures),
        newly_replaced=tuple([item.record for item in outcome.replaced]),
        elapsed_s=time.perf_counter() - started_s,
    )


def _over_limit_chars(plan: Plan, limit: float, accounting: Accounting) -> int:
    if not len(plan.totals):
        return 0
    over = core.totals_over(plan.totals, limit, accounting)
    return sum(math.ceil(totals.visible(accounting) - limit) for totals in over)


def _settle_totals(outcome: StoreOutcome, accounting: Accounting) -> None:
    """Correct what the plan reckoned with by what the store came to do."""
    for choice in outcome.kept:
        shown = len(choice.replacement) if accounting == "visible" else 0
        choice.totals.gained -= (choice.size - shown) * len(choice.occurrences)
        for _, totals in choice.followers:
            totals.standing -= len(choice.replacement)
            totals.frozen += choice.size
    for item in outcome.replaced:
        longer = len(item.replacement) - len(item.choice.replacement)
        if accounting == "visible":
            item.choice.totals.gained -= longer * len(item.choice.occurrences)
        for _, totals in item.choice.followers:
            totals.standing += longer
