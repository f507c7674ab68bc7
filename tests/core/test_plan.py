from __future__ import annotations

from typing import TYPE_CHECKING, Any

from tests.core.harness import (
    BIG,
    RECORDED,
    assistant,
    decided,
    enforce,
    kept,
    plan_options,
    result,
    taken,
    tool_use,
    user,
)

if TYPE_CHECKING:
    from collections.abc import Sequence
    from types import ModuleType


def test_the_numbers_of_a_call(core: ModuleType) -> None:
    """Candidates are results with a decision, the rest is skipped, characters are those given."""
    messages: Sequence[Any] = [
        assistant("m1", tool_use("a", "Read")),
        user(
            result("a", "a" * 10),
            result("b", "b" * 2_000),
            result("c", "c" * 300),
            result("d", RECORDED),
            result("e", "e" * 40),
            result("f", ""),
            result("g", "g" * 500),
            result("c", "c" * 300),
        ),
    ]
    state = decided(("e", "e" * 40, None), ("g", "g" * 500, RECORDED))
    done = enforce(core, messages, plan_options(core), state)
    assert (taken(done), kept(done)) == (["b"], ["a", "c", "d"])
    assert done.plan.candidates == 5  # b, c twice, e, g
    assert dict(done.plan.skipped) == {"exempt": 1, "reference": 1, "empty": 1}
    assert done.plan.chars_before == 10 + 2_000 + 300 + len(RECORDED) + 40 + 500 + 300
    assert done.plan.chars_gained == 500 - len(RECORDED)
    assert done.plan.decides


def test_a_call_that_decides_nothing_says_so(core: ModuleType) -> None:
    """Nothing to store and nothing to record: that is most calls of a session."""
    state = decided(("t1", BIG, RECORDED))
    done = enforce(core, [user(result("t1", BIG), result("t2", ""))], plan_options(core), state)
    assert not done.plan.decides
    assert not enforce(core, [], plan_options(core)).plan.decides
