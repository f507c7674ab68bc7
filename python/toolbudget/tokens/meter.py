"""How full the context is, record by record: for streams that are never held as a whole."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from toolbudget.tokens._content import content_tokens
from toolbudget.tokens._records import MAIN_CHAIN, choose_chain, read_entry
from toolbudget.tokens.usage import WindowCount

if TYPE_CHECKING:
    from toolbudget._core.pure.shape import Chain
    from toolbudget.tokens._records import Entry

__all__ = ["ContextMeter"]

_EMPTY = WindowCount(0, 0)


@dataclass(slots=True)
class ChainMeter:
    """The context of one chain, of which only counts are kept."""

    reported_tokens: int = 0
    # Behind the anchor of that usage; of everything while there is none.
    estimated_tokens: int = 0
    # The records of one response: from the first one with its id up to now.
    response_id: str | None = None
    response_tokens: int = 0

    @property
    def count(self) -> WindowCount:
        """What is in the context now."""
        return WindowCount(self.reported_tokens, self.estimated_tokens)

    def add(self, entry: Entry, content: int) -> None:
        """Take in the next message, whose content has so many estimated tokens."""
        self.estimated_tokens += content
        self.response_tokens += content
        response_id = entry.response_id
        if response_id is not None and response_id != self.response_id:
            self.response_id, self.response_tokens = response_id, 0
        usage = entry.usage
        if any(usage):
            self.reported_tokens = usage.total_tokens
            self.estimated_tokens = 0 if response_id is None else self.response_tokens


@dataclass(slots=True)
class ContextMeter:
    """Counts as :func:`toolbudget.tokens.token_count_with_estimation` does, one record at a time.

    It holds a few numbers for each chain, and no message. After each record its count is what the
    function gives for all records so far.

    Example:
        >>> from toolbudget.tokens import ContextMeter
        >>> meter = ContextMeter()
        >>> meter.add({"role": "user", "content": "x" * 400})
        >>> usage = {"input_tokens": 130, "output_tokens": 20}
        >>> meter.add({"role": "assistant", "content": "done", "usage": usage})
        >>> meter.count
        WindowCount(reported_tokens=150, estimated_tokens=0)
    """

    _chains: dict[Chain, ChainMeter] = field(default_factory=dict, init=False)
    _last: Chain = field(default=MAIN_CHAIN, init=False)
    _records: int = field(default=0, init=False)

    @property
    def count(self) -> WindowCount:
        """What is in the context after the records so far."""
        meter = self._chains.get(choose_chain(self._chains, self._last))
        return _EMPTY if meter is None else meter.count

    def add(self, record: object) -> None:
        """Take in the next API message, transcript record or SDK object.

        Raises:
            InvalidMessageError: It is neither a mapping nor a message object.
        """
        entry = read_entry(record, self._records)
        self._records += 1
        if entry is None:
            return
        self._last = entry.chain
        if entry.role is None:
            self._chains[entry.chain] = ChainMeter()
            return
        meter = self._chains.setdefault(entry.chain, ChainMeter())
        meter.add(entry, content_tokens(entry.content))
