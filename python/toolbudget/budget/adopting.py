"""Deciding about a result whose full text was stored before anybody held it as a text."""

from __future__ import annotations

import time
from pathlib import PurePath
from typing import TYPE_CHECKING

from toolbudget._core.pure import Adoption, Plan
from toolbudget._display import shown
from toolbudget.budget.report import EnforcementReport
from toolbudget.budget.stored_files import StoredFile
from toolbudget.errors import ConfigError
from toolbudget.storage.entries import fingerprinted_entry
from toolbudget.storage.result import StoredResult

if TYPE_CHECKING:
    from toolbudget._core.pure import Key
    from toolbudget.budget.journal import Journal

__all__ = ["adopt", "check_adoption"]


def check_adoption(stored: object, fingerprint: object, replacement: object) -> None:
    """Refuse what would be recorded and could not be read back, or not be sent.

    Raises:
        ConfigError: An argument is not what it must be; the message names it and the value.
    """
    if not isinstance(stored, StoredResult):
        raise ConfigError(f"stored (argument) must be a StoredResult: {shown(stored)}")
    parts = list(fingerprint) if isinstance(fingerprint, tuple) else []
    if fingerprinted_entry(["", *parts]) is None:
        problem = "fingerprint (argument) must be the size and the hash of a text"
        raise ConfigError(f"{problem}: {shown(fingerprint)}")
    if not isinstance(replacement, str) or not replacement.strip() or not _is_sendable(replacement):
        problem = "replacement (argument) must be text that can be sent"
        raise ConfigError(f"{problem}: {shown(replacement)}")


def _is_sendable(text: str) -> bool:
    try:
        return b"\0" not in text.encode()
    except UnicodeEncodeError:
        return False


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
