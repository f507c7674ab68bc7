"""What the raw reading of dicts, lists and texts rests on: any key object, order, size and change.

The pure core is the oracle: whatever a list is made of, both give the same plan.
"""

from __future__ import annotations

import gc
import itertools
import json
import weakref
from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.core.harness import (
    State,
    ask,
    enforce,
    plan_options,
    record,
    result,
    text_block,
    tool_use,
    user,
)
from tests.core.parity import assert_same
from tests.strategies import Text
from toolbudget import _core

if TYPE_CHECKING:
    from collections.abc import Callable

python = _core.load("python")
native = _core.load("native")

LONG = "a line of text\n" * 200


def conversation(prefix: str = "t") -> list[Any]:
    """Make a few turns as records and as messages, with calls of exempt tools among them."""
    return [
        ask(f"{prefix}1", f"{prefix}2"),
        user(result(f"{prefix}1", LONG), result(f"{prefix}2", "small")),
        {"role": "assistant", "id": "m2", "content": [tool_use(f"{prefix}3", "Read")]},
        record(
            user(result(f"{prefix}3", LONG + "3"), result(f"{prefix}4", LONG, toolset_name="s"))
        ),
    ]


def check_same(messages: list[Any], **changes: Any) -> None:  # noqa: ANN401
    """Enforce three times with each core: nothing, then something, then all is known."""
    states = {core: State() for core in (python, native)}
    for _ in range(3):
        expected, actual = (
            enforce(core, messages, plan_options(core, limit=3_000, **changes), state)
            for core, state in states.items()
        )
        assert_same(expected.plan, actual.plan)
    assert_same(*states.values())


def fresh(value: Any) -> Any:  # noqa: ANN401
    """Copy a value so that every text in it, keys too, is an object of its own."""
    if isinstance(value, dict):
        return {fresh(key): fresh(item) for key, item in value.items()}
    if isinstance(value, list):
        return [fresh(item) for item in value]
    return json.loads(json.dumps([value]))[0] if isinstance(value, str) else value


def test_keys_need_not_be_the_same_objects() -> None:
    """Keys and types that are equal texts, but other objects in each dict, are read alike."""
    messages = fresh(conversation())
    assert messages[0].keys() == conversation()[0].keys()
    assert not any(key is other for key, other in zip(messages[0], conversation()[0], strict=True))
    check_same(messages)


def test_keys_may_come_in_any_order() -> None:
    """A dict's layout is a hint only: every block with another order of keys is read alike."""
    block = {**result("t1", LONG), "toolset_name": None, "is_error": False}
    orders = list(itertools.permutations(block))[::7]
    blocks = [{key: block[key] for key in order} for order in orders]
    for number, ordered in enumerate(blocks):
        ordered["tool_use_id"] = f"t{number}"
    check_same([user(*blocks)])


@pytest.mark.parametrize("more", [0, 11, 12, 13, 14, 15, 100])
def test_dicts_may_be_large(more: int) -> None:
    """Beyond the size that is read in one pass, and around it, everything is found."""
    others = {f"other {number}": number for number in range(more)}
    messages = [
        {**others, **ask("t1")},
        {**user({**others, **result("t1", LONG)}, {**result("t2", LONG), **others}), **others},
    ]
    check_same(messages)


def test_more_keys_than_are_remembered() -> None:
    """Keys that come and go, so that their addresses are used again, are never mistaken."""
    for start in range(0, 400, 40):
        blocks = [
            {fresh(f"key {number}"): "tool_result", **result(f"t{number}", LONG)}
            for number in range(start, start + 40)
        ]
        check_same([user(*blocks)])
        del blocks
        gc.collect()


class Same(str):
    """A key that is equal to anything with its hash, and looked up as the text it holds."""

    __slots__ = ()

    def __eq__(self, other: object) -> bool:
        """Compare as text does."""
        return str.__eq__(self, other) is True

    __hash__ = str.__hash__


@pytest.mark.parametrize("kind", [Same, Text])
def test_keys_of_a_subclass(kind: Callable[[str], str]) -> None:
    """Keys that may compare in their own way are looked up as any dict does it."""
    block = {kind(key): value for key, value in result("t1", LONG).items()}
    message = {kind(key): value for key, value in user(block).items()}
    odd: dict[Any, object] = {7: "seven", None: "nothing"}
    check_same([message, user({**result("t2", LONG), **odd})])


class Mapping(dict[str, object]):
    """A dict of a subclass."""


class Blocks(list[object]):
    """A list of a subclass."""


@pytest.mark.parametrize("list_kind", [list, tuple, Blocks])
@pytest.mark.parametrize("dict_kind", [dict, Mapping])
def test_subclasses_are_read_alike(
    list_kind: Callable[[list[Any]], Any], dict_kind: Callable[[dict[str, Any]], Any]
) -> None:
    """Plain objects and those of subclasses, in any mix, give one plan."""
    content = [{"type": "text", "text": LONG}, dict_kind({"type": "text", "text": Text("more")})]
    blocks = [dict_kind(result("t1", list_kind(content))), result("t2", LONG), "no block", None]
    check_same([dict_kind(user(list_kind(blocks))), {"role": "user", "content": list_kind(blocks)}])


VALUES: list[Any] = [None, "", "user", "assistant", Text("user"), 7, [], {}, True, "tool_use"]


@given(
    fields=st.dictionaries(
        st.sampled_from(["message", "role", "content", "id", "isSidechain", "agentId", "type"]),
        st.sampled_from([*VALUES, user(result("t1", LONG)), ask("t1"), [result("t1", LONG)]]),
    )
)
def test_any_value_at_any_key_of_a_message(fields: dict[str, object]) -> None:
    """Whatever stands where, an element is taken for the same."""
    check_same([ask("t1"), fields, user(result("t1", LONG + "1"), result("t9", LONG))])


@given(
    fields=st.dictionaries(
        st.sampled_from(["type", "tool_use_id", "content", "toolset_name", "id", "name", "caller"]),
        st.sampled_from([*VALUES, "tool_result", LONG, [{"type": "text", "text": LONG}], "Read"]),
    ),
    is_call=st.booleans(),
)
def test_any_value_at_any_key_of_a_block(fields: dict[str, object], is_call: bool) -> None:  # noqa: FBT001
    """Whatever stands where, a block is taken for the same."""
    role = "assistant" if is_call else "user"
    kind = "tool_use" if is_call else "tool_result"
    messages = [{"role": role, "content": [{"type": kind, **fields}, fields]}]
    check_same([*messages, user(result("t1", LONG), result("user", LONG + "2"))])


def test_callbacks_may_change_what_was_read() -> None:
    """A callback that empties every list and dict leaves nothing dangling behind."""
    for name in ("is_exempt_tool", "expected_path", "is_stored_as_json", "redact"):
        blocks = [text_block(fresh(LONG)), text_block("more")]
        last = user(result(fresh("y1"), fresh(LONG)), result(fresh("y2"), blocks))
        messages = [*conversation(fresh("x")), ask("y1"), last]

        def clear(*arguments: object, name: str = name, messages: list[Any] = messages) -> object:
            for message in messages:
                inner = message.get("message", message)
                for block in inner.get("content", ()):
                    block.clear()
                inner.clear()
                message.clear()
            messages.clear()
            gc.collect()
            answers = {"expected_path": "path", "redact": arguments[0]}
            return answers.get(name, False)

        changes: dict[str, Any] = {name: clear}
        plan = native.plan(
            messages, State().known(native), plan_options(native, limit=100, **changes)
        )
        assert messages == []
        assert len(plan.choices) + len(plan.kept) == 6
        assert all(choice.replacement.startswith("<persisted-output>") for choice in plan.choices)


def test_a_call_within_a_call() -> None:
    """A callback that plans with the same memory leaves both as they should be."""
    messages = conversation()
    state = State()
    enforce(native, messages, plan_options(native, limit=3_000), state)
    inner: list[Any] = []

    def path(name: str, _is_json: bool) -> str:  # noqa: FBT001
        inner.append(native.plan(messages, state.known(native), plan_options(native)))
        return f"/{name}"

    more = [*messages, user(result("new", LONG * 9))]
    options = plan_options(native, limit=3_000, expected_path=path)
    outer = native.plan(more, state.known(native), options)
    assert [choice.key.tool_use_id for choice in outer.choices] == ["new"]
    assert inner
    assert all(not plan.decides for plan in inner)
    assert native.plan(more, state.known(native), plan_options(native)).candidates == 3


def known_with(epoch: object, decision: str | None, cache: Any) -> Any:  # noqa: ANN401
    """Make what is known of a single result."""
    fingerprint = python.fingerprint([LONG])
    return native.Known({"t1": {fingerprint: decision}}, {}, {}, cache, epoch)


def test_decisions_are_remembered_under_one_token_only() -> None:
    """Another token, or none, has every decision read anew."""
    cache = native.FingerprintCache()
    messages = [user(result("t1", LONG))]
    options = plan_options(native)
    token = object()
    native.plan(messages, known_with(token, "first", cache), options)
    for epoch in (object(), None):
        plan = native.plan(messages, known_with(epoch, "second", cache), options)
        assert [change.replacement for change in plan.changes] == ["second"]
        again = native.plan(messages, known_with(epoch, "third", cache), options)
        expected = "third" if epoch is None else "second"
        assert [change.replacement for change in again.changes] == [expected]


def test_a_remembered_decision_is_about_its_id() -> None:
    """One text object under two ids has two decisions."""
    messages = [user(result("t1", LONG), result("t2", LONG))]
    token, cache = object(), native.FingerprintCache()
    fingerprint = python.fingerprint([LONG])
    decisions = {"t1": {fingerprint: None}, "t2": {fingerprint: "short"}}
    for _ in range(3):
        known = native.Known(decisions, {}, {}, cache, token)
        plan = native.plan(messages, known, plan_options(native))
        assert plan.changes == [python.Change(0, 1, "short")]
        assert plan.totals[0].frozen == len(LONG)


def test_memory_is_no_leak_of_what_refers_back() -> None:
    """A text of a subclass that refers to the cache is collected with it."""

    class Owner(str):  # noqa: SLOT000 - it is to have attributes
        """A text with attributes."""

        cache: Any

    text = Owner(LONG)
    text.cache = native.FingerprintCache()
    known = native.Known({}, {}, {}, text.cache)
    native.plan([user(result("t1", text))], known, plan_options(native))
    assert len(text.cache) == 1
    gone = weakref.ref(text)
    del text, known
    gc.collect()
    assert gone() is None


def test_what_a_plan_lists_is_a_sequence() -> None:
    """Lists whose objects are made on demand read as lists do."""
    messages = conversation()
    state = State()
    first = native.plan(messages, state.known(native), plan_options(native, limit=10**9))
    kept = first.kept
    assert len(kept) == 4
    assert kept == list(kept) == [kept[index] for index in range(len(kept))]
    assert kept != list(kept)[1:]
    assert kept == first.kept
    assert kept[-1] == kept[3]
    assert repr(kept) == repr(list(kept))
    for index in (4, -5, 2**62):
        with pytest.raises(IndexError):
            kept[index]
    totals = first.totals
    assert totals[0] is totals[0]
    assert totals[-1] == list(totals)[-1]
    with pytest.raises(IndexError):
        totals[len(totals)]


@pytest.mark.parametrize("limit", [0, 2_999.5, 3_000, 3_005, float("inf"), float("nan"), 10**30])
@pytest.mark.parametrize("accounting", ["visible", "originals"])
def test_groups_over_a_limit_are_the_same(limit: float, accounting: str) -> None:
    """Both cores name the same groups, whether their objects have been looked at or not."""
    messages = conversation()
    for looks in (False, True):
        expected, actual = (
            core.plan(messages, State().known(core), plan_options(core, limit=10**9))
            for core in (python, native)
        )
        if looks:
            for plan in (expected, actual):
                plan.totals[0].frozen += 500
        assert_same(
            python.totals_over(expected.totals, limit, accounting),
            native.totals_over(actual.totals, limit, accounting),
        )


def test_a_plan_is_rewritten_as_its_list_is() -> None:
    """The changes of a plan need no objects to be put in."""
    messages = conversation()
    state = State()
    enforce(native, messages, plan_options(native, limit=3_000), state)
    plan = native.plan(messages, state.known(native), plan_options(native, limit=3_000))
    assert len(plan.changes) == 1
    assert native.rewrite(messages, plan.changes) == python.rewrite(messages, list(plan.changes))
