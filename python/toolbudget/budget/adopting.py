"""Deciding about a result whose full text was stored before anybody held it as a text."""

from __future__ import annotations

from pathlib import PurePath
from typing import TYPE_CHECKING

from toolbudget._core.pure import Adoption, Plan
from toolbudget.budget.stored_files import StoredFile

if TYPE_CHECKING:
    from toolbudget._core.pure import Key
    from toolbudget.budget.journal import Journal
    from toolbudget.budget.report import Failure
    from toolbudget.storage.records import ContentReplacementRecord
    from toolbudget.storage.result import StoredResult

__all__ = ["adopt"]


def adopt(
    journal: Journal, key: Key, replacement: str, stored: StoredResult
) -> tuple[str, ContentReplacementRecord | None, list[Failure]]:
    """Decide that a result is replaced whose full text is stored already; return what holds.

    That is the replacement, its entry unless it had been decided before, and what went wrong.

    Raises:
        TranscriptError: With ``strict``: it could not be recorded.
    """
    file = StoredFile(journal.session_id, PurePath(stored.path).name, stored.digest)

    def make_plan() -> Plan:
        if key.fingerprint in journal.state.decisions_about(key.tool_use_id):
            return Plan()
        journal.files.place(key, file)
        return Plan(adoptions=[Adoption(key, replacement)])

    done = journal.transact(make_plan, keeps_failed=False)
    if not done.plan.adoptions:
        earlier = journal.state.decisions_about(key.tool_use_id)[key.fingerprint]
        return replacement if earlier is None else earlier, None, done.failures
    entry = journal.entry(key, replacement)
    journal.files.note([entry], journal.session_id)
    return replacement, entry, done.failures
