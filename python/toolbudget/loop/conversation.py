"""The loop's history: records in the order that requests have, written down as they come."""

from __future__ import annotations

import logging
import uuid
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, Final, TypeAlias

from toolbudget._core.pure.shape import field, read_message, text_field
from toolbudget._mutex import Mutex
from toolbudget.errors import ConfigError, InvalidMessageError, TranscriptError
from toolbudget.messages.create import create_assistant_message, create_user_message
from toolbudget.messages.plain import clone, shown
from toolbudget.storage.records import encode_record

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from toolbudget.budget.session import Session
    from toolbudget.loop.model import ModelResponse

__all__ = ["Conversation", "Record"]

Record: TypeAlias = dict[str, Any]
Block: TypeAlias = dict[str, Any]

# What a file that several conversations share tells them apart by.
_MARKS: Final = frozenset({"sessionId", "isSidechain", "agentId"})

_logger: Final = logging.getLogger("toolbudget")


class Conversation:
    """Messages as records, in memory and in the session's transcript.

    Results of parallel calls stand in the order of the calls, whichever came first, so that a
    resumed conversation is the same request byte for byte. What comes in and what goes out to tools
    is copied: a tool that changes its input must not change what the model has said. Safe to use
    from many threads.
    """

    def __init__(
        self,
        session: Session | None,
        beginning: Sequence[object],
        on_failure: Callable[[Exception], object],
    ) -> None:
        """Begin without messages; :meth:`load` reads the transcript.

        Args:
            session: Whose transcript the messages go to; without one they are only in memory.
            beginning: Messages that a conversation without any begins with.
            on_failure: Told when messages could not be written.
        """
        self._session = session
        self._beginning = tuple(beginning)
        self._on_failure = on_failure
        self._lock = Mutex()
        self._records: list[Record] = []
        self._unsaved: list[Record] = []
        self._is_loaded = False
        self._response_ids: set[str] = set()
        # Of the last response: its calls in order, the record of each, and which have no result.
        self._turn_start = 0
        self._calls: dict[str, Block] = {}
        self._call_uuids: dict[str, str | None] = {}
        self._open: set[str] = set()

    @property
    def records(self) -> list[Record]:
        """All messages so far; the list is the caller's own."""
        with self._lock:
            return list(self._records)

    @property
    def open_calls(self) -> list[Block]:
        """Calls of the last response without a result, in order; copies, since tools get them."""
        with self._lock:
            return [clone(call) for name, call in self._calls.items() if name in self._open]

    def load(self) -> None:
        """Read the transcript, once.

        Raises:
            ConfigError: It holds messages, and there is a beginning too.
            TranscriptError: It cannot be read.
        """
        with self._lock:
            if self._is_loaded:
                return
            found = self._recorded()
            if found and self._beginning:
                problem = "messages (argument) are for a session without any, and it has"
                raise ConfigError(f"{problem}: {len(found)}")
            self._is_loaded = True
            for record in found:
                self._place(record)
            for index, message in enumerate(self._beginning):
                self._add(self._adopted(message, index))

    def say(
        self, content: str | Sequence[object], *, is_meta: bool | None = None, origin: object = None
    ) -> None:
        """Add a user's message, or one of the host's own that only the model sees."""
        self._add(create_user_message(clone(content), is_meta=is_meta, origin=origin))

    def respond(self, response: ModelResponse) -> Mapping[str, Any]:
        """Add a response; give its message."""
        record: Record = dict(
            create_assistant_message(clone(response.content), usage=response.usage)
        )
        message: dict[str, Any] = record["message"]
        message["model"] = response.model or message["model"]
        message["stop_reason"] = response.stop_reason
        message["stop_sequence"] = None
        # Some servers give every response the same id, and one id is one message.
        if response.id and response.id not in self._response_ids:
            message["id"] = response.id
        self._add(record)
        return message

    def answer(self, block: Mapping[str, Any]) -> bool:
        """Add the result of an open call; tell whether it was the first one for this call."""
        with self._lock:
            tool_use_id = block["tool_use_id"]
            if tool_use_id not in self._open:
                return False
            self._add(
                create_user_message(
                    [clone(block)], source_tool_assistant_uuid=self._call_uuids[tool_use_id]
                )
            )
            return True

    def _recorded(self) -> list[Record]:
        transcript = None if self._session is None else self._session.transcript
        if transcript is None or self._session is None:
            return []
        session_id, agent_id = self._session.session_id, self._session.agent_id
        return [
            _plain(record)
            for record in transcript.messages()
            if record.get("agentId") == agent_id and record.get("sessionId") in (None, session_id)
        ]

    def _adopted(self, message: object, index: int) -> Record:
        """Make a record of this conversation from a message of another one."""
        read = read_message(message, index)
        if read is None:
            raise InvalidMessageError(
                f"message {index} is not a user's or a model's: {shown(message)}"
            )
        record: Record = clone(message)
        if not isinstance(record.get("message"), Mapping):
            record = {"type": read.role, "message": record}
        record.setdefault("uuid", str(uuid.uuid4()))
        return _plain(record)

    def _add(self, made: Mapping[str, Any]) -> None:
        """Take a message up and write it down; a failure leaves it for the next writing."""
        with self._lock:
            parent_uuid = self._records[-1].get("uuid") if self._records else None
            record = {**made, "parentUuid": parent_uuid}
            self._place(record)
            if self._session is None:
                return
            self._unsaved.append(_marked(record, self._session))
            self._save(self._session)

    def _save(self, session: Session) -> None:
        """Write down what is not written yet, as far as that is possible now."""
        while self._unsaved:
            try:
                transcript = session.transcript
                if transcript is not None:
                    transcript.append(self._unsaved[0])
            except TranscriptError as error:
                _logger.warning("%d messages are not recorded: %s", len(self._unsaved), error)
                self._on_failure(error)
                if _can_be_written(self._unsaved[0]):
                    return
                # It never will be; what comes behind it must not wait for that.
            del self._unsaved[0]

    def _place(self, record: Record) -> None:
        """Put a record where requests have it."""
        message = record["message"]
        if record["type"] == "assistant":
            self._begin_answer(record, text_field(message, "id"))
            self._records.append(record)
            return
        self._records.append(record)
        names = [name for name in _result_ids(message) if name in self._calls]
        if names:
            self._open.difference_update(names)
            tail = self._records[self._turn_start :]
            self._records[self._turn_start :] = sorted(tail, key=self._rank)

    def _begin_answer(self, record: Record, response_id: str | None) -> None:
        is_same = bool(self._records) and self._records[-1]["type"] == "assistant"
        if response_id is not None:
            is_same = is_same or response_id in self._response_ids
            self._response_ids.add(response_id)
        if not is_same:
            self._turn_start = len(self._records)
            self._calls, self._call_uuids, self._open = {}, {}, set()
        for block in _blocks(record["message"]):
            name = text_field(block, "id")
            if text_field(block, "type") == "tool_use" and name is not None:
                self._calls.setdefault(name, block)
                self._call_uuids.setdefault(name, text_field(record, "uuid"))
                self._open.add(name)

    def _rank(self, record: Record) -> tuple[int, int]:
        """Order the records of a turn: the response, the results as they were called, the rest."""
        if record["type"] == "assistant":
            return (0, 0)
        order = {name: index for index, name in enumerate(self._calls)}
        ranks = [order[name] for name in _result_ids(record["message"]) if name in order]
        return (1, min(ranks)) if ranks else (2, 0)


def _marked(record: Record, session: Session) -> Record:
    """Name the conversation, in the file only: in memory there is no other one."""
    marks: Record = {"sessionId": session.session_id}
    if session.agent_id is not None:
        marks |= {"isSidechain": True, "agentId": session.agent_id}
    return {**record, **marks}


def _can_be_written(record: Record) -> bool:
    try:
        encode_record(record)
    except TranscriptError:
        return False
    return True


def _plain(record: Mapping[str, Any]) -> Record:
    """Give a record as one of a conversation that holds no other one."""
    return {key: value for key, value in record.items() if key not in _MARKS}


def _blocks(message: object) -> Sequence[Block]:
    content = field(message, "content")
    return content if isinstance(content, list) else []


def _result_ids(message: object) -> list[str]:
    return [
        name
        for block in _blocks(message)
        if text_field(block, "type") == "tool_result"
        and (name := text_field(block, "tool_use_id")) is not None
    ]
