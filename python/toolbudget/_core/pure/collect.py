"""Collecting: which results a message list holds, by group, with the names of their tools."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal, NamedTuple, TypeAlias

from toolbudget._core.pure.calls import CallBook, read_calls
from toolbudget._core.pure.candidate import Candidate
from toolbudget._core.pure.group import Group, Grouper
from toolbudget._core.pure.shape import (
    check_sequence,
    field,
    is_mapping,
    read_message,
    text_field,
    text_parts,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping

    from toolbudget._core.pure.shape import Chain, Message

__all__ = [
    "SkipReason",
    "Survey",
    "collect",
    "is_exempt_block",
]

SkipReason: TypeAlias = Literal["not_text", "empty", "malformed", "object", "exempt", "reference"]

# Its results are reads that the model asked for.
_MEMORY_TOOL = "memory"


@dataclass(frozen=True, slots=True)
class Survey:
    """What :func:`collect` found: the groups that hold text results, and what it passed over."""

    groups: list[Group]
    skipped: Counter[SkipReason]


class _Found(NamedTuple):
    group: Group
    chain: Chain
    message_index: int
    block_index: int
    block: Mapping[str, object]
    tool_use_id: str
    parts: tuple[str, ...]


def collect(messages: object, is_exempt_tool: Callable[[str], bool]) -> Survey:
    """Find every tool result of a message list and put the text results into groups.

    Args:
        messages: A sequence of API messages, transcript records or message objects.
        is_exempt_tool: Tells by a tool's name whether its limit is infinite; asked once per name.

    Raises:
        InvalidMessageError: ``messages`` cannot be a message list.
    """
    calls = CallBook()
    grouper = Grouper()
    groups: list[Group] = []
    found: list[_Found] = []
    skipped: Counter[SkipReason] = Counter()
    for index, element in enumerate(check_sequence(messages)):
        message = read_message(element, index)
        if message is None:
            continue
        if message.role == "assistant":
            grouper.starts_group(message)
            for tool_use_id, call in read_calls(message, index):
                calls.add(message.chain, tool_use_id, call)
            continue
        for block_index, block in _result_blocks(message):
            result = _read_result(message, block)
            if isinstance(result, str):
                skipped[result] += 1
                continue
            group, is_new = grouper.group_of(message)
            if is_new:
                groups.append(group)
            found.append(_Found(group, message.chain, index, block_index, *result))
    _add_candidates(found, calls, is_exempt_tool)
    return Survey(groups, skipped)


def is_exempt_block(block: Mapping[str, object], tool_name: str | None) -> bool:
    """Tell whether a result is exempt whatever limits say: toolset members, the memory tool."""
    return field(block, "toolset_name") is not None or tool_name == _MEMORY_TOOL


def _result_blocks(message: Message) -> Iterator[tuple[int, object]]:
    if not isinstance(message.content, (list, tuple)):
        return
    for block_index, block in enumerate(message.content):
        if text_field(block, "type") == "tool_result":
            yield block_index, block


def _read_result(
    message: Message, block: object
) -> tuple[Mapping[str, object], str, tuple[str, ...]] | SkipReason:
    if message.is_object or not is_mapping(block):
        return "object"
    tool_use_id = text_field(block, "tool_use_id")
    if tool_use_id is None:
        return "malformed"
    content = field(block, "content")
    parts = text_parts(content)
    if parts is None:
        return "empty" if content is None else "not_text"
    return (block, tool_use_id, parts) if any(parts) else "empty"


def _add_candidates(
    found: list[_Found],
    calls: CallBook,
    is_exempt_tool: Callable[[str], bool],
) -> None:
    exempt_by_name: dict[str, bool] = {}
    for item in found:
        call = calls.nearest(item.chain, item.tool_use_id, item.message_index)
        name = call.tool_name if call else None
        is_exempt = (call is not None and call.is_for_code) or is_exempt_block(item.block, name)
        if name is not None and not is_exempt:
            if name not in exempt_by_name:
                exempt_by_name[name] = is_exempt_tool(name)
            is_exempt = exempt_by_name[name]
        item.group.candidates.append(
            Candidate(
                tool_use_id=item.tool_use_id,
                content=field(item.block, "content"),
                size=sum(map(len, item.parts)),
                message_index=item.message_index,
                block_index=item.block_index,
                tool_name=name,
                is_exempt=is_exempt,
                parts=item.parts,
            )
        )
