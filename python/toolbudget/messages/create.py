"""Making records: what a user, a tool or the host itself adds to a conversation."""

from __future__ import annotations

import datetime as dt
import uuid as uuids
from typing import TYPE_CHECKING, Any, Final, cast

from toolbudget._core.pure.shape import is_mapping, plain_text, text_field
from toolbudget.errors import InvalidMessageError
from toolbudget.messages.plain import shown

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from toolbudget.messages.types import AssistantRecord, UserRecord

__all__ = ["NO_CONTENT", "create_assistant_message", "create_user_message"]

# Stands where the API demands a text and there is none.
NO_CONTENT: Final = "(no content)"
# The model of a record that no model made, as recorded sessions name it.
_SYNTHETIC_MODEL: Final = "<synthetic>"
_NO_USAGE: Final = (
    "input_tokens",
    "cache_creation_input_tokens",
    "cache_read_input_tokens",
    "output_tokens",
)


def create_user_message(
    content: str | Sequence[object],
    *,
    is_meta: bool | None = None,
    is_visible_in_transcript_only: bool | None = None,
    is_virtual: bool | None = None,
    is_compact_summary: bool | None = None,
    summarize_metadata: object = None,
    tool_use_result: object = None,
    mcp_meta: object = None,
    uuid: str | uuids.UUID | None = None,
    timestamp: str | dt.datetime | None = None,
    image_paste_ids: Sequence[int] | None = None,
    source_tool_assistant_uuid: str | uuids.UUID | None = None,
    permission_mode: str | None = None,
    origin: object = None,
) -> UserRecord:
    """Make a user record: ``type`` is the host's "user", ``message.role`` the API's.

    A user message is not only human input: results of tools and notes of the host come as one.

    Args:
        content: The text, or the blocks; both are taken as they are.
        is_meta: Written by the host, sent to the model, not shown to the user.
        is_visible_in_transcript_only: Sent to the model, shown in the full transcript only.
        is_virtual: For display; never sent.
        is_compact_summary: The summary that stands for what was compacted.
        summarize_metadata: What the host notes about a summary.
        tool_use_result: The structured value that the tool returned; it is not sent.
        mcp_meta: What an MCP server sent beside its result; it is not sent.
        uuid: The record's id; a random one if ``None``.
        timestamp: ISO 8601 text, or an aware ``datetime``; now (UTC) if ``None``.
        image_paste_ids: The host's numbers of the pasted images, in the order of the image blocks.
        source_tool_assistant_uuid: The uuid of the record that made the call.
        permission_mode: The host's mode when the user wrote it.
        origin: Where the message comes from, such as ``{"kind": "human"}``.

    Returns:
        The record, with the keys that recorded sessions use; an option that is ``None`` has none.

    Raises:
        InvalidMessageError: ``content`` is neither text nor a list of blocks, or ``timestamp`` has
            no time zone.

    Example:
        >>> from toolbudget import messages
        >>> record = messages.create_user_message("Go on.", is_meta=True)
        >>> record["type"], record["message"], record["isMeta"]
        ('user', {'role': 'user', 'content': 'Go on.'}, True)
    """
    options = {
        "isMeta": is_meta,
        "isVisibleInTranscriptOnly": is_visible_in_transcript_only,
        "isVirtual": is_virtual,
        "isCompactSummary": is_compact_summary,
        "summarizeMetadata": summarize_metadata,
        "toolUseResult": tool_use_result,
        "mcpMeta": mcp_meta,
        "uuid": str(uuids.uuid4() if uuid is None else uuid),
        "timestamp": _timestamp(timestamp),
        "imagePasteIds": None if image_paste_ids is None else list(image_paste_ids),
        "sourceToolAssistantUUID": source_tool_assistant_uuid and str(source_tool_assistant_uuid),
        "permissionMode": permission_mode,
        "origin": origin,
    }
    record: dict[str, object] = {
        "type": "user",
        "message": {"role": "user", "content": _content(content)},
    }
    record.update((key, value) for key, value in options.items() if value is not None)
    return cast("UserRecord", record)


def create_assistant_message(
    content: str | Sequence[object],
    *,
    usage: Mapping[str, Any] | None = None,
    is_virtual: bool | None = None,
) -> AssistantRecord:
    """Make an assistant record that no model made: a notice of the host, or a test's answer.

    Args:
        content: A text becomes one text block, an empty one the placeholder ``(no content)``;
            blocks are taken as they are.
        usage: What the answer is said to have used; all zero if ``None``, which counts as none.
        is_virtual: For display; never sent.

    Returns:
        The record, with a random ``uuid`` and ``message.id`` and the time of now (UTC).

    Raises:
        InvalidMessageError: ``content`` is neither text nor a list of blocks.

    Example:
        >>> from toolbudget import messages
        >>> messages.create_assistant_message("")["message"]["content"]
        [{'type': 'text', 'text': '(no content)'}]
    """
    given = _content(content)
    blocks = [{"type": "text", "text": given or NO_CONTENT}] if isinstance(given, str) else given
    record: dict[str, object] = {
        "type": "assistant",
        "message": {
            "id": str(uuids.uuid4()),
            "type": "message",
            "role": "assistant",
            "model": _SYNTHETIC_MODEL,
            "content": blocks,
            "stop_reason": "stop_sequence",
            "stop_sequence": "",
            "usage": dict.fromkeys(_NO_USAGE, 0) if usage is None else dict(usage),
        },
        "uuid": str(uuids.uuid4()),
        "timestamp": _timestamp(None),
    }
    if is_virtual is not None:
        record["isVirtual"] = is_virtual
    return cast("AssistantRecord", record)


def _content(content: object) -> str | list[object]:
    text = plain_text(content)
    if text is not None:
        return text
    if not isinstance(content, (list, tuple)):
        raise InvalidMessageError(
            f"content must be text or a list of blocks, not {type(content).__name__}: "
            f"{shown(content)}"
        )
    for index, block in enumerate(content):
        if not is_mapping(block) and text_field(block, "type") is None:
            problem = f"content block {index} is neither a mapping nor a block object"
            raise InvalidMessageError(f"{problem}: {shown(block)}")
    return list(content)


def _timestamp(value: str | dt.datetime | None) -> str:
    """Write a time as recorded sessions do: UTC, milliseconds, ``Z``."""
    if isinstance(value, str):
        return value
    moment = dt.datetime.now(dt.UTC) if value is None else value
    if moment.tzinfo is None:
        raise InvalidMessageError(f"timestamp must have a time zone: {moment!r}")
    text = moment.astimezone(dt.UTC).isoformat(timespec="milliseconds")
    return text.removesuffix("+00:00") + "Z"
