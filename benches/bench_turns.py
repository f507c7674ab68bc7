"""What the next turn costs, by the length of the history before it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

import pytest

from benches import floor
from benches.measuring import Comparison
from benches.turns import WARM_WAYS, WAYS, running, take_warm_turns

if TYPE_CHECKING:
    from collections.abc import Callable

ROUNDS: Final = 25
HISTORIES: Final = (20, 200, 2_000, 20_000)
# To look at a few messages costs no more than to know that one need not.
FEWEST_TO_SAVE: Final = 200


@pytest.mark.parametrize("messages", HISTORIES)
def test_next_turn_woken(messages: int, note: Callable[[Comparison], None]) -> None:
    """Sessions that write no records take turns: two more messages each, all of it enforced.

    Each has waited for the others, so that a turn begins with cold caches.
    """
    ways = [way for way in WAYS if way != "floor" or floor.missing() is None]
    seconds: dict[str, list[float]] = {way: [] for way in ways}
    with running(ways, messages) as sessions:
        for _ in range(ROUNDS):
            for way, session in sessions.items():
                seconds[way].append(session.turn())
    comparison = Comparison(
        group="next turn",
        name=f"after {messages:,} messages, woken",
        seconds=seconds,
        unit="turn",
        size=messages,
    )
    note(comparison)
    assert comparison.ratio("pure", "native").median > 1
    if messages >= FEWEST_TO_SAVE:
        assert comparison.ratio("native", "append_only").median > 1


@pytest.mark.parametrize("messages", HISTORIES)
def test_next_turn_warm(messages: int, note: Callable[[Comparison], None]) -> None:
    """The same turns one after another, as the goals were set: what a busy process takes."""
    seconds: dict[str, list[float]] = {}
    for together in WARM_WAYS:
        ways = [way for way in together if way != "floor" or floor.missing() is None]
        seconds |= take_warm_turns(ways, messages)
    comparison = Comparison(
        group="warm next turn",
        name=f"after {messages:,} messages, warm",
        seconds=seconds,
        unit="turn",
        size=messages,
    )
    note(comparison)
    assert comparison.ratio("pure", "append_only").median > 1
