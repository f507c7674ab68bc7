"""Libraries that rewrite results into shorter ones: headroom and leancontext."""

from __future__ import annotations

import re
from importlib import import_module
from typing import TYPE_CHECKING

from benches.peers.peer import AnthropicMessages, Messages

if TYPE_CHECKING:
    from pathlib import Path

__all__ = ["Headroom", "LeanContext"]


class Headroom(AnthropicMessages):
    """Compresses the whole conversation before each request."""

    distribution = "headroom-ai"
    setting = "`compress(messages, model=…)`, offline: no model weights are fetched"

    def __init__(self, folder: Path) -> None:
        """Import it."""
        super().__init__(folder)
        self.compress = import_module("headroom").compress

    def request(self) -> Messages:
        """Compress all messages."""
        sent: Messages = self.compress(self.history, model="claude-sonnet-4-5-20250929").messages
        return sent

    def full_text(self, call_id: str, seen: str) -> str | None:
        """Ask its store, as its retrieval tool does."""
        del call_id
        found = re.search(r"hash=([0-9a-f]+)", seen)
        if found is None:
            return None
        store = import_module("headroom.cache.compression_store").get_compression_store()
        entry = store.retrieve(found[1])
        return None if entry is None else str(entry.original_content)


class LeanContext(AnthropicMessages):
    """Reduces the results before each request, each text once."""

    distribution = "leancontext"
    setting = "`reduce_messages(messages)`"

    def __init__(self, folder: Path) -> None:
        """Import it, and forget what it kept of earlier conversations."""
        super().__init__(folder)
        self.module = import_module("leancontext")
        self.module.clear_cache()

    def request(self) -> Messages:
        """Reduce all messages."""
        sent: Messages = self.module.reduce_messages(self.history)
        return sent

    def full_text(self, call_id: str, seen: str) -> str | None:
        """Ask its store, as its tool for expanding does."""
        del call_id
        found = re.search(r"lc://([0-9a-f]+)", seen)
        if found is None:
            return None
        text: str | None = import_module("leancontext.paging").expand(found[1])
        return text
