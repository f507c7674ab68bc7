from __future__ import annotations

import threading
from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING

from hypothesis import given
from hypothesis import strategies as st

from tests.builders import (
    Message,
    answer,
    call,
    enforce,
    gate,
    is_reference,
    msg,
    read_transcript,
    res,
    results_in,
    turn,
)
from toolbudget import Limits, Session

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

HUGE = 210_000 * "a"
WAIT_S = 20

LIMITS = st.builds(
    Limits,
    max_result_chars=st.integers(500, 6_000),
    max_message_chars=st.integers(1_000, 12_000),
    preview_bytes=st.integers(1, 1_000),
)
STEPS = st.lists(
    st.tuples(
        st.integers(0, 1),
        st.lists(st.tuples(st.sampled_from(["t1", "t2", "t3"]), st.sampled_from([9, 900, 5_000]))),
        st.booleans(),
        st.booleans(),
    ),
    min_size=1,
    max_size=6,
)


def test_who_comes_second_adopts(root: Path) -> None:
    """R6: of two sessions over the same records, the second follows what the first decided."""
    messages = turn("Fetch", t1=HUGE, t2=199_000 * "b")
    tight = Limits(max_message_chars=9_000, preview_bytes=10)
    with (
        Session.open(root, "session", durability="process") as first,
        Session.open(root, "session", limits=tight, durability="process") as second,
    ):
        sent = enforce(first, messages)
        assert enforce(second, messages) == sent
        assert second.report.replaced == 0
        assert second.state == first.state
        assert gate(second, messages[1]["content"][0]) == sent[1]["content"][0]


def test_a_gate_of_another_session_is_adopted(root: Path) -> None:
    """R6, G0: also at the gate, if both are about to decide."""
    block, tight = res("t1", HUGE), Limits(preview_bytes=1)
    with (
        Session.open(root, "session", durability="process") as first,
        Session.open(root, "session", limits=tight, durability="process") as other,
    ):
        small = gate(first, block)
        assert gate(other, block) == small
        assert len(read_transcript(first.transcript_path)) == 2


@given(limits=st.tuples(LIMITS, LIMITS), steps=STEPS)
def test_two_sessions_never_differ(
    new_root: Callable[[], Path],
    limits: tuple[Limits, Limits],
    steps: list[tuple[int, list[tuple[str, int]], bool, bool]],
) -> None:
    """R6: two processes on one conversation, with other limits, send one and the same prefix."""
    root = new_root()
    sessions = [Session.open(root, "session", limits=each, durability="process") for each in limits]
    history: list[Message] = []
    sent: list[Message] = []
    for who, contents, passes_gate, has_answer in steps:
        session = sessions[who]
        if has_answer:
            history.append(answer(*(call(name, "Fetch") for name, _ in contents)))
        blocks = [res(name, size * "x") for name, size in contents]
        if passes_gate:
            blocks = [gate(session, block) for block in blocks]
        history.append(msg(*blocks))
        latest = enforce(session, history)
        assert latest[: len(sent)] == sent
        sent = latest
        assert enforce(sessions[1 - who], history) == sent
    assert sessions[0].state == sessions[1].state


def test_threads_with_a_session_each_agree(root: Path) -> None:
    """R6: at the same moment, too, and each decision is recorded once."""
    messages = turn("Fetch", **{f"t{index}": 45_000 * "a" for index in range(6)})
    barrier = threading.Barrier(6)

    def send(number: int) -> list[Message]:
        limits = Limits(preview_bytes=100 + number)
        with Session.open(root, "session", limits=limits, durability="process") as session:
            barrier.wait(WAIT_S)
            return enforce(session, messages)

    with ThreadPoolExecutor(6) as pool:
        outputs = list(pool.map(send, range(6)))
    assert all(output == outputs[0] for output in outputs)
    assert sum(is_reference(one["content"]) for one in results_in(outputs[0])) == 2
    assert len(read_transcript(root / "session.jsonl")) == 2
