"""From the content of a message to its estimated tokens."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Final

from toolbudget._core.pure.shape import field, is_mapping, plain_text, text_field
from toolbudget.tokens.estimate import rough_token_count_estimation as _text_tokens

if TYPE_CHECKING:
    from collections.abc import Iterator

__all__ = ["MEDIA_TOKENS", "block_tokens", "content_tokens", "json_tokens"]

MEDIA_TOKENS: Final = 2_000
"""What an image or document block counts, whatever its bytes are (SPEC T2)."""

_MEDIA_TYPES: Final = frozenset({"image", "document"})
_CALL_TYPES: Final = frozenset({"tool_use", "server_tool_use", "mcp_tool_use"})
# Which field of a block holds its text.
_TEXT_FIELDS: Final = {"text": "text", "thinking": "thinking", "redacted_thinking": "data"}


def content_tokens(content: object) -> int:
    """Estimate the tokens of a content: text, or a list of blocks; anything else counts 0."""
    text = plain_text(content)
    if text is not None:
        return _text_tokens(text)
    if isinstance(content, (list, tuple)):
        return sum(map(block_tokens, content))
    return 0


def block_tokens(block: object) -> int:
    """Estimate the tokens of one block, a dict or an SDK object; text in its place is text."""
    text = plain_text(block)
    if text is not None:
        return _text_tokens(text)
    kind = text_field(block, "type")
    if kind in _TEXT_FIELDS:
        return _text_tokens(text_field(block, _TEXT_FIELDS[kind]) or "")
    if kind == "tool_result":
        return content_tokens(field(block, "content"))
    if kind in _MEDIA_TYPES:
        return MEDIA_TOKENS
    if kind in _CALL_TYPES:
        name = text_field(block, "name") or ""
        return _text_tokens(name) + json_tokens(field(block, "input"))
    return json_tokens(block)


def json_tokens(value: object) -> int:
    """Estimate the tokens of a value as JSON, media in it by :data:`MEDIA_TOKENS`."""
    pieces: list[str] = []
    media = 0
    waiting = [value]
    while waiting:  # no recursion: the depth of untrusted JSON has no bound
        item = waiting.pop()
        if isinstance(item, str):
            pieces += ('"', str.__str__(item), '",')
        elif _is_media(item):
            media += 1
        elif (entries := _entries(item)) is not None:
            pieces.append("{},")
            for key, inner in entries:
                pieces += ('"', key, '":')
                waiting.append(inner)
        elif isinstance(item, (list, tuple)):
            pieces.append("[],")
            waiting += item
        else:
            pieces.append(_scalar(item))
    return _text_tokens("".join(pieces)) + media * MEDIA_TOKENS


def _is_media(value: object) -> bool:
    if text_field(value, "type") in _MEDIA_TYPES:
        return True
    # The source of a picture that stands in a block of a kind that is unknown here.
    return text_field(value, "type") == "base64" and text_field(value, "data") is not None


def _entries(value: object) -> Iterator[tuple[str, object]] | None:
    if not is_mapping(value):
        value = _dumped(value)
    if value is None:
        return None
    return ((plain_text(key) or "", inner) for key, inner in value.items())


def _dumped(value: object) -> Mapping[str, object] | None:
    """Return the fields of an SDK object, which is a pydantic model."""
    try:
        fields = value.model_dump(exclude_none=True)  # type: ignore[attr-defined]
    except Exception:  # noqa: BLE001 - no model, or one of a host's own that raises anything
        return None
    return fields if isinstance(fields, Mapping) else None


def _scalar(value: object) -> str:
    if value is None or isinstance(value, (bool, int, float)):
        try:
            return f"{value},"
        except ValueError:  # an int with more digits than the interpreter prints
            return ""
    return ""
