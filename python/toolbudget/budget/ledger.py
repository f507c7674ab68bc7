"""What is known about a conversation beside its decisions: edits, kept originals, snapshots."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Final

from toolbudget._core.pure import Fingerprint, Key
from toolbudget._display import shown
from toolbudget.budget.adopted_changes import AdoptedChanges
from toolbudget.budget.context_edits import EDITS, KEPT_ORIGINAL, read_edits
from toolbudget.budget.lineage import parts_of
from toolbudget.errors import TranscriptError

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from toolbudget.budget.context_edits import ContextEdit
    from toolbudget.storage.records import ContentReplacementRecord, ParsedRecord

__all__ = ["SNAPSHOT", "ContextChange", "ContextLedger"]

SNAPSHOT: Final = "collapse-snapshot"
"""The kind of an edit that changes no message: what a collapse stage wants to know again."""

RecordParts = tuple["Sequence[ContentReplacementRecord]", "Sequence[Mapping[str, object]]"]


@dataclass(slots=True)
class ContextChange:
    """What one stage does to a conversation, to be recorded as a whole.

    Attributes:
        entries: Cleared results, and originals that were stored.
        edit: What is cut out of the history.
        snapshot: What a collapse stage wants to know again.
        info: What the caller of it wants to know.
    """

    entries: list[ContentReplacementRecord] = field(default_factory=list)
    edit: ContextEdit | None = None
    snapshot: Mapping[str, Any] | None = None

    @property
    def is_empty(self) -> bool:
        """Whether there is nothing to record."""
        return not self.entries and self.edit is None and self.snapshot is None

    def records(self) -> Iterator[RecordParts]:
        """Yield what each record holds; the edits are in the last one."""
        edits = [] if self.edit is None else [self.edit.to_json()]
        if self.snapshot is not None:
            edits.append({"kind": SNAPSHOT, "state": dict(self.snapshot)})
        parts = list(parts_of(self.entries)) or [[]]
        for part in parts[:-1]:
            yield part, ()
        yield parts[-1], edits


class ContextLedger:
    """Edits, kept originals and the last snapshot of one conversation."""

    def __init__(self) -> None:
        """Begin without any."""
        self.edits: list[ContextEdit] = []
        self.snapshot: Mapping[str, Any] | None = None
        self.originals: dict[Key, ContentReplacementRecord] = {}
        self.adopted = AdoptedChanges()

    def note(self, record: ParsedRecord) -> None:
        """Take over what one record says; one that is read again changes nothing."""
        for entry in record.replacements:
            self._note_original(entry)
        if not record.is_ours or EDITS not in record.raw:
            return
        for edit in read_edits(record.raw):
            if self._note_edit(edit):
                self.adopted.edits.append(edit)
        entries = record.raw[EDITS]
        for entry in entries if isinstance(entries, list) else ():
            match entry:
                case {"kind": str(kind), "state": dict(state)} if kind == SNAPSHOT:
                    self.snapshot = state

    def change(
        self,
        edit: ContextEdit | None,
        snapshot: Mapping[str, Any] | None,
        known_edits: int | None,
    ) -> ContextChange:
        """Give the change that cuts something out.

        Raises:
            TranscriptError: There are other edits than whoever made this one has known.
        """
        found = len(self.edits)
        if known_edits is not None and known_edits != found:
            problem = "another process has cut the history meanwhile, known and recorded edits"
            raise TranscriptError(f"{problem}: {shown(known_edits)}, {found}")
        return ContextChange(edit=edit, snapshot=snapshot)

    def take_over(self, change: ContextChange) -> None:
        """Take over what has just been recorded."""
        for entry in change.entries:
            self._note_original(entry)
        if change.edit is not None:
            self._note_edit(change.edit)
        if change.snapshot is not None:
            self.snapshot = change.snapshot

    def clone(self) -> ContextLedger:
        """Return an equal ledger that goes on separately."""
        other = ContextLedger()
        other.edits = list(self.edits)
        other.snapshot = self.snapshot
        other.originals = dict(self.originals)
        return other

    def records(self) -> Iterator[RecordParts]:
        """Yield what the records of a conversation that begins with all this hold."""
        for edit in self.edits:
            yield from ContextChange(edit=edit).records()
        if self.snapshot is not None:
            yield from ContextChange(snapshot=self.snapshot).records()

    def _note_original(self, entry: ContentReplacementRecord) -> None:
        if entry.kind == KEPT_ORIGINAL and entry.size is not None and entry.hash is not None:
            key = Key(entry.tool_use_id, Fingerprint(entry.size, entry.hash))
            self.originals.setdefault(key, entry)

    def _note_edit(self, edit: ContextEdit) -> bool:
        """Take an edit over; tell whether it was not known."""
        if edit in self.edits:
            return False
        self.edits.append(edit)
        return True
