"""Deciding about a result whose full text was stored before anybody held it as a text."""

from __future__ import annotations

import time
from pathlib import PurePath
from typing import TYPE_CHECKING

from toolbudget._core.pure import Adoption, Plan
from toolbudget.budget.report import EnforcementReport
from toolbudget.budget.stored_files import StoredFile

if TYPE_CHECKING:
    from toolbudget._core.pure import Key
    from toolbudget.budget.journal import Journal
    from toolbudget.storage.result import StoredResult

__all__ = ["adopt"]


def adopt(
    journal: Journal, key: Key, replacement: str, stored: StoredResult
) -> tuple[str, EnforcementReport]:
    """Decide that a result is replaced whose full text is stored already; return what holds.

    Raises:
        TranscriptError: With ``strict``: it could not be recorded.
    """
    started_s = time.perf_counter()
    file = StoredFile(journal.session_id, PurePath(stored.path).name, stored.digest)

    def make_plan() -> Plan:
        if journal.state.is_decided(key):
            return Plan()
        journal.files.place(key, file)
        return Plan(adoptions=[Adoption(key, replacement)])

    done = journal.transact(make_plan, keeps_failed=False)
    held, entries = replacement, []
    if done.plan.adoptions:
        entries = [journal.entry(key, replacement)]
        journal.files.note(entries, journal.session_id)
    else:
        earlier = journal.state.decision(key, None)
        held = replacement if earlier is None else earlier
    return held, EnforcementReport(
        candidates=1,
        replaced=len(entries),
        reapplied=1 - len(entries),
        chars_before=key.fingerprint.size_chars,
        chars_after=len(held),
        bytes_stored=stored.size_bytes if stored.is_new else 0,
        failures=tuple(done.failures),
        newly_replaced=tuple(entries),
        elapsed_s=time.perf_counter() - started_s,
    )
