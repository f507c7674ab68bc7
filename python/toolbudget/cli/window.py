"""Windows: the messages of one group at a time, cut out of an input of any length.

What a result is depends on the whole input only by its call. A window therefore holds, before each
message with results, a stand-in for their calls; in every other respect it is what the budget would
see of the group in the full list.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final, NamedTuple

from toolbudget._core.pure.group import Grouper
from toolbudget._core.pure.shape import read_message, text_field
from toolbudget.cli.source import Record

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

    from toolbudget._core.pure.calls import Call, CallBook
    from toolbudget._core.pure.json import Path
    from toolbudget._core.pure.shape import Chain, Message
    from toolbudget.cli.source import Malformed, Place

__all__ = ["Window", "block_at", "cut_windows"]

# One id for all stand-ins of a window: only the first begins a group.
_STAND_IN_ID: Final = "stand-in"
_CODE_CALLER: Final = {"type": "code_execution"}


class _Held(NamedTuple):
    position: int
    place: Place
    calls: Mapping[str, Call]


@dataclass(slots=True)
class Window:
    """The user messages with results of one group, each behind a stand-in for its calls."""

    messages: list[Mapping[str, object]] = field(default_factory=list)
    _held: list[_Held] = field(default_factory=list)

    def add(self, record: Record, message: Message, calls: CallBook) -> None:
        """Take in one more user message."""
        found: dict[str, Call] = {}
        for tool_use_id in _result_ids(message):
            call = calls.nearest(message.chain, tool_use_id, record.position)
            if call is not None:
                found[tool_use_id] = call
        self._held.append(_Held(record.position, record.place, found))
        self.messages += (_stand_in(message.chain, found), record.value)

    def position_of(self, message_index: int) -> int:
        """Return the position in the input of a message in the window."""
        return self._held[message_index // 2].position

    def place_of(self, message_index: int, block_index: int) -> Place:
        """Return where in the input the content of a block stands."""
        place = self._held[message_index // 2].place
        within: Path = ("content", block_index, "content")
        if _is_wrapped(self.messages[message_index]):
            within = ("message", *within)
        return place._replace(path=place.path + within)

    def caller_of(self, message_index: int, tool_use_id: str) -> Mapping[str, object] | None:
        """Return the ``caller`` to judge a result by: running code, or the model."""
        call = self._held[message_index // 2].calls.get(tool_use_id)
        return _CODE_CALLER if call is not None and call.is_for_code else None


def cut_windows(records: Iterable[Record | Malformed], calls: CallBook) -> Iterator[Window]:
    """Yield each group's window as soon as the group is complete."""
    grouper = Grouper()
    open_windows: dict[Chain, Window] = {}
    for record in records:
        if not isinstance(record, Record):
            continue
        message = read_message(record.value, record.position)
        if message is None:
            continue
        if message.role == "assistant":
            if grouper.starts_group(message) is not None:
                yield open_windows.pop(message.chain)
        elif any(True for _ in _results(message)):
            grouper.group_of(message)
            open_windows.setdefault(message.chain, Window()).add(record, message, calls)
    yield from open_windows.values()


def block_at(message: Mapping[str, object], block_index: int) -> Mapping[str, object]:
    """Return one block of a message that a window holds."""
    inner = message["message"] if _is_wrapped(message) else message
    block: Mapping[str, object] = inner["content"][block_index]  # type: ignore[index]
    return block


def _is_wrapped(message: Mapping[str, object]) -> bool:
    return isinstance(message.get("message"), dict)


def _results(message: Message) -> Iterator[object]:
    if isinstance(message.content, list):
        yield from (
            block for block in message.content if text_field(block, "type") == "tool_result"
        )


def _result_ids(message: Message) -> Iterator[str]:
    for block in _results(message):
        tool_use_id = text_field(block, "tool_use_id")
        if tool_use_id is not None:
            yield tool_use_id


def _stand_in(chain: Chain, calls: Mapping[str, Call]) -> dict[str, object]:
    return {
        "role": "assistant",
        "id": _STAND_IN_ID,
        "isSidechain": chain.is_sidechain,
        "agentId": chain.agent_id,
        "content": [
            {
                "type": "tool_use",
                "id": tool_use_id,
                "name": call.tool_name,
                "caller": _CODE_CALLER if call.is_for_code else None,
            }
            for tool_use_id, call in calls.items()
        ],
    }
