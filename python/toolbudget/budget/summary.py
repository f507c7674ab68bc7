"""The report of one call, after its choices were stored or given up."""

from __future__ import annotations

import time
from functools import partial
from typing import TYPE_CHECKING, Final, NamedTuple, get_args

from toolbudget import _core as core
from toolbudget._core.pure import Sums
from toolbudget._core.pure.choose import excess
from toolbudget._core.pure.collect import SkipReason
from toolbudget.budget.read_only import ReadOnlyDict
from toolbudget.budget.report import EnforcementReport

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from toolbudget._core.pure import GroupTotals, Plan, PlanOptions
    from toolbudget.budget.report import Failure
    from toolbudget.budget.storing import StoreOutcome
    from toolbudget.budget.transaction import Transaction
    from toolbudget.storage.records import ContentReplacementRecord

__all__ = ["NOTHING", "QuietTurn", "Summary", "empty_turn", "quiet_turn", "report_of", "summary_of"]


# Of messages that were not looked at, if there are none.
NOTHING: Final = Sums()
_NONE_SKIPPED: Final[ReadOnlyDict[int]] = ReadOnlyDict({})
_REASONS: Final[tuple[SkipReason, ...]] = get_args(SkipReason)


class Summary(NamedTuple):
    """The fields of a report, from which it is made if anybody asks: most of them nobody reads."""

    groups: int
    candidates: int
    replaced: int
    reapplied: int
    skipped_by_reason: ReadOnlyDict[int]
    chars_before: int
    chars_after: int
    over_limit_chars: int
    bytes_stored: int
    failures: tuple[Failure, ...]
    newly_replaced: tuple[ContentReplacementRecord, ...]
    elapsed_s: float
    options: PlanOptions | None

    def report(self) -> EnforcementReport:
        """Make the report."""
        fields = self._asdict()
        options: PlanOptions | None = fields.pop("options")
        if options is not None and options.rule == "seen":
            options = None
        return EnforcementReport(
            frozen=self.candidates - self.replaced - self.reapplied,
            skipped=sum(self.skipped_by_reason.values()),
            **fields,
            message_limit=None if options is None else options.limit,
            is_limit_overridden=options is not None and options.is_limit_overridden,
        )


class QuietTurn(partial[EnforcementReport]):
    """A turn for which nothing was stored or recorded; called, it makes its report.

    It holds counts only, and it is made without running Python code, as a plain class is not.
    """

    failures: Final = ()
    newly_replaced: Final = ()

    def report(self) -> EnforcementReport:
        """Make the report."""
        return self()


def quiet_turn(plan: Plan, options: PlanOptions, *, started_s: float, before: Sums) -> QuietTurn:
    """Sum up a turn for which nothing was stored or recorded, as :func:`summary_of` does."""
    elapsed_s = time.perf_counter() - started_s
    return QuietTurn(
        _report_quiet_turn,
        before,
        plan.totals,
        plan.candidates,
        len(plan.changes),
        plan.skipped,
        plan.chars_before,
        plan.chars_gained,
        elapsed_s,
        options,
    )


def empty_turn(options: PlanOptions, *, started_s: float) -> QuietTurn:
    """Sum up a turn without messages."""
    elapsed_s = time.perf_counter() - started_s
    return QuietTurn(_report_quiet_turn, NOTHING, (), 0, 0, {}, 0, 0, elapsed_s, options)


def report_of(
    transaction: Transaction, options: PlanOptions | None, *, started_s: float
) -> EnforcementReport:
    """Sum up a call as :func:`summary_of` does, as a report."""
    return summary_of(transaction, options, started_s=started_s).report()


def summary_of(
    transaction: Transaction,
    options: PlanOptions | None,
    *,
    started_s: float,
    before: Sums = NOTHING,
) -> Summary:
    """Sum up a call that began at ``started_s`` of ``time.perf_counter``.

    ``options`` are those of the plan; ``None`` for the gate, which has no groups. ``before`` is
    about messages that stand before those that the plan was made of.
    """
    plan, outcome = transaction.plan, transaction.outcome
    if options is not None and (outcome.kept or outcome.replaced):
        _settle_totals(outcome, options)
    replaced = followed = 0
    gained = before.chars_gained + plan.chars_gained
    for item in outcome.replaced:
        occurrences, followers = len(item.choice.occurrences), len(item.choice.followers)
        replaced += occurrences
        followed += followers
        gained += (item.choice.size - len(item.replacement)) * (occurrences + followers)
    chars_before = before.chars_before + plan.chars_before
    over_limit = 0 if options is None else _over_limit(plan.totals, options)
    # By place: names would cost more than all of the sums.
    return Summary(
        before.groups + len(plan.totals),
        before.candidates + plan.candidates,
        replaced,
        before.reapplied + len(plan.changes) + followed,
        _together(before.skipped, plan.skipped),
        chars_before,
        chars_before - gained,
        before.over_limit_chars + over_limit,
        outcome.bytes_stored if replaced else 0,
        tuple(transaction.failures),
        tuple([item.record for item in outcome.replaced]) if replaced else (),
        time.perf_counter() - started_s,
        options,
    )


def _report_quiet_turn(  # noqa: PLR0917 - by place: names cost a dict each turn
    before: Sums,
    totals: Sequence[GroupTotals],
    candidates: int,
    reapplied: int,
    skipped: Mapping[SkipReason, int],
    chars_before: int,
    chars_gained: int,
    elapsed_s: float,
    options: PlanOptions,
) -> EnforcementReport:
    chars_before += before.chars_before
    return Summary(
        groups=before.groups + len(totals),
        candidates=before.candidates + candidates,
        replaced=0,
        reapplied=before.reapplied + reapplied,
        skipped_by_reason=_together(before.skipped, skipped),
        chars_before=chars_before,
        chars_after=chars_before - before.chars_gained - chars_gained,
        over_limit_chars=before.over_limit_chars + _over_limit(totals, options),
        bytes_stored=0,
        failures=(),
        newly_replaced=(),
        elapsed_s=elapsed_s,
        options=options,
    ).report()


def _together(counts: Mapping[str, int], others: Mapping[SkipReason, int]) -> ReadOnlyDict[int]:
    if not (counts or others):
        return _NONE_SKIPPED
    together = dict[str, int](counts)
    for reason, count in others.items():
        together[reason] = together.get(reason, 0) + count
    if len(together) > 1:  # who came first depends on what was kept of earlier turns
        together = {reason: together[reason] for reason in _REASONS if reason in together}
    return ReadOnlyDict(together)


def _over_limit(totals: Sequence[GroupTotals], options: PlanOptions) -> int:
    if not len(totals):
        return 0
    limit, accounting = options.limit, options.accounting
    over = core.totals_over(totals, limit, accounting)
    return excess(over, limit, accounting) if over else 0


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
