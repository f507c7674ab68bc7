"""Outlines: what a part of a message list could have to do with the parts before and after it."""

from __future__ import annotations

from bisect import bisect_left
from operator import is_
from typing import TYPE_CHECKING, NamedTuple

from toolbudget._core.pure.calls import read_calls
from toolbudget._core.pure.shape import Chain, check_sequence, read_message, text_field

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from toolbudget._core.pure.shape import Message

__all__ = ["Outline", "begins_with", "outline"]


class Outline(NamedTuple):
    """By what a message list hangs together, and where it could be cut in two.

    Attributes:
        boundary: Index of an assistant message before which it could be cut; 0 if there is none.
        ids: Ids of assistant messages, calls and results, in order of appearance.
        ids_before: How many of ``ids`` stand before the boundary.
        chains: The chains that its messages belong to.
        open_chains: Those whose last group no assistant message before the boundary ends. The one
            at the boundary may end one of these; of the others no message stands behind it.
        first_chain: That of the first message, if it is an assistant message.
    """

    boundary: int
    ids: list[str]
    ids_before: int
    chains: list[Chain]
    open_chains: list[Chain]
    first_chain: Chain | None


def outline(messages: object) -> Outline:
    """Find out where a message list could be cut, and by what ids another list hangs on it.

    Both parts, each looked at by itself, have the groups and calls that they have together, if no
    id of one part occurs in the other, and the second one has messages of no open chain but one
    that its first message, an assistant message, ends.

    Raises:
        InvalidMessageError: ``messages`` cannot be a message list.

    Example:
        >>> turn = [
        ...     {"role": "user", "content": [{"type": "tool_result", "tool_use_id": "t1"}]},
        ...     {"role": "assistant", "id": "m2", "content": []},
        ... ]
        >>> outline(turn)[:3]
        (1, ['t1', 'm2'], 1)
    """
    drawer = _Drawer()
    for index, element in enumerate(check_sequence(messages)):
        message = read_message(element, index)
        if message is not None:
            drawer.draw(message, index)
    return drawer.outline()


def begins_with(messages: list[object], beginning: list[object]) -> bool:
    """Tell whether a list begins with the very objects of another one.

    Example:
        >>> first = {"role": "user"}
        >>> begins_with([first, None], [first]), begins_with([{"role": "user"}], [first])
        (True, False)
    """
    return len(beginning) <= len(messages) and all(map(is_, beginning, messages))


class _Drawer:
    def __init__(self) -> None:
        self._ids: list[str] = []
        self._seen_message_ids: set[tuple[Chain, str]] = set()
        # By chain: the index of its last message. A chain is open from a user message on.
        self._last: dict[Chain, int] = {}
        self._open: set[Chain] = set()
        # By how many chains are open: the last message that could be a boundary, the ids before it,
        # and whose group it ends.
        self._starts: dict[int, tuple[int, int, Chain | None]] = {}
        self._first: Chain | None = None

    def draw(self, message: Message, index: int) -> None:
        """Go on with a message."""
        chain = message.chain
        self._last[chain] = index
        if message.role == "user":
            self._open.add(chain)
            self._ids += _result_ids(message)
            return
        if index == 0:
            self._first = chain
        if message.id is None or (chain, message.id) not in self._seen_message_ids:
            ended = chain if chain in self._open else None
            self._open.discard(chain)
            self._starts[len(self._open)] = (index, len(self._ids), ended)
        if message.id is not None:
            self._seen_message_ids.add((chain, message.id))
            self._ids.append(message.id)
        self._ids += (tool_use_id for tool_use_id, _ in read_calls(message, index))

    def outline(self) -> Outline:
        """Take the last boundary that no open chain goes on behind."""
        ends = sorted(self._last[chain] for chain in self._open)
        boundary, ids_before, ended = 0, 0, None
        for count, (start, ids, chain) in self._starts.items():
            # Open now, and without a message since: these were open there too.
            left = bisect_left(ends, start)
            if start > boundary and left == count:
                boundary, ids_before, ended = start, ids, chain
        last = self._last.items()
        open_chains = [chain for chain, index in last if chain in self._open and index < boundary]
        if ended is not None:
            open_chains.append(ended)
        chains = list(self._last)
        return Outline(boundary, self._ids, ids_before, chains, open_chains, self._first)


def _result_ids(message: Message) -> Iterator[str]:
    content: Sequence[object] = ()
    if isinstance(message.content, (list, tuple)):
        content = message.content
    for block in content:
        if text_field(block, "type") == "tool_result":
            tool_use_id = text_field(block, "tool_use_id")
            if tool_use_id is not None:
                yield tool_use_id
