"""Grouping by what the API sees as one user message, not by the list's own elements."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from toolbudget._core.pure.candidate import Candidate
    from toolbudget._core.pure.shape import Chain, Message

__all__ = ["Group", "Grouper"]


@dataclass(slots=True)
class Group:
    """All text results of one API user message, in order of appearance."""

    candidates: list[Candidate] = field(default_factory=list)
    is_followed: bool = False  # an assistant message that starts a later group of its chain follows


@dataclass(slots=True)
class _ChainState:
    seen_message_ids: set[str] = field(default_factory=set)
    open_group: Group | None = None


class Grouper:
    """Assigns messages to groups, in one pass over a list or a stream.

    Only an assistant message whose id is new in its chain ends a group: a streamed answer comes as
    several assistant records of one id, with user messages in between.
    """

    __slots__ = ("_chains",)

    def __init__(self) -> None:
        """Start before the first message."""
        self._chains: dict[Chain, _ChainState] = {}

    def starts_group(self, message: Message) -> Group | None:
        """Take note of an assistant message; return the group that it ends, if it ends one."""
        state = self._chains.setdefault(message.chain, _ChainState())
        if message.id is not None:
            if message.id in state.seen_message_ids:
                return None
            state.seen_message_ids.add(message.id)
        ended, state.open_group = state.open_group, None
        if ended is not None:
            ended.is_followed = True
        return ended

    def group_of(self, message: Message) -> tuple[Group, bool]:
        """Return the group that a user message belongs to, and whether it is a new one."""
        state = self._chains.setdefault(message.chain, _ChainState())
        if state.open_group is not None:
            return state.open_group, False
        state.open_group = Group()
        return state.open_group, True
