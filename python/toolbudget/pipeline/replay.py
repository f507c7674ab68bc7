"""Cutting out again what earlier turns have cut out of a history."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

from toolbudget._core.pure.shape import read_message
from toolbudget.budget.context_edits import message_digest, span_digest
from toolbudget.pipeline.host_form import in_form_of

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from toolbudget.budget.context_edits import ContextEdit

__all__ = ["Replay", "last_answer_digest", "replay"]


class Replay(NamedTuple):
    """A history after the edits of earlier turns."""

    messages: Sequence[Any]
    applied: int
    """How many edits met the messages that they stand for."""
    is_usage_stale: bool
    """Whether no answer has come since the last edit, so that the usage is about more."""
    adopted_at: list[int]
    """Indexes of the messages that edits of another process have put in another form."""
    ahead: list[ContextEdit]
    """Edits about messages that are not there yet, if another process is ahead of this one."""


def replay(
    messages: Sequence[Any], edits: Iterable[ContextEdit], adopted: Sequence[ContextEdit] = ()
) -> Replay:
    """Put edits into a history, in the order in which they were made.

    An edit is about exactly the messages it was made for, at the place they had. If those are not
    there, because the host goes on with what it was given, or has gone back to an earlier point,
    it does nothing.

    Args:
        messages: The history.
        edits: All edits.
        adopted: Those of them that no request of this process has had in it yet.
    """
    current: Sequence[Any] = messages
    applied = 0
    adopted_at: list[int] = []
    ahead: list[ContextEdit] = []
    last: ContextEdit | None = None
    for edit in edits:
        last = edit
        end = edit.start + edit.count
        is_there = end <= len(current)
        if not is_there or span_digest(current[edit.start : end]) != edit.digest:
            if ahead or not is_there:
                ahead.append(edit)
            continue
        if edit in adopted:
            adopted_at.append(edit.start)
        put_in = (in_form_of(current[edit.start : end], one) for one in edit.messages)
        current = [*current[: edit.start], *put_in, *current[end:]]
        applied += 1
    is_stale = last is not None and last.last_answer == last_answer_digest(current)
    return Replay(current, applied, is_stale, adopted_at, ahead)


def last_answer_digest(messages: Sequence[Any]) -> str | None:
    """Return the digest of the last answer; ``None`` if there is none."""
    for index in range(len(messages) - 1, -1, -1):
        message = read_message(messages[index], index)
        if message is not None and message.role == "assistant":
            return message_digest(messages[index])
    return None
