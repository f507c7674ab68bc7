"""Storing large results, beside plain files of the same bytes; each round in a fresh folder."""

from __future__ import annotations

import os
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import pytest

from benches.measuring import Comparison, measure
from benches.workloads import turns
from toolbudget import Limits, Session

if TYPE_CHECKING:
    from collections.abc import Callable

    from toolbudget.storage._files import Durability

RESULT_CHARS: Final = 50_000
LEVELS: Final[tuple[Durability, ...]] = ("process", "data", "full")
# Everything is over this limit: as many files as results.
ALL_REPLACED: Final = Limits(max_result_chars=10_000, max_message_chars=1)
ROUNDS: Final = {10: 15, 1_000: 5}
# One by one each call syncs for itself; many of them would measure the device for minutes.
MOST_GATED: Final = 10


@pytest.mark.parametrize("count", ROUNDS)
def test_storing(tmp_path: Path, note: Callable[[Comparison], None], count: int) -> None:
    """One turn with so many large results is stored in full, at each level of durability."""
    messages = turns(1, count, RESULT_CHARS)
    ways: dict[str, Callable[[Path], float]] = {
        "plain": lambda folder: write_plainly(folder, messages, is_synced=False),
        "plain, each synced": lambda folder: write_plainly(folder, messages, is_synced=True),
        "already there": lambda folder: enforce_again(folder, messages),
    }
    for level in LEVELS:
        ways[f"enforce, {level}"] = storing(enforce, level, messages)
        ways[f"next turn, {level}"] = in_a_running_session(level, messages)
        if count <= MOST_GATED:
            ways[f"gate, {level}"] = storing(gate, level, messages)
    seconds = in_fresh_folders(tmp_path, ways, ROUNDS[count])
    name = f"{count:,} results of {RESULT_CHARS:,} characters"
    note(Comparison(group="storing", name=name, seconds=seconds, unit="result", units=count))


def in_fresh_folders(
    base: Path, ways: dict[str, Callable[[Path], float]], rounds: int
) -> dict[str, list[float]]:
    """Measure the ways in turn; nothing is deleted before the last of them is measured.

    Some file systems are slow to create files just after many were deleted.
    """
    seconds: dict[str, list[float]] = {way: [] for way in ways}
    with tempfile.TemporaryDirectory(dir=base) as parent:
        for number in range(rounds):
            for position, (way, work) in enumerate(ways.items()):
                folder = Path(parent, f"{number}-{position}")
                folder.mkdir()
                os.sync()
                seconds[way].append(work(folder))
    return seconds


def storing(
    work: Callable[[Session, list[Any]], None], level: Durability, messages: list[Any]
) -> Callable[[Path], float]:
    """Make the way that stores with a session at a level."""

    def run(folder: Path) -> float:
        with opened(folder, level) as session:
            taken_s = measure(lambda: work(session, messages))
            stored = len(list((session.directory / "tool-results").iterdir()))
            assert stored == len(messages[1]["content"])
        return taken_s

    return run


def in_a_running_session(level: Durability, messages: list[Any]) -> Callable[[Path], float]:
    """Make the way that stores with a session which has stored, and so has its folders."""
    before = turns(2, 1, RESULT_CHARS)[2:]

    def run(folder: Path) -> float:
        with opened(folder, level) as session:
            session.enforce(before)
            taken_s = measure(lambda: session.enforce([*before, *messages]))
            stored = len(list((session.directory / "tool-results").iterdir()))
            assert stored == 1 + len(messages[1]["content"])
        return taken_s

    return run


def opened(folder: Path, level: Durability, *, ephemeral: bool = False) -> Session:
    """Open a session in which every result is too large."""
    return Session.open(
        folder, "storing", limits=ALL_REPLACED, durability=level, ephemeral=ephemeral
    )


def enforce(session: Session, messages: list[Any]) -> None:
    """Store the results of a whole message in one call."""
    session.enforce(messages)


def gate(session: Session, messages: list[Any]) -> None:
    """Store the results one by one, as their tools come back."""
    for block in messages[1]["content"]:
        session.gate(block, tool_name="Bash")


def enforce_again(folder: Path, messages: list[Any]) -> float:
    """Store what another session has stored already."""
    with opened(folder, "process", ephemeral=True) as first:
        first.enforce(messages)
    with opened(folder, "process", ephemeral=True) as second:
        return measure(lambda: second.enforce(messages))


def write_plainly(folder: Path, messages: list[Any], *, is_synced: bool) -> float:
    """Write the same texts to new files, with nothing that a reader of them could trust."""
    texts = [block["content"].encode() for block in messages[1]["content"]]

    def write() -> None:
        for number, text in enumerate(texts):
            path = f"{folder}/{number}.txt"
            descriptor = os.open(path, os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o600)
            try:
                os.write(descriptor, text)
                if is_synced:
                    os.fsync(descriptor)
            finally:
                os.close(descriptor)

    return measure(write)
