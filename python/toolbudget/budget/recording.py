"""What of a transaction goes into records, and in which order."""

from __future__ import annotations

from typing import TYPE_CHECKING

from toolbudget.budget.recorder import why_unrecordable

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Iterator

    from toolbudget._core.pure import Key
    from toolbudget.budget.journal import Journal
    from toolbudget.budget.recorder import LockedLog, Recorder
    from toolbudget.budget.transaction import Transaction
    from toolbudget.storage.records import ContentReplacementRecord

__all__ = ["record_decisions"]


def record_decisions(
    journal: Journal,
    recorder: Recorder,
    locked: LockedLog,
    transaction: Transaction,
    *,
    marks_seen: bool,
) -> None:
    """Record what a transaction decides, and what no record holds yet.

    Raises:
        TranscriptError: It is certainly not recorded.
    """
    replacements, made = _replaced(transaction)
    taken = transaction.taken
    is_usual = not (recorder.unrecorded or transaction.failed or journal.has_marked_seen)
    if is_usual and not marks_seen and all(text is not None for _, text in taken):
        # In most turns a plan alone says what is kept: then no object is made for each of it.
        replacements += _entries(journal, taken, made)
        kept_now = transaction.kept
        transaction.failures += recorder.write(
            locked, replacements, kept_now, made, marks_seen=False
        )
        return
    decisions = [*recorder.unrecorded.items(), *transaction.decisions()]
    replacements += _entries(journal, decisions, made)
    kept = dict.fromkeys(key for key, text in decisions if text is None and key not in made)
    now_seen = set(transaction.kept) if marks_seen else set()
    same: list[Key] = []
    other: list[Key] = []
    for key in kept:
        is_seen = key in now_seen or journal.is_marked_seen(key)
        (same if is_seen == marks_seen else other).append(key)
    # The replacements come last: if this fails before, none of them is in a record.
    transaction.failures += recorder.write(locked, (), other, marks_seen=not marks_seen)
    transaction.failures += recorder.write(locked, replacements, same, marks_seen=marks_seen)
    recorder.unrecorded.clear()


def _replaced(transaction: Transaction) -> tuple[list[ContentReplacementRecord], set[Key]]:
    """What was stored now: its entries, and the keys."""
    replaced = transaction.outcome.replaced
    if not replaced:
        return [], set()
    return [item.record for item in replaced], {item.choice.key for item in replaced}


def _entries(
    journal: Journal, decisions: Iterable[tuple[Key, str | None]], made: Collection[Key]
) -> Iterator[ContentReplacementRecord]:
    """Yield the entries of what was replaced before, as far as a record can hold their ids."""
    for key, replacement in decisions:
        if replacement is not None and key not in made and why_unrecordable(key) is None:
            yield journal.entry(key, replacement)
