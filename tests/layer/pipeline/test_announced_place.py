"""What a turn says about the cached prefix is neither too little nor too much."""

from __future__ import annotations

import tempfile
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from hypothesis import given
from hypothesis import strategies as st

from tests.layer.pipeline.agents import BreakingStore, history_of, opened, round_of
from toolbudget import Limits
from toolbudget.pipeline import Budget, HistorySnip, Microcompact, Pipeline

if TYPE_CHECKING:
    from collections.abc import Sequence

    from toolbudget.pipeline import Stage

LATER_S = 7_200.0


class Step(NamedTuple):
    """One turn of a host."""

    new_chars: list[int]
    is_store_broken: bool
    is_late: bool
    goes_on: bool
    is_refused: bool
    withdraws: bool
    resumes: bool


STEPS = st.builds(
    Step,
    st.lists(st.sampled_from([10, 400, 900, 2_000]), max_size=3),
    st.booleans(),
    st.booleans(),
    st.booleans(),
    st.sampled_from([False, False, True]),
    st.sampled_from([False, False, True]),
    st.sampled_from([False, False, False, True]),
)


def first_difference(before: Sequence[Any], after: Sequence[Any]) -> int | None:
    """Compare what two requests have in common, message by message."""
    pairs = enumerate(zip(before, after, strict=False))
    return next((index for index, (old, new) in pairs if old != new), None)


@given(
    steps=st.lists(STEPS, min_size=2, max_size=10),
    most_rounds=st.integers(2, 6),
    is_strict=st.booleans(),
    has=st.tuples(st.booleans(), st.booleans()),
)
def test_the_place_is_the_first_message_that_differs(
    steps: list[Step], most_rounds: int, *, is_strict: bool, has: tuple[bool, bool]
) -> None:
    """Whatever failed, was refused, was withdrawn or cut before: it is that, or there is none."""
    with tempfile.TemporaryDirectory() as folder:
        store = BreakingStore(Path(folder) / "own", durability="process")
        options: dict[str, Any] = {"store": store, "strict": is_strict}
        options["limits"] = Limits(max_message_chars=1_500)
        session = opened(Path(folder), **options)
        stages: list[Stage] = [Budget()]
        stages += [HistorySnip(max_rounds=most_rounds)] if has[0] else []
        stages += [Microcompact(keep=1)] if has[1] else []
        pipeline = Pipeline(stages, session=session)
        history, given_at = history_of(1), 0
        sent: list[Any] = []
        for number, step in enumerate(steps):
            if step.withdraws:
                session.withdraw()
            if step.resumes:
                session.close()
                session = opened(Path(folder), **options)
                pipeline = pipeline.for_session(session)
                sent, given_at = [], 0
            store.is_broken = step.is_store_broken
            for place, chars in enumerate(step.new_chars):
                history = [*history, *round_of(100 + 10 * number + place, chars)]
            own = [*sent, *history[given_at:]] if step.goes_on and sent else history
            if step.is_refused:
                error = "prompt is too long: 2700 tokens > 2500 maximum"
                result = pipeline.recover_from_overflow(own, error)
            else:
                result = pipeline.run(own, idle_s=LATER_S if step.is_late else 1.0)
            if result is None:
                continue
            if sent:
                assert result.prefix_broken_at == first_difference(sent, result.messages)
            sent, given_at = result.messages, len(history)
        session.close()
