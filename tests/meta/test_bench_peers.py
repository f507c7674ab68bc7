from __future__ import annotations

import tomllib
from pathlib import Path
from typing import Any, Final

from benches.peers.conversation import Conversation
from benches.peers.measure import CaseOutcome, Played, judge
from benches.peers.ours import ToolbudgetUnsynced
from benches.peers.peer import AnthropicMessages, Messages
from benches.peers.registry import PEERS
from benches.peers.report import report

PROJECT: Final = Path(__file__).parents[2]
SMALL: Final = Conversation(seed=1, large_results=2, large_chars=150_000)


class Slides(AnthropicMessages):
    """A library that shows only the newest results, and cannot give the others back."""

    distribution = "slides"
    setting = "none"

    def request(self) -> Messages:
        """Clear all but the last message."""
        cleared = [
            {
                **message,
                "content": [
                    block | ({"content": "gone"} if block["type"] == "tool_result" else {})
                    for block in message["content"]
                ],
            }
            for message in self.history[:-1]
        ]
        return [*cleared, *self.history[-1:]]


def judged(peer: AnthropicMessages) -> CaseOutcome:
    """Play a conversation and judge it."""
    played = Played(peer, SMALL)
    played.turn(played.large)
    outcome = CaseOutcome(original_chars=300_000, visible_chars=played.visible_chars())
    for exchange in SMALL.after():
        played.turn(exchange)
    judge(outcome, played)
    return outcome


def test_a_sliding_window_is_seen(tmp_path: Path) -> None:
    """Every later request changes what was sent, and what is cleared is gone."""
    outcome = judged(Slides(tmp_path))
    assert outcome.visible_chars == 300_000
    assert outcome.visible_at_the_end_chars == 2 * len("gone")
    assert (outcome.shortened, outcome.recoverable) == (2, 0)
    assert not outcome.is_prefix_kept
    assert outcome.turns_with_another_prefix == outcome.turns == len(SMALL.after())


def test_stored_results_come_back_and_the_prefix_stays(tmp_path: Path) -> None:
    """This library is judged by the same means."""
    outcome = judged(ToolbudgetUnsynced(tmp_path))
    assert outcome.visible_at_the_end_chars == outcome.visible_chars < 10_000
    assert (outcome.shortened, outcome.recoverable) == (2, 2)
    assert outcome.is_prefix_kept
    assert outcome.turns_with_another_prefix == 0


def test_a_conversation_is_the_same_in_every_run() -> None:
    """The texts come from the seed alone, and have the size that was asked for."""
    again = Conversation(seed=1, large_results=2, large_chars=150_000)
    other = Conversation(seed=2, large_results=2, large_chars=150_000)
    assert again.large() == SMALL.large() != other.large()
    assert [len(call.result) for call in SMALL.large().calls] == [150_000, 150_000]
    assert 4 * len([*SMALL.before(), SMALL.large()]) == 200


def test_each_library_has_a_group() -> None:
    """What the registry names can be installed."""
    groups = tomllib.loads((PROJECT / "pyproject.toml").read_text("utf-8"))["dependency-groups"]
    assert {place.group for place in PEERS.values()} <= groups.keys()


def test_a_library_that_could_not_be_measured_is_named() -> None:
    """The report says what is missing and why."""
    case: dict[str, Any] = {
        "large_turn_s": [0.002, 0.004],
        "ours_large_turn_s": [0.001, 0.001],
        "later_turn_s": [0.5, 0.5],
        "ours_later_turn_s": [1.0, 1.0],
        "visible_chars": 1_000,
        "visible_at_the_end_chars": 10,
        "original_chars": 300_000,
        "shortened": 2,
        "recoverable": 1,
        "is_prefix_kept": False,
        "turns_with_another_prefix": 8,
    }
    outcome = {
        "name": "Slides",
        "distribution": "slides",
        "version": "1.0",
        "setting": "none",
        "cases": {"2 x 150,000": case},
    }
    text = report([outcome], {"Other": "cannot be installed: no wheel"})
    row = next(line for line in text.splitlines() if line.startswith("| slides"))
    assert row == (
        "| slides, `Slides` | 3 ms | 3 | 500 ms | 0.5 | 1,000 of 300,000 | 10 | 1 of 2 "
        "| **changed** | 8 |"
    )
    assert "- Other: cannot be installed: no wheel" in text
