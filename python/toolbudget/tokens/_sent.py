"""The messages of a request that is to be counted: what a provider accepts, and nothing else."""

from __future__ import annotations

from typing import TYPE_CHECKING

from toolbudget._core.pure.shape import check_sequence, field, is_mapping, text_field
from toolbudget.messages import normalize_messages_for_api
from toolbudget.tokens._records import read_entry

if TYPE_CHECKING:
    from collections.abc import Sequence

__all__ = ["as_sent"]

_SENT_KEYS = {"role", "content"}


def as_sent(messages: Sequence[object]) -> list[object]:
    """Return API messages with their role and content alone; of records, the request they make.

    Raises:
        InvalidMessageError: Something is neither a message nor a record.
    """
    given = list(check_sequence(messages))
    for index, message in enumerate(given):
        read_entry(message, index)
    if any(text_field(message, "role") is None for message in given):
        return list(normalize_messages_for_api(given))
    return [_api_message(message) for message in given]


def _api_message(message: object) -> object:
    if is_mapping(message) and set(message) <= _SENT_KEYS:
        return message
    return {"role": field(message, "role"), "content": field(message, "content")}
