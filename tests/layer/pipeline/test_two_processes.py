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
    st.sampled_from(["turn", "turn", "later", "reads", "opens"]),
    st.sampled_from([0, 400, 400, 2_000]),
    st.sampled_from([0, 0, 4, 8]),
    st.booleans(),
)


def first_difference(before: Sequence[Any], after: Sequence[Any]) -> int | None:
    """Compare what two requests have in common, message by message."""
    pairs = enumerate(zip(before, after, strict=False))
    return next((index for index, (old, new) in pairs if old != new), None)


def stages_of(most_rounds: int, *, has_budget: bool) -> list[Stage]:
    """Give the stages of one of the processes."""
    stages: list[Stage] = [HistorySnip(max_rounds=most_rounds), Microcompact(keep=1)]
    return [Budget(), *stages] if has_budget else stages


@given(
    steps=st.lists(moves, min_size=2, max_size=14),
    rounds=st.tuples(st.integers(2, 6), st.integers(2, 6)),
    budgets=st.tuples(st.booleans(), st.booleans()),
)
def test_no_prefix_changes_unannounced(
    steps: list[tuple[int, str, int, int, bool]],
    rounds: tuple[int, int],
    budgets: tuple[bool, bool],
) -> None:
    """Either a request begins as the one before in its process, or it says where it does not.

    One of them may be some rounds behind the other, and have no budget; each goes on with its whole
    history or with what it was given, now so and then so.
    """
    with tempfile.TemporaryDirectory() as folder:
        limits = Limits(max_message_chars=1_500)
        senders: list[Pipeline] = []
        for most, has_budget in zip(rounds, budgets, strict=True):
            stages = stages_of(most, has_budget=has_budget)
            opened_session = opened(Path(folder), limits=limits)
            senders.append(Pipeline(stages, session=opened_session))
        history = history_of(3)
        for sender in senders:
            assert sender.session is not None
            sender.session.enforce(history)
        sent, known = [history, history], [len(history), len(history)]
        given_at: list[int | None] = [None, None]
        for number, (who, move, new_chars, behind, goes_on) in enumerate(steps):
            if new_chars:
                history = [*history, *round_of(100 + number, new_chars)]
            session = senders[who].session
            assert session is not None
            if move == "reads":
                session.fork(f"fork-{number}").close()
                continue
            if move == "opens":
                session.close()
                senders[who] = senders[who].for_session(opened(Path(folder), limits=limits))
                sent[who], given_at[who] = [], None
                continue
            known[who] = max(known[who], len(history) - 2 * behind)
            own_history = history[: known[who]]
            at = given_at[who]
            if goes_on and at is not None:
                own_history = [*sent[who], *history[at : known[who]]]
            result = senders[who].run(own_history, idle_s=LATER_S if move == "later" else 1.0)
            place = result.prefix_broken_at
            # What is new to this process may be old to the conversation.
            is_in_prefix = place is not None and place < len(sent[who])
            assert (place if is_in_prefix else None) == first_difference(sent[who], result.messages)
            sent[who], given_at[who] = result.messages, known[who]
        for sender in senders:
            assert sender.session is not None
            sender.session.close()


def test_a_pipeline_without_a_budget_announces_what_was_replaced(tmp_path: Path) -> None:
    """It has decided nothing about a result that it sends; another process may replace that one."""
    limits = Limits(max_message_chars=1_500)
    clearing = Pipeline([Microcompact(keep=2)], session=opened(tmp_path, limits=limits))
    history = [*history_of(3), *round_of(3, 2_000)]
    sent = clearing.run([*history, *round_of(4)], idle_s=1.0).messages
    other = Pipeline([Budget()], session=opened(tmp_path, limits=limits))
    replaced = other.run(history).messages
    assert replaced[8] != sent[8] == history[8]
    # It learns of that when it writes something itself.
    clearing.run([*history, *round_of(4)], idle_s=LATER_S)
    later = [clearing.run([*history, *round_of(4)], idle_s=1.0) for _ in range(2)]
    assert later[0].messages[8] == replaced[8]
    assert [result.adopted_at for result in later] == [8, None]


def test_back_to_the_whole_history(tmp_path: Path) -> None:
    """A cut of its own that a host has been given is no break when it shows its history again."""
    pipeline = Pipeline([HistorySnip(max_rounds=6)], session=opened(tmp_path))
    history = history_of(8)
    first = pipeline.run(history)
    assert first.prefix_broken_at == 1
    second = pipeline.run(first.messages)
    third = pipeline.run(history)
    assert second.messages == third.messages == first.messages
    assert (second.prefix_broken_at, third.prefix_broken_at) == (None, None)
