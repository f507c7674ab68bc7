"""What the next turn costs, by the length of the history before it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

import pytest

from benches import floor
from benches.measuring import Comparison
from benches.turns import WAYS, running

if TYPE_CHECKING:
    from collections.abc import Callable

ROUNDS: Final = 25
HISTORIES: Final = (20, 200, 2_000, 20_000)
# To look at a few messages costs no more than to know that one need not.
FEWEST_TO_SAVE: Final = 200


@pytest.mark.parametrize("messages", HISTORIES)
def test_next_turn(messages: int, note: Callable[[Comparison], None]) -> None:
    """Sessions that write no records take turns: two more messages each, all of it enforced."""
    ways = [way for way in WAYS if way != "floor" or floor.missing() is None]
    seconds: dict[str, list[float]] = {way: [] for way in ways}
    with running(ways, messages) as sessions:
        for _ in range(ROUNDS):
            for way, session in sessions.items():
                seconds[way].append(session.turn())
    comparison = Comparison(
        group="next turn",
        name=f"after {messages:,} messages",
        seconds=seconds,
        unit="turn",
        size=messages,
    )
    note(comparison)
    assert comparison.ratio("pure", "native").median > 1
    if messages >= FEWEST_TO_SAVE:
        assert comparison.ratio("native", "append_only").median > 1
