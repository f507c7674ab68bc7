from __future__ import annotations

import asyncio
import threading
from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING, Any

import pytest

from tests.builders import (
    Message,
    answer,
    check_references,
    enforce,
    gate,
    is_reference,
    msg,
    read_transcript,
    res,
    results_in,
    stored_files,
    turn,
)
from toolbudget import EnforcementReport, MemoryStore, Session, StoredResult, ToolBudgetError

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

HUGE = 210_000 * "a"
WAIT_S = 20


class SlowStore:
    """A store whose puts wait until they are let go."""

    def __init__(self) -> None:
        self.memory = MemoryStore()
        self.has_begun = threading.Event()
        self.may_end = threading.Event()

    def put(self, tool_use_id: str, content: Any) -> StoredResult:  # noqa: ANN401 - any content
        """Wait, then store."""
        self.has_begun.set()
        assert self.may_end.wait(WAIT_S)
        return self.memory.put(tool_use_id, content)


async def until(condition: Callable[[], bool]) -> None:
    """Wait for a condition without blocking the loop."""
    for _ in range(WAIT_S * 200):
        if condition():
            return
        await asyncio.sleep(0.005)
    pytest.fail("the condition never came true")


def test_two_hundred_tasks_agree(session: Session) -> None:
    """B9: all tasks that send the same history send the same bytes, decided and recorded once."""
    messages = [*turn("Fetch", **{f"t{index}": 45_000 * "a" for index in range(6)})]

    async def main() -> list[list[Message]]:
        tasks = (session.aenforce(messages) for _ in range(200))
        return list(await asyncio.gather(*tasks))

    outputs = asyncio.run(main())
    assert all(output == outputs[0] for output in outputs)
    assert check_references(messages, outputs[0], session.directory) == ["t0", "t1"]
    assert len(read_transcript(session.transcript_path)) == 2


def test_tasks_in_different_groups_agree_about_a_shared_result(session: Session) -> None:
    """B9: whoever decides first decides for all: no result is kept here and replaced there."""
    shared = res("shared", 100_000 * "s")

    async def send(number: int) -> object:
        own = [] if number % 2 else [res(f"own_{number}", 150_000 * "o")]
        messages = [msg(shared, *own)] if number % 4 else [msg(*own, shared)]
        [sent] = await session.aenforce(messages)
        return next(one["content"] for one in sent["content"] if one["tool_use_id"] == "shared")

    async def main() -> list[object]:
        return list(await asyncio.gather(*(send(number) for number in range(100))))

    assert len(set(asyncio.run(main()))) == 1


def test_each_task_has_its_own_report(session: Session) -> None:
    """R2: a task reads in ``report`` what its own last call did, however many run at once."""

    async def send(number: int) -> tuple[int, int, int]:
        size = 210_000 + number
        await session.aenforce([msg(res(f"t{number}", size * "a"))])
        await asyncio.sleep(0)
        report = session.report
        before = report.chars_before, report.replaced
        await session.agate(res(f"g{number}", "small"), tool_name="Fetch")
        await asyncio.sleep(0)
        return number, before[0] - 210_000 if before[1] == 1 else -1, session.report.candidates

    async def main() -> list[tuple[int, int, int]]:
        return list(await asyncio.gather(*(send(number) for number in range(200))))

    assert asyncio.run(main()) == [(number, number, 0) for number in range(200)]
    assert session.report == EnforcementReport()


def test_each_thread_has_its_own_report(session: Session) -> None:
    """R2: the same for threads; one that has not called yet sees an empty report."""
    barrier = threading.Barrier(8)

    def send(number: int) -> tuple[int, int]:
        assert session.report == EnforcementReport()
        session.enforce([msg(res(f"t{number}", (number + 1) * "a"))])
        barrier.wait(WAIT_S)
        return number, session.report.chars_before

    with ThreadPoolExecutor(8) as pool:
        assert list(pool.map(send, range(8))) == [(number, number + 1) for number in range(8)]


def test_threads_agree(session: Session) -> None:
    """B9: several threads on one session, gates and enforcements mixed, see one decision each."""
    texts = {f"t{index}": (60_000 + index) * "a" for index in range(12)}
    barrier = threading.Barrier(8)

    def work(number: int) -> dict[str, str]:
        barrier.wait(WAIT_S)
        shown: dict[str, str] = {}
        names = sorted(texts, key=lambda name: (int(name[1:]) * (number + 3)) % 13)
        for name in names:
            block = res(name, texts[name])
            if number % 2:
                [sent] = enforce(session, [msg(block)])
                shown[name] = sent["content"][0]["content"]
            else:
                shown[name] = gate(session, block)["content"]
        return shown

    with ThreadPoolExecutor(8) as pool:
        outputs = list(pool.map(work, range(8)))
    final = enforce(session, [msg(*(res(name, text) for name, text in texts.items()))])
    for block in results_in(final):
        name = block["tool_use_id"]
        seen = {output[name] for number, output in enumerate(outputs) if number % 2}
        assert seen == {block["content"]}
    recorded = [
        one["toolUseId"]
        for record in read_transcript(session.transcript_path)[1:]
        for one in record["replacements"]
    ]
    assert sorted(recorded) == sorted(set(recorded))


def test_the_loop_is_never_blocked(root: Path) -> None:
    """SPEC 15: while the disk is slow, other tasks go on: here one of them lets the store end."""
    store = SlowStore()

    async def main(session: Session) -> list[object]:
        calls = [
            asyncio.create_task(session.aenforce(turn("Fetch", t1=HUGE))),
            asyncio.create_task(session.agate(res("t2", HUGE), tool_name="Fetch")),
        ]
        await until(store.has_begun.is_set)
        assert not any(call.done() for call in calls)
        store.may_end.set()
        return list(await asyncio.gather(*calls))

    with Session.open(root, "session", store=store, durability="process") as session:
        sent, small = asyncio.run(main(session))
    assert isinstance(sent, list)
    assert isinstance(small, dict)
    assert is_reference(next(results_in(sent))["content"])
    assert is_reference(small["content"])


@pytest.mark.parametrize("uses_gate", [True, False])
def test_a_cancelled_task_leaves_a_whole_decision(root: Path, *, uses_gate: bool) -> None:
    """B9: once begun, storing and recording run to their end, and the decision holds for all."""
    store = SlowStore()
    block = res("t1", HUGE)

    async def main(session: Session) -> None:
        call = (
            session.agate(block, tool_name="Fetch") if uses_gate else session.aenforce([msg(block)])
        )
        task = asyncio.create_task(call)
        await until(store.has_begun.is_set)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        store.may_end.set()
        await until(lambda: "t1" in session.state.seen_ids)

    with Session.open(root, "session", store=store, durability="process") as session:
        asyncio.run(main(session))
        small = gate(session, block)
        assert is_reference(small["content"])
        assert enforce(session, [msg(block)]) == [msg(small)]
    with Session.open(root, "session", store=store, durability="process") as session:
        assert gate(session, block) == small
    assert len(read_transcript(session.transcript_path)) == 2


def test_a_task_cancelled_before_it_began_decides_nothing(session: Session) -> None:
    """B9: a decision is whole or none."""

    async def main() -> None:
        task = asyncio.create_task(session.aenforce(turn("Fetch", t1=HUGE)))
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task

    asyncio.run(main())
    assert session.state.decisions == {}
    assert stored_files(session) == {}


def test_many_cancelled_tasks_leave_one_truth(session: Session, root: Path) -> None:
    """B9: whenever tasks are cancelled, what any of them handed out is what resuming gives."""
    messages = [*turn("Fetch", t1=HUGE), *turn("Fetch", t2=HUGE, t3="small")]

    async def send(delay_s: float) -> list[Message] | None:
        try:
            async with asyncio.timeout(delay_s):
                return await session.aenforce(messages)
        except TimeoutError:
            return None

    async def main() -> list[list[Message] | None]:
        return list(await asyncio.gather(*(send(index / 5_000) for index in range(100))))

    outputs = [output for output in asyncio.run(main()) if output is not None]
    with Session.open(root, "session", durability="process") as resumed:
        final = enforce(resumed, messages)
    assert all(output == final for output in outputs)
    assert enforce(session, messages) == final


def test_errors_come_through(session: Session) -> None:
    """F1: what the synchronous call raises, awaiting raises too."""
    wrong: Any = [42]

    async def main() -> None:
        await session.aenforce(wrong)

    with pytest.raises(ValueError, match="message 0"):
        asyncio.run(main())


def test_async_and_sync_are_the_same_session(session: Session) -> None:
    """SPEC 15: both ways share every decision."""
    messages = [*turn("Fetch", t1=HUGE), answer()]
    before = enforce(session, messages)

    async def main() -> object:
        small = await session.agate(res("t1", HUGE), tool_name="Fetch")
        return [await session.aenforce(messages), small["content"]]

    assert asyncio.run(main()) == [before, before[1]["content"][0]["content"]]


def test_reports_of_ended_tasks_are_forgotten(session: Session) -> None:
    """F4: a server that runs for weeks does not keep a report for every task it ever had."""

    async def main() -> int:
        for number in range(50):
            await asyncio.create_task(session.aenforce([msg(res(f"t{number}", "small"))]))
        return len(session._reports._of_tasks)

    assert asyncio.run(main()) <= 2


def test_an_asynchronous_block_closes_the_session(root: Path) -> None:
    """``async with`` ends as ``with`` does: what is on disk stays, and the object is closed."""

    async def use() -> Session:
        async with Session.open(root, "a") as session:
            await session.aenforce(turn("Bash", t1=HUGE))
        return session

    session = asyncio.run(use())
    with pytest.raises(ToolBudgetError, match="closed"):
        session.enforce([])
    with Session.open(root, "a") as again:
        assert again.state == session.state
