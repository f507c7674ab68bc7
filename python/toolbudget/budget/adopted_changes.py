"""What another process has changed about a conversation that this one may have sent already."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final

from toolbudget._core.pure import Fingerprint, Key

if TYPE_CHECKING:
    from collections.abc import Collection

    from toolbudget.budget.context_edits import ContextEdit
    from toolbudget.budget.state import ContentReplacementState
    from toolbudget.storage.records import ParsedRecord

__all__ = ["AdoptedChanges"]

_UNDECIDED: Final = object()


@dataclass(slots=True)
class AdoptedChanges:
    """Changes of others that were taken over and not announced yet.

    Attributes:
        texts: What stands in from now on for results that this process knew in another form.
        texts_of_undecided: What stands in for results that it had decided nothing about: whoever
            sends a history without a budget may have sent them in full.
        edits: What was cut out of the history.
    """

    texts: set[str] = field(default_factory=set)
    texts_of_undecided: set[str] = field(default_factory=set)
    edits: list[ContextEdit] = field(default_factory=list)
    # Results that this process has sent in full, and that another one may replace now.
    _withdrawn: set[Key] = field(default_factory=set)

    def follow(self, record: ParsedRecord, state: ContentReplacementState) -> None:
        """Let a state take over what a record says, and keep what that changes."""
        keys = [
            Key(entry.tool_use_id, Fingerprint(entry.size, entry.hash))
            for entry in record.replacements
            if entry.size is not None and entry.hash is not None
        ]
        before = {key: _decision(state, key) for key in keys}
        withdrawn = [Key(name, Fingerprint(size, text)) for name, size, text in record.withdrawn]
        self._withdrawn.update(key for key in withdrawn if _decision(state, key) is None)
        state.apply_record(record)
        for key, earlier in before.items():
            now = _decision(state, key)
            if now == earlier or not isinstance(now, str):
                continue
            was_sent = earlier is not _UNDECIDED or key in self._withdrawn
            (self.texts if was_sent else self.texts_of_undecided).add(now)

    def leave_out(self, texts: Collection[str]) -> None:
        """Say that somebody else announces these texts."""
        self.texts.difference_update(texts)
        self.texts_of_undecided.difference_update(texts)

    def add(self, other: AdoptedChanges) -> None:
        """Take further changes that were not announced."""
        self.texts |= other.texts
        self.texts_of_undecided |= other.texts_of_undecided
        self.edits += other.edits

    def take(self) -> AdoptedChanges:
        """Hand out what was changed, and begin anew."""
        taken = AdoptedChanges(self.texts, self.texts_of_undecided, self.edits)
        self.texts, self.texts_of_undecided, self.edits = set(), set(), []
        return taken


def _decision(state: ContentReplacementState, key: Key) -> object:
    return state.decision(key, _UNDECIDED)
