"""Reading messages and blocks of any shape without raising in the middle of a list."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Final, NamedTuple

from toolbudget.errors import InvalidMessageError

if TYPE_CHECKING:
    from typing_extensions import TypeIs

__all__ = [
    "Chain",
    "Message",
    "check_sequence",
    "field",
    "is_mapping",
    "plain_text",
    "read_message",
    "text_field",
    "text_objects",
    "text_parts",
]

_SHOWN_VALUE_CHARS: Final = 80


class Chain(NamedTuple):
    """Which conversation a record belongs to: the main one or a sub-agent's."""

    is_sidechain: bool
    agent_id: str | None


class Message(NamedTuple):
    """What grouping and collecting need of one element of a message list."""

    role: str
    content: object
    id: str | None
    chain: Chain
    is_object: bool  # an SDK object: its results pass through


def is_mapping(value: object) -> TypeIs[Mapping[str, object]]:
    """Tell whether ``value`` is a dict or another mapping."""
    return type(value) is dict or isinstance(value, Mapping)


def field(value: object, name: str) -> object:
    """Read ``name`` from a mapping or from an object's attributes; ``None`` where there is none."""
    try:
        if type(value) is dict:  # nearly always, and asking an abstract class is slow
            return value.get(name)
        if isinstance(value, Mapping):
            return value.get(name)
        return getattr(value, name, None)
    except Exception:  # noqa: BLE001 - a host's own mapping or property may raise anything
        return None


def text_field(value: object, name: str) -> str | None:
    """Read ``name`` as :func:`field` does; ``None`` unless it is text."""
    return plain_text(field(value, name))


def plain_text(value: object) -> str | None:
    """Return ``value`` as an exact ``str`` if it is one (a subclass counts), else ``None``."""
    if type(value) is str:
        return value
    # A subclass may override `__len__` or `__getitem__`: only the characters it holds count. A
    # proxy that claims another class (`Mock(spec=str)`) holds none.
    return str.__str__(value) if issubclass(type(value), str) else None


def text_parts(content: object) -> tuple[str, ...] | None:
    """Return the texts of all-text content: the string itself, or those of its text blocks.

    ``None`` if any part is something else; an empty list gives an empty tuple.
    """
    text = plain_text(content)
    if text is not None:
        return (text,)
    if not isinstance(content, (list, tuple)):
        return None
    parts = []
    for block in content:
        if not is_mapping(block) or text_field(block, "type") != "text":
            return None
        text = text_field(block, "text")
        if text is None:
            return None
        parts.append(text)
    return tuple(parts)


def text_objects(content: object) -> tuple[object, ...]:
    """Return the string objects of all-text content as the host holds them, subclasses too."""
    if isinstance(content, (list, tuple)):
        return tuple(field(block, "text") for block in content)
    return (content,)


def check_sequence(messages: object) -> Sequence[object]:
    """Return ``messages`` if it can be a message list.

    Raises:
        InvalidMessageError: It is not a sequence of messages.
    """
    if isinstance(messages, Sequence) and not isinstance(messages, (str, bytes, bytearray)):
        return messages
    problem = f"messages must be a list or another sequence, not {type(messages).__name__}"
    raise InvalidMessageError(f"{problem}: {_shown(messages)}")


def read_message(element: object, index: int) -> Message | None:
    """Read one element of a message list; ``None`` if it is no user or assistant message.

    Raises:
        InvalidMessageError: The element is neither a mapping nor a message object.
    """
    if not is_mapping(element) and not _is_message_object(element):
        problem = f"message {index} is neither a mapping nor a message object"
        raise InvalidMessageError(f"{problem}: {_shown(element)}")
    inner = field(element, "message")
    if not is_mapping(inner) and not _is_message_object(inner):
        return _message(element, text_field(element, "role"), element)
    kind = text_field(element, "type")
    if kind not in {"user", "assistant"} and field(element, "type") is not None:
        return None
    return _message(inner, text_field(inner, "role") or kind, element)


def _message(inner: object, role: str | None, record: object) -> Message | None:
    if role not in {"user", "assistant"}:
        return None
    return Message(
        role=role,
        content=field(inner, "content"),
        id=text_field(inner, "id") or None,
        chain=Chain(
            is_sidechain=field(record, "isSidechain") is True,
            agent_id=text_field(record, "agentId"),
        ),
        is_object=not (is_mapping(record) and is_mapping(inner)),
    )


def _is_message_object(value: object) -> bool:
    """Tell SDK objects and dataclasses from numbers, strings and other values in a wrong place."""
    try:
        return hasattr(value, "role") and hasattr(value, "content")
    except Exception:  # noqa: BLE001 - a host's own property may raise anything
        return False


def _shown(value: object) -> str:
    try:
        text = repr(value)
    except Exception:  # noqa: BLE001 - a broken repr must not hide the real error
        text = f"<{type(value).__name__}>"
    return text if len(text) <= _SHOWN_VALUE_CHARS else text[:_SHOWN_VALUE_CHARS] + "…"
