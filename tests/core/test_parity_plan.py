"""Both cores give the same plan, output and errors for any input; the pure one is the reference."""

from __future__ import annotations

import math
from collections import UserDict, deque
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.core.call_strategy import Call, calls, settings_of_a_call
from tests.core.harness import (
    State,
    ask,
    canonical,
    enforce,
    never,
    options_for,
    plan_options,
    result,
    text_block,
    user,
)
from tests.core.parity import assert_same, outcome
from tests.core.test_show import STYLES, outline
from tests.strategies import SdkObject, Text, any_text, hostile_text, message_lists, odd_values
from toolbudget import _core

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from types import ModuleType

    from toolbudget._core.pure import PlanOptions, PreviewStyle

python = _core.load("python")
native = _core.load("native")


def plan_with(core: ModuleType, messages: object, state: State, options: PlanOptions) -> object:
    """Plan with one core and what a state knows."""
    return outcome(core.plan, messages, state.known(core), options)


@given(call=calls(), style=st.sampled_from(STYLES))
def test_plans_are_the_same(call: Call, style: PreviewStyle) -> None:
    """Every field of a plan, and every object in it, is what the reference gives."""
    options = replace(options_for(python, call.settings), preview_style=style, outline=outline)
    expected = plan_with(python, call.messages, State.of(call.past), options)
    assert_same(expected, plan_with(native, call.messages, State.of(call.past), options))


@given(messages=message_lists())
def test_surveys_are_the_same(messages: list[Any]) -> None:
    """Both cores find the same results, groups and reasons to skip."""
    asked: dict[str, list[str]] = {"python": [], "native": []}

    def is_exempt(name: str, core: str) -> bool:
        asked[core].append(name)
        return name == "Read"

    expected = python.collect(messages, lambda name: is_exempt(name, "python"))
    assert_same(expected, native.collect(messages, lambda name: is_exempt(name, "native")))
    assert asked["python"] == asked["native"]


@given(
    call=calls(),
    cuts=st.lists(st.integers(0, 10), max_size=2),
    data=st.data(),
)
def test_turns_are_the_same(call: Call, cuts: list[int], data: st.DataObject) -> None:
    """A growing history, each turn with the state of the one before, goes the same way."""
    states = {core: State.of(call.past) for core in (python, native)}
    for end in [*sorted(cuts), len(call.messages)]:
        settings = data.draw(settings_of_a_call(st.sampled_from([0, 300, 1_000, math.inf])))
        options = options_for(python, settings)
        turn = call.messages[:end]
        expected, actual = (enforce(core, turn, options, state) for core, state in states.items())
        assert_same(expected, actual)
        assert canonical(expected.messages) == canonical(actual.messages)
    assert_same(*states.values())


@given(call=calls())
def test_a_second_pass_is_the_same(call: Call) -> None:
    """What was handed out comes back as it is from both cores."""
    options = options_for(python, call.settings)
    for core in (python, native):
        state = State.of(call.past)
        first = enforce(core, call.messages, options, state)
        second = enforce(core, first.messages, options, state)
        assert canonical(first.messages) == canonical(second.messages)
        # The other core agrees with what this one decided.
        other = native if core is python else python
        again = enforce(other, call.messages, options, state)
        assert canonical(first.messages) == canonical(again.messages)


@given(call=calls(), data=st.data())
def test_rewriting_is_the_same(call: Call, data: st.DataObject) -> None:
    """Any changes of results give equal lists that share the same objects."""
    survey = python.collect(call.messages, "Read".__eq__)
    candidates = [candidate for group in survey.groups for candidate in group.candidates]
    if not candidates:
        return
    texts = any_text(max_size=9)
    changes = [
        python.Change(candidate.message_index, candidate.block_index, data.draw(texts))
        for candidate in data.draw(st.lists(st.sampled_from(candidates)))
    ]
    expected = python.rewrite(call.messages, changes)
    actual = native.rewrite(call.messages, changes)
    assert canonical(expected) == canonical(actual)
    shared = [old is new for old, new in zip(call.messages, expected, strict=True)]
    assert shared == [old is new for old, new in zip(call.messages, actual, strict=True)]
    assert (expected is call.messages) is (actual is call.messages)


@given(content=odd_values() | st.lists(odd_values(), max_size=3), text=any_text(max_size=5))
def test_replaced_content_is_the_same(content: object, text: str) -> None:
    """Content of any shape takes a text in the same form."""
    expected = python.replace_content(content, text)
    assert canonical(expected) == canonical(native.replace_content(content, text))


@given(
    text=hostile_text() | any_text(),
    path=any_text(max_size=30),
    preview_bytes=st.integers(-3, 90) | st.sampled_from([2**63, 2**64, 10**25]),
    reader_hint=st.none() | any_text(max_size=9),
    size_bytes=st.none() | st.integers(-5, 10**30),
)
def test_replacements_are_the_same(
    text: str, path: str, preview_bytes: int, reader_hint: str | None, size_bytes: int | None
) -> None:
    """A replacement is the same to the byte, whatever it is told to say."""
    wanted = {
        "preview_bytes": preview_bytes,
        "reader_hint": reader_hint,
        "size_bytes": size_bytes,
    }
    assert_same(
        python.build_replacement(text, path, **wanted),
        native.build_replacement(text, path, **wanted),
    )


@given(st.lists(any_text() | hostile_text() | st.builds(Text, any_text()), max_size=4))
def test_fingerprints_are_the_same(parts: list[str]) -> None:
    """Size, hash and type of a fingerprint are the same."""
    assert_same(python.fingerprint(parts), native.fingerprint(iter(parts)))


@given(hostile_text() | any_text())
def test_frames_are_known_alike(text: str) -> None:
    """A text is framed in both cores or in neither."""
    for framed in (
        text,
        f"<persisted-output>\n{text}",
        f"<persisted-output>\n\n</persisted-output>{text}",
    ):
        assert python.is_framed_reference(framed) is native.is_framed_reference(framed)


class Unshowable:
    """A value whose ``repr`` fails."""

    def __repr__(self) -> str:
        """Fail."""
        raise ValueError("no")


NO_MESSAGE_LISTS: dict[str, object] = {
    "none": None,
    "text": "messages",
    "bytes": b"messages",
    "bytearray": bytearray(b"messages"),
    "mapping": {"role": "user", "content": []},
    "set": {1},
    "iterator": iter([]),
    "number": 10**400,
    "unshowable": Unshowable(),
    "range": range(2),
    "a number in it": [{}, 7],
    "nothing in it": [None],
    "text in it": ({}, {}, "text"),
    "a list in it": [[]],
    "something long in it": ["x" * 200],
    "something just short enough": ["x" * 78],
    "surrogates in it": ["\ud800" * 90],
    "something unshowable in it": [Unshowable()],
    "half an object": [SdkObject(role="user")],
    "a memory view": memoryview(b"ab"),
    "deep": [[] for _ in range(3)],
}


@pytest.mark.parametrize("messages", NO_MESSAGE_LISTS.values(), ids=NO_MESSAGE_LISTS)
def test_what_is_no_message_list_is_refused_alike(messages: object) -> None:
    """Both cores raise the same error with the same words."""
    expected = outcome(python.collect, messages, bool)
    assert isinstance(expected, ValueError)
    assert_same(expected, outcome(native.collect, messages, bool))
    options = plan_options(python)
    assert_same(expected, plan_with(native, messages, State(), options))


@pytest.mark.parametrize(
    "messages",
    [deque([user(result("t1", "x" * 9))]), (user(result("t1", "x" * 9)),), [UserDict(user())]],
    ids=["deque", "tuple", "mapping"],
)
def test_other_sequences_are_read_alike(messages: Sequence[object]) -> None:
    """A sequence of any kind is a message list."""
    expected = plan_with(python, messages, State(), plan_options(python))
    assert_same(expected, plan_with(native, messages, State(), plan_options(python)))


def fails_with(error: BaseException) -> Callable[..., Any]:
    """Make a callback that raises."""

    def fail(*_arguments: object) -> object:
        raise error

    return fail


ERRORS = pytest.mark.parametrize(
    "error", [ValueError("no"), KeyboardInterrupt(), MemoryError()], ids=repr
)


@ERRORS
@pytest.mark.parametrize("name", ["expected_path", "is_stored_as_json", "is_exempt_tool"])
def test_errors_of_callbacks_are_raised(core: ModuleType, name: str, error: BaseException) -> None:
    """What a callback raises is raised here, the very object."""
    messages = [ask("t1"), user(result("t1", [text_block("x" * 3_000)]))]
    changes: dict[str, Any] = {name: fails_with(error)}
    options = plan_options(core, **changes)
    with pytest.raises(type(error)) as raised:
        core.plan(messages, State().known(core), options)
    assert raised.value is error


@pytest.mark.parametrize("kind", [str, Text])
def test_nobody_is_asked_whether_a_text_is_json(
    core: ModuleType, kind: Callable[[str], str]
) -> None:
    """A text is stored as it is; only of a list of blocks it is asked."""
    messages = [user(result("t1", kind("x" * 3_000)))]
    options = plan_options(core, is_stored_as_json=never, expected_path=lambda *told: repr(told))
    [choice] = core.plan(messages, State().known(core), options).choices
    assert choice.path == "('t1', False)"


@ERRORS
def test_only_exceptions_of_redact_are_collected(core: ModuleType, error: BaseException) -> None:
    """A failing hook passes a result over; an interrupt is not its failure."""
    messages = [user(result("t1", "x" * 3_000))]
    options = plan_options(core, redact=fails_with(error))
    if isinstance(error, Exception):
        plan = core.plan(messages, State().known(core), options)
        assert plan.redaction_failures == [("t1", error)]
        assert [key.tool_use_id for key in plan.kept] == ["t1"]
    else:
        with pytest.raises(type(error)):
            core.plan(messages, State().known(core), options)


@pytest.mark.parametrize("limit", [10**40, -(10**40), math.inf, -math.inf, math.nan, 2**63, 0.5])
def test_any_limit_is_compared_alike(limit: float) -> None:
    """A limit of any size or kind bounds the same groups."""
    messages = [user(result("t1", "x" * 3_000), result("t2", "y" * 2_000))]
    options = plan_options(python, limit=limit)
    expected = plan_with(python, messages, State(), options)
    assert_same(expected, plan_with(native, messages, State(), options))


@pytest.mark.parametrize("preview_bytes", [-7, 0, 1, 2**40, 2**64, 10**30])
def test_any_preview_size_is_used_alike(preview_bytes: int) -> None:
    """A preview of any size is cut, shrunk and named the same."""
    messages = [user(result("t1", "xé" * 3_000), result("t2", [text_block("y" * 2_000)]))]
    options = plan_options(python, limit=900, preview_bytes=preview_bytes)
    expected = plan_with(python, messages, State(), options)
    assert_same(expected, plan_with(native, messages, State(), options))
