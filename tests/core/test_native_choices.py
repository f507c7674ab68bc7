"""The choices of a native plan: made late, and from then on the same objects.

The pure core is the oracle: its plan holds a plain list.
"""

from __future__ import annotations

import gc
import weakref
from typing import Any

import pytest

from tests.core.harness import ask, plan_options, result, user
from tests.core.parity import assert_same
from toolbudget import _core

python = _core.load("python")
native = _core.load("native")

LARGE = "a line of text\n" * 200
BLOCKS = [{"type": "text", "text": LARGE}, {"type": "text", "text": "\ud800 and more"}]


def messages() -> list[Any]:
    """Make a turn with two results to be replaced, and one that stands in the next turn again."""
    return [
        ask("t1", "t2", "t3"),
        user(result("t1", LARGE), result("t2", BLOCKS), result("t3", "small"), result("t1", LARGE)),
        {"role": "assistant", "id": "m2", "content": []},
        user(result("t1", LARGE)),
    ]


def plan_of(core: Any, **changes: Any) -> Any:  # noqa: ANN401
    """Plan with nothing known."""
    options = plan_options(core, limit=1_000, **changes)
    return core.plan(messages(), core.Known({}, {}), options)


@pytest.mark.parametrize("changes", [{}, {"redact": str.upper}, {"redact": None}])
def test_choices_are_those_of_the_pure_core(changes: dict[str, Any]) -> None:
    """Items, comparison and look are those of a list."""
    expected, actual = plan_of(python, **changes), plan_of(native, **changes)
    assert len(actual.choices) == len(expected.choices) == 2
    assert_same(expected, actual)
    assert actual.choices == plan_of(native, **changes).choices
    assert repr(actual.choices) == repr(list(actual.choices))


def test_a_choice_stays_the_same_object() -> None:
    """Who carries a plan out changes what a choice holds, and reads it again."""
    choices = plan_of(native).choices
    first = choices[0]
    first.replacement = "another text"
    assert choices[0] is first
    assert choices[-2] is first
    assert next(iter(choices)) is first
    assert next(choice.replacement for choice in choices) == "another text"


def test_totals_are_those_of_the_plan() -> None:
    """A store that fails takes back what its choice has taken off."""
    plan = plan_of(native)
    assert all(choice.totals is plan.totals[0] for choice in plan.choices)
    [(_, of_follower)] = [pair for choice in plan.choices for pair in choice.followers]
    assert of_follower is plan.totals[1]


@pytest.mark.parametrize("index", [2, -3, 1 << 40])
def test_there_is_no_other_choice(index: int) -> None:
    """An index outside is an error as that of a list."""
    with pytest.raises(IndexError):
        plan_of(native).choices[index]


def test_choices_outlive_plan_and_messages() -> None:
    """They are made of what there was when the plan was made."""
    history = messages()
    plan = native.plan(history, native.Known({}, {}), plan_options(native, limit=1_000))
    choices = plan.choices
    for message in history:
        message.clear()
    del plan, history
    gc.collect()
    assert_same(list(plan_of(python).choices), list(choices))


def test_a_cycle_through_choices_is_collected() -> None:
    """What a choice holds may refer to the plan; nobody else knows of both."""

    class Path(str):
        __slots__ = ("__weakref__", "plan")
        plan: Any

    def answer(path: Path) -> Any:  # noqa: ANN401
        return lambda *_: path

    path = Path("/p")
    path.plan = plan_of(native, expected_path=answer(path))
    watch = weakref.ref(path)
    del path
    gc.collect()
    assert watch() is None
