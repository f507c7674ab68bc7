"""What was enforced last, for the host to take back if the provider refuses it."""

from __future__ import annotations

from itertools import islice
from typing import TYPE_CHECKING

from toolbudget import _core as core
from toolbudget._core import pure
from toolbudget._core.pure import Key

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

    from toolbudget._core.pure import Candidate
    from toolbudget._core.pure.group import Group
    from toolbudget.budget.journal import Journal

__all__ = ["LastEnforced"]


class LastEnforced:
    """The messages of the last enforcement: as they are, or in the body that holds them."""

    __slots__ = ("_beginning", "_body", "_count", "_keys", "_rest")

    def __init__(self) -> None:
        """Begin before the first enforcement."""
        self.set_messages((), ())

    def set_messages(self, beginning: Sequence[object], rest: Sequence[object]) -> None:
        """Remember a list: what a beginning holds now, which may grow later, and the rest."""
        self._beginning, self._count, self._rest = beginning, len(beginning), rest
        self._keys: list[Key] | None = None
        self._body: bytes | None = None

    def set_body(self, body: bytes) -> None:
        """Remember a body."""
        self.set_messages((), ())
        self._body = body

    def settle(self, journal: Journal, is_exempt_tool: Callable[[str], bool]) -> None:
        """Remember instead what could be taken back, so that nothing else is kept alive.

        Raises:
            InvalidMessageError: The host has made something else of a message.
        """
        try:
            keys = self.keys(journal, is_exempt_tool)
        finally:
            self.set_messages((), ())
        self._keys = keys

    def keys(self, journal: Journal, is_exempt_tool: Callable[[str], bool]) -> list[Key]:
        """Return the results that no later group follows.

        Raises:
            InvalidMessageError: The host has made something else of a message.
        """
        if self._keys is not None:
            return self._keys
        messages: Sequence[object] = [*islice(self._beginning, self._count), *self._rest]
        if self._body is not None:
            messages = pure.scan_json(self._body).messages
        groups = core.collect(messages, is_exempt_tool).groups
        last = [_key(one, journal) for one in _candidates(groups, is_followed=False)]
        # The same result may stand in an earlier group too, and the model has seen that one.
        ids = {key.tool_use_id for key in last}
        seen = {
            _key(one, journal)
            for one in _candidates(groups, is_followed=True)
            if one.tool_use_id in ids
        }
        return [key for key in last if key not in seen]


def _candidates(groups: Iterable[Group], *, is_followed: bool) -> Iterable[Candidate]:
    for group in groups:
        if group.is_followed == is_followed:
            yield from group.candidates


def _key(candidate: Candidate, journal: Journal) -> Key:
    return Key(candidate.tool_use_id, journal.fingerprint(candidate.parts))
