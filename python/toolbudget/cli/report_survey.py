"""The numbers of ``toolbudget report``: sums over any number of transcripts, in constant memory."""

from __future__ import annotations

import heapq
from bisect import bisect_right
from collections import Counter
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final, NamedTuple

import numpy as np

from toolbudget import _core as core
from toolbudget._core.pure import Standing
from toolbudget.budget.columns import collect
from toolbudget.cli.overview import Overview, refuse_without_records
from toolbudget.cli.report_limits import LimitTable
from toolbudget.cli.report_prefix import PrefixReader, PrefixSums
from toolbudget.cli.source import Record
from toolbudget.cli.window import cut_windows
from toolbudget.limits import BUILT_IN_DECLARED_LIMITS, Limits
from toolbudget.messages.other_formats import is_of_another_format

if TYPE_CHECKING:
    from collections.abc import Mapping

    from toolbudget._core.pure import Candidate
    from toolbudget.budget.columns import CandidateColumns
    from toolbudget.cli.reading import OnRead
    from toolbudget.cli.source import Source
    from toolbudget.cli.window import Window

__all__ = ["Largest", "ReportSums", "ToolSums", "bucket_of"]

# So much text is judged at once: enough for arrays to pay, and little beside a large transcript.
_BATCH_CHARS: Final = 8_000_000
_BATCH_RESULTS: Final = 20_000
_MAX_LARGEST: Final = 20
_EXEMPT: Final = frozenset(name for name in BUILT_IN_DECLARED_LIMITS if Limits().is_exempt(name))


class Largest(NamedTuple):
    """One of the largest results; the order is that of their sizes."""

    chars: int
    path: str
    position: int
    tool_use_id: str
    tool_name: str


@dataclass(slots=True)
class ToolSums:
    """What the results of one tool come to.

    Attributes:
        results: Text results.
        chars: Their characters.
        estimated_tokens: An estimate of their tokens.
        largest_chars: The largest of them.
        sizes: How many have a size in each bucket, see :func:`bucket_of`.
    """

    results: int = 0
    chars: int = 0
    estimated_tokens: int = 0
    largest_chars: int = 0
    sizes: Counter[int] = field(default_factory=Counter)


@dataclass(slots=True)
class ReportSums:
    """Everything that is added up.

    Attributes:
        transcripts: Transcripts that were read.
        input_bytes: Their bytes.
        malformed: Lines that are no JSON object.
        tools: By the name of the tool; ``None`` for results whose call is not there.
        other_format_messages: Messages of another wire format with a call or a result, which
            nothing else here counts.
        skipped: Results that are no text, by reason.
        message_sizes: How many API messages have results of a size in each bucket, summed.
        messages: API messages with text results.
        messages_over: Those over the default limit of a message, counting nothing that is exempt.
        references: Results that stand as references in the transcripts already.
        shown_chars: Characters of all text results, references too, as they stand there.
        limits: What other limits would do.
        prefix: How stable the cached prefix was.
        unreadable: Inputs that could not be read, with the reason.
    """

    transcripts: int = 0
    input_bytes: int = 0
    malformed: int = 0
    other_format_messages: int = 0
    tools: dict[str | None, ToolSums] = field(default_factory=dict)
    skipped: Counter[str] = field(default_factory=Counter)
    message_sizes: Counter[int] = field(default_factory=Counter)
    messages: int = 0
    messages_over: int = 0
    references: int = 0
    shown_chars: int = 0
    limits: LimitTable = field(default_factory=LimitTable)
    prefix: PrefixSums = field(default_factory=PrefixSums)
    unreadable: list[tuple[str, str]] = field(default_factory=list)
    _largest: list[Largest] = field(default_factory=list)

    @property
    def largest(self) -> list[Largest]:
        """The largest results, the largest first."""
        return sorted(self._largest, reverse=True)

    @property
    def results(self) -> int:
        """Text results of all tools."""
        return sum(tool.results for tool in self.tools.values())

    @property
    def chars(self) -> int:
        """Their characters."""
        return sum(tool.chars for tool in self.tools.values())

    @property
    def estimated_tokens(self) -> int:
        """An estimate of their tokens."""
        return sum(tool.estimated_tokens for tool in self.tools.values())

    @property
    def sizes(self) -> Counter[int]:
        """How many results have a size in each bucket."""
        return sum((tool.sizes for tool in self.tools.values()), Counter())

    def tokens_of(self, chars: int) -> int:
        """Return about how many tokens so many characters of these results are."""
        return round(chars * self.estimated_tokens / self.chars) if self.chars else 0

    def add(self, path: str, source: Source, on_read: OnRead) -> None:
        """Take in one transcript; it is read twice, since calls may stand behind their results.

        Raises:
            CommandError: It cannot be read, or is not of the form it was taken for.
        """
        overview, prefix = Overview(), PrefixReader(self.prefix)
        for record in source.records(on_read):
            overview.add(record)
            if isinstance(record, Record):
                prefix.add(record)
                self.other_format_messages += is_of_another_format(record.value)
        refuse_without_records(path, overview.records, overview.malformed)
        prefix.finish()
        self.malformed += overview.malformed_count
        batch = _Batch()
        for window in cut_windows(source.records(on_read), overview.calls):
            batch.add(window)
            if batch.is_full:
                self._add_batch(path, batch)
                batch = _Batch()
        self._add_batch(path, batch)
        self.transcripts += 1

    def _add_batch(self, path: str, batch: _Batch) -> None:
        columns = collect(batch.messages, exempt_tools=_EXEMPT)
        self.skipped.update(columns.skipped)
        self.references += int((columns.decision == Standing.REFERENCE).sum())
        self.shown_chars += int(columns.shown.sum())
        self.limits.add(columns)
        self._add_messages(columns)
        survey = core.collect(batch.messages, _EXEMPT.__contains__)
        for group in survey.groups:
            for candidate in group.candidates:
                chars = candidate.size
                tool = self.tools.setdefault(candidate.tool_name, ToolSums())
                tool.results += 1
                tool.chars += chars
                tool.estimated_tokens += core.estimate_tokens(candidate.parts)
                tool.largest_chars = max(tool.largest_chars, chars)
                tool.sizes[bucket_of(chars)] += 1
                if len(self._largest) < _MAX_LARGEST or chars > self._largest[0].chars:
                    self._note_large(path, batch, candidate)

    def _note_large(self, path: str, batch: _Batch, candidate: Candidate) -> None:
        window, index = batch.window_of(candidate.message_index)
        name = candidate.tool_name or ""
        position = window.position_of(index)
        large = Largest(candidate.size, path, position, candidate.tool_use_id, name)
        if len(self._largest) < _MAX_LARGEST:
            heapq.heappush(self._largest, large)
        else:
            heapq.heappushpop(self._largest, large)

    def _add_messages(self, columns: CandidateColumns) -> None:
        if not len(columns):
            return
        sums = np.zeros(len(columns.is_followed), np.int64)
        np.add.at(sums, columns.group, columns.shown)
        sums = sums[np.unique(columns.group)]
        self.messages += len(sums)
        self.message_sizes.update(bucket_of(int(chars)) for chars in sums)
        limit = Limits().max_message_chars
        self.messages_over += int(columns.what_if([limit]).groups_over[0])


class _Batch:
    """Windows that are judged together; each is a group of its own."""

    def __init__(self) -> None:
        self.messages: list[Mapping[str, object]] = []
        self._windows: list[tuple[int, Window]] = []
        self._chars = 0

    def add(self, window: Window) -> None:
        # The stand-ins of all windows have one id; this begins a group in the same chain.
        separator = {**window.messages[0], "id": f"window-{len(self._windows)}", "content": []}
        self.messages.append(separator)
        self._windows.append((len(self.messages), window))
        self.messages += window.messages
        self._chars += sum(_chars_of(message) for message in window.messages)

    @property
    def is_full(self) -> bool:
        return self._chars > _BATCH_CHARS or len(self.messages) > _BATCH_RESULTS

    def window_of(self, message_index: int) -> tuple[Window, int]:
        """Return the window that a message of the batch is in, and its index there."""
        number = bisect_right(self._windows, message_index, key=lambda found: found[0]) - 1
        start, window = self._windows[number]
        return window, message_index - start


def bucket_of(chars: int) -> int:
    """Return the bucket of a size: sizes below 2 to the bucket's power, and not below half of that.

    Example:
        >>> [bucket_of(chars) for chars in (0, 1, 1023, 1024, 2047)]
        [0, 1, 10, 11, 11]
    """
    return chars.bit_length()


def _chars_of(message: Mapping[str, object]) -> int:
    """Return about how much text a message holds."""
    inner = message.get("message", message)
    content = inner.get("content") if isinstance(inner, dict) else None
    if not isinstance(content, list):
        return 0
    chars = 0
    for block in content:
        text = block.get("content") if isinstance(block, dict) else None
        if isinstance(text, str):
            chars += len(text)
        elif isinstance(text, list):
            chars += sum(len(str(part.get("text", ""))) for part in text if isinstance(part, dict))
    return chars
