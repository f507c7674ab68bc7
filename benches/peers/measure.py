"""Measures one library in the conversation, beside this one in turn.

    python -m benches.peers.measure ContextEditing

Prints the outcome as JSON; the child's side of ``python -m benches.peers``.
"""

from __future__ import annotations

import gc
import json
import os
import sys
import tempfile
import time
from dataclasses import asdict, dataclass, field
from importlib import import_module
from importlib.metadata import version
from itertools import pairwise
from pathlib import Path
from typing import TYPE_CHECKING, Final

from benches.measuring import Spread
from benches.peers.conversation import EXCHANGES_BEFORE, Conversation
from benches.peers.registry import PEERS

if TYPE_CHECKING:
    from benches.peers.conversation import Exchange
    from benches.peers.peer import Messages, Peer

__all__ = ["CASES", "CaseOutcome", "Outcome"]

ROUNDS: Final = 5
CASES: Final = {"10 x 40,000": (10, 40_000), "2 x 150,000": (2, 150_000)}
OURS: Final = "ToolbudgetUnsynced"


@dataclass(kw_only=True)
class CaseOutcome:
    """What came of one conversation."""

    large_turn_s: list[float] = field(default_factory=list)
    ours_large_turn_s: list[float] = field(default_factory=list)
    later_turn_s: list[float] = field(default_factory=list)
    ours_later_turn_s: list[float] = field(default_factory=list)
    visible_chars: int = 0
    """Of the large results, in the request after them."""
    visible_at_the_end_chars: int = 0
    original_chars: int = 0
    shortened: int = 0
    """How many of the large results are not whole at the end."""
    recoverable: int = 0
    """How many of those come back whole by what the model can call or read."""
    is_prefix_kept: bool = False
    """Whether the request after the large one begins with its very bytes."""
    turns: int = 0
    turns_with_another_prefix: int = 0


@dataclass(kw_only=True)
class Outcome:
    """What came of a library."""

    name: str
    distribution: str
    version: str
    setting: str
    cases: dict[str, CaseOutcome]


class Played:
    """One conversation with one library, step by step."""

    def __init__(self, peer: Peer, conversation: Conversation) -> None:
        """Play the history before the large results; none of it is measured."""
        self.peer = peer
        self.large = conversation.large()
        self.requests: list[list[bytes]] = []
        self.sent: Messages = []
        for exchange in conversation.before():
            self._turn(exchange)

    def turn(self, exchange: Exchange) -> float:
        """Let the tools of an exchange run and make the next request; give its seconds."""
        gc.collect()
        return self._turn(exchange)

    def _turn(self, exchange: Exchange) -> float:
        messages = self.peer.convert(exchange)
        started_s = time.perf_counter()
        self.peer.add(messages)
        self.sent = self.peer.request()
        taken_s = time.perf_counter() - started_s
        self.requests.append(self.peer.wire(self.sent))
        return taken_s

    def visible_chars(self) -> int:
        """Count what the model sees of the large results."""
        return sum(len(text) for text in self.seen().values())

    def seen(self) -> dict[str, str]:
        """Give what the model sees of each large result."""
        visible = self.peer.visible(self.sent)
        return {call.id: visible[call.id] for call in self.large.calls}


def measured_case(name: str, results: int, size_chars: int) -> CaseOutcome:
    """Play the conversation some times, the other library and ours in turn."""
    outcome = CaseOutcome(original_chars=results * size_chars)
    for seed in range(ROUNDS):
        conversation = Conversation(seed, results, size_chars)
        with tempfile.TemporaryDirectory() as folder:
            played = Played(made(name, Path(folder, "peer")), conversation)
            ours = Played(made(OURS, Path(folder, "ours")), conversation)
            outcome.large_turn_s.append(played.turn(played.large))
            outcome.ours_large_turn_s.append(ours.turn(ours.large))
            outcome.visible_chars = played.visible_chars()
            later = conversation.after()
            outcome.later_turn_s.append(Spread.of(map(played.turn, later)).median)
            outcome.ours_later_turn_s.append(Spread.of(map(ours.turn, later)).median)
            judge(outcome, played)
    return outcome


def judge(outcome: CaseOutcome, played: Played) -> None:
    """Look at what was sent from the large results on."""
    requests = played.requests[EXCHANGES_BEFORE:]
    kept = [later[: len(first)] == first for first, later in pairwise(requests)]
    outcome.is_prefix_kept = kept[0]
    outcome.turns = len(kept)
    outcome.turns_with_another_prefix = kept.count(False)
    outcome.visible_at_the_end_chars = played.visible_chars()
    texts = {call.id: call.result for call in played.large.calls}
    cut = {call_id: seen for call_id, seen in played.seen().items() if seen != texts[call_id]}
    whole = [
        played.peer.full_text(call_id, seen) == texts[call_id] for call_id, seen in cut.items()
    ]
    outcome.shortened, outcome.recoverable = len(whole), whole.count(True)


def made(name: str, folder: Path) -> Peer:
    """Begin a conversation with a library."""
    folder.mkdir()
    peer: Peer = getattr(import_module(PEERS[name].module), name)(folder)
    return peer


def main() -> None:
    """Measure every case of a library; what it prints itself goes to the error output."""
    name = sys.argv[1]
    output = os.fdopen(os.dup(1), "w")
    os.dup2(2, 1)
    kind = getattr(import_module(PEERS[name].module), name)
    cases = {case: measured_case(name, *sizes) for case, sizes in CASES.items()}
    is_ours = kind.distribution == "toolbudget"
    outcome = Outcome(
        name=name,
        distribution=kind.distribution,
        version="" if is_ours else version(kind.distribution),
        setting=kind.setting,
        cases=cases,
    )
    with output:
        json.dump(asdict(outcome), output)


if __name__ == "__main__":
    main()
