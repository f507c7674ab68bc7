"""Messages: making them, telling them apart, and the forms that requests and displays want.

Example:
    >>> from toolbudget.messages import create_user_message, normalize_messages_for_api
    >>> record = create_user_message("hello")
    >>> normalize_messages_for_api([record])[0]["role"]
    'user'
"""

from __future__ import annotations

from toolbudget.messages.api import held_back_content, normalize_messages_for_api
from toolbudget.messages.chains import split_chains
from toolbudget.messages.create import (
    NO_CONTENT,
    create_assistant_message,
    create_user_message,
)
from toolbudget.messages.display import reorder_messages_in_ui
from toolbudget.messages.guards import (
    BlockGuard,
    block_type,
    is_document_block,
    is_image_block,
    is_redacted_thinking_block,
    is_search_result_block,
    is_server_tool_use_block,
    is_text_block,
    is_thinking_block,
    is_tool_result_block,
    is_tool_use_block,
    is_tool_use_request_message,
    is_tool_use_result_message,
)
from toolbudget.messages.marks import MAX_CACHE_BREAKPOINTS
from toolbudget.messages.pairing import NO_RESULT
from toolbudget.messages.params import (
    add_cache_breakpoint,
    assistant_message_to_message_param,
    user_message_to_message_param,
)
from toolbudget.messages.split import UUID_NAMESPACE, derive_uuid, normalize_messages
from toolbudget.messages.types import (
    AssistantRecord,
    CacheControl,
    ContentBlock,
    DocumentBlock,
    ImageBlock,
    InnerMessage,
    MessageParam,
    Record,
    RedactedThinkingBlock,
    SearchResultBlock,
    ServerToolUseBlock,
    TextBlock,
    ThinkingBlock,
    ToolResultBlock,
    ToolUseBlock,
    UserRecord,
)

__all__ = [
    "MAX_CACHE_BREAKPOINTS",
    "NO_CONTENT",
    "NO_RESULT",
    "UUID_NAMESPACE",
    "AssistantRecord",
    "BlockGuard",
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
    "add_cache_breakpoint",
    "assistant_message_to_message_param",
    "block_type",
    "create_assistant_message",
    "create_user_message",
    "derive_uuid",
    "held_back_content",
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
    "normalize_messages",
    "normalize_messages_for_api",
    "reorder_messages_in_ui",
    "split_chains",
    "user_message_to_message_param",
]
