"""A thousand asyncio tasks on one session, some of them cancelled half-way."""

from __future__ import annotations

import asyncio
import random
from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING, Any, Final

from tests.builders import (
    answer,
    call,
    is_reference,
    msg,
    read_reference,
    read_transcript,
    res,
    results_in,
    text_of,
)
from tests.faults.opening import open_session
from tests.faults.racing import SESSION_ID, limits_of

if TYPE_CHECKING:
    from pathlib import Path

    from toolbudget import Session

__all__ = ["race_tasks"]

_TASKS: Final = 1_000
_GROUPS: Final = 250
_CANCELLED_SHARE: Final = 0.2
_WORKERS: Final = 32
_SIZES_CHARS: Final = (2_500, 200, 900)


class _Group:
    """The results of one message, which several tasks decide about."""

    def __init__(self, number: int) -> None:
        self.texts = {
            f"toolu_{number}_{index}": f"group {number} result {index} ".ljust(size_chars, ".")
            for index, size_chars in enumerate(_SIZES_CHARS)
        }
        self.sent: dict[str, set[str]] = {tool_use_id: set() for tool_use_id in self.texts}

    def messages(self) -> list[dict[str, Any]]:
        """Return the request that it is the last message of."""
        calls = (call(tool_use_id, "Fetch") for tool_use_id in self.texts)
        return [answer(*calls), msg(*(res(*result) for result in self.texts.items()))]

    def note(self, messages: list[dict[str, Any]]) -> None:
        """Note a request as sent."""
        for block in results_in(messages):
            self.sent[block["tool_use_id"]].add(text_of(block["content"]))


def race_tasks(number: int, root: Path) -> list[str]:
    """Run the tasks; then every decision is whole, and everything is sent the same after resume."""
    groups = [_Group(index) for index in range(_GROUPS)]
    chance = random.Random(number)  # noqa: S311 - the same choice in every run
    limits = limits_of(number)
    with open_session(root, SESSION_ID, limits=limits, durability="process") as session:
        problems = asyncio.run(_run_tasks(session, groups, chance))
        decided = session.state
    with open_session(
        root, SESSION_ID, limits=limits_of(number + 1), durability="process"
    ) as again:
        if again.state != decided:
            problems.append("other decisions after resume")
        for group in groups:
            group.note(again.enforce(group.messages()))
    for group in groups:
        problems += _broken_texts(group)
    seen_ids = decided.seen_ids
    problems += _partial_decisions(root, groups, seen_ids)
    return [f"{_TASKS} tasks: {problem}" for problem in problems]


async def _run_tasks(session: Session, groups: list[_Group], chance: random.Random) -> list[str]:
    with ThreadPoolExecutor(_WORKERS) as pool:
        asyncio.get_running_loop().set_default_executor(pool)
        tasks = []
        for index in range(_TASKS):
            act = _gate_one if index % 3 == 0 else _enforce_group
            tasks.append(asyncio.create_task(act(session, chance.choice(groups))))
        cancelled = chance.sample(tasks, int(_TASKS * _CANCELLED_SHARE))
        cancels = asyncio.create_task(_cancel_some(cancelled))
        outcomes = await asyncio.gather(*tasks, return_exceptions=True)
        await cancels
    return [repr(one) for one in outcomes if isinstance(one, Exception)]


async def _cancel_some(tasks: list[asyncio.Task[None]]) -> None:
    """Cancel tasks one by one while the others go on, whether they have begun or not."""
    for task in tasks:
        await asyncio.sleep(0.001)
        task.cancel()


async def _enforce_group(session: Session, group: _Group) -> None:
    group.note(await session.aenforce(group.messages()))


async def _gate_one(session: Session, group: _Group) -> None:
    """Gate the largest result, whose text is final only if it was replaced."""
    tool_use_id, text = next(iter(group.texts.items()))
    result = await session.agate(res(tool_use_id, text), tool_name="Fetch")
    if is_reference(result["content"]):
        group.sent[tool_use_id].add(text_of(result["content"]))


def _broken_texts(group: _Group) -> list[str]:
    broken = []
    for tool_use_id, texts in group.sent.items():
        original = group.texts[tool_use_id]
        if len(texts) != 1:
            broken.append(f"{tool_use_id}: {len(texts)} different texts were sent")
        for text in texts - {original}:
            path = read_reference(text).path if is_reference(text) else None
            if path is None or path.read_bytes() != original.encode():
                broken.append(f"{tool_use_id}: no reference to its bytes")
    return broken


def _partial_decisions(root: Path, groups: list[_Group], seen_ids: frozenset[str]) -> list[str]:
    """Find groups of which a cancelled call decided a part; the gate decides about the first."""
    problems = []
    for group in groups:
        decided = set(group.texts) & seen_ids
        first = next(iter(group.texts))
        if decided not in (set(), {first}, set(group.texts)):
            problems.append(f"only {sorted(decided)} of a message were decided")
    times: dict[str, int] = {}
    for record in read_transcript(root / f"{SESSION_ID}.jsonl"):
        ids = [entry["toolUseId"] for entry in record.get("replacements", ())]
        for tool_use_id in ids + [entry[0] for entry in record.get("frozen", ())]:
            times[tool_use_id] = times.get(tool_use_id, 0) + 1
    return problems + [
        f"{name}: decided {count} times" for name, count in times.items() if count > 1
    ]
