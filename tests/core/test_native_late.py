"""What the native core puts off, and what it reads as it lies in memory.

The pure core is the oracle: whatever a dict went through, both read the same, and a fingerprint
that is worked out late is that of the text.
"""

from __future__ import annotations

import gc
from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.core.harness import State, enforce, plan_options, result, text_block, user
from tests.core.parity import assert_same
from tests.strategies import Text
from toolbudget import _core

if TYPE_CHECKING:
    from collections.abc import Callable

python = _core.load("python")
native = _core.load("native")

LONG = "a line of text\n" * 200


class Fields:
    """Its attributes lie apart from their names, which all of its objects share."""

    def __init__(self, fields: dict[str, object]) -> None:
        for name, value in fields.items():
            setattr(self, name, value)


def with_gap(block: dict[str, Any]) -> dict[str, Any]:
    """Take something out at the beginning and in between."""
    made: dict[str, Any] = {"first": 1}
    for key, value in block.items():
        made[key] = value
        made[f"after {key}"] = value
    for key in ("first", *(f"after {key}" for key in block)):
        del made[key]
    return made


def with_other_keys(block: dict[str, Any]) -> dict[Any, Any]:
    """Add keys that are no texts."""
    return {1: "one", None: 2, **block}


def refilled(block: dict[str, Any]) -> dict[str, Any]:
    """Empty a dict that was large, and fill it again."""
    made: dict[str, Any] = {str(number): number for number in range(100)}
    made.clear()
    made.update(block)
    return made


def shared(block: dict[str, Any]) -> dict[str, Any]:
    """Give the dict of an object."""
    return vars(Fields(block))


def moved(block: dict[str, Any]) -> dict[str, Any]:
    """Take the last entry out and put it in again."""
    made = dict(block)
    key, value = made.popitem()
    made[key] = value
    first = next(iter(made))
    made[first] = made.pop(first)
    return made


KINDS = [dict, with_gap, with_other_keys, refilled, shared, moved]


@pytest.mark.parametrize("kind", KINDS)
def test_a_dict_is_read_alike_whatever_it_went_through(
    kind: Callable[[dict[str, Any]], dict[Any, Any]],
) -> None:
    """Entries that lie otherwise in memory, or were taken out, change nothing in a plan."""
    states = {core: State() for core in (python, native)}
    blocks = [kind(result(f"t{number}", f"{LONG}{number}")) for number in range(9)]
    calls = [{"type": "tool_use", "id": f"t{number}", "name": "Read"} for number in range(3)]
    ask = {"role": "assistant", "id": "m1", "content": [kind(call) for call in calls]}
    messages = [kind(ask), kind({"role": "user", "content": blocks})]
    for turn in range(4):
        plans = [
            enforce(core, messages, plan_options(core, limit=5_000), state).plan
            for core, state in states.items()
        ]
        assert_same(*plans)
        assert_same(*states.values())
        # What the calls before have met changes in place.
        blocks[turn]["content"] = f"another text of turn {turn}"
        del blocks[-1]["type"]
        blocks[-1]["type"] = "tool_result" if turn % 2 else "text"


@given(
    st.lists(
        st.tuples(
            st.sampled_from(["t1", "t2", "t3"]),
            st.sampled_from(["", "a", "é" * 900, "x" * 900, "x" * 900 + "\ud800"]),
            st.sampled_from(["plain", "subclass", "blocks", "copy"]),
        ),
        max_size=8,
    ),
    st.integers(0, 4),
)
def test_late_fingerprints_are_those_of_the_texts(
    results: list[tuple[str, str, str]], groups: int
) -> None:
    """Ids that come again, with the same text or another, in one group or in several."""
    made: dict[str, Callable[[str], object]] = {
        "plain": lambda text: text,
        "subclass": Text,
        "blocks": lambda text: [text_block(text), text_block("")],
        "copy": lambda text: text[:1] + text[1:],
    }
    messages: list[Any] = []
    for number, (tool_use_id, text, kind) in enumerate(results):
        messages.append(user(result(tool_use_id, made[kind](text))))
        if number < groups:
            messages.append({"role": "assistant", "id": f"m{number}", "content": []})
    states = {core: State() for core in (python, native)}
    for limit in (1_000, 10, 10**6):
        plans = [
            enforce(core, messages, plan_options(core, limit=limit), state).plan
            for core, state in states.items()
        ]
        assert_same(*plans)
        assert_same(*states.values())


def test_a_fingerprint_can_wait_until_the_conversation_is_gone() -> None:
    """What a plan lists is about the texts that it was made of, whatever came after it."""
    options = plan_options(native, limit=7_000)
    cache = State().fingerprints
    plans = []
    for turn in range(4):
        texts = {f"t{turn}{number}": f"{LONG}{turn}{number}" for number in range(4)}
        messages = [user(*(result(tool_use_id, text) for tool_use_id, text in texts.items()))]
        plan = native.plan(messages, native.Known({}, {}, {}, cache), options)
        cache = plan.fingerprints
        plans.append((plan, {name: python.fingerprint([text]) for name, text in texts.items()}))
        messages[0]["content"].clear()
        texts.clear()
    gc.collect()
    for plan, expected in plans:
        keys = [*plan.kept, *(choice.key for choice in plan.choices)]
        assert {key.tool_use_id: key.fingerprint for key in keys} == expected
        assert list(plan.kept) == list(plan.kept)


def test_a_cache_answers_though_nobody_has_asked_before() -> None:
    """A text that a plan has met is known, its fingerprint looked at or not."""
    text = LONG * 10
    plan = native.plan([user(result("t1", text))], State().known(native), plan_options(native))
    assert plan.fingerprints.find((text,)) == python.fingerprint([text])
    assert plan.choices[0].key.fingerprint == python.fingerprint([text])
