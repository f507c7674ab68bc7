"""What a fork or a sub-agent begins with: its parent's decisions, in records of its own."""

from __future__ import annotations

from collections import defaultdict
from datetime import UTC, datetime
from itertools import islice
from typing import TYPE_CHECKING, Final

from toolbudget.budget.recorder import SEEN
from toolbudget.storage.records import ContentReplacementRecord, content_replacement

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from toolbudget.budget.journal import Journal
    from toolbudget.storage.entries import Fingerprinted

__all__ = ["inherited_records"]

# Far below the length at which a line would no longer be read.
_ENTRIES_PER_RECORD: Final = 5_000


def inherited_records(
    journal: Journal, *, session_id: str, agent_id: str | None, parent_id: str
) -> Iterator[dict[str, object]]:
    """Yield the records that a child's transcript begins with; at least one.

    Entries are grouped by the session whose folder holds their files, the parent first: a fork of a
    fork still finds its grandparent's.
    """

    def record(
        home: str,
        replacements: Sequence[ContentReplacementRecord] = (),
        kept: Sequence[Fingerprinted] = (),
    ) -> dict[str, object]:
        return content_replacement(
            session_id=session_id,
            agent_id=agent_id,
            timestamp=datetime.now(UTC).isoformat(timespec="milliseconds"),
            inherited_from=home,
            replacements=replacements,
            frozen=kept,
        )

    by_home = _entries_by_home(journal, parent_id)
    frozen = _kept(journal, are_seen=False)
    is_first = True
    for home, entries in by_home.items():
        remaining = iter(entries)
        while True:
            replacements = list(islice(remaining, _ENTRIES_PER_RECORD))
            kept = list(islice(frozen, _ENTRIES_PER_RECORD)) if home == parent_id else []
            if not (replacements or kept or is_first):
                break
            is_first = False
            yield record(home, replacements, kept)
    seen = _kept(journal, are_seen=True)
    while kept := list(islice(seen, _ENTRIES_PER_RECORD)):
        yield {**record(parent_id, kept=kept), SEEN: True}


def _kept(journal: Journal, *, are_seen: bool) -> Iterator[Fingerprinted]:
    """Yield the kept results, either those of `mark_seen` or the others."""
    for key, replacement in journal.state.decisions.items():
        if replacement is None and journal.is_marked_seen(key) == are_seen:
            yield key.tool_use_id, key.fingerprint.size_chars, key.fingerprint.hash


def _entries_by_home(journal: Journal, parent_id: str) -> dict[str, list[ContentReplacementRecord]]:
    by_home: dict[str, list[ContentReplacementRecord]] = defaultdict(list)
    by_home[parent_id] = [
        ContentReplacementRecord("tool-result", tool_use_id, replacement, size=None, hash=None)
        for tool_use_id, replacement in journal.state.unapplied.items()
    ]
    for key, replacement in journal.state.decisions.items():
        if replacement is None:
            continue
        file = journal.file_of(key)
        home = parent_id if file is None else file.session_id
        by_home[home].append(journal.entry(key, replacement))
    return by_home
