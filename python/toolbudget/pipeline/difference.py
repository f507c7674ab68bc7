"""What a stage changed: where the messages differ, and by how many tokens."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

from toolbudget._core.pure.shape import read_message
from toolbudget.tokens import estimate_tokens_for_messages

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from toolbudget._core.pure.shape import Chain, Message

__all__ = ["Difference", "difference_of", "has_changed_at", "sent_messages", "starts_among"]


class Difference(NamedTuple):
    """How one message list differs from another."""

    first_index: int | None
    """Index of the first message that is not the same; ``None`` if all are."""
    added_tokens: int
    """By how many estimated tokens the second one is longer; negative if it is shorter."""


def difference_of(before: Sequence[Any], after: Sequence[Any]) -> Difference:
    """Compare two lists that share the objects of what is the same in both."""
    first_index = None if after is before else _first_difference(before, after)
    if first_index is None:
        return Difference(None, 0)
    shared = set(map(id, before)) & set(map(id, after))
    removed = [message for message in before if id(message) not in shared]
    added = [message for message in after if id(message) not in shared]
    tokens = estimate_tokens_for_messages(added) - estimate_tokens_for_messages(removed)
    return Difference(first_index, tokens)


def has_changed_at(index: int, sent: Sequence[Any], messages: Sequence[Any]) -> bool:
    """Tell whether one message was in a request, and goes out now in another form or not at all."""
    if index >= len(sent):
        return False
    return index >= len(messages) or not _is_equal(sent[index], messages[index])


def starts_among(read: Iterable[Message | None]) -> list[int]:
    """Return where the model's answers begin; the records of one answer count once (B2)."""
    seen: set[tuple[Chain, str]] = set()
    starts: list[int] = []
    for index, message in enumerate(read):
        if message is None or message.role != "assistant":
            continue
        if message.id is not None:
            if (message.chain, message.id) in seen:
                continue
            seen.add((message.chain, message.id))
        starts.append(index)
    return starts


def sent_messages(messages: Sequence[Any]) -> int:
    """Return how many messages have been in a request: those before the last answer began."""
    starts = starts_among(read_message(element, index) for index, element in enumerate(messages))
    return starts[-1] if starts else 0


def _first_difference(before: Sequence[Any], after: Sequence[Any]) -> int | None:
    for index, (old, new) in enumerate(zip(before, after, strict=False)):
        if old is not new and not _is_equal(old, new):
            return index
    return None if len(before) == len(after) else min(len(before), len(after))


def _is_equal(old: object, new: object) -> bool:
    try:
        return bool(old == new)
    except Exception:  # noqa: BLE001 - nested without an end, or a host's own object: not the same
        return False
