"""What is asked of a library, and the wire forms that several of them share."""

from __future__ import annotations

import json
from abc import ABC, abstractmethod
from typing import TYPE_CHECKING, Any, ClassVar

from benches.peers.conversation import MODEL_TOOL

if TYPE_CHECKING:
    from pathlib import Path

    from benches.peers.conversation import Exchange

__all__ = ["AnthropicMessages", "ChatMessages", "Messages", "Peer"]

Messages = list[Any]


class Peer(ABC):
    """One library in one conversation.

    ``add`` and ``request`` are what is measured: they hold all that the library does in a turn and
    nothing that any host would do anyway.
    """

    distribution: ClassVar[str]
    """Its name on PyPI."""
    setting: ClassVar[str]
    """What was called, and with which configuration."""

    def __init__(self, folder: Path) -> None:
        """Begin a conversation; whatever is written goes to the folder."""
        self.folder = folder
        self.history: Messages = []

    @abstractmethod
    def convert(self, exchange: Exchange) -> Messages:
        """Make the messages of an exchange in the library's own types."""

    def add(self, messages: Messages) -> None:
        """Take over an exchange whose tools have run, with what the library does then."""
        self.history += messages

    def request(self) -> Messages:
        """Give what would be sent, with what the library does before every request."""
        return self.history

    @abstractmethod
    def visible(self, sent: Messages) -> dict[str, str]:
        """Give what the model sees of each result, by the id of its call."""

    def wire(self, sent: Messages) -> list[bytes]:
        """Give each message as the bytes that stand for it in a request."""
        return [json.dumps(message).encode() for message in sent]

    def full_text(self, call_id: str, seen: str) -> str | None:
        """Give the whole result by what the model can call or read; ``None`` if it is gone."""
        del call_id, seen
        return None


class AnthropicMessages(Peer):
    """A library that takes messages of the Anthropic API as they are."""

    def convert(self, exchange: Exchange) -> Messages:
        """Put all results into one message."""
        uses = [
            {
                "type": "tool_use",
                "id": call.id,
                "name": MODEL_TOOL,
                "input": {"command": call.command},
            }
            for call in exchange.calls
        ]
        results = [
            {"type": "tool_result", "tool_use_id": call.id, "content": call.result}
            for call in exchange.calls
        ]
        return [
            {"role": "assistant", "content": [{"type": "text", "text": exchange.answer}]},
            {"role": "user", "content": [{"type": "text", "text": exchange.prompt}]},
            {"role": "assistant", "content": uses},
            {"role": "user", "content": results},
        ]

    def visible(self, sent: Messages) -> dict[str, str]:
        """Read the blocks."""
        return {
            block["tool_use_id"]: _text(block["content"])
            for message in sent
            for block in message["content"]
            if block["type"] == "tool_result"
        }


class ChatMessages(Peer):
    """A library that takes messages of OpenAI's chat completions as they are."""

    def convert(self, exchange: Exchange) -> Messages:
        """Put each result into a message of its own."""
        calls = [
            {
                "id": call.id,
                "type": "function",
                "function": {
                    "name": MODEL_TOOL,
                    "arguments": json.dumps({"command": call.command}),
                },
            }
            for call in exchange.calls
        ]
        return [
            {"role": "assistant", "content": exchange.answer},
            {"role": "user", "content": exchange.prompt},
            {"role": "assistant", "content": None, "tool_calls": calls},
            *(
                {"role": "tool", "tool_call_id": call.id, "content": call.result}
                for call in exchange.calls
            ),
        ]

    def visible(self, sent: Messages) -> dict[str, str]:
        """Read the messages of tools."""
        return {
            message["tool_call_id"]: message["content"]
            for message in sent
            if message["role"] == "tool"
        }


def _text(content: str | list[dict[str, str]]) -> str:
    if isinstance(content, str):
        return content
    return "".join(block.get("text", "") for block in content)
