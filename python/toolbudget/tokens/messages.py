"""Estimates of whole messages: block by block, media by a fixed number (T2)."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Final, TypeAlias

from toolbudget._core.pure.shape import check_sequence, field, plain_text, read_message, text_field
from toolbudget.messages.other_formats import content_with_other_parts
from toolbudget.tokens.estimate import estimate_tokens, rough_token_count_estimation

__all__ = [
    "MEDIA_BLOCK_TOKENS",
    "Piece",
    "estimate_tokens_for_messages",
    "pieces_of_block",
    "pieces_of_content",
    "pieces_of_json",
    "rough_token_count_estimation_for_messages",
    "tokens_of_pieces",
]

MEDIA_BLOCK_TOKENS: Final = 2_000
"""What an image or a document counts as, however long its base64 is (T2)."""

Piece: TypeAlias = str | int
"""A text, or the tokens of what has none."""

# The last four are those of other wire formats.
_MEDIA: Final = frozenset(
    {"image", "document", "image_url", "input_image", "input_file", "input_audio"}
)
# By which a part of a message that has no type tells that it holds media.
_MEDIA_FIELDS: Final = ("inlineData", "inline_data", "fileData", "file_data")
_CALLS: Final = frozenset({"tool_use", "server_tool_use", "mcp_tool_use"})
_RESULT: Final = "tool_result"
# No provider nests results; what stands deeper than this has been made to end the reader.
_MAX_DEPTH: Final = 50
# Longer numbers the interpreter may refuse to print as decimals, whatever limit it was given.
_MAX_PRINTED_BITS: Final = 2_048
# Blocks of which one field is what the model reads.
_TEXT_FIELDS: Final = {
    "text": "text",
    "input_text": "text",
    "output_text": "text",
    "thinking": "thinking",
    "redacted_thinking": "data",
}


def rough_token_count_estimation_for_messages(messages: Sequence[object]) -> int:
    """Estimate the tokens of messages as a quarter of their characters, block by block.

    Counted are texts, thinking, the name and the input (as JSON) of calls, and what is in results,
    each rounded half up. An image or a document counts as :data:`MEDIA_BLOCK_TOKENS`. A block of
    another kind counts as its JSON. Calls and results of other wire formats count as well: tool
    messages, ``tool_calls``, ``parts``, items with a ``call_id``.

    Args:
        messages: Messages or transcript records, dicts or SDK objects. Records that hold no message
            of a conversation count nothing.

    Raises:
        InvalidMessageError: ``messages`` cannot be a message list.

    Example:
        >>> from toolbudget.tokens import rough_token_count_estimation_for_messages
        >>> image = {"type": "image", "source": {"type": "base64", "data": "iVBORw0KGgo"}}
        >>> rough_token_count_estimation_for_messages([{"role": "user", "content": [image]}])
        2000
    """
    return sum(
        rough_token_count_estimation(piece) if isinstance(piece, str) else piece
        for piece in _pieces_of_messages(messages)
    )


def estimate_tokens_for_messages(messages: Sequence[object]) -> int:
    """Estimate the tokens of messages as :func:`estimate_tokens` does, block by block.

    What is counted is what :func:`rough_token_count_estimation_for_messages` counts. The system
    prompt, the tools and what a provider puts between messages are not among it.

    Args:
        messages: Messages or transcript records, dicts or SDK objects.

    Raises:
        InvalidMessageError: ``messages`` cannot be a message list.

    Example:
        >>> from toolbudget.tokens import estimate_tokens_for_messages
        >>> estimate_tokens_for_messages([{"role": "user", "content": "你好世界"}])
        7
    """
    return tokens_of_pieces(_pieces_of_messages(messages))


def tokens_of_pieces(pieces: Iterable[Piece]) -> int:
    """Add up what :func:`estimate_tokens` makes of texts, and what counts by itself."""
    return sum(estimate_tokens(piece) if isinstance(piece, str) else piece for piece in pieces)


def _pieces_of_messages(messages: Sequence[object]) -> Iterator[Piece]:
    for index, element in enumerate(check_sequence(messages)):
        message = read_message(element, index)
        if message is not None:
            content = message.content
        else:
            is_system = text_field(element, "role") == "system"
            content = field(element, "content") if is_system else None
        yield from pieces_of_content(content_with_other_parts(element, content))


def pieces_of_content(content: object, depth: int = 0) -> Iterator[Piece]:
    """Give what is counted of a content: text, or a list of blocks."""
    text = plain_text(content)
    if text is not None:
        yield text
    elif depth > _MAX_DEPTH:
        yield MEDIA_BLOCK_TOKENS
    elif isinstance(content, (list, tuple)):
        for block in content:
            yield from pieces_of_block(block, depth)
    elif content is not None:
        yield from pieces_of_json(content)


def pieces_of_block(block: object, depth: int = 0) -> Iterator[Piece]:
    """Give what is counted of one block, a dict or an SDK object."""
    kind = text_field(block, "type") or ""
    text = text_field(block, _TEXT_FIELDS[kind]) if kind in _TEXT_FIELDS else plain_text(block)
    if text is not None:
        yield text
    elif kind in _MEDIA or (not kind and any(field(block, name) for name in _MEDIA_FIELDS)):
        yield MEDIA_BLOCK_TOKENS
    elif kind in _CALLS:
        yield from pieces_of_json(field(block, "input"), before=text_field(block, "name") or "")
    elif kind.endswith(_RESULT):
        yield from pieces_of_content(field(block, "content"), depth + 1)
    else:
        yield from pieces_of_json(block)


def pieces_of_json(value: object, before: str = "") -> Iterator[Piece]:
    """Give a value as compact JSON; media inside of it apart."""
    media: list[object] = []

    def without_media(value: object) -> object:
        if isinstance(value, Mapping):
            if text_field(value, "type") in _MEDIA:
                media.append(value)
                return None
            return {str(key): without_media(item) for key, item in value.items()}
        if isinstance(value, (list, tuple)):
            return [without_media(item) for item in value]
        if isinstance(value, int) and value.bit_length() > _MAX_PRINTED_BITS:
            return f"{value:#x}"
        if value is None or isinstance(value, (str, int, float)):
            return value
        return without_media(_fields_of(value))

    try:
        plain = without_media(value)
        text = json.dumps(plain, ensure_ascii=False, separators=(",", ":"))
    except Exception:  # noqa: BLE001 - nested without an end, or a host's own object: no text at all
        yield MEDIA_BLOCK_TOKENS
        return
    yield before + text
    yield len(media) * MEDIA_BLOCK_TOKENS


def _fields_of(value: object) -> object:
    """Give what an object holds as plain data: that of SDKs knows a method for it."""
    dump = getattr(value, "model_dump", None)
    if callable(dump):
        return dump()
    return vars(value) if hasattr(value, "__dict__") else str(value)
