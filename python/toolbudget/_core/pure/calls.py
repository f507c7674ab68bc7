"""Calls: which tool each result belongs to, by the ``tool_use`` blocks of its chain."""

from __future__ import annotations

from bisect import bisect_left
from typing import TYPE_CHECKING, NamedTuple

from toolbudget._core.pure.shape import field, text_field

if TYPE_CHECKING:
    from collections.abc import Iterator

    from toolbudget._core.pure.shape import Chain, Message

__all__ = ["Call", "CallBook", "is_call_for_code", "read_calls"]

# Kinds of callers that are running code: what they get is data for a program, not for the model.
_CODE_CALLERS = ("code_execution", "program")


class Call(NamedTuple):
    """One ``tool_use`` block: what a result's exemption depends on."""

    message_index: int
    tool_name: str | None
    is_for_code: bool


class CallBook:
    """The ``tool_use`` blocks of an input by chain and id, in the order of the input."""

    def __init__(self) -> None:
        """Start without calls."""
        self._calls: dict[tuple[Chain, str], list[Call]] = {}

    def add(self, chain: Chain, tool_use_id: str, call: Call) -> None:
        """Take note of a call; calls come in the order of their positions."""
        self._calls.setdefault((chain, tool_use_id), []).append(call)

    def nearest(self, chain: Chain, tool_use_id: str, position: int) -> Call | None:
        """Return the last call before a result, else the first one after it."""
        calls = self._calls.get((chain, tool_use_id))
        if calls is None:
            return None
        after = bisect_left(calls, position, key=lambda call: call.message_index)
        return calls[max(after - 1, 0)]


def read_calls(message: Message, message_index: int) -> Iterator[tuple[str, Call]]:
    """Yield the id and call of each ``tool_use`` block of an assistant message, dict or object."""
    if not isinstance(message.content, (list, tuple)):
        return
    for block in message.content:
        if text_field(block, "type") != "tool_use":
            continue
        tool_use_id = text_field(block, "id")
        if tool_use_id is None:
            continue
        name = text_field(block, "name")
        yield tool_use_id, Call(message_index, name, is_call_for_code(field(block, "caller")))


def is_call_for_code(caller: object) -> bool:
    """Tell whether a call was made by running code, so that its result is data for a program."""
    kind = text_field(caller, "type")
    return kind is not None and kind.startswith(_CODE_CALLERS)
