"""Rewriting: new content for chosen results; every other object is shared with the input."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple, cast

from toolbudget._core.pure.shape import field, is_mapping, plain_text

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

__all__ = ["Change", "replace_content", "rewrite", "rewrite_again"]


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
    return rewrite_again(messages, changes, ())[0]


def rewrite_again(
    messages: Sequence[object], changes: Sequence[Change], earlier: Sequence[object]
) -> tuple[Sequence[object], list[object]]:
    """Do what :func:`rewrite` does, with messages of the call before where nothing has changed.

    A rewritten message of the call before comes back if it is what a new one would be: down to the
    changed blocks it has the very same keys and values, whoever has changed what in the meantime.

    Args:
        messages: The messages, or a part of them.
        changes: What is to be changed.
        earlier: What the call before gave as the second part of its result.

    Returns:
        The output, and each changed message followed by what it has become.

    Example:
        >>> block = {"type": "tool_result", "tool_use_id": "t1", "content": "long"}
        >>> messages, changes = [{"role": "user", "content": [block]}], [Change(0, 0, "short")]
        >>> first, earlier = rewrite_again(messages, changes, [])
        >>> second, _ = rewrite_again(messages, changes, earlier)
        >>> second == first, second[0] is first[0]
        (True, True)
    """
    if not changes:
        return messages, []
    by_message: dict[int, list[Change]] = {}
    for change in changes:
        by_message.setdefault(change.message_index, []).append(change)
    known: dict[int, list[object]] = {}
    for message, rewritten in zip(earlier[-2::-2], earlier[::-2], strict=True):
        known.setdefault(id(message), []).append(rewritten)
    output, pairs = list(messages), list[object]()
    for index, message_changes in by_message.items():
        message = output[index]
        new: object = _rewrite_message(cast("Mapping[str, object]", message), message_changes)
        # One message may stand in several places, each with an output of its own.
        if (known_outputs := known.get(id(message))) is not None:
            old = known_outputs.pop() if known_outputs else None
            if is_same_rewriting(new, old):
                new = old
        output[index] = new
        pairs += (message, new)
    return output, pairs


def is_same_rewriting(new: object, old: object) -> bool:
    """Tell whether two rewritten messages are the same down to their changed blocks."""
    return _is_same_dict(new, old, "message", _is_same_inner) or _is_same_inner(new, old)


def _is_same_inner(new: object, old: object) -> bool:
    return _is_same_dict(new, old, "content", _is_same_content)


def _is_same_content(new: object, old: object) -> bool:
    return _is_same_list(new, old, _is_same_block)


def _is_same_block(new: object, old: object) -> bool:
    return _is_same_dict(new, old, "content", _is_same_result)


def _is_same_result(new: object, old: object) -> bool:
    return _is_same_text(new, old) or _is_same_list(new, old, _is_same_text_block)


def _is_same_text_block(new: object, old: object) -> bool:
    return _is_same_dict(new, old, "text", _is_same_text)


def _is_same_text(new: object, old: object) -> bool:
    return type(new) is type(old) is str and new == old


def _is_same_list(new: object, old: object, is_same_item: Callable[[object, object], bool]) -> bool:
    if not (type(new) is type(old) is list and len(new) == len(old)):
        return False
    return all(
        one is other or is_same_item(one, other) for one, other in zip(new, old, strict=True)
    )


def _is_same_dict(
    new: object, old: object, name: str, is_same_value: Callable[[object, object], bool]
) -> bool:
    """Compare two dicts entry by entry; the value of one key may be another object."""
    if not (type(new) is type(old) is dict and len(new) == len(old)):
        return False
    return all(
        key is other_key
        and (value is other or (plain_text(key) == name and is_same_value(value, other)))
        for (key, value), (other_key, other) in zip(new.items(), old.items(), strict=True)
    )


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
