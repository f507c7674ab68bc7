"""Cutting messages out of a history: checked, recorded, and only then handed on."""

from __future__ import annotations

from copy import deepcopy
from typing import TYPE_CHECKING, Any, NamedTuple

from toolbudget.budget.context_edits import ContextEdit, span_digest
from toolbudget.messages.other_formats import refuse_other_formats
from toolbudget.pipeline.host_form import host_message, is_instruction, stands_in
from toolbudget.pipeline.replay import last_answer_digest
from toolbudget.pipeline.validity import check_stage_result

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from toolbudget.budget.session import Session
    from toolbudget.pipeline.stage import TurnContext

__all__ = ["Cut", "cut_out", "earlier_edits"]


class Cut(NamedTuple):
    """Messages that are to go, and what is to stand in their place."""

    kind: str
    start: int
    end: int
    text: str
    info: Mapping[str, Any]


def cut_out(
    context: TurnContext,
    messages: Sequence[Any],
    cut: Cut,
    *,
    snapshot: Mapping[str, Any] | None = None,
) -> list[Any]:
    """Put a text in the place of messages, for this turn and every later one.

    Raises:
        InvalidMessageError: A message that is to go is of another format.
        RefusedStageError: What is left could not be sent; nothing has been recorded.
        TranscriptError: It could not be recorded, or another process has cut the same history.
    """
    session = context.session
    assert session is not None  # noqa: S101 - a stage without a session cuts nothing out
    span = messages[cut.start : cut.end]
    refuse_other_formats(span, first_index=cut.start)
    edit = ContextEdit(
        kind=cut.kind,
        start=cut.start,
        count=len(span),
        digest=span_digest(span),
        messages=(
            host_message(cut.text, span, is_summary=cut.kind == "compact"),
            *filter(is_instruction, span),
        ),
        last_answer=last_answer_digest(messages),
        info=cut.info,
    ).as_read_back()
    left = [*messages[: cut.start], *deepcopy(edit.messages), *messages[cut.end :]]
    check_stage_result(messages, left)
    session.record_edit(edit, snapshot=snapshot, known_edits=context.known_edits)
    context.known_edits = len(session.context_edits)
    return left


def earlier_edits(session: Session, messages: Sequence[Any]) -> list[ContextEdit]:
    """Return the edits whose text stands in some messages, in the order in which they were made."""
    return [
        edit
        for edit in session.context_edits
        if any(stands_in(edit, element) for element in messages)
    ]
