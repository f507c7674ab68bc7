"""Whether what a stage gave can be sent: nothing that was a pair may come apart."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING, Any, Final

from toolbudget._core.pure.shape import Chain, check_sequence, field, read_message, text_field
from toolbudget.errors import InvalidMessageError, ToolBudgetError

if TYPE_CHECKING:
    from collections.abc import Sequence

    from toolbudget._core.pure.shape import Message

__all__ = ["PROVIDER_CALLS", "RefusedStageError", "broken_pairs", "check_stage_result", "halves"]

PROVIDER_CALLS: Final = frozenset({"server_tool_use", "mcp_tool_use"})
"""Blocks by which a model calls a tool that the provider runs."""
_SHOWN_IDS: Final = 3


class RefusedStageError(ToolBudgetError):
    """What a stage gave could not be sent, so the turn goes on without it."""


def check_stage_result(before: Sequence[Any], after: Sequence[Any]) -> None:
    """Refuse messages that the API would not take although it took those before.

    Raises:
        RefusedStageError: It is no message list, it is empty, it begins with the model, a message
            in it is new and empty, or a call or a result in it has lost its other half.
    """
    try:
        read = [read_message(element, index) for index, element in enumerate(check_sequence(after))]
    except InvalidMessageError as error:
        raise RefusedStageError(f"stage gave no message list: {error}") from error
    if before and not any(read):
        raise RefusedStageError(f"stage left no message of {len(before)}")
    first = next((message for message in read if message is not None), None)
    if first is not None and first.role != "user" and _first_role(before) == "user":
        raise RefusedStageError(f"stage left a conversation that begins with: {first.role!r}")
    known = set(map(id, before))
    for index, (element, message) in enumerate(zip(after, read, strict=True)):
        if message is not None and id(element) not in known and _is_empty(message.content):
            raise RefusedStageError(f"stage gave an empty message: {index}")
    lost = broken_pairs(after) - broken_pairs(before)
    if lost:
        names = ", ".join(repr(tool_use_id) for _, tool_use_id in list(lost)[:_SHOWN_IDS])
        raise RefusedStageError(f"stage parted calls from their results: {names}")


def broken_pairs(messages: Sequence[Any]) -> Counter[tuple[str, str]]:
    """Count what has no other half: ``("call", id)`` without a result behind it, or the reverse.

    Example:
        >>> call = {"type": "tool_use", "id": "t1", "name": "Bash", "input": {}}
        >>> broken_pairs([{"role": "assistant", "content": [call]}])
        Counter({('call', 't1'): 1})
    """
    waiting: Counter[tuple[Chain, str]] = Counter()
    broken: Counter[tuple[str, str]] = Counter()
    for index, element in enumerate(messages):
        message = read_message(element, index)
        if message is None:
            continue
        for kind, tool_use_id in halves(message):
            key = message.chain, tool_use_id
            if kind == "call":
                waiting[key] += 1
            elif waiting[key]:
                waiting[key] -= 1
            else:
                broken["result", tool_use_id] += 1
    for (_, tool_use_id), count in (+waiting).items():
        broken["call", tool_use_id] += count
    return broken


def halves(message: Message) -> list[tuple[str, str]]:
    """Give ``("call", id)`` or ``("result", id)`` for each block that is half of a pair.

    Tools that the provider runs have both in answers, and not always in the same one.
    """
    found: list[tuple[str, str]] = []
    for block in message.content if isinstance(message.content, (list, tuple)) else ():
        kind = text_field(block, "type") or ""
        if message.role == "assistant" and (kind == "tool_use" or kind in PROVIDER_CALLS):
            half, tool_use_id = "call", text_field(block, "id")
        elif kind == "tool_result" or (
            message.role == "assistant" and kind.endswith("_tool_result")
        ):
            half, tool_use_id = "result", text_field(block, "tool_use_id")
        else:
            continue
        if tool_use_id is not None:
            found.append((half, tool_use_id))
    return found


def _first_role(messages: Sequence[Any]) -> str | None:
    for index, element in enumerate(messages):
        message = read_message(element, index)
        if message is not None:
            return message.role
    return None


def _is_empty(content: object) -> bool:
    if isinstance(content, str):
        return not content.strip()
    if not isinstance(content, (list, tuple)) or not content:
        return True
    return any(
        text_field(block, "type") == "text" and not str(field(block, "text") or "").strip()
        for block in content
    )
