"""Rewriting: new content for chosen results; every other object is shared with the input."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple, cast

from toolbudget._core.pure.shape import field, is_mapping

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

__all__ = ["Change", "replace_content", "rewrite"]


class Change(NamedTuple):
    """One result's new text, and where the result stands."""

    message_index: int
    block_index: int
    replacement: str


def replace_content(content: object, text: str) -> object:
    """Put ``text`` in the place of all-text content, in the form that the content had.

    A string (or nothing) becomes a string. A list or tuple becomes a list of one text block, which
    carries the last ``cache_control`` of the blocks that it stands for.

    Example:
        >>> replace_content([{"type": "text", "text": "a"}, {"type": "text", "text": "b"}], "short")
        [{'type': 'text', 'text': 'short'}]
    """
    if not isinstance(content, (list, tuple)):
        return text
    block: dict[str, object] = {"type": "text", "text": text}
    for old in content:
        cache_control = field(old, "cache_control")
        if cache_control is not None:
            block["cache_control"] = cache_control
    return [block]


def rewrite(messages: Sequence[object], changes: Sequence[Change]) -> Sequence[object]:
    """Apply ``changes`` to a copy that shares every unchanged object with ``messages``.

    Without changes the input itself comes back. A changed message is a shallow copy down to the
    changed block; a changed tuple becomes a list, another kind of mapping a dict.
    """
    if not changes:
        return messages
    by_message: dict[int, list[Change]] = {}
    for change in changes:
        by_message.setdefault(change.message_index, []).append(change)
    output = list(messages)
    for index, message_changes in by_message.items():
        output[index] = _rewrite_message(
            cast("Mapping[str, object]", output[index]), message_changes
        )
    return output


def _rewrite_message(
    message: Mapping[str, object], changes: Sequence[Change]
) -> Mapping[str, object]:
    inner = field(message, "message")
    if not is_mapping(inner):
        return _rewrite_inner(message, changes)
    return {**message, "message": _rewrite_inner(inner, changes)}


def _rewrite_inner(inner: Mapping[str, object], changes: Sequence[Change]) -> dict[str, object]:
    content = list(cast("Sequence[object]", inner["content"]))
    for change in changes:
        block = cast("Mapping[str, object]", content[change.block_index])
        replaced = replace_content(field(block, "content"), change.replacement)
        content[change.block_index] = {**block, "content": replaced}
    return {**inner, "content": content}
