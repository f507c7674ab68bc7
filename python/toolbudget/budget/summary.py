"""The report of one call, after its choices were stored or given up."""

from __future__ import annotations

import math
import time
from collections import Counter
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import TYPE_CHECKING, Final

from toolbudget import _core as core
from toolbudget.budget.report import EnforcementReport

if TYPE_CHECKING:
    from toolbudget._core.pure import Plan, PlanOptions
    from toolbudget.budget.journal import Transaction
    from toolbudget.budget.storing import StoreOutcome

__all__ = ["NOTHING", "Sums", "report_of"]


@dataclass(slots=True)
class Sums:
    """What a report counts in messages that were not looked at again: all of it was decided."""

    groups: int = 0
    candidates: int = 0
    reapplied: int = 0
    skipped: Counter[str] = field(default_factory=Counter)
    chars_before: int = 0
    chars_gained: int = 0
    over_limit_chars: int = 0

    def add(self, plan: Plan, options: PlanOptions) -> None:
        """Add what a plan that decides nothing has counted."""
        self.groups += len(plan.totals)
        self.candidates += plan.candidates
        self.reapplied += len(plan.changes)
        if plan.skipped:
            self.skipped.update(plan.skipped)
        self.chars_before += plan.chars_before
        self.chars_gained += plan.chars_gained
        self.over_limit_chars += _over_limit(plan, options)


NOTHING: Final = Sums()


def report_of(
    transaction: Transaction,
    options: PlanOptions | None,
    *,
    started_s: float,
    before: Sums = NOTHING,
) -> EnforcementReport:
    """Sum up a call that began at ``started_s`` of ``time.perf_counter``.

    ``options`` are those of the plan; ``None`` for the gate, which has no groups. ``before`` is
    about messages that stand before those that the plan was made of.
    """
    plan, outcome = transaction.plan, transaction.outcome
    if options is not None:
        _settle_totals(outcome, options)
    replaced = followed = 0
    gained = before.chars_gained + plan.chars_gained
    for item in outcome.replaced:
        occurrences, followers = len(item.choice.occurrences), len(item.choice.followers)
        replaced += occurrences
        followed += followers
        gained += (item.choice.size - len(item.replacement)) * (occurrences + followers)
    reapplied = before.reapplied + len(plan.changes) + followed
    candidates = before.candidates + plan.candidates
    chars_before = before.chars_before + plan.chars_before
    skipped = dict[str, int](before.skipped)
    for reason, count in plan.skipped.items():
        skipped[reason] = skipped.get(reason, 0) + count
    over_limit = 0 if options is None else _over_limit(plan, options)
    return EnforcementReport(
        groups=before.groups + len(plan.totals),
        candidates=candidates,
        replaced=replaced,
        reapplied=reapplied,
        frozen=candidates - replaced - reapplied,
        skipped=sum(skipped.values()),
        skipped_by_reason=MappingProxyType(skipped),
        chars_before=chars_before,
        chars_after=chars_before - gained,
        over_limit_chars=before.over_limit_chars + over_limit,
        bytes_stored=outcome.bytes_stored,
        failures=tuple(transaction.failures),
        newly_replaced=tuple([item.record for item in outcome.replaced]),
        elapsed_s=time.perf_counter() - started_s,
    )


def _over_limit(plan: Plan, options: PlanOptions) -> int:
    if not len(plan.totals):
        return 0
    limit, accounting = options.limit, options.accounting
    over = core.totals_over(plan.totals, limit, accounting)
    if not over:
        return 0
    return sum(math.ceil(totals.visible(accounting) - limit) for totals in over)


def _settle_totals(outcome: StoreOutcome, options: PlanOptions) -> None:
    """Correct what the plan reckoned with by what the store came to do."""
    is_shown = options.accounting == "visible"
    for choice in outcome.kept:
        size = core.measure(choice.occurrences[0].parts, options.unit)
        replacement_size = core.measure((choice.replacement,), options.unit)
        shown = replacement_size if is_shown else 0
        choice.totals.gained -= (size - shown) * len(choice.occurrences)
        for _, totals in choice.followers:
            totals.standing -= replacement_size
            totals.frozen += size
    for item in outcome.replaced:
        if item.replacement == item.choice.replacement:
            continue
        longer = core.measure((item.replacement,), options.unit)
        longer -= core.measure((item.choice.replacement,), options.unit)
        if is_shown:
            item.choice.totals.gained -= longer * len(item.choice.occurrences)
        for _, totals in item.choice.followers:
            totals.standing += longer
