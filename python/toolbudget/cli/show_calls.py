"""The calls that a session's transcript holds: which tool, and in which turn."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, NamedTuple

from toolbudget._core.pure.shape import text_field
from toolbudget.errors import TranscriptError
from toolbudget.storage._files import POSIX
from toolbudget.storage._session_files import entries_of
from toolbudget.storage.json_lines import decode_json
from toolbudget.storage.log_file import LogFile
from toolbudget.tokens._records import read_entry

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

    from toolbudget._core.pure.shape import Chain
    from toolbudget.storage._session_files import SessionPlace

__all__ = ["ToolCall", "calls_of"]

_MESSAGE_ROLES: Final = frozenset({"transcript", "agent", "output"})
_ASSISTANT: Final = b'"assistant"'


class ToolCall(NamedTuple):
    """One call.

    Attributes:
        tool: The name of the tool; ``None`` if the call has none.
        turn: The response of its conversation that it is in, from 1 on.
    """

    tool: str | None
    turn: int


def calls_of(
    place: SessionPlace, on_failure: Callable[[Path, Exception], object]
) -> dict[str, ToolCall]:
    """Return the calls of a session by id, as far as its transcripts hold messages.

    That may be the transcript, those of sub-agents, or what ``apply`` has made.
    """
    calls: dict[str, ToolCall] = {}
    for located in entries_of(place, POSIX, on_failure):
        if located.role in _MESSAGE_ROLES and located.is_in_place:
            try:
                for tool_use_id, call in _calls_in(located.path, place):
                    calls.setdefault(tool_use_id, call)
            except (TranscriptError, OSError) as error:
                on_failure(located.path, error)
    return calls


def _calls_in(path: Path, place: SessionPlace) -> Iterator[tuple[str, ToolCall]]:
    log_file = LogFile(path, anchor=place.root, durability="process", files=POSIX)
    turns: dict[Chain, tuple[int, str | None]] = {}
    with log_file.reading() as handle:
        if handle is None:
            return
        for number, line in enumerate(log_file.lines(handle), 1):
            if line.data is None or _ASSISTANT not in line.data:
                continue
            try:
                entry = read_entry(decode_json(line.data), number)
            except ValueError:
                continue  # the doctor tells of damaged lines
            if entry is None or entry.role != "assistant":
                continue
            turn, response_id = turns.get(entry.chain, (0, None))
            if entry.response_id is None or entry.response_id != response_id:
                turn += 1
            turns[entry.chain] = turn, entry.response_id
            for block in entry.content if isinstance(entry.content, list) else ():
                tool_use_id = text_field(block, "id")
                if text_field(block, "type") == "tool_use" and tool_use_id is not None:
                    yield tool_use_id, ToolCall(text_field(block, "name"), turn)
