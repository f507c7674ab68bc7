"""What another process has changed about a conversation that this one may have sent already."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final

from toolbudget._core.pure import Fingerprint, Key

if TYPE_CHECKING:
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
        edits: What was cut out of the history.
    """

    texts: set[str] = field(default_factory=set)
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
            was_sent = earlier is not _UNDECIDED or key in self._withdrawn
            if was_sent and now != earlier and isinstance(now, str):
                self.texts.add(now)

    def take(self) -> AdoptedChanges:
        """Hand out what was changed, and begin anew."""
        taken = AdoptedChanges(self.texts, self.edits)
        self.texts, self.edits = set(), []
        return taken


def _decision(state: ContentReplacementState, key: Key) -> object:
    return state.decision(key, _UNDECIDED)
