"""The calls that happen most and do least, and the import."""

from __future__ import annotations

import os
import subprocess
import sys
from typing import TYPE_CHECKING, Any, Final

from benches.measuring import Comparison, in_turn, repeated
from benches.workloads import planning
from toolbudget import Session, _core

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

GROUP: Final = "small calls"
ROUNDS: Final = 15
CALLS: Final = 1_000
SMALL: Final = {"type": "tool_result", "tool_use_id": "toolu_1", "content": "ok\n" * 100}
TIMED_IMPORT: Final = """
import time
started_s = time.perf_counter()
import toolbudget
print(time.perf_counter() - started_s)
"""


def test_small_calls(tmp_path: Path, note: Callable[[Comparison], None]) -> None:
    """Nothing is to be done: a small result, no messages, messages without results."""
    session = Session.open(tmp_path, "small", ephemeral=True, durability="process")
    chat = [{"role": "user", "content": "What fails?"}, {"role": "assistant", "content": "A."}]
    nothing: list[Any] = []
    works: dict[str, Callable[[], object]] = {
        "an empty Python function": lambda: None,
        "gate, 300 characters": lambda: session.gate(SMALL, tool_name="Bash"),
        "enforce, no messages": lambda: session.enforce(nothing),
        "enforce, two messages": lambda: session.enforce(chat),
    }
    for way, module in (("pure", _core.load("python")), ("native", _core.load("native"))):
        # As in a session, each core is given its own kind of cache.
        known = module.Known({}, {}, fingerprints=module.FingerprintCache())
        works[f"{way} core, no messages"] = planning(module, nothing, known)
    seconds = in_turn({way: repeated(work, CALLS) for way, work in works.items()}, ROUNDS)
    for way, rounds in seconds.items():
        note(Comparison(group=GROUP, name=way, seconds={"time": rounds}, units=CALLS))
    assert session.gate(SMALL, tool_name="Bash") is SMALL


def test_import(note: Callable[[Comparison], None]) -> None:
    """The package is imported in a fresh interpreter, whose files are in the page cache."""
    ways = {"pure core": "python", "native core": "native"}
    for core in ways.values():
        import_seconds(core)
    seconds: dict[str, list[float]] = {way: [] for way in ways}
    for _ in range(ROUNDS):
        for way, core in ways.items():
            seconds[way].append(import_seconds(core))
    for way, rounds in seconds.items():
        note(Comparison(group=GROUP, name=f"import, {way}", seconds={"time": rounds}))


def import_seconds(core: str) -> float:
    """Give what the import took in a child process."""
    finished = subprocess.run(  # noqa: S603 - our own child
        [sys.executable, "-c", TIMED_IMPORT],
        check=True,
        capture_output=True,
        text=True,
        env={**os.environ, "TOOLBUDGET_CORE": core},
    )
    return float(finished.stdout)
