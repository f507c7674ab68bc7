"""The filter of the OpenAI Agents SDK, on items of the Responses API."""

from __future__ import annotations

import json
from importlib import import_module
from typing import TYPE_CHECKING

from benches.peers.conversation import MODEL_TOOL
from benches.peers.peer import Messages, Peer

if TYPE_CHECKING:
    from pathlib import Path

    from benches.peers.conversation import Exchange

__all__ = ["OutputTrimmer"]


class OutputTrimmer(Peer):
    """Cuts outputs of all but the newest user turns before each request."""

    distribution = "openai-agents"
    setting = "`ToolOutputTrimmer()`: over 500 characters, keeps 200, not the last 2 user turns"

    def __init__(self, folder: Path) -> None:
        """Make the filter."""
        super().__init__(folder)
        self.types = import_module("agents.run_config")
        self.trim = import_module("agents.extensions").ToolOutputTrimmer()

    def convert(self, exchange: Exchange) -> Messages:
        """Make items; each call and each result is one."""
        calls = [
            {
                "type": "function_call",
                "call_id": call.id,
                "name": MODEL_TOOL,
                "arguments": json.dumps({"command": call.command}),
            }
            for call in exchange.calls
        ]
        outputs = [
            {"type": "function_call_output", "call_id": call.id, "output": call.result}
            for call in exchange.calls
        ]
        return [
            {"role": "assistant", "content": exchange.answer},
            {"role": "user", "content": exchange.prompt},
            *calls,
            *outputs,
        ]

    def request(self) -> Messages:
        """Call the filter as the runner does, with a list of its own."""
        data = self.types.ModelInputData(input=list(self.history), instructions=None)
        call = self.types.CallModelData(model_data=data, agent=None, context=None)
        sent: Messages = self.trim(call).input
        return sent

    def visible(self, sent: Messages) -> dict[str, str]:
        """Read the outputs."""
        return {
            item["call_id"]: item["output"]
            for item in sent
            if item.get("type") == "function_call_output"
        }
