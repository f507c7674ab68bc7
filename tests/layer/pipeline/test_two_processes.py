"""Two processes on one session: whatever one changes, the other announces."""

from __future__ import annotations

import tempfile
from pathlib import Path
from typing import TYPE_CHECKING, Any

from hypothesis import given
from hypothesis import strategies as st

from tests.layer.pipeline.agents import history_of, opened, round_of
from toolbudget import Limits
from toolbudget.pipeline import Budget, HistorySnip, Microcompact, Pipeline

if TYPE_CHECKING:
    from collections.abc import Sequence

    from toolbudget.pipeline import Stage

LATER_S = 7_200.0
moves = st.tuples(
    st.integers(0, 1),
    st.sampled_from(["turn", "later", "reads", "opens", "round", "round", "large"]),
    st.sampled_from([0, 0, 4, 8]),
)


def first_difference(before: Sequence[Any], after: Sequence[Any]) -> int | None:
    """Compare what two requests have in common, message by message."""
    pairs = enumerate(zip(before, after, strict=False))
    return next((index for index, (old, new) in pairs if old != new), None)


@given(
    steps=st.lists(moves, min_size=2, max_size=14),
    rounds=st.tuples(st.integers(2, 6), st.integers(2, 6)),
)
def test_no_prefix_changes_unannounced(
    steps: list[tuple[int, str, int]], rounds: tuple[int, int]
) -> None:
    """Either a request begins as the one before in its process, or it says where it does not.

    One of them may be some rounds behind the other.
    """
    with tempfile.TemporaryDirectory() as folder:
        limits = Limits(max_message_chars=1_500)
        senders: list[Pipeline] = []
        for most in rounds:
            stages: list[Stage] = [Budget(), HistorySnip(max_rounds=most), Microcompact(keep=1)]
            opened_session = opened(Path(folder), limits=limits)
            senders.append(Pipeline(stages, session=opened_session))
        history = history_of(3)
        for sender in senders:
            assert sender.session is not None
            sender.session.enforce(history)
        sent, known = [history, history], [len(history), len(history)]
        for number, (who, move, behind) in enumerate(steps):
            if move in {"round", "large"}:
                history = [*history, *round_of(100 + number, 2_000 if move == "large" else 400)]
                continue
            session = senders[who].session
            assert session is not None
            if move == "reads":
                session.fork(f"fork-{number}").close()
                continue
            if move == "opens":
                session.close()
                senders[who] = senders[who].for_session(opened(Path(folder), limits=limits))
                sent[who] = []
                continue
            known[who] = max(known[who], len(history) - 2 * behind)
            own_history = history[: known[who]]
            result = senders[who].run(own_history, idle_s=LATER_S if move == "later" else 1.0)
            place = result.prefix_broken_at
            # What is new to this process may be old to the conversation.
            is_in_prefix = place is not None and place < len(sent[who])
            assert (place if is_in_prefix else None) == first_difference(sent[who], result.messages)
            sent[who] = result.messages
        for sender in senders:
            assert sender.session is not None
            sender.session.close()
