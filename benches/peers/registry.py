"""The libraries that are measured, and the environment that each of them runs in."""

from __future__ import annotations

from typing import Final, NamedTuple

__all__ = ["PEERS", "Place"]


class Place(NamedTuple):
    """Where a library's part is, and the dependency group that it needs."""

    module: str
    group: str


# hermes-agent pins versions that the others cannot have.
PEERS: Final = {
    "Toolbudget": Place("benches.peers.ours", "bench-peers"),
    "ToolbudgetUnsynced": Place("benches.peers.ours", "bench-peers"),
    "ContextEditing": Place("benches.peers.langchain", "bench-peers"),
    "DeepAgents": Place("benches.peers.langchain", "bench-peers"),
    "OutputTrimmer": Place("benches.peers.openai_agents", "bench-peers"),
    "Hermes": Place("benches.peers.hermes", "bench-peers-hermes"),
    "Headroom": Place("benches.peers.compressors", "bench-peers"),
    "LeanContext": Place("benches.peers.compressors", "bench-peers"),
}
