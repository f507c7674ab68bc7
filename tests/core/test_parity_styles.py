"""Whole plans in every style: both cores decide the same, and the limit bounds what is shown."""

from __future__ import annotations

import dataclasses
import json
import math
from typing import TYPE_CHECKING, Any, Final

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.core.failing_outputs import FAILING_OUTPUTS
from tests.core.harness import (
    State,
    ask,
    canonical,
    enforce,
    plan_options,
    result,
    text_block,
    user,
)
from tests.core.parity import assert_same
from tests.core.test_show import CODE, LOG, PROSE, STYLES, TABLE, outline
from tests.strategies import hostile_text
from toolbudget import _core

if TYPE_CHECKING:
    from types import ModuleType

python = _core.load("python")
native = _core.load("native")

_JSON: Final = json.dumps([{"id": number, "name": f"name {number}"} for number in range(300)])
_OUTPUTS: Final = (LOG, TABLE, CODE, PROSE, _JSON, "x" * 9_000, LOG.replace("\n", " é\r\n"))
_CONTENTS: Final = st.one_of(
    st.sampled_from(_OUTPUTS),
    st.lists(st.sampled_from(_OUTPUTS).map(text_block), min_size=1, max_size=3),
    st.builds(str.__mul__, hostile_text(), st.integers(1, 99)),
)
_LIMITS: Final = st.sampled_from([200, 700, 1_500, 3_000, 9_000, math.inf])


@st.composite
def turns(draw: st.DrawFn) -> list[Any]:
    """Make one group of results as tools write them."""
    contents = draw(st.lists(_CONTENTS, min_size=1, max_size=5))
    ids = [f"t{number}" for number in range(len(contents))]
    return [ask(*ids), user(*map(result, ids, contents))]


@given(
    messages=turns(),
    style=st.sampled_from(STYLES),
    limit=_LIMITS,
    preview_bytes=st.sampled_from([1, 240, 700, 2_000]),
    unit=st.sampled_from(["chars", "tokens", "bytes"]),
    redacts=st.booleans(),
)
def test_plans_are_the_same(
    messages: list[Any],
    style: str,
    limit: float,
    preview_bytes: int,
    unit: str,
    *,
    redacts: bool,
) -> None:
    """V5: choices, previews and lengths; for a list and for a body."""
    options = plan_options(
        python,
        limit=limit,
        preview_bytes=preview_bytes,
        preview_style=style,
        outline=outline,
        unit=unit,
        redact=(lambda text: text.replace("o", "**")) if redacts else None,
    )
    expected, actual = (enforce(core, messages, options) for core in (python, native))
    assert_same(expected, actual)
    assert canonical(expected.messages) == canonical(actual.messages)
    scans = [core.scan_json(json.dumps(messages).encode()) for core in (python, native)]
    of_body = [
        core.plan_json(scan, State().known(core), options)
        for core, scan in zip((python, native), scans, strict=True)
    ]
    assert_same(*of_body)
    replacements = [choice.replacement for choice in expected.plan.choices]
    assert replacements == [choice.replacement for choice in of_body[1].choices]


@given(messages=turns(), style=st.sampled_from(STYLES), limit=_LIMITS)
def test_the_limit_bounds_what_is_shown(
    core: ModuleType, messages: list[Any], style: str, limit: float
) -> None:
    """B6: previews of any style count with the length that they came out with."""
    options = plan_options(core, limit=limit, preview_style=style, preview_bytes=1_000)
    options = dataclasses.replace(options, outline=outline)
    done = enforce(core, messages, options)
    blocks = done.messages[1]["content"]
    texts = [
        block["content"]
        if isinstance(block["content"], str)
        else "".join(part["text"] for part in block["content"])
        for block in blocks
    ]
    sizes = [len(text) for text in texts]
    assert sum(sizes) == sum(done.visible)
    assert sum(done.visible) <= limit + done.over_limit_chars
    if done.over_limit_chars:
        # The last step: nothing that could have been replaced shows a preview.
        assert not any("\nPreview (" in choice.replacement for choice in done.plan.choices)
    again = enforce(core, done.messages, options)
    assert canonical(again.messages) == canonical(done.messages)


@given(messages=turns(), style=st.sampled_from(STYLES))
def test_a_choice_can_be_built_for_another_path(
    core: ModuleType, messages: list[Any], style: str
) -> None:
    """B6: where a name was taken, the same preview stands behind the other path."""
    options = plan_options(core, limit=3_000, preview_style=style, preview_bytes=1_000)
    plan = core.plan(messages, State().known(core), dataclasses.replace(options, outline=outline))
    for choice in plan.choices:
        assert choice.build(choice.path, None) == choice.replacement
        moved = choice.replacement.replace(choice.path, "/elsewhere/t.txt", 1)
        assert choice.build("/elsewhere/t.txt", None) == moved


@pytest.mark.parametrize("name", FAILING_OUTPUTS)
def test_a_failing_run_is_planned_the_same(name: str) -> None:
    """What tools write when they fail, in groups that leave room for a part of the preview."""
    text = FAILING_OUTPUTS[name].text(700, 40)
    messages = [ask("t1", "t2"), user(result("t1", text), result("t2", text[::-1]))]
    for limit in (900, 2_000):
        options = plan_options(
            python, limit=limit, preview_bytes=2_000, preview_style="auto", outline=outline
        )
        assert_same(*(enforce(core, messages, options) for core in (python, native)))


def test_a_preview_is_made_once_for_each_step(core: ModuleType) -> None:
    """B6: a group that fits with the first step asks once for each that it takes, no more."""
    asked: list[int] = []

    def note(text: str, max_bytes: int) -> tuple[str, bool]:
        asked.append(max_bytes)
        return text[:max_bytes], True

    messages = [ask("t1", "t2"), user(result("t1", CODE), result("t2", CODE[: len(CODE) // 2]))]
    made = {"preview_bytes": 1_000, "preview_style": "outline", "outline": note}
    enforce(core, messages, plan_options(core, limit=len(CODE), **made))
    assert asked == [1_000]
    asked.clear()
    enforce(core, messages, plan_options(core, limit=900, **made))
    assert sorted(set(asked), reverse=True) == asked[::2] == asked[1::2]
