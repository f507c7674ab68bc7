"""Messages of another wire format: their results cannot be stored here, but they take room."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from toolbudget._core.pure.shape import field, is_mapping, text_field
from toolbudget.errors import InvalidMessageError
from toolbudget.messages.plain import shown

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

__all__ = ["content_with_other_parts", "is_of_another_format", "refuse_other_formats"]

# Fields of a message, or of a block, by which other formats mark a call or a result.
_ROLES: Final = frozenset({"tool", "function", "toolResult"})
_MESSAGE_MARKS: Final = ("tool_calls", "function_call", "tool_call_id")
_BLOCK_KINDS: Final = frozenset({"tool-call", "tool-result", "toolCall"})
_BLOCK_MARKS: Final = ("toolUse", "toolResult", "functionCall", "functionResponse")
# Whose content is what a model reads, beside those that have a role here too.
_ROLES_WITH_CONTENT: Final = _ROLES | {"developer", "model"}
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


def content_with_other_parts(element: object, content: object) -> object:
    """Return the content of a message with what its own format has beside or in place of it.

    That is the text of tool messages, of items of a call or its output, and of parts, and the calls
    that stand in a field of their own. Records wrap messages of the format read here.

    Args:
        element: The message or item.
        content: Its content, as far as it is a message of this format, else ``None``.

    Returns:
        The same content if there is nothing else.

    Example:
        >>> content_with_other_parts({"role": "tool", "content": "done"}, None)
        'done'
        >>> call = {"function": {"name": "ls", "arguments": "{}"}}
        >>> content_with_other_parts({"role": "assistant", "tool_calls": [call]}, "Wait.")
        [{'type': 'text', 'text': 'Wait.'}, {'type': 'text', 'text': 'ls{}'}]
    """
    if field(element, "message") is not None:
        return content
    if content is None and text_field(element, "role") in _ROLES_WITH_CONTENT:
        content = field(element, "content")
    others = list(_other_parts(element))
    if not others:
        return content
    blocks = content if isinstance(content, (list, tuple)) else [_as_text(content)]
    return [*(block for block in blocks if block is not None), *others]


def _other_parts(element: object) -> Iterator[object]:
    parts = field(element, "parts")
    if isinstance(parts, (list, tuple)):
        yield from map(_as_text, parts)
    calls = field(element, "tool_calls")
    for call in calls if isinstance(calls, (list, tuple)) else ():
        yield _as_call(field(call, "function") or call)
    call = field(element, "function_call")
    if call is not None:
        yield _as_call(call)
    if _is_item(element):
        output = field(element, "output")
        if isinstance(output, (list, tuple)):
            yield from output
        else:
            yield _as_call(element) if output is None else _as_text(output)


def _as_call(call: object) -> object:
    """Give a call as what the model wrote: the name and the arguments, which are JSON already."""
    name, arguments = text_field(call, "name"), text_field(call, "arguments")
    return call if arguments is None else {"type": "text", "text": (name or "") + arguments}


def _as_text(part: object) -> object:
    text = part if isinstance(part, str) else text_field(part, "text")
    return part if text is None else {"type": "text", "text": text}


def _is_item(element: object) -> bool:
    kind = text_field(element, "type")
    return kind is not None and kind.endswith(_ITEM_ENDS) and bool(field(element, "call_id"))


def _has_other_marks(message: object) -> bool:
    if text_field(message, "role") in _ROLES:
        return True
    if any(field(message, name) for name in _MESSAGE_MARKS) or _is_item(message):
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
