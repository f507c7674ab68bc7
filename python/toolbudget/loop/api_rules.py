"""What a provider refuses in a request, so that a scripted model refuses it too."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING, Any, Final

from toolbudget._core.pure.shape import field, text_field
from toolbudget.messages.marks import MAX_CACHE_BREAKPOINTS
from toolbudget.pipeline.validity import PROVIDER_CALLS

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

__all__ = ["refusals"]

_ROLES: Final = ("user", "assistant")


def refusals(messages: Sequence[Mapping[str, Any]]) -> list[str]:
    """Say what is wrong with the messages of a request, a line for each problem; empty if nothing.

    The roles alternate and the user's is first and last, no message and no text is empty, each call
    is answered in the next message, results come first in theirs, and there are no more than four
    cache breakpoints. An answer that paused for a tool of the provider may be last too.

    Example:
        >>> from toolbudget.loop.api_rules import refusals
        >>> refusals([{"role": "assistant", "content": "hello"}])
        ['message 0: the user speaks first', 'message 0: the user speaks last']
    """
    spoken = [message for message in messages if message.get("role") != "system"]
    found = list(_order_problems(spoken))
    before: Mapping[str, Any] = {}
    for index, message in enumerate(spoken):
        problems = [*_shape_problems(message), *_pair_problems(before, message)]
        found += [f"message {index}: {problem}" for problem in problems]
        before = message
    marks = sum(_marks(message.get("content")) for message in spoken)
    if marks > MAX_CACHE_BREAKPOINTS:
        found.append(f"there are {marks} cache breakpoints")
    return found


def _order_problems(spoken: Sequence[Mapping[str, Any]]) -> Iterator[str]:
    if not spoken:
        yield "there is no message"
        return
    roles = [message.get("role") for message in spoken]
    if roles[0] != "user":
        yield "message 0: the user speaks first"
    for index, role in enumerate(roles):
        if role not in _ROLES:
            yield f"message {index}: role {role!r}"
        elif index and role == roles[index - 1]:
            yield f"message {index}: role {role!r} twice in a row"
    if roles[-1] != "user" and not _is_paused(spoken[-1]):
        yield f"message {len(roles) - 1}: the user speaks last"


def _is_paused(message: Mapping[str, Any]) -> bool:
    """Tell whether the provider ran a tool of its own in an answer, and may go on with it."""
    kinds = {text_field(block, "type") for block in _blocks(message)}
    return "tool_use" not in kinds and not kinds.isdisjoint(PROVIDER_CALLS)


def _shape_problems(message: Mapping[str, Any]) -> Iterator[str]:
    if not message.get("content"):
        yield "it is empty"
    for block in _blocks(message):
        parts = block.get("content") if block.get("type") == "tool_result" else None
        for one in (block, *(parts if isinstance(parts, list) else ())):
            if text_field(one, "type") == "text" and not (text_field(one, "text") or "").strip():
                yield "a text is empty"


def _pair_problems(before: Mapping[str, Any], message: Mapping[str, Any]) -> Iterator[str]:
    """Compare the calls of one message with the results of the next."""
    called = Counter(
        text_field(block, "id") for block in _blocks(before) if block.get("type") == "tool_use"
    )
    blocks = _blocks(message)
    kinds = [block.get("type") == "tool_result" for block in blocks]
    answered = Counter(
        text_field(block, "tool_use_id")
        for block, is_result in zip(blocks, kinds, strict=True)
        if is_result
    )
    unanswered = called.keys() - answered.keys()
    if unanswered:
        yield f"calls without a result: {sorted(map(str, unanswered))}"
    if answered - called:
        yield f"results without a call: {sorted(map(str, answered - called))}"
    if kinds != sorted(kinds, reverse=True):
        yield "something stands before a result"


def _blocks(message: Mapping[str, Any]) -> list[Any]:
    content = message.get("content")
    return content if isinstance(content, list) else []


def _marks(content: object) -> int:
    blocks = content if isinstance(content, list) else []
    return sum(
        (field(block, "cache_control") is not None) + _marks(field(block, "content"))
        for block in blocks
    )
