"""Telling blocks and messages apart, on dicts and on SDK objects."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Final, Generic, TypeVar, overload

from toolbudget._core.pure.shape import field, read_message, text_field
from toolbudget.messages.types import (
    DocumentBlock,
    ImageBlock,
    RedactedThinkingBlock,
    SearchResultBlock,
    ServerToolUseBlock,
    TextBlock,
    ThinkingBlock,
    ToolResultBlock,
    ToolUseBlock,
)

if TYPE_CHECKING:
    from typing_extensions import TypeIs

__all__ = [
    "BlockGuard",
    "block_type",
    "is_document_block",
    "is_image_block",
    "is_redacted_thinking_block",
    "is_search_result_block",
    "is_server_tool_use_block",
    "is_text_block",
    "is_thinking_block",
    "is_tool_result_block",
    "is_tool_use_block",
    "is_tool_use_request_message",
    "is_tool_use_result_message",
]

BlockT = TypeVar("BlockT", bound=Mapping[str, object])


def block_type(block: object) -> str | None:
    """Give the kind of a block, a dict or an object; ``None`` if it names none.

    Example:
        >>> from toolbudget import messages
        >>> messages.block_type({"type": "text", "text": "hello"}), messages.block_type("hello")
        ('text', None)
    """
    return text_field(block, "type")


class BlockGuard(Generic[BlockT]):
    """A function that tells whether a block is of one kind, by its ``type`` alone.

    For a type checker it narrows a mapping to the kind's ``TypedDict``; an SDK object is told by
    the same guard, and keeps its own type.

    Example:
        >>> from toolbudget import messages
        >>> block = {"type": "tool_use", "id": "toolu_1", "name": "Bash", "input": {}}
        >>> messages.is_tool_use_block(block), messages.is_text_block(block)
        (True, False)
    """

    __slots__ = ("_kind",)

    def __init__(self, kind: str, shape: type[BlockT]) -> None:
        """Name the kind, and the type that a mapping of this kind has."""
        del shape  # for the type checker
        self._kind = kind

    @overload
    def __call__(self, block: Mapping[str, object]) -> TypeIs[BlockT]: ...
    @overload
    def __call__(self, block: object) -> bool: ...
    def __call__(self, block: object) -> bool:
        """Tell whether ``block`` is of the guard's kind."""
        return text_field(block, "type") == self._kind

    def __repr__(self) -> str:
        return f"<guard of {self._kind!r} blocks>"


is_text_block: Final = BlockGuard("text", TextBlock)
is_image_block: Final = BlockGuard("image", ImageBlock)
is_document_block: Final = BlockGuard("document", DocumentBlock)
is_search_result_block: Final = BlockGuard("search_result", SearchResultBlock)
is_thinking_block: Final = BlockGuard("thinking", ThinkingBlock)
is_redacted_thinking_block: Final = BlockGuard("redacted_thinking", RedactedThinkingBlock)
is_tool_use_block: Final = BlockGuard("tool_use", ToolUseBlock)
is_tool_result_block: Final = BlockGuard("tool_result", ToolResultBlock)
is_server_tool_use_block: Final = BlockGuard("server_tool_use", ServerToolUseBlock)


def is_tool_use_request_message(message: object) -> bool:
    """Tell whether an assistant message calls a tool of the host.

    Its blocks say so, not ``stop_reason``, which is missing from the records of a streamed answer.

    Args:
        message: A transcript record, an API message or an SDK object.

    Example:
        >>> from toolbudget import messages
        >>> call = {"type": "tool_use", "id": "toolu_1", "name": "Bash", "input": {}}
        >>> messages.is_tool_use_request_message({"role": "assistant", "content": [call]})
        True
    """
    read = _read(message)
    if read is None or read[0] != "assistant" or not isinstance(read[1], (list, tuple)):
        return False
    return any(is_tool_use_block(block) for block in read[1])


def is_tool_use_result_message(message: object) -> bool:
    """Tell whether a user message brings the result of a tool rather than a human's words.

    That is so if its first block is a ``tool_result``, or if the record's ``toolUseResult`` is set
    (to anything but ``None``).

    Args:
        message: A transcript record, an API message or an SDK object.

    Example:
        >>> from toolbudget import messages
        >>> messages.is_tool_use_result_message({"role": "user", "content": "hello"})
        False
    """
    read = _read(message)
    if read is None or read[0] != "user":
        return False
    if field(message, "toolUseResult") is not None:
        return True
    content = read[1]
    return isinstance(content, (list, tuple)) and bool(content) and is_tool_result_block(content[0])


def _read(message: object) -> tuple[str, object] | None:
    if not isinstance(message, Mapping) and not hasattr(message, "content"):
        return None
    read = read_message(message, 0)
    return None if read is None else (read.role, read.content)
