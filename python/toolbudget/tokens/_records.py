"""What counting needs of the elements of a message list or transcript."""

from __future__ import annotations

import operator
from typing import TYPE_CHECKING, Final, NamedTuple

from toolbudget._core.pure.shape import (
    Chain,
    check_sequence,
    field,
    is_mapping,
    read_message,
    text_field,
)
from toolbudget.messages.other_formats import content_with_other_parts

if TYPE_CHECKING:
    from collections.abc import Container, Iterator, Sequence

__all__ = [
    "MAIN_CHAIN",
    "UNUSED",
    "Entry",
    "Usage",
    "choose_chain",
    "entries_from_the_end",
    "read_entry",
    "read_usage",
]

MAIN_CHAIN: Final = Chain(is_sidechain=False, agent_id=None)


class Usage(NamedTuple):
    """The tokens of one response, as its ``usage`` says; each at least 0."""

    input_tokens: int = 0
    cache_creation_tokens: int = 0
    cache_read_tokens: int = 0
    output_tokens: int = 0

    @property
    def total_tokens(self) -> int:
        """All of them: what the context held when the response was complete."""
        return sum(self)


UNUSED: Final = Usage()


class Entry(NamedTuple):
    """A message, or the mark of a compaction."""

    chain: Chain
    role: str | None
    """``user``, ``assistant``, ``system``, or ``None`` for the mark of a compaction.

    A tool message of another wire format counts as ``system``: it is of neither side.
    """
    content: object = None
    response_id: str | None = None
    """The ``message.id`` of an assistant message; what a host calls its own ones is no such."""
    raw_usage: object = None

    @property
    def usage(self) -> Usage:
        """What it reports; :data:`UNUSED` where there is nothing, or all of it is 0."""
        return UNUSED if self.raw_usage is None else read_usage(self.raw_usage)


def read_usage(usage: object) -> Usage:
    """Read a usage, a mapping or an SDK object; what is no whole number above 0 counts 0."""
    if usage is None:
        return UNUSED
    return Usage(
        _tokens(field(usage, "input_tokens")),
        _tokens(field(usage, "cache_creation_input_tokens")),
        _tokens(field(usage, "cache_read_input_tokens")),
        _tokens(field(usage, "output_tokens")),
    )


def read_entry(element: object, index: int) -> Entry | None:
    """Read one element; ``None`` if it neither is a message nor marks a compaction.

    Raises:
        InvalidMessageError: The element is neither a mapping nor a message object.
    """
    entry = _read_quickly(element) if type(element) is dict else None
    if entry is not None:
        return entry
    message = read_message(element, index)
    if message is None:
        return _read_other(element)
    content = content_with_other_parts(element, message.content)
    if message.role != "assistant":
        return Entry(message.chain, message.role, content)
    usage = field(field(element, "message"), "usage") or field(element, "usage")
    return Entry(message.chain, message.role, content, message.id, usage)


def entries_from_the_end(messages: Sequence[object]) -> Iterator[Entry]:
    """Yield the messages in one chain's context, the last one first.

    The context reaches back to the last compaction. Only what is asked for is read.

    Raises:
        InvalidMessageError: It is no sequence of messages.
    """
    elements = check_sequence(messages)
    for index, element in enumerate(elements):
        if type(element) is not dict:  # a dict can be read at least as a record without a message
            read_entry(element, index)
    chain = choose_chain(*_chains_from_the_end(elements))
    for entry in _backwards(elements):
        if entry.chain != chain:
            continue
        if entry.role is None:
            return
        yield entry


def choose_chain(chains: Container[Chain], last: Chain | None) -> Chain:
    """Choose whose context is meant: the main chain's, or the last one's where there is no main."""
    return MAIN_CHAIN if last is None or MAIN_CHAIN in chains else last


def _chains_from_the_end(elements: Sequence[object]) -> tuple[set[Chain], Chain | None]:
    """Collect chains until the main one is met; the last chain of all comes along."""
    chains: set[Chain] = set()
    last = None
    for entry in _backwards(elements):
        last = last or entry.chain
        chains.add(entry.chain)
        if entry.chain == MAIN_CHAIN:
            break
    return chains, last


def _backwards(elements: Sequence[object]) -> Iterator[Entry]:
    for index in range(len(elements) - 1, -1, -1):
        entry = read_entry(elements[index], index)
        if entry is not None:
            yield entry


def _read_quickly(record: dict[str, object]) -> Entry | None:
    """Read what nearly every record is, as ``read_message`` would; ``None`` if it is not that."""
    inner = record.get("message")
    if type(inner) is not dict or record.get("isSidechain") is True or "agentId" in record:
        return None
    role, kind = inner.get("role"), record.get("type")
    if type(role) is not str or type(kind) is not str or role != kind:
        return None
    if role == "user":
        return Entry(MAIN_CHAIN, "user", inner.get("content"))
    response_id = inner.get("id")
    if role != "assistant" or (response_id is not None and type(response_id) is not str):
        return None
    usage = inner.get("usage") or record.get("usage")
    return Entry(MAIN_CHAIN, role, inner.get("content"), response_id or None, usage)


def _read_other(element: object) -> Entry | None:
    if text_field(element, "role") == "system":  # in the list of a request it may stand in between
        return Entry(MAIN_CHAIN, "system", field(element, "content"))
    content = content_with_other_parts(element, None)
    if content is not None:
        return Entry(MAIN_CHAIN, "system", content)
    if text_field(element, "subtype") != "compact_boundary" or not is_mapping(element):
        return None
    is_sidechain = field(element, "isSidechain") is True
    return Entry(Chain(is_sidechain, text_field(element, "agentId")), None)


def _tokens(value: object) -> int:
    if type(value) is int:
        return max(value, 0)
    if value is None or isinstance(value, bool):
        return 0
    if isinstance(value, float):  # some JSON readers give every number so
        return int(value) if value > 0 and value.is_integer() else 0
    try:
        return max(operator.index(value), 0)  # type: ignore[arg-type]
    except TypeError:
        return 0
