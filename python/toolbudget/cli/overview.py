"""The first look at an input: what has to be known before anything in it is judged."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final

from toolbudget._core.pure.calls import CallBook, read_calls
from toolbudget._core.pure.shape import field as read_field
from toolbudget._core.pure.shape import read_message, text_field
from toolbudget.cli.failure import CommandError
from toolbudget.cli.source import Malformed, Record
from toolbudget.messages.other_formats import is_of_another_format
from toolbudget.storage.records import CONTENT_REPLACEMENT, parse_line

if TYPE_CHECKING:
    from collections.abc import Sequence

    from toolbudget.cli.reading import OnRead
    from toolbudget.cli.source import Source
    from toolbudget.storage.records import ParsedRecord

__all__ = ["Overview", "survey"]

_MAX_LISTED_LINES: Final = 100


@dataclass(slots=True)
class Overview:
    """What the whole input says.

    Attributes:
        records: JSON objects in it.
        session_id: The first id that a record names.
        agent_ids: The agents whose messages are in it; ``None`` is the main one.
        calls: Every call of a tool.
        decisions: Replacements that a program recorded in the input itself.
        malformed: Lines that are no JSON object, the first hundred of them.
        malformed_count: How many there are.
        copies: Structured copies of results (``toolUseResult``), which are never sent.
        copies_chars: Characters of text in those copies.
        other_format_messages: Messages of another wire format with a call or result, which are
            passed on as they are.
    """

    records: int = 0
    session_id: str | None = None
    agent_ids: set[str | None] = field(default_factory=set)
    calls: CallBook = field(default_factory=CallBook)
    decisions: list[ParsedRecord] = field(default_factory=list)
    malformed: list[Malformed] = field(default_factory=list)
    malformed_count: int = 0
    copies: int = 0
    copies_chars: int = 0
    other_format_messages: int = 0

    @property
    def has_messages(self) -> bool:
        """Whether any record is a message."""
        return bool(self.agent_ids)

    @property
    def agent_id(self) -> str | None:
        """Whose transcript it is: a sub-agent's if it holds nothing else."""
        return next(iter(self.agent_ids)) if len(self.agent_ids) == 1 else None

    def add(self, record: Record | Malformed) -> None:
        """Take note of one record or malformed line."""
        if isinstance(record, Malformed):
            self.malformed_count += 1
            if len(self.malformed) < _MAX_LISTED_LINES:
                self.malformed.append(record)
            return
        self.records += 1
        if self.session_id is None:
            self.session_id = text_field(record.value, "sessionId") or None
        if record.value.get("type") == CONTENT_REPLACEMENT:
            if record.line is not None:
                self.decisions += parse_line(record.line).records
            return
        self._add_message(record)

    def _add_message(self, record: Record) -> None:
        self.other_format_messages += is_of_another_format(record.value)
        message = read_message(record.value, record.position)
        if message is None:
            return
        self.agent_ids.add(message.chain.agent_id)
        if message.role == "assistant":
            for tool_use_id, call in read_calls(message, record.position):
                self.calls.add(message.chain, tool_use_id, call)
            return
        copy = read_field(record.value, "toolUseResult")
        if copy is not None:
            self.copies += 1
            self.copies_chars += _count_chars(copy)


def refuse_without_records(name: str, records: int, malformed: Sequence[Malformed]) -> None:
    """Make sure that an input is one: a compressed or binary file has only malformed lines.

    Raises:
        CommandError: It has no line that is a record.
    """
    if records or not malformed:
        return
    line = malformed[0]
    raise CommandError(
        f"{name} has no line that is a JSON object; line {line.position}: {line.problem}"
    )


def survey(source: Source, on_read: OnRead) -> Overview:
    """Look at every record of an input once.

    Raises:
        CommandError: The input cannot be read, or is not of the form it was taken for.
    """
    overview = Overview()
    for record in source.records(on_read):
        overview.add(record)
    return overview


def _count_chars(value: object) -> int:
    """Add up the texts in a JSON value, however deep they are."""
    chars = 0
    waiting = [value]
    while waiting:
        item = waiting.pop()
        if isinstance(item, str):
            chars += len(item)
        elif isinstance(item, Mapping):
            waiting += item.values()
        elif isinstance(item, list):
            waiting += item
    return chars
