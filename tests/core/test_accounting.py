from __future__ import annotations

import math
from typing import TYPE_CHECKING

from hypothesis import given
from hypothesis import strategies as st

from tests.core.harness import State, enforce, plan_options, result, sized, taken, user

if TYPE_CHECKING:
    from types import ModuleType


def test_originals_count_no_previews(core: ModuleType) -> None:
    """The plain rule takes the size off and counts nothing for the preview (B6)."""
    done = enforce(core, sized(600, 600), plan_options(core, limit=600, accounting="originals"))
    assert (taken(done), done.visible, done.over_limit_chars) == (["t0"], [600], 0)


def test_originals_never_shrink(core: ModuleType) -> None:
    """Every preview is whole, whatever the group comes to (B6)."""
    options = plan_options(core, limit=5, accounting="originals", preview_bytes=1_000)
    done = enforce(core, sized(9_000, 8_000), options)
    assert [choice.preview_bytes for choice in done.plan.choices] == [1_000, 1_000]
    assert done.visible == [0]


def test_originals_count_no_standing_replacements(core: ModuleType) -> None:
    """What was replaced before takes no room from the others; by the usual rule it does (B6)."""
    first = sized(9_000)
    messages = [*first, user(result("t9", "z" * 900))]
    chosen = {}
    for accounting in ("originals", "visible"):
        state = State()
        enforce(core, first, plan_options(core, limit=8_000), state)
        options = plan_options(core, limit=900, accounting=accounting)
        chosen[accounting] = taken(enforce(core, messages, options, state))
    assert chosen == {"originals": [], "visible": ["t9"]}


@given(
    sizes=st.lists(st.integers(400, 3_000), min_size=1, max_size=8),
    frozen_chars=st.integers(0, 2_000),
    limit=st.integers(0, 9_000),
)
def test_originals_are_the_plain_function(
    core: ModuleType, sizes: list[int], frozen_chars: int, limit: int
) -> None:
    """Where every replacement gains, the choice is that of ``select_largest`` (B6)."""
    frozen = result("f", "f" * frozen_chars)
    messages = [user(frozen)]
    state = State()
    enforce(core, messages, plan_options(core, limit=math.inf), state)
    messages += sized(*sizes)[1:]
    options = plan_options(core, limit=limit, accounting="originals", preview_bytes=10)
    done = enforce(core, messages, options, state)
    total = frozen_chars + sum(sizes)
    plain = core.select_largest(sizes, total, limit)
    assert taken(done) == [f"t{index}" for index in plain]


def test_a_reference_is_a_standing_replacement(core: ModuleType) -> None:
    """Under ``originals`` a reference takes no room, at first sight and later (B3, B6)."""
    text = "[2000 characters were here]"
    state = State(facts={text})
    options = plan_options(core, accounting="originals")
    visible = [enforce(core, [user(result("t1", text))], options, state).visible for _ in "12"]
    assert visible == [[0], [0]]
