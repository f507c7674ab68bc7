"""Messages of our own in the form that the host's have: a record, or the message alone."""

from __future__ import annotations

from copy import deepcopy
from typing import TYPE_CHECKING, Any, Final

from toolbudget._core.pure.shape import field, is_mapping, text_field
from toolbudget.messages import create_user_message

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from toolbudget.budget.context_edits import ContextEdit

__all__ = ["host_message", "in_form_of", "is_instruction", "stands_in"]

_CHAIN_MARKS: Final = ("isSidechain", "agentId")


def host_message(text: str, span: Sequence[Any], *, is_summary: bool) -> Mapping[str, Any]:
    """Make a user message that stands in the place of others."""
    theirs = _record_of(span)
    if theirs is None:
        return {"role": "user", "content": text}
    if is_summary:
        record = create_user_message(text, is_compact_summary=True)
    else:
        record = create_user_message(text, is_meta=True)
    return _in_chain_of(theirs, record)


def in_form_of(span: Sequence[Any], made: Mapping[str, Any]) -> dict[str, Any]:
    """Give a message that was made for one history to another, such as a sub-agent's.

    With the marks of another chain it would be all that is left of that chain, or of this one.
    """
    if is_instruction(made):
        return deepcopy(dict(made))
    theirs, message = _record_of(span), _message_of(made)
    if theirs is None:
        return deepcopy(dict(message))
    record = made if message is not made else {"type": message.get("role"), "message": message}
    return deepcopy(_in_chain_of(theirs, record))


def stands_in(edit: ContextEdit, element: object) -> bool:
    """Tell whether an element is the text that stands in the place of what an edit cut out."""
    return is_mapping(element) and any(
        _message_of(element) == _message_of(message) for message in edit.messages[:1]
    )


def is_instruction(element: object) -> bool:
    """Tell whether an element is a system message of the host's, which no cut may take away."""
    return is_mapping(element) and text_field(element, "role") == "system"


def _in_chain_of(theirs: Mapping[str, Any], record: Mapping[str, Any]) -> dict[str, Any]:
    unmarked = {key: value for key, value in record.items() if key not in _CHAIN_MARKS}
    return unmarked | {key: theirs[key] for key in _CHAIN_MARKS if key in theirs}


def _record_of(span: Sequence[Any]) -> Mapping[str, Any] | None:
    return next((one for one in span if is_mapping(one) and is_mapping(one.get("message"))), None)


def _message_of(element: Mapping[str, Any]) -> Mapping[str, Any]:
    message = field(element, "message")
    return message if is_mapping(message) else element
