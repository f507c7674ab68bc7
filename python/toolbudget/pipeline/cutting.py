"""Cutting messages out of a history: checked, recorded, and only then handed on."""

from __future__ import annotations

from copy import deepcopy
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from toolbudget._core.pure.shape import field, is_mapping
from toolbudget.budget.context_edits import ContextEdit, span_digest
from toolbudget.messages import create_user_message
from toolbudget.pipeline.replay import last_answer_digest
from toolbudget.pipeline.validity import check_stage_result

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from toolbudget.budget.session import Session

__all__ = ["Cut", "cut_out", "earlier_edits", "host_message"]


_CHAIN_MARKS: Final = ("isSidechain", "agentId")


class Cut(NamedTuple):
    """Messages that are to go, and what is to stand in their place."""

    kind: str
    start: int
    end: int
    text: str
    info: Mapping[str, Any]


def cut_out(
    session: Session,
    messages: Sequence[Any],
    cut: Cut,
    *,
    snapshot: Mapping[str, Any] | None = None,
) -> list[Any]:
    """Put a text in the place of messages, for this turn and every later one.

    Raises:
        RefusedStageError: What is left could not be sent; nothing has been recorded.
        TranscriptError: It could not be recorded.
    """
    span = messages[cut.start : cut.end]
    edit = ContextEdit(
        kind=cut.kind,
        start=cut.start,
        count=len(span),
        digest=span_digest(span),
        messages=(host_message(cut.text, messages, is_summary=cut.kind == "compact"),),
        last_answer=last_answer_digest(messages),
        info=cut.info,
    ).as_read_back()
    left = [*messages[: cut.start], *deepcopy(edit.messages), *messages[cut.end :]]
    check_stage_result(messages, left)
    session.record_edit(edit, snapshot=snapshot)
    return left


def host_message(text: str, messages: Sequence[Any], *, is_summary: bool) -> Mapping[str, Any]:
    """Make a user message in the form that the host's have: a record, or the message alone."""
    theirs = next((one for one in messages if is_mapping(field(one, "message"))), None)
    if not is_mapping(theirs):
        return {"role": "user", "content": text}
    if is_summary:
        record = create_user_message(text, is_compact_summary=True)
    else:
        record = create_user_message(text, is_meta=True)
    # Without the marks of a sub-agent's records it would be the main chain's only message.
    return {**record, **{key: theirs[key] for key in _CHAIN_MARKS if key in theirs}}


def earlier_edits(session: Session, messages: Sequence[Any]) -> list[ContextEdit]:
    """Return the edits whose text stands in some messages, in the order in which they were made."""
    return [
        edit
        for edit in session.context_edits
        if any(is_mapping(element) and element in edit.messages for element in messages)
    ]
