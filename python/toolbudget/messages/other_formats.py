"""Messages of another wire format: their calls and results cannot be told apart, nor be stored."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from toolbudget._core.pure.shape import field, is_mapping, text_field
from toolbudget.errors import InvalidMessageError
from toolbudget.messages.plain import shown

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

__all__ = ["is_of_another_format", "refuse_other_formats"]

# Fields of a message, or of a block, by which other formats mark a call or a result.
_ROLES: Final = frozenset({"tool", "function", "toolResult"})
_MESSAGE_MARKS: Final = ("tool_calls", "function_call", "tool_call_id")
_BLOCK_KINDS: Final = frozenset({"tool-call", "tool-result", "toolCall"})
_BLOCK_MARKS: Final = ("toolUse", "toolResult", "functionCall", "functionResponse")
# How the kinds of items end that have a `call_id`.
_ITEM_ENDS: Final = ("_call", "_call_output")


def refuse_other_formats(messages: Iterable[object], *, first_index: int = 0) -> None:
    """Refuse to cut messages whose calls and results only their own format tells.

    Whoever cut them out would part a call from its result, and lose the result for good.

    Args:
        messages: The messages.
        first_index: The index of the first of them.

    Raises:
        InvalidMessageError: One is of another format.

    Example:
        >>> refuse_other_formats([{"role": "tool", "tool_call_id": "c1", "content": "done"}])
        Traceback (most recent call last):
        ...
        toolbudget.errors.InvalidMessageError: message 0 is of another format, whose results ...
    """
    for index, element in enumerate(messages, first_index):
        if is_of_another_format(element):
            problem = f"message {index} is of another format, whose results cannot be kept"
            raise InvalidMessageError(f"{problem}: {shown(element)}")


def is_of_another_format(element: object) -> bool:
    """Tell whether a message, or a record around one, has a call or result that is not read here.

    Example:
        >>> is_of_another_format({"role": "tool", "tool_call_id": "c1", "content": "done"})
        True
        >>> is_of_another_format({"role": "user", "content": "hello"})
        False
    """
    return _has_other_marks(element) or _has_other_marks(field(element, "message"))


def _has_other_marks(message: object) -> bool:
    role, kind = text_field(message, "role"), text_field(message, "type")
    if role in _ROLES or any(field(message, name) for name in _MESSAGE_MARKS):
        return True
    if kind is not None and kind.endswith(_ITEM_ENDS) and field(message, "call_id"):
        return True
    return any(map(_is_other_block, _blocks_of(message)))


def _blocks_of(message: object) -> Sequence[object]:
    content = field(message, "content")
    parts = field(message, "parts") if content is None else content
    return parts if isinstance(parts, (list, tuple)) else ()


def _is_other_block(block: object) -> bool:
    kind = text_field(block, "type")
    if kind is not None:
        return kind in _BLOCK_KINDS
    return is_mapping(block) and any(name in block for name in _BLOCK_MARKS)
