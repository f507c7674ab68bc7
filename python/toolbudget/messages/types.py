"""The shapes of blocks, API messages and transcript records, for type checkers.

They are open: a provider adds keys and kinds of blocks at any time, and everything here passes on
what it does not know.
"""

from __future__ import annotations

from typing import Any, Literal, Required, TypeAlias, TypedDict

__all__ = [
    "AssistantRecord",
    "CacheControl",
    "ContentBlock",
    "DocumentBlock",
    "ImageBlock",
    "InnerMessage",
    "MessageParam",
    "Record",
    "RedactedThinkingBlock",
    "SearchResultBlock",
    "ServerToolUseBlock",
    "TextBlock",
    "ThinkingBlock",
    "ToolResultBlock",
    "ToolUseBlock",
    "UserRecord",
]


class CacheControl(TypedDict, total=False):
    """The marker up to which a provider caches the prompt."""

    type: Required[Literal["ephemeral"]]
    ttl: Literal["5m", "1h"]


class TextBlock(TypedDict, total=False):
    """Plain text."""

    type: Required[Literal["text"]]
    text: Required[str]
    citations: list[dict[str, Any]] | None
    cache_control: CacheControl | None


class ImageBlock(TypedDict, total=False):
    """An image, by its bytes, address or file."""

    type: Required[Literal["image"]]
    source: Required[dict[str, Any]]
    cache_control: CacheControl | None


class DocumentBlock(TypedDict, total=False):
    """A document, by its bytes, text, blocks, address or file."""

    type: Required[Literal["document"]]
    source: Required[dict[str, Any]]
    title: str | None
    context: str | None
    citations: dict[str, Any] | None
    cache_control: CacheControl | None


class SearchResultBlock(TypedDict, total=False):
    """One hit of a search that the host made."""

    type: Required[Literal["search_result"]]
    source: Required[str]
    title: Required[str]
    content: Required[list[TextBlock]]
    citations: dict[str, Any] | None
    cache_control: CacheControl | None


class ThinkingBlock(TypedDict, total=False):
    """Signed reasoning of the model; goes back unchanged."""

    type: Required[Literal["thinking"]]
    thinking: Required[str]
    signature: Required[str]


class RedactedThinkingBlock(TypedDict):
    """Encrypted reasoning of the model; goes back unchanged."""

    type: Literal["redacted_thinking"]
    data: str


class ToolUseBlock(TypedDict, total=False):
    """The model's call of a tool of the host."""

    type: Required[Literal["tool_use"]]
    id: Required[str]
    name: Required[str]
    input: Required[dict[str, Any]]
    caller: dict[str, Any]
    toolset_name: str | None
    cache_control: CacheControl | None


class ToolResultBlock(TypedDict, total=False):
    """The host's answer to a call, inside a user message."""

    type: Required[Literal["tool_result"]]
    tool_use_id: Required[str]
    content: str | list[Any]
    is_error: bool
    toolset_name: str | None
    cache_control: CacheControl | None


class ServerToolUseBlock(TypedDict, total=False):
    """The model's call of a tool that the provider runs."""

    type: Required[Literal["server_tool_use"]]
    id: Required[str]
    name: Required[str]
    input: Required[dict[str, Any]]
    caller: dict[str, Any]
    cache_control: CacheControl | None


ContentBlock: TypeAlias = (
    TextBlock
    | ImageBlock
    | DocumentBlock
    | SearchResultBlock
    | ThinkingBlock
    | RedactedThinkingBlock
    | ToolUseBlock
    | ToolResultBlock
    | ServerToolUseBlock
)


class MessageParam(TypedDict):
    """One message as a request holds it: nothing but what the API knows."""

    role: Literal["user", "assistant", "system"]
    content: Any  # a text, or a list of blocks, also of kinds that are not named here


class InnerMessage(TypedDict, total=False):
    """The message that a record wraps; the keys from ``id`` on are an answer's."""

    role: Required[Literal["user", "assistant"]]
    content: Required[Any]
    id: str
    type: str
    model: str
    stop_reason: str | None
    stop_sequence: str | None
    usage: dict[str, Any]


class UserRecord(TypedDict, total=False):
    """A user's line of a transcript. ``type`` is the host's, ``message.role`` the API's."""

    type: Required[Literal["user"]]
    message: Required[InnerMessage]
    uuid: str
    timestamp: str
    parentUuid: str | None
    isSidechain: bool
    agentId: str
    isMeta: bool
    isVisibleInTranscriptOnly: bool
    isVirtual: bool
    isCompactSummary: bool
    summarizeMetadata: Any
    toolUseResult: Any
    mcpMeta: Any
    imagePasteIds: list[int]
    sourceToolAssistantUUID: str
    permissionMode: str
    origin: Any


class AssistantRecord(TypedDict, total=False):
    """An assistant's line of a transcript: an answer, or one block of it."""

    type: Required[Literal["assistant"]]
    message: Required[InnerMessage]
    uuid: str
    timestamp: str
    parentUuid: str | None
    isSidechain: bool
    agentId: str
    requestId: str
    isVirtual: bool
    isApiErrorMessage: bool


Record: TypeAlias = dict[str, Any]  # a line of a transcript of any kind, or an API message
