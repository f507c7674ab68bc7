"""Rebuilding a state from records, for hosts that own their transcript."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from toolbudget import _core as core
from toolbudget._core.pure import PlanOptions
from toolbudget.budget.state import ContentReplacementState
from toolbudget.budget.storing import is_json_content
from toolbudget.storage.records import (
    ContentReplacementRecord,
    ParsedRecord,
    parse_record,
)

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

__all__ = ["provision_content_replacement_state", "reconstruct_content_replacement_state"]


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
    state = ContentReplacementState()
    has_records = False
    for record in records:
        has_records = True
        _apply(state, record)
    options = PlanOptions(
        limit=math.inf,
        preview_bytes=0,
        expected_path=lambda name, _is_json: name,
        is_stored_as_json=is_json_content,
        is_exempt_tool=lambda _name: False,
        rule="resumed" if has_records else "running",
        leaves_fresh=True,
    )
    if inherited is not None:
        _inherit(state, inherited, messages)
    plan = core.plan(messages, state.known({}), options)
    for adoption in plan.adoptions:
        state.decide(adoption.key, adoption.replacement)
    for key in plan.kept:
        state.decide(key, None)
    return state


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


def _apply(
    state: ContentReplacementState,
    record: Mapping[str, object] | ParsedRecord | ContentReplacementRecord,
) -> None:
    if isinstance(record, ContentReplacementRecord):
        state.apply_entry(record)
        return
    if isinstance(record, ParsedRecord):
        state.apply_record(record)
        return
    for parsed in parse_record(record).records:
        state.apply_record(parsed)


def _inherit(
    state: ContentReplacementState, inherited: ContentReplacementState, messages: Sequence[object]
) -> None:
    survey = core.collect(messages, lambda _name: False)
    present = {candidate.tool_use_id for group in survey.groups for candidate in group.candidates}
    for key, replacement in inherited.decisions.items():
        if replacement is not None and key.tool_use_id in present:
            state.decide(key, replacement)
