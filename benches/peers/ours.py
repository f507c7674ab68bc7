"""This library in the same conversation."""

from __future__ import annotations

from typing import TYPE_CHECKING

from benches.peers.conversation import MODEL_TOOL
from benches.peers.peer import AnthropicMessages
from toolbudget import Session

if TYPE_CHECKING:
    from pathlib import Path

    from benches.peers.peer import Messages
    from toolbudget.storage._files import Durability

__all__ = ["Toolbudget", "ToolbudgetUnsynced"]


class Toolbudget(AnthropicMessages):
    """Each result through ``gate``, each request through ``enforce``."""

    distribution = "toolbudget"
    setting = "`Session.open(root, id)`: `gate`, then `enforce`; everything synced to the disk"
    durability: Durability = "full"

    def __init__(self, folder: Path) -> None:
        """Open a session."""
        super().__init__(folder)
        self.session = Session.open(folder, "conversation", durability=self.durability)

    def add(self, messages: Messages) -> None:
        """Check each result by itself."""
        for block in messages[-1]["content"]:
            self.session.gate(block, tool_name=MODEL_TOOL)
        super().add(messages)

    def request(self) -> Messages:
        """Apply the limit of all results of a message."""
        return self.session.enforce(self.history)

    def full_text(self, call_id: str, seen: str) -> str | None:
        """Read the file that the preview names."""
        path = self.session.result_path(call_id)
        return None if path is None or str(path) not in seen else path.read_text("utf-8")


class ToolbudgetUnsynced(Toolbudget):
    """The same at the level that survives a killed process, as the other libraries write."""

    setting = '`Session.open(root, id, durability="process")`: the same, not synced'
    durability: Durability = "process"
