"""Calls and results of one turn: what the API accepts as a pair, and what becomes of the rest."""

from __future__ import annotations

import json
from collections import Counter
from typing import TYPE_CHECKING, Final, NamedTuple

from toolbudget._core.pure.calls import is_call_for_code
from toolbudget._core.pure.shape import field, plain_text, text_field
from toolbudget.errors import InvalidMessageError
from toolbudget.messages.marks import CACHE_CONTROL, acceptable_blocks, can_carry_mark
from toolbudget.messages.plain import shown

if TYPE_CHECKING:
    from collections.abc import Iterable

    from toolbudget.messages.plain import Block

__all__ = ["NO_RESULT", "CallLedger", "Paired", "pair", "without_repeated_calls"]

# Stands for the result of a call that has none; the API refuses a call without a result.
NO_RESULT: Final = "(no result: the call was not answered)"
# Kinds of blocks that a user message may hold by themselves, outside of a result.
_KINDS_OF_ITS_OWN: Final = frozenset({"text", "image", "document", "search_result"})


class Paired(NamedTuple):
    """The blocks of one user message, in the order that the API demands."""

    results: list[Block]
    others: list[Block]


class CallLedger:
    """What the calls of one answer wait for, kept up to date record by record."""

    __slots__ = ("_code_calls", "_server_calls", "has_calls")

    def __init__(self) -> None:
        """Start without a call."""
        self.has_calls = False  # of tools of the host
        self._code_calls = 0
        self._server_calls: set[object] = set()

    @property
    def takes_results_only(self) -> bool:
        """Whether the next user message may hold nothing but results.

        That is so while a tool that the provider runs has no result, and behind a call that comes
        from code, which goes on with the result.
        """
        return bool(self._code_calls or self._server_calls)

    def note(self, blocks: Iterable[Block]) -> None:
        """Take note of blocks of the assistant's message."""
        for block in blocks:
            kind = text_field(block, "type") or ""
            tool_use_id = _call_id(block)
            if tool_use_id is not None:
                self.has_calls = True
                self._code_calls += is_call_for_code(field(block, "caller"))
            elif kind.endswith("_tool_use"):
                self._server_calls.add(text_field(block, "id"))
            elif kind.endswith("_tool_result"):
                self._server_calls.discard(text_field(block, "tool_use_id"))


def pair(calls: Iterable[Block], blocks: Iterable[Block]) -> Paired:
    """Put the results of one turn before everything else, each answering a call of this turn.

    A result that the API would refuse, because no call in the message before asks for it, becomes
    blocks of its own among the others. A call without a result gets :data:`NO_RESULT`.
    """
    open_calls = Counter(_call_ids(calls))
    paired = Paired([], [])
    answered: set[str] = set()
    for block in blocks:
        if text_field(block, "type") != "tool_result":
            paired.others.append(block)
            continue
        tool_use_id = text_field(block, "tool_use_id")
        if tool_use_id is None or not open_calls[tool_use_id]:
            paired.others.extend(_stray_result(block))
            continue
        open_calls[tool_use_id] -= 1
        answered.add(tool_use_id)
        paired.results.append(_acceptable_result(block))
    for call in calls:
        tool_use_id = _call_id(call)
        if tool_use_id is not None and tool_use_id not in answered:
            answered.add(tool_use_id)
            paired.results.append(_missing_result(call, tool_use_id))
    return paired


def without_repeated_calls(answer: Iterable[Block]) -> list[Block]:
    """Leave out calls that an answer holds a second time, as when a record was written twice.

    The API refuses two calls of one id. Two different ones stay: they cannot be told apart.
    """
    kept: list[Block] = []
    first_calls: dict[str, Block] = {}
    for block in answer:
        tool_use_id = _call_id(block)
        first = None if tool_use_id is None else first_calls.setdefault(tool_use_id, block)
        if first is None or first is block or not _is_same(first, block):
            kept.append(block)
    return kept


def _is_same(first: Block, second: Block) -> bool:
    try:
        return bool(first == second)
    except Exception:  # noqa: BLE001 - nested too deeply, or a host's own values: not comparable
        return False


def _call_ids(blocks: Iterable[Block]) -> list[str]:
    return [name for block in blocks if (name := _call_id(block)) is not None]


def _call_id(block: Block) -> str | None:
    return text_field(block, "id") if text_field(block, "type") == "tool_use" else None


def _missing_result(call: Block, tool_use_id: str) -> Block:
    result: Block = {
        "type": "tool_result",
        "tool_use_id": tool_use_id,
        "content": NO_RESULT,
        "is_error": True,
    }
    if call.get("toolset_name") is not None:  # the API wants it echoed
        result["toolset_name"] = call["toolset_name"]
    return result


def _acceptable_result(result: Block) -> Block:
    content = result.get("content")
    if content is None:
        return {key: value for key, value in result.items() if key != "content"}
    if not isinstance(content, list) or not all(isinstance(part, dict) for part in content):
        return result
    parts = acceptable_blocks(content)
    if len(parts) == len(content):
        return result
    kept = {**result, "content": parts}
    if not parts:
        del kept["content"]  # a result without content is legal, one of empty texts is not
    return kept


def _stray_result(result: Block) -> list[Block]:
    """Give a result that answers no call as blocks that a user message may hold by themselves."""
    kind = "Error result" if result.get("is_error") is True else "Result"
    name = text_field(result, "tool_use_id")
    named = "without an id" if name is None else name
    label = f"[{kind} of tool call {named}, which the message before does not hold]"
    blocks: list[Block] = [{"type": "text", "text": label}]
    content = result.get("content")
    text = plain_text(content)
    if text is not None:
        blocks.append({"type": "text", "text": text})
    elif isinstance(content, list):
        blocks.extend(_standing_alone(part) for part in content)
    elif content is not None:
        blocks.append(_standing_alone(content))
    blocks = acceptable_blocks(blocks)
    mark = result.get(CACHE_CONTROL)
    if mark is not None and can_carry_mark(blocks[-1]):
        blocks[-1].setdefault(CACHE_CONTROL, mark)
    return blocks


def _standing_alone(part: object) -> Block:
    if isinstance(part, dict) and text_field(part, "type") in _KINDS_OF_ITS_OWN:
        return part
    try:
        text = json.dumps(part, ensure_ascii=False, separators=(",", ":"), default=str)
    except (TypeError, ValueError, RecursionError) as error:
        why = "is nested too deeply" if isinstance(error, RecursionError) else "is no JSON"
        problem = f"a part of a result without its call {why} and cannot be sent"
        raise InvalidMessageError(f"{problem}: {shown(part)}") from error
    return {"type": "text", "text": text}
