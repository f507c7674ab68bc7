"""Middleware of LangChain and of deepagents, on LangChain's message types."""

from __future__ import annotations

import json
import re
from importlib import import_module
from typing import TYPE_CHECKING, Any

from benches.peers.conversation import MODEL_TOOL
from benches.peers.peer import Messages, Peer

if TYPE_CHECKING:
    from pathlib import Path

    from benches.peers.conversation import Exchange

__all__ = ["ContextEditing", "DeepAgents"]


class _LangChain(Peer):
    """Messages of LangChain; the middleware is called as the agent's loop calls it."""

    def __init__(self, folder: Path) -> None:
        """Import what the conversation is made of."""
        super().__init__(folder)
        self.types = import_module("langchain_core.messages")
        self.middleware_types = import_module("langchain.agents.middleware.types")
        self.middleware: Any = None

    def convert(self, exchange: Exchange) -> Messages:
        """Put each result into a message of its own."""
        calls = [
            {"name": MODEL_TOOL, "args": {"command": call.command}, "id": call.id}
            for call in exchange.calls
        ]
        return [
            self.types.AIMessage(exchange.answer),
            self.types.HumanMessage(exchange.prompt),
            self.types.AIMessage("", tool_calls=calls),
            *(
                self.types.ToolMessage(call.result, tool_call_id=call.id, name=MODEL_TOOL)
                for call in exchange.calls
            ),
        ]

    def request(self) -> Messages:
        """Let the middleware wrap a model call that only keeps what it is given."""
        sent: Messages = []

        def handler(request: Any) -> Any:  # noqa: ANN401 - the peer has no types here
            sent.extend(request.messages)
            return self.types.AIMessage("done")

        request = self.middleware_types.ModelRequest(
            model=None, messages=self.history, tools=[], state={"messages": self.history}
        )
        self.middleware.wrap_model_call(request, handler)
        return sent

    def visible(self, sent: Messages) -> dict[str, str]:
        """Read the messages of tools."""
        return {
            message.tool_call_id: message.text
            for message in sent
            if isinstance(message, self.types.ToolMessage)
        }

    def wire(self, sent: Messages) -> list[bytes]:
        """Give what a provider's package makes its request of."""
        kept = ("type", "content", "tool_calls", "tool_call_id")
        return [
            json.dumps({key: getattr(message, key, None) for key in kept}).encode()
            for message in sent
        ]


class ContextEditing(_LangChain):
    """Clears the oldest results before each request."""

    distribution = "langchain"
    setting = "`ContextEditingMiddleware()`: `ClearToolUsesEdit` from 100,000 tokens, keeps 3"

    def __init__(self, folder: Path) -> None:
        """Make the middleware."""
        super().__init__(folder)
        self.middleware = import_module("langchain.agents.middleware").ContextEditingMiddleware()


class DeepAgents(_LangChain):
    """Moves a large result into a file as soon as its tool has run."""

    distribution = "deepagents"
    setting = "`FilesystemMiddleware(backend=FilesystemBackend(folder))`: from 20,000 tokens each"

    def __init__(self, folder: Path) -> None:
        """Make the middleware with files on the disk."""
        super().__init__(folder)
        backend = import_module("deepagents.backends").FilesystemBackend(root_dir=folder)
        filesystem = import_module("deepagents.middleware.filesystem")
        self.middleware = filesystem.FilesystemMiddleware(backend=backend)

    def add(self, messages: Messages) -> None:
        """Let the middleware wrap each call of a tool."""
        wrapped = [
            self._wrapped(message) if isinstance(message, self.types.ToolMessage) else message
            for message in messages
        ]
        super().add(wrapped)

    def _wrapped(self, message: Any) -> Any:  # noqa: ANN401 - a message of the peer
        call = {"name": MODEL_TOOL, "args": {}, "id": message.tool_call_id, "type": "tool_call"}
        request = self.middleware_types.ToolCallRequest(
            tool_call=call, tool=None, state={}, runtime=None
        )
        return self.middleware.wrap_tool_call(request, lambda _request: message)

    def full_text(self, call_id: str, seen: str) -> str | None:
        """Read the file that the message names."""
        found = re.search(r"at this path: /(\S+)", seen)
        if found is None or call_id not in found[1]:
            return None
        return (self.folder / found[1]).read_text("utf-8")
