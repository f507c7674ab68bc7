"""How stable the cached prefix was in a transcript, by the usage that its responses report."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from toolbudget.tokens._records import UNUSED, read_entry

if TYPE_CHECKING:
    from toolbudget._core.pure.shape import Chain
    from toolbudget.cli.source import Record
    from toolbudget.tokens._records import Entry, Usage

__all__ = ["PrefixReader", "PrefixSums"]


@dataclass(slots=True)
class PrefixSums:
    """How stable the cached prefix was, as far as responses report their usage.

    Attributes:
        requests: Requests that follow another one of their chain, both with a reported usage.
        kept: Those that read at least what the request before had read or written.
        lost_tokens: Tokens that had been in the cache, and that the other ones did not read.
        compactions: How often a history was replaced by a summary; not counted among the requests.
    """

    requests: int = 0
    kept: int = 0
    lost_tokens: int = 0
    compactions: int = 0

    def add(self, before: Usage, now: Usage) -> None:
        """Count a request behind another one."""
        held_tokens = before.cache_read_tokens + before.cache_creation_tokens
        if not held_tokens:
            return
        self.requests += 1
        lost_tokens = held_tokens - now.cache_read_tokens
        self.kept += lost_tokens <= 0
        self.lost_tokens += max(lost_tokens, 0)


@dataclass(slots=True)
class PrefixReader:
    """Follows the responses of each chain of one transcript; a growing record counts once.

    Args:
        sums: Where it is added up.
    """

    sums: PrefixSums
    _chains: dict[Chain, _Chain] = field(default_factory=dict)

    def add(self, record: Record) -> None:
        """Take in the next record."""
        entry = read_entry(record.value, record.position)
        if entry is not None:
            self._chains.setdefault(entry.chain, _Chain()).add(entry, self.sums)

    def finish(self) -> None:
        """Count the last response of each chain."""
        for chain in self._chains.values():
            chain.end(self.sums)


@dataclass(slots=True)
class _Chain:
    """The response that is read, and the last one before it that reported a usage."""

    before: Usage | None = None
    now: Usage = UNUSED
    response_id: str | None = None
    has_response: bool = False

    def add(self, entry: Entry, sums: PrefixSums) -> None:
        if entry.role is None:
            self.end(sums)
            # What follows begins a context of its own.
            self.before, self.has_response = None, False
            sums.compactions += 1
            return
        is_next = entry.response_id is None or entry.response_id != self.response_id
        if entry.role == "assistant" and (is_next or not self.has_response):
            self.end(sums)
            self.response_id, self.has_response = entry.response_id, True
        if self.has_response and any(entry.usage):
            self.now = entry.usage

    def end(self, sums: PrefixSums) -> None:
        """Count the response that is read, if it reported a usage."""
        if not any(self.now):
            return
        if self.before is not None:
            sums.add(self.before, self.now)
        self.before, self.now = self.now, UNUSED
