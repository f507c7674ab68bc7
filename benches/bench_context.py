"""How long it takes to tell how full the context is."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from benches.measuring import Comparison, in_turn
from toolbudget.tokens import ContextMeter, token_count_with_estimation

if TYPE_CHECKING:
    from collections.abc import Callable

GROUP: Final = "context"
ROUNDS: Final = 5
RECORDS: Final = 100_000


def test_a_long_transcript(note: Callable[[Comparison], None]) -> None:
    """100,000 records: with usage, without any, and record by record."""
    reported, silent = transcript({"input_tokens": 1_000, "output_tokens": 10}), transcript(None)
    works: dict[str, Callable[[], object]] = {
        "with usage": lambda: token_count_with_estimation(reported),
        "without usage": lambda: token_count_with_estimation(silent),
        "record by record": lambda: metered(reported),
    }
    for way, rounds in in_turn(works, ROUNDS).items():
        seconds = {"time": rounds}
        note(Comparison(group=GROUP, name=way, seconds=seconds, unit="record", units=RECORDS))
    assert metered(reported) == token_count_with_estimation(reported)


def metered(records: list[dict[str, Any]]) -> int:
    """Count with the meter."""
    meter = ContextMeter()
    for record in records:
        meter.add(record)
    return meter.count.tokens


def transcript(usage: dict[str, int] | None) -> list[dict[str, Any]]:
    """Make records of responses in two parts, with a result behind each."""
    records: list[dict[str, Any]] = []
    for number in range(RECORDS // 2):
        answer: dict[str, Any] = {
            "role": "assistant",
            "id": f"m{number // 2}",
            "content": [],
            "usage": usage,
        }
        block = {"type": "tool_result", "tool_use_id": f"t{number}", "content": "x" * 400}
        records += (
            {"type": "assistant", "message": answer},
            {"type": "user", "message": {"role": "user", "content": [block]}},
        )
    return records
