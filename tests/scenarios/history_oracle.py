"""A session without a memory, and what is known about the outputs of one that has one."""

from __future__ import annotations

import copy
from typing import TYPE_CHECKING, Any

from toolbudget import MemoryStore, Session
from toolbudget.budget.engine import Engine
from toolbudget.budget.journal import Journal
from toolbudget.errors import StoreError

if TYPE_CHECKING:
    from collections.abc import Sequence

    from toolbudget.storage.encoding import Content
    from toolbudget.storage.result import StoredResult

__all__ = ["AtRestStore", "Known", "fresh_engine"]


class AtRestStore(MemoryStore):
    """A store that can be broken, and copied as it is."""

    is_broken = False

    def put(self, tool_use_id: str, content: Content) -> StoredResult:
        """Store a result, or fail."""
        if self.is_broken:
            raise StoreError("broken")
        return super().put(tool_use_id, content)

    def put_many(self, items: Sequence[tuple[str, Content]]) -> list[StoredResult | StoreError]:
        """Store results, or fail."""
        return [StoreError("broken") for _ in items] if self.is_broken else super().put_many(items)

    def as_it_is(self) -> AtRestStore:
        """Give a copy that goes on separately."""
        other = AtRestStore()
        other.contents = dict(self.contents)
        other.is_broken = self.is_broken
        return other


def fresh_engine(session: Session, store: AtRestStore) -> Engine:
    """Give an engine that knows the session's decisions and has never seen a message."""
    engine = session._engine
    journal = Journal(store=store.as_it_is())
    journal.inherit(engine._journal)
    return Engine(journal, engine.policy.copy(), keeps_history=False)


class Known:
    """Outputs by the message that they were made of, unless either was changed in place since."""

    def __init__(self) -> None:
        """Begin before the first output."""
        self._pairs: list[tuple[Any, Any, Any]] = []

    def check(self, messages: list[Any], output: list[Any]) -> None:
        """Check that an unchanged message has the same output as before, and is not changed."""
        known = [message for message, _, _ in self._pairs]
        for message, made, before in self._pairs:
            # Of one that stands or stood in several places there are several outputs.
            places = _places_of(message, messages)
            is_alone = len(places) == len(_places_of(message, known)) == 1
            if is_alone and output[places[0]] == before:
                assert output[places[0]] is made
        pairs = list(zip(messages, output, strict=True))
        changed = [(message, made) for message, made in pairs if message is not made]
        self._pairs = [(message, made, copy.deepcopy(made)) for message, made in changed]

    def outputs_of(self, messages: list[Any]) -> list[tuple[Any, Any]]:
        """Give the messages that were changed, each with its output."""
        return [
            (message, made)
            for message, made, _ in self._pairs
            if any(message is one for one in messages)
        ]

    def forget(self, message: object) -> None:
        """Expect no longer that a message has the same output."""
        self._pairs = [pair for pair in self._pairs if pair[0] is not message]

    def clear(self) -> None:
        """Expect nothing."""
        self._pairs = []


def _places_of(message: object, messages: Sequence[object]) -> list[int]:
    return [place for place, one in enumerate(messages) if one is message]
