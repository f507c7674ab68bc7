"""The report of one call, after its choices were stored or given up."""

from __future__ import annotations

import math
import time
from collections import Counter
from types import MappingProxyType
from typing import TYPE_CHECKING

from toolbudget import _core as core
from toolbudget.budget.report import EnforcementReport

if TYPE_CHECKING:
    from toolbudget._core.pure import Plan, PlanOptions
    from toolbudget.budget.journal import Transaction
    from toolbudget.budget.storing import StoreOutcome

__all__ = ["report_of"]


def report_of(
    transaction: Transaction, options: PlanOptions | None, *, started_s: float
) -> EnforcementReport:
    """Sum up a call that began at ``started_s`` of ``time.perf_counter``.

    ``options`` are those of the plan; ``None`` for the gate, which has no groups.
    """
    plan, outcome = transaction.plan, transaction.outcome
    if options is not None:
        _settle_totals(outcome, options)
    replaced = sum(len(item.choice.occurrences) for item in outcome.replaced)
    followed = sum(len(item.choice.followers) for item in outcome.replaced)
    gained = plan.chars_gained + sum(
        (item.choice.size - len(item.replacement))
        * (len(item.choice.occurrences) + len(item.choice.followers))
        for item in outcome.replaced
    )
    reapplied = len(plan.changes) + followed
    skipped: Counter[str] = Counter(plan.skipped)
    return EnforcementReport(
        groups=len(plan.totals),
        candidates=plan.candidates,
        replaced=replaced,
        reapplied=reapplied,
        frozen=plan.candidates - replaced - reapplied,
        skipped=skipped.total(),
        skipped_by_reason=MappingProxyType(dict(skipped)),
        chars_before=plan.chars_before,
        chars_after=plan.chars_before - gained,
        over_limit_chars=0 if options is None else _over_limit(plan, options),
        bytes_stored=outcome.bytes_stored,
        failures=tuple(transaction.failures),
        newly_replaced=tuple(item.record() for item in outcome.replaced),
        elapsed_s=time.perf_counter() - started_s,
    )


def _over_limit(plan: Plan, options: PlanOptions) -> int:
    limit, accounting = options.limit, options.accounting
    over = core.totals_over(plan.totals, limit, accounting)
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
