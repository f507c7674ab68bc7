"""Reading content as plain dicts of our own, whatever the host holds it in."""

from __future__ import annotations

import copy
import dataclasses
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, Final, TypeAlias, cast

from toolbudget._core.pure.shape import field, is_mapping, plain_text, text_field
from toolbudget._display import shown as shown_value
from toolbudget.errors import InvalidMessageError

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

__all__ = ["Block", "clone", "content_blocks", "detached", "is_empty_text", "shown"]

Block: TypeAlias = dict[str, Any]

# A message has many texts, and an error is to name it, not to hold it.
_MAX_SHOWN_CHARS: Final = 30
_IMMUTABLE = frozenset({str, int, float, bool, bytes, type(None)})


def clone(value: object) -> Any:  # noqa: ANN401 - as open as JSON
    """Copy a value down to its texts and numbers, so that nothing mutable is shared.

    Mappings and objects become dicts, tuples become lists. It does not recurse, so that no depth of
    nesting that a parser let through ends it.

    Raises:
        InvalidMessageError: The value holds itself.
    """
    holder: list[Any] = [value]
    pending: list[tuple[Any, Any]] = [(holder, 0)]
    above: set[int] = set()
    while pending:
        parent, key = pending.pop()
        if parent is None:  # everything in it is copied
            above.discard(id(key))
            continue
        item = parent[key]
        if type(item) in _IMMUTABLE:
            continue
        if id(item) in above:
            raise InvalidMessageError(f"value holds itself, which no JSON can: {shown(item)}")
        copied = _opened(item)
        parent[key] = copied
        entries: Iterable[tuple[Any, Any]] = ()
        if type(copied) is dict:
            entries = copied.items()
        elif type(copied) is list:
            entries = enumerate(copied)
        below = [(copied, name) for name, child in entries if type(child) not in _IMMUTABLE]
        if below:
            above.add(id(item))
            # It is kept until then, so that no other value gets its id.
            pending.append((None, item))
            pending += below
    return holder[0]


def detached(value: object) -> Any:  # noqa: ANN401 - as open as JSON
    """Copy what host code is handed, so that whatever it does to it reaches nobody else.

    Objects stay of their kind, which the host may count on; what cannot be copied so becomes plain.
    """
    try:
        return copy.deepcopy(value)
    except Exception:  # noqa: BLE001 - nested too deep, or a host's object that refuses
        return clone(value)


def content_blocks(content: object, where: str) -> list[Block]:
    """Give the blocks of a message's content as copies; a text becomes one text block.

    Args:
        content: A text, a list or tuple of blocks, or ``None`` for no content.
        where: What the content belongs to, for the error.

    Raises:
        InvalidMessageError: It is something else, or one element is no block.
    """
    text = plain_text(content)
    if text is not None:
        return [{"type": "text", "text": text}]
    if content is None:
        return []
    if not isinstance(content, (list, tuple)):
        problem = f"{where} holds content that is neither text nor a list of blocks"
        raise InvalidMessageError(f"{problem}: {shown(content)}")
    for index, block in enumerate(content):
        if not is_mapping(block) and text_field(block, "type") is None:
            problem = f"{where}, block {index} is neither a mapping nor a block object"
            raise InvalidMessageError(f"{problem}: {shown(block)}")
    return cast("list[Block]", clone(content))


def is_empty_text(block: object) -> bool:
    """Tell whether a block is a text block without any character but white space."""
    if text_field(block, "type") != "text":
        return False
    given = field(block, "text")
    text = plain_text(given)
    return given is None or (text is not None and not text.strip())


def shown(value: object) -> str:
    """Show the start of a value in an error."""
    return shown_value(value, _MAX_SHOWN_CHARS)


def _opened(item: object) -> object:
    """Copy the outer layer of a value as a dict or list where it has one."""
    if isinstance(item, Mapping):
        return dict(item)
    is_named_tuple = isinstance(item, tuple) and text_field(item, "type") is not None
    if isinstance(item, (list, tuple)) and not is_named_tuple:
        return list(item)
    text = plain_text(item)
    if text is not None:
        return text
    fields = _fields(item)
    return copy.deepcopy(item) if fields is None else fields


def _fields(item: object) -> dict[str, object] | None:
    dump = field(item, "model_dump")
    if callable(dump) and not isinstance(item, type):
        # As the SDKs themselves put their objects into a request: what the answer did not hold is
        # left out. Not as JSON, which refuses the lone surrogates that an answer may hold.
        hidden = field(item, "__api_exclude__")
        return dict(dump(exclude_unset=True, by_alias=True, exclude=hidden))
    if dataclasses.is_dataclass(item) and not isinstance(item, type):
        return {part.name: getattr(item, part.name) for part in dataclasses.fields(item)}
    if isinstance(item, tuple):
        as_dict = field(item, "_asdict")
        return dict(as_dict()) if callable(as_dict) else None
    if text_field(item, "type") is not None or text_field(item, "role") is not None:
        attributes = {name: getattr(item, name) for name in _slots(item) if hasattr(item, name)}
        own = field(item, "__dict__")
        if isinstance(own, dict):
            attributes |= own
        return {name: part for name, part in attributes.items() if not name.startswith("_")}
    return None


def _slots(item: object) -> Iterator[str]:
    for kind in reversed(type(item).__mro__):
        names = kind.__dict__.get("__slots__", ())
        yield from (names,) if isinstance(names, str) else names
