"""The rules of grouping once more: which results a list holds, and of which tools (B2, B3, W2)."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import NamedTuple, TypeAlias, cast

import xxhash

__all__ = [
    "Group",
    "Identity",
    "Result",
    "blocks_of",
    "find_groups",
    "get",
    "identity_of",
    "message_of",
]

# An id and a text, as size in characters and XXH3-128.
Identity: TypeAlias = tuple[str, int, str]


def get(value: object, name: str) -> object:
    """Read a key of a mapping or an attribute of an object; ``None`` if there is none."""
    if isinstance(value, Mapping):
        return cast("Mapping[object, object]", value).get(name)
    return getattr(value, name, None)


def get_text(value: object, name: str) -> str | None:
    """Read a key or attribute that holds text."""
    found = get(value, name)
    return str.__str__(found) if isinstance(found, str) else None


class Turn(NamedTuple):
    """One user or assistant message of a list, with the chain that it belongs to."""

    message_index: int
    role: str
    message_id: str | None
    content: object
    chain: tuple[bool, str | None]
    is_object: bool


def read_turns(messages: list[object] | tuple[object, ...]) -> list[Turn]:
    """Read every user and assistant message of a list, whatever else stands between them."""
    turns = []
    for index, element in enumerate(messages):
        message = message_of(element)
        kind = get(element, "type")
        is_other_record = kind is not None and kind not in ("user", "assistant")
        if message is not element and is_other_record:
            continue
        role = get_text(message, "role")
        if role is None and message is not element:
            role = get_text(element, "type")
        if role not in {"user", "assistant"}:
            continue
        chain = (get(element, "isSidechain") is True, get_text(element, "agentId"))
        is_object = not (isinstance(element, Mapping) and isinstance(message, Mapping))
        message_id = get_text(message, "id") or None
        content = get(message, "content")
        turns.append(Turn(index, role, message_id, content, chain, is_object))
    return turns


def message_of(element: object) -> object:
    """Give the message that a record wraps; what wraps none is a message itself."""
    wrapped = get(element, "message")
    is_message = isinstance(wrapped, Mapping) or (
        hasattr(wrapped, "role") and hasattr(wrapped, "content")
    )
    return wrapped if is_message else element


def blocks_of(content: object) -> list[object]:
    """Give the blocks of a content list; a tuple counts as one."""
    return list(content) if isinstance(content, (list, tuple)) else []


def texts_of(content: object) -> list[str] | None:
    """Give the texts of all-text content, ``None`` for any other content."""
    if isinstance(content, str):
        return [str.__str__(content)]
    if not isinstance(content, (list, tuple)):
        return None
    texts = []
    for block in content:
        text = get_text(block, "text")
        if not isinstance(block, Mapping) or get_text(block, "type") != "text" or text is None:
            return None
        texts.append(text)
    return texts


# --- B2, B3: groups and what is in them -----------------------------------------------------------


@dataclass
class Result:
    """One text result of a user message."""

    message_index: int
    block_index: int
    tool_use_id: str
    texts: list[str]
    tool_name: str | None
    is_exempt: bool

    @property
    def text(self) -> str:
        """The texts joined with nothing between."""
        return "".join(self.texts)

    @property
    def size(self) -> int:
        """Characters."""
        return len(self.text)

    @property
    def identity(self) -> Identity:
        """What a decision about this result is filed under (D1)."""
        return identity_of(self.tool_use_id, self.text)


def identity_of(tool_use_id: str, text: str) -> Identity:
    """Name a result by its id and its text."""
    digest = xxhash.xxh3_128_hexdigest(text.encode("utf-8", "surrogatepass"))
    return (tool_use_id, len(text), digest)


class Call(NamedTuple):
    """One ``tool_use`` of a chain."""

    message_index: int
    tool_use_id: str
    tool_name: str | None
    is_for_code: bool


@dataclass
class Group:
    """The results of one API user message, and whether a later group of its chain follows."""

    chain: tuple[bool, str | None]
    results: list[Result] = field(default_factory=list)
    is_followed: bool = False


def calls_of(turns: list[Turn], chain: tuple[bool, str | None]) -> list[Call]:
    """List every call of one chain, in order."""
    calls = []
    for turn in turns:
        if turn.role != "assistant" or turn.chain != chain:
            continue
        for block in blocks_of(turn.content):
            tool_use_id = get_text(block, "id")
            if get_text(block, "type") != "tool_use" or tool_use_id is None:
                continue
            kind = get_text(get(block, "caller"), "type") or ""
            is_for_code = kind.startswith(("code_execution", "program"))
            calls.append(
                Call(turn.message_index, tool_use_id, get_text(block, "name"), is_for_code)
            )
    return calls


def call_of(calls: list[Call], tool_use_id: str, index: int) -> Call | None:
    """Find the nearest call before a message, else the nearest after it."""
    named = [call for call in calls if call.tool_use_id == tool_use_id]
    before = [call for call in named if call.message_index < index]
    after = [call for call in named if call.message_index > index]
    return before[-1] if before else next(iter(after), None)


def results_of(
    turn: Turn, calls: list[Call], is_exempt_tool: Callable[[str], bool]
) -> Iterator[Result]:
    """Read the text results of one user message."""
    for block_index, block in enumerate(blocks_of(turn.content)):
        tool_use_id = get_text(block, "tool_use_id")
        texts = texts_of(get(block, "content"))
        is_result = isinstance(block, Mapping) and get_text(block, "type") == "tool_result"
        if not is_result or tool_use_id is None or not texts or not "".join(texts):
            continue
        call = call_of(calls, tool_use_id, turn.message_index)
        name = call.tool_name if call else None
        is_exempt = (
            get(block, "toolset_name") is not None
            or (call is not None and call.is_for_code)
            or name == "memory"
            or (name is not None and is_exempt_tool(name))
        )
        yield Result(turn.message_index, block_index, tool_use_id, texts, name, is_exempt)


def find_groups(
    messages: list[object] | tuple[object, ...], is_exempt_tool: Callable[[str], bool]
) -> list[Group]:
    """Group the results as the wire does, each chain for itself."""
    turns = read_turns(messages)
    groups: list[Group] = []
    current: dict[tuple[bool, str | None], Group] = {}
    for position, turn in enumerate(turns):
        earlier_ids = [
            earlier.message_id
            for earlier in turns[:position]
            if earlier.role == "assistant" and earlier.chain == turn.chain
        ]
        group = current.get(turn.chain)
        is_known = turn.message_id is not None and turn.message_id in earlier_ids
        if turn.role == "assistant" and not is_known:
            if group is not None:
                group.is_followed = True
            current.pop(turn.chain, None)
        if turn.role == "user" and not turn.is_object:
            calls = calls_of(turns, turn.chain)
            for result in results_of(turn, calls, is_exempt_tool):
                if turn.chain not in current:
                    current[turn.chain] = Group(turn.chain)
                    groups.append(current[turn.chain])
                current[turn.chain].results.append(result)
    return groups
