"""The state of a conversation: every decision that was taken, as a value."""

# ruff: noqa: SLF001 - a clone is made by its own class

from __future__ import annotations

import json
from types import MappingProxyType
from typing import TYPE_CHECKING, Final, Self, TypeVar

from toolbudget import _core as core
from toolbudget._core import pure
from toolbudget._core.pure import Fingerprint, Key, Known
from toolbudget._display import shown
from toolbudget.errors import TranscriptError

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Mapping

    from toolbudget._core.pure import Fingerprints
    from toolbudget.storage.records import ContentReplacementRecord, ParsedRecord

__all__ = [
    "CLEARED",
    "ContentReplacementState",
    "clone_content_replacement_state",
    "create_content_replacement_state",
]

_Default = TypeVar("_Default")

_VERSION: Final = 1
_UNDECIDED: Final = object()
_REPLACED: Final = "tool-result"
CLEARED: Final = "cleared"
"""The kind of a decision to clear a result that the model has seen: it goes before the one that
the budget took."""


class ContentReplacementState:
    """Which results were replaced, by what, and which were kept.

    A decision is about an id together with a fingerprint of the text: the same id with another text
    is another result. The first decision about a result is final.

    Example:
        >>> from toolbudget import ContentReplacementState
        >>> state = ContentReplacementState()
        >>> state.seen_ids, dict(state.replacements)
        (frozenset(), {})
    """

    __slots__ = (
        "_by_length",
        "_changes",
        "_cleared",
        "_epoch",
        "_latest",
        "_table",
        "_unapplied",
        "_unframed",
    )

    def __init__(self) -> None:
        """Start without any decision."""
        self._table = core.DecisionTable()
        self._latest: dict[str, str] = {}
        self._by_length: dict[int, set[str]] = {}
        self._unapplied: dict[str, str] = {}
        self._cleared: set[Key] = set()
        # A decision stays for good, unless it is taken back: then this is another object.
        self._epoch = object()
        self._unframed = 0
        self._changes = 0

    @property
    def token(self) -> tuple[object, int]:
        """What stays equal as long as nothing has changed about results that are decided.

        A decision may be taken back. And a result that was kept counts as a reference once a
        replacement of the same text is known, if it does not look like one by itself.
        """
        return self._epoch, self._unframed

    @property
    def changes(self) -> int:
        """How often anything has changed: as long as it is the same, so are all answers."""
        return self._changes

    @property
    def decisions(self) -> Mapping[Key, str | None]:
        """By (id, fingerprint): the replacement, or ``None`` for a result that was kept."""
        return MappingProxyType(dict(self._table.decisions()))

    @property
    def seen_ids(self) -> frozenset[str]:
        """Ids with at least one decision.

        Example:
            >>> import toolbudget
            >>> toolbudget.create_content_replacement_state().seen_ids
            frozenset()
        """
        return frozenset(self._table)

    @property
    def replacements(self) -> Mapping[str, str]:
        """By id: its latest replacement."""
        return MappingProxyType(self._latest)

    @property
    def unapplied(self) -> Mapping[str, str]:
        """By id: what another program recorded without a fingerprint and no text has met yet."""
        return MappingProxyType(self._unapplied)

    def known(self, fingerprints: Fingerprints | None = None, *, is_part: bool = False) -> Known:
        """Return the view that a plan is made from; it shares this state's tables."""
        if fingerprints is None:
            fingerprints = core.FingerprintCache()
        tables = self._table, self._by_length, self._unapplied
        return Known(*tables, fingerprints, self._epoch, is_part)

    def decisions_about(self, tool_use_id: str) -> Mapping[Fingerprint, str | None]:
        """Return the decisions about one id, by fingerprint."""
        return MappingProxyType(self._table.get(tool_use_id, {}))

    def is_decided(self, key: Key) -> bool:
        """Tell whether there is a decision about one result."""
        return self._table.decision(key, _UNDECIDED) is not _UNDECIDED

    def decision(self, key: Key, default: _Default) -> str | _Default | None:
        """Return the decision about one result, or ``default`` if there is none."""
        return self._table.decision(key, default)

    def has_id(self, tool_use_id: str) -> bool:
        """Tell whether anything is known about an id, so that its text is worth hashing."""
        return tool_use_id in self._table or tool_use_id in self._unapplied

    def may_know(self, tool_use_id: str, size_chars: int) -> bool:
        """Tell whether a result may be decided already, or be a replacement itself."""
        if tool_use_id in self._table or size_chars in self._by_length:
            return True
        # Nearly always there is nothing to look for.
        return tool_use_id in self._unapplied if self._unapplied else False

    def decide(self, key: Key, replacement: str | None) -> None:
        """Take a decision over; one about the same result stands before it."""
        if not self.is_decided(key):
            self.decide_all([(key, replacement)])

    def decide_all(self, decisions: Iterable[tuple[Key, str | None]], *kept: Iterable[Key]) -> None:
        """Take decisions over as :meth:`decide` does, then keep results: all of it, or nothing."""
        self._changes += 1
        new: dict[Key, str | None] = {}
        for key, replacement in decisions:
            if not self.is_decided(key):
                new.setdefault(key, replacement)
        # First: if this is interrupted, whoever decides again finds nothing left to note.
        for key, replacement in new.items():
            if replacement is not None:
                self._note(key.tool_use_id, replacement)
        self._table.decide_all(new.items(), *kept)
        for key, replacement in new.items():
            if replacement is not None and self._unapplied.get(key.tool_use_id) == replacement:
                del self._unapplied[key.tool_use_id]

    def _note(self, tool_use_id: str, replacement: str) -> None:
        """Note that a text stands for a result; to do so twice does no harm."""
        self._latest[tool_use_id] = replacement
        self._by_length.setdefault(len(replacement), set()).add(replacement)
        # The pure one: nothing may fail between two decisions of one record.
        self._unframed += not pure.is_framed_reference(replacement)

    def withdraw(self, keys: Iterable[Key]) -> None:
        """Take kept decisions back; replaced ones stay."""
        for key in keys:
            if self._table.withdraw(key):
                self._changes += 1
                self._epoch = object()

    def clear(self, key: Key, text: str) -> None:
        """Let a text stand in for a result from now on, whatever was decided about it before.

        Once cleared is cleared for good: a second text changes nothing.
        """
        if key in self._cleared:
            return
        self._changes += 1
        self._note(key.tool_use_id, text)
        self._table.decide_anew(key, text)
        if self._unapplied.get(key.tool_use_id) == text:
            del self._unapplied[key.tool_use_id]
        self._cleared.add(key)
        self._epoch = object()

    def is_cleared(self, key: Key) -> bool:
        """Tell whether a result was cleared after the model had seen it."""
        return key in self._cleared

    def apply_record(self, record: ParsedRecord) -> None:
        """Take over what one record of a transcript says."""
        for entry in record.replacements:
            self.apply_entry(entry)
        if record.frozen:
            self._changes += 1
            self._table.keep_entries(record.frozen)
        self.withdraw(
            Key(tool_use_id, Fingerprint(size_chars, text_hash))
            for tool_use_id, size_chars, text_hash in record.withdrawn
        )

    def apply_entry(self, entry: ContentReplacementRecord) -> None:
        """Take over what one entry of a record says; of another program's the last one counts."""
        if entry.size is not None and entry.hash is not None:
            key = Key(entry.tool_use_id, Fingerprint(entry.size, entry.hash))
            if entry.kind == _REPLACED:
                self.decide(key, entry.replacement)
            elif entry.kind == CLEARED:
                self.clear(key, entry.replacement)
        elif entry.kind == _REPLACED:
            self.expect(entry.tool_use_id, entry.replacement)

    def expect(self, tool_use_id: str, replacement: str) -> None:
        """Await the text that another program's replacement is to be bound to."""
        if len(replacement) > core.REFERENCE_MAX_CHARS:
            return
        self._changes += 1
        if replacement in self.decisions_about(tool_use_id).values():
            # It has met its text, and stands before whatever was recorded earlier about the id.
            self._unapplied.pop(tool_use_id, None)
            return
        self._unapplied[tool_use_id] = replacement

    def fill_gaps(self, parent: Self, tool_use_ids: Collection[str]) -> dict[Key, str]:
        """Take over what a parent replaced, for ids that occur; what is known here stands.

        Returns:
            The decisions that were missing.
        """
        # A record of another program is about the id, so there is no gap, whatever the text.
        open_ids = set(tool_use_ids) - self._unapplied.keys()
        missing = {
            key: replacement
            for key, replacement in parent.decisions.items()
            if replacement is not None and key.tool_use_id in open_ids and not self.is_decided(key)
        }
        for key, replacement in missing.items():
            if parent.is_cleared(key):
                self.clear(key, replacement)
            else:
                self.decide(key, replacement)
        for tool_use_id, replacement in parent.unapplied.items():
            if tool_use_id in open_ids:
                self.expect(tool_use_id, replacement)
        return missing

    def clone(self) -> Self:
        """Return an equal state that goes on separately."""
        other = type(self)()
        other._table = self._table.copy()
        other._latest = dict(self._latest)
        other._by_length = {length: set(texts) for length, texts in self._by_length.items()}
        other._unapplied = dict(self._unapplied)
        other._cleared = set(self._cleared)
        return other

    def __eq__(self, other: object) -> bool:
        """Compare decisions, whatever the order they were taken in."""
        if not isinstance(other, ContentReplacementState):
            return NotImplemented
        return (self._table, self._unapplied, self._cleared) == (
            other._table,
            other._unapplied,
            other._cleared,
        )

    # A state changes as decisions are taken, so it cannot be a key.
    __hash__ = None  # type: ignore[assignment]

    def __repr__(self) -> str:
        """Name the counts; texts may be secret."""
        replaced, kept = self._table.counts()
        return f"{type(self).__name__}(replaced={replaced}, kept={kept})"

    def to_json(self) -> str:
        """Write the state as one line of ASCII JSON.

        Example:
            >>> from toolbudget import ContentReplacementState
            >>> state = ContentReplacementState()
            >>> ContentReplacementState.from_json(state.to_json()) == state
            True
        """
        decisions = [
            [tool_use_id, fingerprint.size_chars, fingerprint.hash, replacement]
            for (tool_use_id, fingerprint), replacement in self._table.decisions()
        ]
        document: dict[str, object] = {
            "version": _VERSION,
            "decisions": decisions,
            "unapplied": self._unapplied,
        }
        if self._cleared:
            document["cleared"] = [
                [tool_use_id, fingerprint.size_chars, fingerprint.hash]
                for tool_use_id, fingerprint in sorted(self._cleared)
            ]
        return json.dumps(document, separators=(",", ":"))

    @classmethod
    def from_json(cls, text: str | bytes) -> Self:
        """Read what :meth:`to_json` wrote.

        Raises:
            TranscriptError: The text is not such a state, or of a newer version.
        """
        state = cls()
        try:
            document = json.loads(text)
            version = document["version"]
            if version != _VERSION:
                raise TranscriptError(
                    f"state has a version that this library cannot read: {shown(version)}"
                )
            for tool_use_id, size_chars, text_hash, replacement in document["decisions"]:
                _check_entry(tool_use_id, size_chars, text_hash, replacement)
                state.decide(Key(tool_use_id, Fingerprint(size_chars, text_hash)), replacement)
            for tool_use_id, replacement in document["unapplied"].items():
                _check_entry(tool_use_id, 0, "", replacement)
                state.expect(tool_use_id, replacement)
            for tool_use_id, size_chars, text_hash in document.get("cleared", ()):
                _check_entry(tool_use_id, size_chars, text_hash, None)
                state._cleared.add(Key(tool_use_id, Fingerprint(size_chars, text_hash)))
        except (ValueError, TypeError, KeyError, AttributeError, RecursionError) as error:
            raise TranscriptError(f"state is not what to_json writes: {error}") from error
        return state


def _check_entry(tool_use_id: object, size_chars: object, text_hash: object, text: object) -> None:
    if not isinstance(tool_use_id, str) or not isinstance(text_hash, str):
        raise TypeError(f"id and hash must be text: {shown(tool_use_id)}, {shown(text_hash)}")
    if not isinstance(size_chars, int) or isinstance(size_chars, bool):
        raise TypeError(f"size must be a whole number: {shown(size_chars)}")
    if text is not None and not isinstance(text, str):
        raise TypeError(f"replacement must be text or null: {shown(text)}")


def create_content_replacement_state() -> ContentReplacementState:
    """Return an empty state.

    Example:
        >>> import toolbudget
        >>> toolbudget.create_content_replacement_state()
        ContentReplacementState(replaced=0, kept=0)
    """
    return ContentReplacementState()


def clone_content_replacement_state(state: ContentReplacementState) -> ContentReplacementState:
    """Return an equal state that goes on separately.

    Example:
        >>> import toolbudget
        >>> state = toolbudget.create_content_replacement_state()
        >>> toolbudget.clone_content_replacement_state(state) == state
        True
    """
    return state.clone()
