"""How the context of each chain filled up, turn by turn, in one pass over the records."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final, NamedTuple

from toolbudget._core.pure.shape import plain_text, text_field
from toolbudget.cli.source import Malformed, Record
from toolbudget.tokens._content import block_tokens, content_tokens
from toolbudget.tokens._records import MAIN_CHAIN, UNUSED, choose_chain, read_entry
from toolbudget.tokens.meter import ChainMeter

if TYPE_CHECKING:
    from toolbudget._core.pure.shape import Chain
    from toolbudget.cli.reading import OnRead
    from toolbudget.cli.source import Source
    from toolbudget.tokens._records import Entry, Usage

__all__ = ["ChainHistory", "History", "ToolShare", "Turn", "read_history"]

_MAX_LISTED_LINES: Final = 100


@dataclass(slots=True)
class Turn:
    """One response, and what came behind it until the next one.

    Attributes:
        number: From 1 on.
        position: Where its first record stands.
        message_id: Its ``message.id``.
        is_reported: Whether it reported a usage of its own; else ``usage`` is the last one before.
        usage: What the context held when it was complete.
        estimated_tokens: The estimate of what no usage covers when the next request is made.
        is_after_compaction: Whether it is the first one behind a compaction.
        largest_tool: The tool of the largest result behind it, if its call came before.
        largest_id: That call.
        largest_tokens: The estimate of that result.
    """

    number: int
    position: int
    message_id: str | None
    is_after_compaction: bool
    is_reported: bool = False
    usage: Usage = UNUSED
    estimated_tokens: int = 0
    largest_tool: str | None = None
    largest_id: str | None = None
    largest_tokens: int = 0

    @property
    def cached_tokens(self) -> int:
        """Tokens read from the prompt cache."""
        return self.usage.cache_read_tokens

    @property
    def new_tokens(self) -> int:
        """Tokens of the request that the cache did not have."""
        return self.usage.input_tokens + self.usage.cache_creation_tokens

    @property
    def output_tokens(self) -> int:
        """Tokens of the answer."""
        return self.usage.output_tokens

    @property
    def used_tokens(self) -> int:
        """What is in the context when the next request is made."""
        return self.usage.total_tokens + self.estimated_tokens


class ToolShare(NamedTuple):
    """What one tool brought into the context, estimated."""

    tool_name: str | None
    calls: int
    call_tokens: int
    results: int
    result_tokens: int
    largest_result_tokens: int

    @property
    def tokens(self) -> int:
        """Calls and results together."""
        return self.call_tokens + self.result_tokens


@dataclass(slots=True)
class _Results:
    """The results of one call; there may be several by now, or none yet."""

    tool_name: str | None = None
    is_named: bool = False
    results: int = 0
    result_tokens: int = 0
    largest_tokens: int = 0


@dataclass(slots=True)
class ChainHistory:
    """The turns of one chain, and where its tokens come from.

    Attributes:
        turns: In the order of the records.
        meter: The context now.
        compactions: How often the history was replaced by a summary.
        text_tokens: Estimates of what is neither a call nor a result, by role.
    """

    turns: list[Turn] = field(default_factory=list)
    meter: ChainMeter = field(default_factory=ChainMeter)
    compactions: int = 0
    text_tokens: Counter[str] = field(default_factory=Counter)
    _is_compacted: bool = False
    _calls: dict[str | None, _Results] = field(default_factory=dict)
    # Results of calls whose ids were given to other calls later.
    _closed_calls: list[_Results] = field(default_factory=list)
    _call_counts: Counter[str | None] = field(default_factory=Counter)
    _call_tokens: Counter[str | None] = field(default_factory=Counter)

    def add(self, entry: Entry, position: int) -> None:
        """Take in the next record of the chain."""
        if entry.role is None:
            self.meter = ChainMeter()
            self.compactions += 1
            self._is_compacted = True
            return
        if entry.role == "assistant" and self._begins_turn(entry.response_id):
            self._begin(entry, position)
        self.meter.add(entry, self._attribute(entry))
        if not self.turns or self._is_compacted:
            return
        turn = self.turns[-1]
        if any(entry.usage):
            turn.is_reported = True
            turn.usage = entry.usage
        turn.estimated_tokens = self.meter.estimated_tokens

    def largest_tool(self, turn: Turn) -> str | None:
        """Return the tool of a turn's largest result, now that every record has been seen."""
        if turn.largest_tool is not None or not turn.largest_tokens:
            return turn.largest_tool
        return self._calls[turn.largest_id].tool_name

    def tool_shares(self) -> list[ToolShare]:
        """Return what each tool brought, the largest first."""
        by_tool: dict[str | None, _Results] = {}
        for found in (*self._closed_calls, *self._calls.values()):
            share = by_tool.setdefault(found.tool_name, _Results())
            share.results += found.results
            share.result_tokens += found.result_tokens
            share.largest_tokens = max(share.largest_tokens, found.largest_tokens)
        shares = [
            ToolShare(
                name,
                self._call_counts[name],
                self._call_tokens[name],
                share.results,
                share.result_tokens,
                share.largest_tokens,
            )
            for name, share in by_tool.items()
        ]
        return sorted(shares, key=lambda share: (-share.tokens, share.tool_name or ""))

    def _begins_turn(self, response_id: str | None) -> bool:
        if not self.turns or self._is_compacted or response_id is None:
            return True
        return response_id != self.turns[-1].message_id

    def _begin(self, entry: Entry, position: int) -> None:
        turn = Turn(len(self.turns) + 1, position, entry.response_id, self._is_compacted)
        if self.turns and not self._is_compacted:
            turn.usage = self.turns[-1].usage
        self.turns.append(turn)
        self._is_compacted = False

    def _attribute(self, entry: Entry) -> int:
        """Say where the tokens of a content come from, and return how many there are."""
        content = entry.content
        role = "assistant" if entry.role == "assistant" else "user"
        if plain_text(content) is not None or not isinstance(content, (list, tuple)):
            tokens = content_tokens(content)
            self.text_tokens[role] += tokens
            return tokens
        total_tokens = 0
        for block in content:
            tokens = block_tokens(block)
            total_tokens += tokens
            kind = text_field(block, "type")
            if kind == "tool_use":
                self._add_call(text_field(block, "id"), text_field(block, "name"), tokens)
            elif kind == "tool_result":
                self._add_result(text_field(block, "tool_use_id"), tokens)
            else:
                self.text_tokens[role] += tokens
        return total_tokens

    def _add_call(self, tool_use_id: str | None, tool_name: str | None, tokens: int) -> None:
        results = self._calls.setdefault(tool_use_id, _Results())
        if results.is_named and results.tool_name != tool_name:
            # Some servers begin their ids anew: what came so far belongs to the other tool.
            self._closed_calls.append(results)
            results = self._calls[tool_use_id] = _Results()
        results.tool_name, results.is_named = tool_name, True
        self._call_counts[tool_name] += 1
        self._call_tokens[tool_name] += tokens

    def _add_result(self, tool_use_id: str | None, tokens: int) -> None:
        results = self._calls.setdefault(tool_use_id, _Results())
        results.results += 1
        results.result_tokens += tokens
        results.largest_tokens = max(results.largest_tokens, tokens)
        if not self.turns or self._is_compacted:
            return
        turn = self.turns[-1]
        if tokens > turn.largest_tokens:
            turn.largest_tool, turn.largest_id = results.tool_name, tool_use_id
            turn.largest_tokens = tokens


@dataclass(slots=True)
class History:
    """The chains of an input; each has a context of its own.

    Attributes:
        chain: The one that is meant: the main chain, or the last one where there is no main.
        chains: All of them.
        records: JSON objects in the input.
        malformed: Lines that are no JSON object, the first hundred of them.
        malformed_count: How many there are.
    """

    chain: Chain = MAIN_CHAIN
    chains: dict[Chain, ChainHistory] = field(default_factory=dict)
    records: int = 0
    malformed: list[Malformed] = field(default_factory=list)
    malformed_count: int = 0

    @property
    def main(self) -> ChainHistory:
        """The history of the chain that is meant."""
        return self.chains.get(self.chain) or ChainHistory()

    def add(self, record: Record | Malformed) -> None:
        """Take in the next record or malformed line."""
        if isinstance(record, Malformed):
            self.malformed_count += 1
            if len(self.malformed) < _MAX_LISTED_LINES:
                self.malformed.append(record)
            return
        self.records += 1
        entry = read_entry(record.value, record.position)
        if entry is not None:
            self.chains.setdefault(entry.chain, ChainHistory()).add(entry, record.position)
            self.chain = choose_chain(self.chains, entry.chain)


def read_history(source: Source, on_read: OnRead) -> History:
    """Read an input once; what is kept of it are numbers.

    Raises:
        CommandError: The input cannot be read, or is not of the form it was taken for.
    """
    history = History()
    for record in source.records(on_read):
        history.add(record)
    return history
