"""Writing a session as an agent host writes it: one line per content block, as things happen."""

from __future__ import annotations

import json
import string
import uuid
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final, TypeAlias

from examples.nightly.clock import Clock
from examples.nightly.dice import Dice
from examples.nightly.project import FOLDER

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

__all__ = ["Call", "Chain", "Content", "Notebook", "Turn"]

Content: TypeAlias = "str | Sequence[Mapping[str, object]]"

_SESSION_ID: Final = "7b1f0c52-6a3e-4d0b-9c1d-2f4e8a90b3c7"
_ID_ALPHABET: Final = string.ascii_letters + string.digits
_ID_CHARS: Final = 22
_PROMPT_TOKENS: Final = 18_400
_CHARS_PER_TOKEN: Final = 4


class Notebook:
    """The lines of one session file, in the order in which they are written."""

    def __init__(self) -> None:
        self._lines: list[str] = []
        self._clock = Clock("2026-03-14T06:12:07")
        self._dice = Dice("session")

    @property
    def session_id(self) -> str:
        """The id that every record of the session carries."""
        return _SESSION_ID

    def stamp(self) -> str:
        """Give the time of the next record."""
        return self._clock.stamp(self._dice.number(120, 9_000))

    def new_id(self, prefix: str) -> str:
        """Give an id as the API gives them, such as ``toolu_01…``."""
        return prefix + self._dice.text(_ID_CHARS, _ID_ALPHABET)

    def new_uuid(self) -> str:
        """Give the id of a record."""
        return str(uuid.UUID(self._dice.text(32), version=4))

    def draw(self, low: int, high: int) -> int:
        """Give a number that means nothing to the story, such as a count of tokens."""
        return self._dice.number(low, high)

    def write(self, record: Mapping[str, object]) -> None:
        """Write one record."""
        self._lines.append(json.dumps(record, ensure_ascii=False, separators=(",", ":")))

    def tear_last(self) -> None:
        """Leave the last record half written, as a host that was killed does."""
        self._lines[-1] = self._lines[-1][: len(self._lines[-1]) // 2]

    def text(self) -> str:
        """Give the whole file."""
        return "\n".join(self._lines) + "\n"


class Chain:
    """The records of one conversation in the file: the main one's or a sub-agent's."""

    def __init__(self, notebook: Notebook, *, agent_id: str | None = None) -> None:
        self.notebook = notebook
        self._agent = {} if agent_id is None else {"agentId": agent_id}
        self._last_uuid: str | None = None
        self._cached_tokens = 0
        self._new_tokens = _PROMPT_TOKENS

    def ask(self, text: str) -> None:
        """Write what the user typed, or what the sub-agent was told."""
        self.append({"type": "user", "message": {"role": "user", "content": text}})

    def turn(self) -> Turn:
        """Begin an answer of the model."""
        return Turn(self)

    def spend(self) -> dict[str, object]:
        """Give the usage of the next answer: what stood there before is in the cache by then."""
        usage: dict[str, object] = {
            "input_tokens": 4,
            "cache_creation_input_tokens": self._new_tokens,
            "cache_read_input_tokens": self._cached_tokens,
            "output_tokens": self.notebook.draw(40, 900),
            "service_tier": "standard",
        }
        self._cached_tokens += self._new_tokens
        self._new_tokens = 0
        return usage

    def append(
        self,
        record: Mapping[str, object],
        *,
        parent_uuid: str | None = None,
        **more: object,
    ) -> str:
        """Write a record with what all records of the chain share, and give its uuid.

        Its parent is the record before it in the chain, unless ``parent_uuid`` names another.
        """
        own_uuid = self.notebook.new_uuid()
        message = record.get("message")
        self._new_tokens += len(json.dumps(message)) // _CHARS_PER_TOKEN if message else 0
        self.notebook.write(
            {
                "parentUuid": parent_uuid or self._last_uuid,
                "isSidechain": bool(self._agent),
                **self._agent,
                **record,
                "uuid": own_uuid,
                "timestamp": self.notebook.stamp(),
                "userType": "external",
                "entrypoint": "cli",
                "cwd": FOLDER,
                "sessionId": self.notebook.session_id,
                "version": "2.1.0",
                "gitBranch": "main",
                **more,
            }
        )
        self._last_uuid = own_uuid
        return own_uuid


class Turn:
    """One answer of the model: its blocks come one by one, each on a line of its own."""

    def __init__(self, chain: Chain) -> None:
        self._chain = chain
        notebook = chain.notebook
        self._message_id = notebook.new_id("msg_01")
        self._request_id = notebook.new_id("req_01")
        self._block_count = 0
        self._last_uuid: str | None = None
        self._usage = chain.spend()

    def think(self, text: str) -> None:
        """Write a block of thought."""
        signature = self._chain.notebook.new_id("invented-signature-")
        self._write({"type": "thinking", "thinking": text, "signature": signature})

    def say(self, text: str) -> None:
        """Write a block of text."""
        self._write({"type": "text", "text": text})

    def call(self, name: str, /, **arguments: object) -> Call:
        """Write a call of a tool."""
        call_id = self._chain.notebook.new_id("toolu_01")
        block = {"type": "tool_use", "id": call_id, "name": name, "input": arguments}
        return Call(self._chain, call_id, self._write(block))

    def _write(self, block: Mapping[str, object]) -> str:
        message = {
            "model": "example-large-1",
            "id": self._message_id,
            "type": "message",
            "role": "assistant",
            "content": [block],
            "stop_reason": None,
            "stop_sequence": None,
            "usage": self._usage,
        }
        record = {"type": "assistant", "message": message, "requestId": self._request_id}
        # The blocks of an answer hang on each other, whatever results were written in between.
        self._last_uuid = self._chain.append(
            record, parent_uuid=self._last_uuid, apiBlockIndex=self._block_count
        )
        self._block_count += 1
        return self._last_uuid


@dataclass(frozen=True, slots=True)
class Call:
    """One call of a tool, which still has to return."""

    chain: Chain
    id: str
    uuid: str

    def returns(
        self, content: Content, *, is_error: bool | None = None, structured: object = None
    ) -> None:
        """Write the call's result, with the host's structured copy of it if there is one."""
        block: dict[str, object] = {
            "tool_use_id": self.id,
            "type": "tool_result",
            "content": content,
        }
        if is_error is not None:
            block["is_error"] = is_error
        record = {"type": "user", "message": {"role": "user", "content": [block]}}
        more: dict[str, object] = {"sourceToolAssistantUUID": self.uuid}
        if structured is not None:
            more["toolUseResult"] = structured
        self.chain.append(record, parent_uuid=self.uuid, **more)

    def reports(self, **data: object) -> None:
        """Write that the call is under way."""
        record = {"type": "progress", "data": data, "toolUseID": self.id}
        self.chain.append(record, parentToolUseID=self.id)
