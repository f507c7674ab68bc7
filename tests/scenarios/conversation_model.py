"""What a host knows about a conversation: its messages, what it has sent, and what must not change.

The rules that say what may change all the same are named where they are modelled; everything here
is a second reading of the rules and calls nothing of the library.
"""

from __future__ import annotations

import copy
import json
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, NamedTuple

from tests.builders import Block, Message, digest_of, is_reference, text_of

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence
    from pathlib import Path

__all__ = [
    "Branch",
    "Entry",
    "Group",
    "Key",
    "Result",
    "canonical",
    "frozen_on_disk",
    "groups_of",
    "has_records",
    "reformed",
]


class Key(NamedTuple):
    """What a decision is about (D1): an id and a text."""

    tool_use_id: str
    text: str


class Result(NamedTuple):
    """One text result of a message list."""

    message_index: int
    block_index: int
    key: Key
    tool_name: str | None

    @property
    def is_reference(self) -> bool:
        """Whether the text that was given is a replacement already."""
        return is_reference(self.key.text)


@dataclass(slots=True)
class Group:
    """The results of one API user message (B2)."""

    results: list[Result] = field(default_factory=list)
    is_followed: bool = False


@dataclass(slots=True)
class Entry:
    """A message as its host keeps it, and as it last went out unless the host changed it since."""

    message: Message
    sent: str | None = None


@dataclass(slots=True)
class Branch:
    """A session, fork or sub-agent as its host sees it.

    Attributes:
        session_id: Its session.
        agent_id: Its name if it is a sub-agent.
        entries: The messages.
        decided: What went out for a result, for every result that ever did.
        unrecorded: Kept results about which a report has named a failed record.
        seen: Results that ``mark_seen`` kept: never withdrawn (B13).
        has_lost_records: Somebody has deleted its records since it was opened.
    """

    session_id: str
    agent_id: str | None = None
    entries: list[Entry] = field(default_factory=list)
    decided: dict[Key, str] = field(default_factory=dict)
    unrecorded: set[Key] = field(default_factory=set)
    seen: set[Key] = field(default_factory=set)
    has_lost_records: bool = False

    @property
    def messages(self) -> list[Message]:
        """What the next request holds."""
        return [entry.message for entry in self.entries]

    def copied(self, session_id: str, agent_id: str | None, kept_messages: int) -> Branch:
        """Return a child that begins with the same decisions, and with so many of the messages.

        R7: its own transcript begins with all of the parent's decisions, recorded or not.
        """
        return Branch(
            session_id,
            agent_id,
            copy.deepcopy(self.entries[:kept_messages]),
            dict(self.decided),
            set(),
            set(self.seen),
        )

    def kept(self) -> set[Key]:
        """Return the results that went out in full."""
        return {key for key, text in self.decided.items() if text == key.text}

    def followed_keys(self) -> set[Key]:
        """Return the results that a later group follows."""
        groups = groups_of(self.messages)
        return {one.key for group in groups if group.is_followed for one in group.results}

    def release(self, keys: Iterable[Key]) -> None:
        """Promise nothing any more about some results."""
        released = set(keys)
        for key in released:
            self.decided.pop(key, None)
        self.unrecorded -= released
        self.seen -= released
        for entry in self.entries:
            if released & {result.key for result in _results_of(entry.message, 0)}:
                entry.sent = None

    def release_all(self) -> None:
        """Promise nothing any more: the only file that said so has been taken away."""
        self.release(list(self.decided))
        for entry in self.entries:
            entry.sent = None

    def withdrawable(self) -> set[Key]:
        """Return the results that a withdrawal takes back.

        B13: kept, in a group that no later one follows, and not kept by ``mark_seen``. A result
        that stands in an earlier group too is followed by a later one.
        """
        groups = groups_of(self.messages)
        last = {one.key for group in groups if not group.is_followed for one in group.results}
        kept = {key for key in last if self.decided.get(key) == key.text}
        return kept - self.seen - self.followed_keys()


def canonical(value: object) -> str:
    """Give the bytes that a provider would compare, lone surrogates and all, as ASCII."""
    return json.dumps(value, separators=(",", ":"))


def groups_of(messages: Sequence[Message]) -> list[Group]:
    """Group the results as the wire does (B2)."""
    calls = _calls_of(messages)
    message_ids: set[str] = set()
    groups: list[Group] = []
    current: Group | None = None
    for index, message in enumerate(messages):
        if message["role"] == "assistant":
            if message["id"] in message_ids:
                continue
            message_ids.add(message["id"])
            if current is not None:
                current.is_followed = True
            current = None
            continue
        for result in _results_of(message, index):
            if current is None:
                current = Group()
                groups.append(current)
            name = _nearest(calls.get(result.key.tool_use_id, []), index)
            current.results.append(result._replace(tool_name=name))
    return groups


def _results_of(message: Message, index: int) -> list[Result]:
    content = message["content"]
    if message["role"] != "user" or isinstance(content, str):
        return []
    return [
        Result(index, block_index, Key(block["tool_use_id"], text_of(block["content"])), None)
        for block_index, block in enumerate(content)
        if block["type"] == "tool_result" and text_of(block["content"])
    ]


def _calls_of(messages: Sequence[Message]) -> dict[str, list[tuple[int, str]]]:
    calls: dict[str, list[tuple[int, str]]] = {}
    for index, message in enumerate(messages):
        for block in message["content"] if message["role"] == "assistant" else ():
            if block["type"] == "tool_use":
                calls.setdefault(block["id"], []).append((index, block["name"]))
    return calls


def _nearest(calls: Sequence[tuple[int, str]], index: int) -> str | None:
    """Name the tool: by the nearest call before a result, else by the nearest after it (B3)."""
    before = [name for position, name in calls if position < index]
    return before[-1] if before else next((name for _, name in calls), None)


def reformed(block: Block, text: str) -> Block:
    """Return a result with another text in the form that its content had (W3)."""
    content = block["content"]
    if isinstance(content, str):
        return {**block, "content": text}
    new: Block = {"type": "text", "text": text}
    marks = [part["cache_control"] for part in content if "cache_control" in part]
    if marks:
        new["cache_control"] = marks[-1]
    return {**block, "content": [new]}


def has_records(transcript: Path) -> bool:
    """Tell whether a session has a record; a header alone is none (R3)."""
    return any(line["type"] == "content-replacement" for line in _lines(transcript))


def frozen_on_disk(transcript: Path, keys: Iterable[Key]) -> set[Key]:
    """Return those of some results that the records say are kept."""
    found: set[tuple[Any, ...]] = set()
    for line in _lines(transcript):
        found |= set(map(tuple, line.get("frozen", ())))
        found -= set(map(tuple, line.get("withdrawn", ())))
    return {key for key in keys if _entry_of(key) in found}


def _entry_of(key: Key) -> tuple[str, int, str]:
    digest = digest_of(key.text.encode("utf-8", "surrogatepass"))
    return (key.tool_use_id, len(key.text), digest)


def _lines(transcript: Path) -> list[Mapping[str, Any]]:
    """Read the whole lines of a transcript."""
    if not transcript.exists():
        return []
    lines: list[Mapping[str, Any]] = []
    for line in transcript.read_bytes().splitlines():
        try:
            lines.append(json.loads(line))
        except ValueError:
            continue
    return lines
