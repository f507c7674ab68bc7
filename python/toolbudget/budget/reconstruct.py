"""Rebuilding a state from records, for hosts that own their transcript."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Self

from toolbudget import _core as core
from toolbudget._core.pure import PlanOptions
from toolbudget.budget.state import ContentReplacementState
from toolbudget.budget.storing import is_json_content
from toolbudget.storage.records import (
    CONTENT_REPLACEMENT,
    ContentReplacementRecord,
    ParsedRecord,
    parse_record,
)

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

__all__ = [
    "provision_content_replacement_state",
    "reconstruct_content_replacement_state",
    "reconstruct_for_subagent_resume",
]


def reconstruct_content_replacement_state(
    messages: Sequence[object],
    records: Iterable[Mapping[str, object] | ParsedRecord | ContentReplacementRecord],
    inherited: ContentReplacementState | None = None,
) -> ContentReplacementState:
    """Rebuild the state of a conversation from what was recorded about it.

    If there is any record, a result that none of them names counts as kept when an assistant
    message that starts a later group follows it: the model has seen it in full. Otherwise it stays
    undecided.

    Args:
        messages: The conversation so far.
        records: What :meth:`Transcript.records` yields, or single entries of such records.
        inherited: A parent's state; its replacements fill gaps for ids that occur in ``messages``.

    Raises:
        InvalidMessageError: ``messages`` cannot be a message list.

    Example:
        >>> import toolbudget
        >>> entry = toolbudget.ContentReplacementRecord(
        ...     kind="tool-result", tool_use_id="t1", replacement="short", size=None, hash=None
        ... )
        >>> block = {"type": "tool_result", "tool_use_id": "t1", "content": "a long text"}
        >>> messages = [{"role": "user", "content": [block]}]
        >>> dict(toolbudget.reconstruct_content_replacement_state(messages, [entry]).replacements)
        {'t1': 'short'}
    """
    found = _Found.of(records)
    if inherited is not None:
        found.state.fill_gaps(inherited, _ids_in(messages))
    return _decided(found, messages)


def reconstruct_for_subagent_resume(
    parent_state: ContentReplacementState,
    messages: Sequence[object],
    records: Iterable[Mapping[str, object] | ParsedRecord | ContentReplacementRecord],
) -> ContentReplacementState:
    """Rebuild the state of a sub-agent that goes on, so that the shared prefix stays as it was.

    Its own records come first. Where they lack the record that it began with (``inheritedFrom``),
    the parent's replacements fill the gaps, for ids that occur in ``messages``. Where they have it,
    they are complete: what the parent decided later was never part of this chain.

    Args:
        parent_state: The state of the session that it came from.
        messages: The sub-agent's conversation so far.
        records: The sub-agent's own, as for :func:`reconstruct_content_replacement_state`.

    Raises:
        InvalidMessageError: ``messages`` cannot be a message list.

    Example:
        >>> import toolbudget
        >>> block = {"type": "tool_result", "tool_use_id": "t1", "content": "x" * 300_000}
        >>> messages = [{"role": "user", "content": [block]}]
        >>> parent = toolbudget.create_content_replacement_state()
        >>> store = toolbudget.MemoryStore()
        >>> done = toolbudget.enforce_tool_result_budget(messages, parent, store=store)
        >>> state = toolbudget.reconstruct_for_subagent_resume(parent, messages, records=[])
        >>> state == parent
        True
    """
    found = _Found.of(records)
    if not found.is_begun_by_parent:
        found.state.fill_gaps(parent_state, _ids_in(messages))
    return _decided(found, messages)


def provision_content_replacement_state(
    messages: Sequence[object] | None = None,
    records: Iterable[Mapping[str, object] | ParsedRecord | ContentReplacementRecord] = (),
    *,
    enabled: bool = True,
) -> ContentReplacementState | None:
    """Return the state a conversation begins with: new, resumed, or ``None`` when it is off.

    Args:
        messages: The conversation to resume; ``None`` begins a new one.
        records: What was recorded about it.
        enabled: Whether the budget is on at all.

    Example:
        >>> import toolbudget
        >>> toolbudget.provision_content_replacement_state()
        ContentReplacementState(replaced=0, kept=0)
        >>> toolbudget.provision_content_replacement_state(enabled=False) is None
        True
    """
    if not enabled:
        return None
    if messages is None:
        return ContentReplacementState()
    return reconstruct_content_replacement_state(messages, records)


@dataclass(slots=True)
class _Found:
    """What records say, before any message has been looked at."""

    state: ContentReplacementState = field(default_factory=ContentReplacementState)
    has_records: bool = False
    is_begun_by_parent: bool = False

    @classmethod
    def of(
        cls, records: Iterable[Mapping[str, object] | ParsedRecord | ContentReplacementRecord]
    ) -> Self:
        """Read records of any form, one after the other."""
        found = cls()
        for record in records:
            if isinstance(record, ContentReplacementRecord):
                found.has_records = True
                found.state.apply_entry(record)
                continue
            for part in _parts_of(record):
                found.has_records = True
                found.state.apply_record(part)
                found.is_begun_by_parent |= part.is_ours and part.inherited_from is not None
        return found


def _parts_of(record: object) -> Sequence[ParsedRecord]:
    """Return what a record says; a header, a message or anything else is none."""
    if isinstance(record, ParsedRecord):
        return (record,)
    if not isinstance(record, Mapping) or record.get("type") != CONTENT_REPLACEMENT:
        return ()
    return parse_record(record).records


def _decided(found: _Found, messages: Sequence[object]) -> ContentReplacementState:
    """Bind other programs' records to texts, and keep what the model has certainly seen."""
    options = PlanOptions(
        limit=math.inf,
        preview_bytes=0,
        expected_path=lambda name, _is_json: name,
        is_stored_as_json=is_json_content,
        is_exempt_tool=lambda _name: False,
        rule="resumed" if found.has_records else "running",
        leaves_fresh=True,
    )
    plan = core.plan(messages, found.state.known(), options)
    for adoption in plan.adoptions:
        found.state.decide(adoption.key, adoption.replacement)
    for key in plan.kept:
        found.state.decide(key, None)
    return found.state


def _ids_in(messages: Sequence[object]) -> set[str]:
    survey = core.collect(messages, lambda _name: False)
    return {candidate.tool_use_id for group in survey.groups for candidate in group.candidates}
