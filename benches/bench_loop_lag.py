"""How late an event loop gets to other tasks while large results are stored beside it."""

from __future__ import annotations

import asyncio
import contextlib
import time
from typing import TYPE_CHECKING, Final

from benches.bench_storing import RESULT_CHARS, opened
from benches.measuring import Figure
from benches.workloads import turns

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable
    from pathlib import Path

COUNT: Final = 1_000
TICK_S: Final = 0.001
IDLE_S: Final = 1.0


def test_loop_lag(tmp_path: Path, note: Callable[[Figure], None]) -> None:
    """A task that wakes up every millisecond, alone and beside ``aenforce`` and ``agate``."""
    messages = turns(1, COUNT, RESULT_CHARS)

    async def enforced() -> None:
        with opened(tmp_path / "enforce", "full") as session:
            await session.aenforce(messages)

    async def gated() -> None:
        with opened(tmp_path / "gate", "full") as session:
            for block in messages[1]["content"][:100]:
                await session.agate(block, tool_name="Bash")

    works: dict[str, Callable[[], Awaitable[None]]] = {
        "alone": lambda: asyncio.sleep(IDLE_S),
        "beside aenforce of 1,000 x 50 KB": enforced,
        "beside agate of 100 x 50 KB, one by one": gated,
    }
    for name, work in works.items():
        lateness_s = asyncio.run(lateness_beside(work))
        assert lateness_s
        note(lag_of(name, lateness_s))


def lag_of(name: str, lateness_s: list[float]) -> Figure:
    """Summarise how late a task was."""
    late_ms = sorted(lateness * 1e3 for lateness in lateness_s)
    values = {
        "median": late_ms[len(late_ms) // 2],
        "99 of 100": late_ms[len(late_ms) * 99 // 100],
        "largest": late_ms[-1],
    }
    return Figure(group="lag of an event loop", name=name, values=values, unit="ms")


async def lateness_beside(work: Callable[[], Awaitable[None]]) -> list[float]:
    """Give how late a ticking task woke up each time while the work was done."""
    lateness_s: list[float] = []

    async def tick() -> None:
        while True:
            due_s = time.perf_counter() + TICK_S
            await asyncio.sleep(TICK_S)
            lateness_s.append(time.perf_counter() - due_s)

    ticking = asyncio.create_task(tick())
    await asyncio.sleep(0)
    await work()
    ticking.cancel()
    with contextlib.suppress(asyncio.CancelledError):
        await ticking
    return lateness_s
