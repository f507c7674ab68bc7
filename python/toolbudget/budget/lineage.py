"""What a fork or a sub-agent begins with: its parent's decisions, in records of its own."""

from __future__ import annotations

from collections import defaultdict
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Final, TypeVar

from toolbudget.budget.context_edits import EDITS, KEPT_ORIGINAL
from toolbudget.budget.recorder import SEEN
from toolbudget.storage.records import ContentReplacementRecord, content_replacement

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from toolbudget.budget.journal import Journal
    from toolbudget.budget.recorder import LockedLog, Recorder
    from toolbudget.storage.entries import Fingerprinted

__all__ = ["entries_by_home", "inherited_records", "parts_of", "record_lost_inheritance"]

_MAX_ENTRIES: Final = 5_000
# Far below the length at which a line would no longer be read, also with the longest id in it.
_MAX_BYTES: Final = 12 << 20
# What a character becomes at most in a record: two escapes of six bytes.
_ESCAPED_BYTES: Final = 12

_Entry = TypeVar("_Entry", ContentReplacementRecord, "Fingerprinted")


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

    by_home = entries_by_home(journal, parent_id)
    replaced, kept = parts_of(by_home.pop(parent_id)), parts_of(_kept(journal, are_seen=False))
    # The first of each go together: of most parents that is all there is.
    first_replaced, first_kept = next(replaced, []), next(kept, [])
    if _bytes_of(first_replaced) + _bytes_of(first_kept) > 2 * _MAX_BYTES:
        yield record(parent_id, first_replaced)
        yield record(parent_id, kept=first_kept)
    else:
        yield record(parent_id, first_replaced, first_kept)
    yield from (record(parent_id, part) for part in replaced)
    yield from (record(parent_id, kept=part) for part in kept)
    for home, entries in by_home.items():
        yield from (record(home, part) for part in parts_of(entries))
    for part in parts_of(_kept(journal, are_seen=True)):
        yield {**record(parent_id, kept=part), SEEN: True}
    for _, edits in journal.ledger.records():
        yield {**record(parent_id), EDITS: list(edits)}


def record_lost_inheritance(journal: Journal, recorder: Recorder, locked: LockedLog) -> bool:
    """If the file of the records is gone, begin the next one with what was not decided here.

    That is where inherited files are, and what no text has met yet; all else is recorded with the
    next decision.

    Returns:
        Whether the file is gone.

    Raises:
        TranscriptError: It is certainly not recorded.
    """
    if locked.take_lost_records():
        recorder.unrecorded.update(journal.state.decisions)
        recorder.unrecorded_inherited = True
    if not recorder.unrecorded_inherited:
        return False
    for home, entries in entries_by_home(journal, journal.session_id).items():
        is_own = home == journal.session_id
        lost = (
            entry
            for entry in entries
            if not is_own or entry.size is None or entry.kind == KEPT_ORIGINAL
        )
        for part in parts_of(lost):
            recorder.write_inherited(locked, part, home=home)
    for record in journal.ledger.records():
        recorder.write_context(locked, *record)
    recorder.unrecorded_inherited = False
    return True


def parts_of(entries: Iterable[_Entry]) -> Iterator[list[_Entry]]:
    """Cut entries into parts that fit into a record each; none is empty."""
    part: list[_Entry] = []
    size_bytes = 0
    for entry in entries:
        entry_bytes = _bytes_of([entry])
        if part and (len(part) == _MAX_ENTRIES or size_bytes + entry_bytes > _MAX_BYTES):
            yield part
            part, size_bytes = [], 0
        part.append(entry)
        size_bytes += entry_bytes
    if part:
        yield part


def _bytes_of(entries: Iterable[ContentReplacementRecord | Fingerprinted]) -> int:
    """How many bytes entries take at most, but for what each has in common."""
    texts = (
        (entry.tool_use_id, entry.replacement)
        if isinstance(entry, ContentReplacementRecord)
        else (entry[0],)
        for entry in entries
    )
    return sum(_escaped_bytes(text) for pair in texts for text in pair)


def _escaped_bytes(text: str) -> int:
    is_plain = text.isascii() and text.isprintable()
    # A quotation mark or backslash has an escape of two bytes.
    return len(text) * (2 if is_plain else _ESCAPED_BYTES)


def _kept(journal: Journal, *, are_seen: bool) -> Iterator[Fingerprinted]:
    """Yield the kept results, either those of `mark_seen` or the others."""
    for key, replacement in journal.state.decisions.items():
        if replacement is None and journal.is_marked_seen(key) == are_seen:
            yield key.tool_use_id, key.fingerprint.size_chars, key.fingerprint.hash


def entries_by_home(journal: Journal, parent_id: str) -> dict[str, list[ContentReplacementRecord]]:
    """Return what was replaced or is expected, by the session whose folder holds the files."""
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
    for key, entry in journal.ledger.originals.items():
        file = journal.file_of(key)
        by_home[parent_id if file is None else file.session_id].append(entry)
    return by_home
