"""Rounds of a conversation: where it can be cut without parting a call from its result."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

from toolbudget._core.pure.shape import field, is_mapping, read_message, text_field
from toolbudget.budget.clearing import OldResult
from toolbudget.errors import InvalidMessageError
from toolbudget.messages.other_formats import refuse_other_formats
from toolbudget.messages.plain import clone
from toolbudget.pipeline.difference import starts_among
from toolbudget.pipeline.validity import halves

if TYPE_CHECKING:
    from collections.abc import Sequence

    from toolbudget._core.pure.shape import Message

__all__ = ["Rounds", "before_prompt", "is_prompt", "read_rounds", "results_of"]


class Rounds(NamedTuple):
    """Where the rounds of a conversation begin."""

    first_message: int
    """Index of the first message of the conversation itself."""
    starts: list[int]
    """Where a round begins: at an answer, with no call before it that is answered behind it."""


def read_rounds(messages: Sequence[Any]) -> Rounds:
    """Find the rounds: an answer of the model, with the results and words that follow it.

    Raises:
        InvalidMessageError: The messages are of several chains, which one cut cannot fit, or one is
            of another format, whose results a cut would lose.
    """
    refuse_other_formats(messages)
    read = [read_message(element, index) for index, element in enumerate(messages)]
    chains = {message.chain for message in read if message is not None}
    if len(chains) > 1:
        problem = "messages hold several chains, a pipeline takes one (see split_chains)"
        raise InvalidMessageError(f"{problem}: {len(chains)}")
    first = next((index for index, message in enumerate(read) if message is not None), len(read))
    spanned = _spanned(read)
    starts = [start for start in starts_among(read) if start > first and not spanned[start]]
    return Rounds(first, starts)


def before_prompt(messages: Sequence[Any], start: int, cut: int) -> int:
    """Move a cut before what the user said last, so that it stays with the answer to it."""
    moved = cut
    while moved - 1 > start and is_prompt(messages[moved - 1], moved - 1):
        moved -= 1
    return moved


def is_prompt(element: object, index: int) -> bool:
    """Tell whether an element holds no answer and no result: words of the user, or a host's own."""
    message = read_message(element, index)
    if message is None:
        return True
    return message.role == "user" and not any(kind == "result" for kind, _ in halves(message))


def results_of(messages: Sequence[Any]) -> list[OldResult]:
    """Return every result in messages as it can be stored; the id of one without is empty."""
    found: list[OldResult] = []
    for index, element in enumerate(messages):
        message = read_message(element, index)
        if message is None or message.role != "user":
            continue
        blocks = message.content if isinstance(message.content, (list, tuple)) else ()
        for block in blocks:
            if text_field(block, "type") == "tool_result":
                tool_use_id = text_field(block, "tool_use_id") or ""
                found.append(OldResult(tool_use_id, _storable(field(block, "content"))))
    return found


def _storable(content: object) -> object:
    """Give blocks that are a client's objects as the client would send them."""
    if isinstance(content, (list, tuple)) and not all(map(is_mapping, content)):
        return clone(content)
    return content


def _spanned(read: Sequence[Message | None]) -> list[bool]:
    """Tell of each place whether a call before it is answered at or behind it."""
    called: dict[str, int] = {}
    steps = [0] * (len(read) + 1)
    for index, message in enumerate(read):
        for kind, tool_use_id in () if message is None else halves(message):
            if kind == "call":
                called[tool_use_id] = index
            elif tool_use_id in called:
                start = called[tool_use_id]
                steps[start + 1] += 1
                steps[index + 1] -= 1
    depth, spanned = 0, []
    for step in steps:
        depth += step
        spanned.append(depth > 0)
    return spanned
