"""The budget of a turn in hermes-agent, on messages of chat completions."""

from __future__ import annotations

import re
from importlib import import_module
from pathlib import Path

from benches.peers.conversation import MODEL_TOOL
from benches.peers.peer import ChatMessages, Messages

__all__ = ["Hermes"]


class Hermes(ChatMessages):
    """Each result by itself, then all of a turn, as its tool executor calls them."""

    distribution = "hermes-agent"
    setting = "`maybe_persist_tool_result`, then `enforce_turn_budget`; `LocalEnvironment()`"

    def __init__(self, folder: Path) -> None:
        """Start the environment that its files are written through."""
        super().__init__(folder)
        self.storage = import_module("tools.tool_result_storage")
        self.environment = import_module("tools.environments.local").LocalEnvironment()

    def add(self, messages: Messages) -> None:
        """Store what is too large when the turn's tools have run."""
        results = [message for message in messages if message["role"] == "tool"]
        for message in results:
            message["content"] = self.storage.maybe_persist_tool_result(
                message["content"], MODEL_TOOL, message["tool_call_id"], env=self.environment
            )
        self.storage.enforce_turn_budget(results, env=self.environment)
        super().add(messages)

    def full_text(self, call_id: str, seen: str) -> str | None:
        """Read the file that the message names."""
        found = re.search(r"Full output saved to: (\S+)", seen)
        if found is None or call_id not in found[1]:
            return None
        return Path(found[1]).read_text("utf-8")
