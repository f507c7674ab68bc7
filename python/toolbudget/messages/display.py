"""The order in which a display shows calls, their hooks and their results (M6)."""

from __future__ import annotations

from bisect import bisect_left
from collections import defaultdict
from typing import TYPE_CHECKING, Final, NamedTuple, TypeVar

from toolbudget._core.pure.shape import check_sequence, field, read_message, text_field
from toolbudget.messages.chains import chain_of

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from toolbudget._core.pure.shape import Chain, Message

__all__ = ["reorder_messages_in_ui"]

Element = TypeVar("Element")

_PRE_HOOK: Final = 0
_RESULT: Final = 1
_POST_HOOK: Final = 2
_PHASE_OF_EVENT: Final = {
    "PreToolUse": _PRE_HOOK,
    "PostToolUse": _POST_HOOK,
    "PostToolUseFailure": _POST_HOOK,
}


class _Part(NamedTuple):
    """What belongs to a call, by the ids of its calls."""

    place: int
    phase: int
    chain: Chain
    tool_use_ids: list[str]


def reorder_messages_in_ui(
    messages: Sequence[Element],
    synthetic_streaming_tool_use_messages: Sequence[Element] = (),
) -> list[Element]:
    """Put what belongs to one call together: request, pre-hooks, result, post-hooks.

    For display only: a request is made of the messages as they were. Hooks are recognised as
    recorded sessions have them, attachments and progress records with ``toolUseID`` and
    ``hookEvent``. An id that is used again belongs to the nearest request before, else to the
    nearest after. What belongs to no request keeps its place, and nothing is left out.

    Args:
        messages: Records, best those of ``normalize_messages`` (one block each).
        synthetic_streaming_tool_use_messages: Requests that are still being streamed; they come
            last, with the hooks that have already run for them.

    Returns:
        A new list of the same objects. Reordering it again changes nothing.

    Raises:
        InvalidMessageError: One of the two cannot be a message list; the error names the index.

    Example:
        >>> from toolbudget import messages
        >>> def call(name):
        ...     block = {"type": "tool_use", "id": name, "name": "Bash", "input": {}}
        ...     return {"role": "assistant", "content": [block]}
        >>> def result(name):
        ...     return {"role": "user", "content": [{"type": "tool_result", "tool_use_id": name}]}
        >>> a, b, of_a, of_b = call("a"), call("b"), result("a"), result("b")
        >>> messages.reorder_messages_in_ui([a, b, of_b, of_a]) == [a, of_a, b, of_b]
        True
    """
    check_sequence(messages)
    check_sequence(synthetic_streaming_tool_use_messages)
    elements = [*messages, *synthetic_streaming_tool_use_messages]
    requests: dict[tuple[Chain, str], list[int]] = defaultdict(list)
    request_ids: dict[int, list[str]] = {}
    parts: list[_Part] = []
    for index, element in enumerate(elements):
        message = read_message(element, index)
        calls = _ids(message, "assistant", "tool_use", "id")
        if message is not None and calls:
            request_ids[index] = calls
            for name in calls:
                requests[message.chain, name].append(index)
            continue
        part = _read_part(element, message, index)
        if part is not None:
            parts.append(part)
    return _ordered(elements, request_ids, _assigned(parts, requests))


def _assigned(
    parts: Iterable[_Part], requests: dict[tuple[Chain, str], list[int]]
) -> dict[int, list[_Part]]:
    """Give each request the parts that belong to it."""
    assigned: dict[int, list[_Part]] = defaultdict(list)
    for part in parts:
        for name in part.tool_use_ids:
            places = requests.get((part.chain, name))
            if places:
                before = bisect_left(places, part.place)
                assigned[places[max(before - 1, 0)]].append(part)
                break
    return assigned


def _ordered(
    elements: list[Element], request_ids: dict[int, list[str]], assigned: dict[int, list[_Part]]
) -> list[Element]:
    moved = {part.place for parts in assigned.values() for part in parts}
    ordered: list[Element] = []
    for index, element in enumerate(elements):
        if index in moved:
            continue
        ordered.append(element)
        if index in assigned:
            parts = _in_order(assigned[index], request_ids[index])
            ordered.extend(elements[part.place] for part in parts)
    return ordered


def _in_order(parts: list[_Part], call_ids: list[str]) -> list[_Part]:
    """Order what belongs to one request: call by call, and hook, result, hook for each."""
    ranks = {name: rank for rank, name in reversed([*enumerate(call_ids)])}
    known = {
        part.place: [ranks[name] for name in part.tool_use_ids if name in ranks] for part in parts
    }
    # One record that answers several calls stands between the hooks of all of them.
    is_joint = any(len(set(found)) > 1 for found in known.values())

    def rank_of(part: _Part) -> tuple[int, int]:
        rank = known[part.place][0]
        return (part.phase, rank) if is_joint else (rank, part.phase)

    return sorted(parts, key=rank_of)


def _read_part(element: object, message: Message | None, index: int) -> _Part | None:
    if message is not None:
        names = _ids(message, "user", "tool_result", "tool_use_id")
        return _Part(index, _RESULT, message.chain, names) if names else None
    hook = _hook_of(element)
    if hook is None:
        return None
    phase, name = hook
    return _Part(index, phase, chain_of(element), [name])


def _hook_of(element: object) -> tuple[int, str] | None:
    """Read a hook's record: an attachment, or a progress record with its data inside."""
    for holder in (field(element, "attachment"), field(element, "data")):
        phase = _PHASE_OF_EVENT.get(text_field(holder, "hookEvent") or "")
        name = text_field(holder, "toolUseID") or text_field(element, "toolUseID")
        if phase is not None and name is not None:
            return phase, name
    return None


def _ids(message: Message | None, role: str, kind: str, key: str) -> list[str]:
    """Give the ids in the blocks of one kind, if the message is one of this role."""
    if message is None or message.role != role or not isinstance(message.content, (list, tuple)):
        return []
    blocks = (block for block in message.content if text_field(block, "type") == kind)
    return [name for block in blocks if (name := text_field(block, key)) is not None]
