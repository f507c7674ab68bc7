from __future__ import annotations

import math
from collections import UserDict, UserList, deque
from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.core.harness import (
    Block,
    State,
    ask,
    assistant,
    canonical,
    content_at,
    enforce,
    plan_options,
    record,
    result,
    text_block,
    tool_use,
    user,
)
from tests.strategies import SdkObject, Text, odd_values
from toolbudget import InvalidMessageError

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from types import ModuleType

BIG = "x" * 2_000


def nothing_exempt(_name: str) -> bool:
    """Exempt no tool."""
    return False


# --- what cannot be a message list ----------------------------------------------------------------


@pytest.mark.parametrize(
    ("messages", "shown"),
    [
        (None, "None"),
        (7, "7"),
        ("text", "'text'"),
        (b"bytes", "b'bytes'"),
        (bytearray(b"x"), "bytearray(b'x')"),
        ({"role": "user"}, "{'role': 'user'}"),
        ({1}, "{1}"),
        (math.nan, "nan"),
    ],
    ids=lambda value: value if isinstance(value, str) else "",
)
def test_what_is_no_sequence_of_messages_is_an_error(
    core: ModuleType, messages: object, shown: str
) -> None:
    """Text, bytes, one message and any other value are refused by name and value (B11)."""
    with pytest.raises(InvalidMessageError) as collecting:
        core.collect(messages, nothing_exempt)
    with pytest.raises(InvalidMessageError) as planning:
        core.plan(messages, State().known(core), plan_options(core))
    for caught in (collecting, planning):
        assert type(messages).__name__ in str(caught.value)
        assert str(caught.value).endswith(shown)


def test_an_iterator_is_an_error(core: ModuleType) -> None:
    """What can be read once only is no list: it could not be handed out again."""
    with pytest.raises(InvalidMessageError, match="generator"):
        core.collect((message for message in [user()]), nothing_exempt)


@pytest.mark.parametrize("element", [None, 7, "text", b"x", [], (), math.nan, object(), True])
def test_an_element_that_is_no_message_is_an_error(core: ModuleType, element: object) -> None:
    """The error names the index and ends with the value (B11)."""
    with pytest.raises(InvalidMessageError) as caught:
        core.plan([user(), {}, element, user()], State().known(core), plan_options(core))
    assert "message 2 " in str(caught.value)
    assert str(caught.value).endswith(repr(element))


def _endless() -> list[Any]:
    value: list[Any] = []
    for _ in range(100_000):
        value = [value]
    return value


class Unshown:
    """A value that cannot be shown."""

    def __repr__(self) -> str:
        """Fail."""
        raise RuntimeError("no text for you")


@pytest.mark.parametrize(
    "make",
    [_endless, Unshown, lambda: 10**5_000, lambda: "x" * 10**6],
    ids=["nested", "without text", "huge number", "huge text"],
)
def test_a_hostile_element_is_the_same_error(core: ModuleType, make: Callable[[], object]) -> None:
    """A value that cannot be shown, or only at great length, does not hide the error (F4)."""
    with pytest.raises(InvalidMessageError) as caught:
        core.plan([make()], State().known(core), plan_options(core))
    assert str(caught.value).startswith("message 0 is ")
    assert len(str(caught.value)) < 300


# --- what passes through --------------------------------------------------------------------------


@pytest.mark.parametrize("make", [list, tuple, deque, UserList])
def test_any_sequence_is_a_list(
    core: ModuleType, make: Callable[[list[Any]], Sequence[Any]]
) -> None:
    """The outer list may be of any kind (B11)."""
    done = enforce(core, make([ask("t1"), user(result("t1", BIG))]), plan_options(core))
    assert len(done.plan.choices) == 1
    assert content_at(done.messages, 1) == done.plan.choices[0].replacement


@pytest.mark.parametrize(
    "make",
    [
        lambda block: {"role": "user", "content": (block,)},
        lambda block: UserDict(user(block)),
        lambda block: user(UserDict(block)),
        lambda block: {"role": Text("user"), "content": [block]},
        lambda block: user({**block, "type": Text("tool_result")}),
        lambda block: record(user(block)),
        lambda block: {"type": "user", "message": {"content": [block]}},
        lambda block: {"message": user(block)},
        lambda block: record(UserDict(user(block))),
        lambda block: UserDict(record(user(block))),
    ],
    ids=[
        "tuple of blocks",
        "mapping as message",
        "mapping as block",
        "role of a subclass",
        "type of a subclass",
        "record",
        "record with a role by its type",
        "record without a type",
        "record of a mapping",
        "mapping as record",
    ],
)
def test_other_forms_of_the_same_message(core: ModuleType, make: Callable[[Block], Any]) -> None:
    """A tuple counts as a list, any mapping as a dict, a str subclass as a str (B11)."""
    message = make(result("t1", BIG))
    done = enforce(core, [message], plan_options(core))
    assert [choice.key.tool_use_id for choice in done.plan.choices] == ["t1"]
    assert content_at(done.messages, 0) == done.plan.choices[0].replacement
    assert "x" * 2_000 in str(canonical(message)), "the input stays as it was"


@pytest.mark.parametrize(
    "content",
    [Text(BIG), [text_block(Text(BIG))], (text_block(BIG),), [UserDict(text_block(BIG))]],
    ids=["subclass", "block of a subclass", "tuple", "mapping"],
)
def test_other_forms_of_the_same_text(core: ModuleType, content: object) -> None:
    """The size of a text is what it holds, not what it says."""
    [group] = core.collect([user(result("t1", content))], nothing_exempt).groups
    assert [candidate.size for candidate in group.candidates] == [2_000]
    assert [candidate.text for candidate in group.candidates] == [BIG]


@pytest.mark.parametrize(
    ("block", "reason"),
    [
        ({"type": "tool_result", "tool_use_id": "t1"}, "empty"),
        (result("t1", None), "empty"),
        (result("t1", ""), "empty"),
        (result("t1", []), "empty"),
        (result("t1", [text_block(""), text_block("")]), "empty"),
        (result("t1", 7), "not_text"),
        (result("t1", math.nan), "not_text"),
        (result("t1", 10**400), "not_text"),
        (result("t1", {"type": "text", "text": BIG}), "not_text"),
        (result("t1", b"bytes"), "not_text"),
        (result("t1", [BIG]), "not_text"),
        (result("t1", [None]), "not_text"),
        (result("t1", [[text_block(BIG)]]), "not_text"),
        (result("t1", [{"type": "text"}]), "not_text"),
        (result("t1", [text_block(BIG), {"type": "text", "text": 7}]), "not_text"),
        (result("t1", [{"text": BIG}]), "not_text"),
        (result("t1", [{"type": "image", "source": {"data": BIG}}]), "not_text"),
        (result("t1", [text_block(BIG), {"type": "image", "source": {"data": "A"}}]), "not_text"),
        (result("t1", [text_block(BIG), {"type": "document"}]), "not_text"),
        (result("t1", [{"type": "tool_reference", "tool_name": "WebFetch"}]), "not_text"),
        (result("t1", [text_block(BIG), {"type": "search_result"}]), "not_text"),
        (result("t1", [text_block(BIG), {"type": "made up", "text": BIG}]), "not_text"),
        (result("t1", [SdkObject(type="text", text=BIG)]), "not_text"),
        ({"type": "tool_result", "content": BIG}, "malformed"),
        (result(None, BIG), "malformed"),
        (result(7, BIG), "malformed"),
        (result(b"t1", BIG), "malformed"),
        (result(["t1"], BIG), "malformed"),
        (SdkObject(type="tool_result", tool_use_id="t1", content=BIG), "object"),
    ],
    ids=range(29),
)
def test_what_is_no_text_result_passes_through(
    core: ModuleType, block: object, reason: str
) -> None:
    """Odd results beside a large one stay the same objects and are counted (B3, B11)."""
    messages = [ask("t1", "t2"), user(block, result("t2", BIG), block)]
    done = enforce(core, messages, plan_options(core))
    assert [choice.key.tool_use_id for choice in done.plan.choices] == ["t2"]
    assert dict(done.plan.skipped) == {reason: 2}
    assert done.messages[1]["content"][0] is block
    assert done.messages[1]["content"][2] is block
    assert done.visible == [len(done.plan.choices[0].replacement)]


@pytest.mark.parametrize(
    "message",
    [
        {},
        {"role": "user"},
        {"role": "user", "content": None},
        {"role": "user", "content": BIG},
        {"role": "user", "content": 7},
        {"role": "user", "content": {"type": "tool_result"}},
        {"role": "user", "content": [None, 7, "text", [], math.nan, object()]},
        {"role": "user", "content": [{"type": 7}, {"type": None}, {}, text_block(BIG)]},
        {"role": 7, "content": [result("t1", BIG)]},
        {"role": "tool", "content": [result("t1", BIG)]},
        {"role": "USER", "content": [result("t1", BIG)]},
        {"content": [result("t1", BIG)]},
        {"type": "user"},
        {"type": "user", "message": None},
        {"type": "user", "message": 7},
        {"type": "user", "message": [result("t1", BIG)]},
        {"type": "progress", "message": user(result("t1", BIG))},
        {"type": "attachment", "message": user(result("t1", BIG))},
        {"type": "system", "message": user(result("t1", BIG))},
        assistant("m1", result("t1", BIG)),
        assistant("m1", {"type": "web_search_tool_result", "content": BIG}),
        {"role": "assistant", "content": 7, "id": ["m1"]},
    ],
    ids=range(22),
)
def test_what_holds_no_results_passes_through(core: ModuleType, message: Block) -> None:
    """A message without result blocks of a user's is neither an error nor changed (B3, B11)."""
    done = enforce(core, [message, user(result("t2", BIG)), message], plan_options(core))
    assert done.messages[0] is message
    assert done.messages[2] is message
    assert [choice.key.tool_use_id for choice in done.plan.choices] == ["t2"]
    assert not done.plan.skipped


def test_a_message_object_passes_through(core: ModuleType) -> None:
    """Results inside objects are left alone and counted; calls inside objects are read (B3)."""
    asks = SdkObject(role="assistant", id="m1", content=[SdkObject(**tool_use("t2", "Read"))])
    answers = SdkObject(role="user", content=[result("t1", BIG)])
    wrapped = {"type": "user", "message": answers}
    messages = [asks, answers, wrapped, user(result("t2", BIG))]
    done = enforce(core, messages, plan_options(core))
    assert dict(done.plan.skipped) == {"object": 2, "exempt": 1}
    assert all(one is other for one, other in zip(messages, done.messages, strict=True))


class Failing(UserDict[str, Any]):
    """A mapping that cannot be read."""

    def __getitem__(self, key: str) -> object:
        """Fail."""
        raise RuntimeError(key)


class FailingObject:
    """A message object whose fields cannot be read."""

    role = "user"

    @property
    def content(self) -> object:
        """Fail."""
        raise RuntimeError("content")


@pytest.mark.parametrize("place", ["message", "inner message", "block", "text block"])
def test_a_mapping_that_raises_passes_through(core: ModuleType, place: str) -> None:
    """A host's own mapping may fail anywhere; the list goes out all the same (B11, F2)."""
    broken = Failing({"role": "user", "type": "user"})
    message: object = {
        "message": broken,
        "inner message": {"type": "user", "message": broken},
        "block": user(broken),
        "text block": user(result("t1", [broken])),
    }[place]
    done = enforce(core, [message, user(result("t2", BIG))], plan_options(core))
    assert done.messages[0] is message
    assert [choice.key.tool_use_id for choice in done.plan.choices] == ["t2"]


def test_a_property_that_raises_is_no_message(core: ModuleType) -> None:
    """An object whose content cannot be read is not taken for a message object."""
    with pytest.raises(InvalidMessageError, match="message 0 is"):
        core.plan([FailingObject()], State().known(core), plan_options(core))


@given(values=st.lists(odd_values(), max_size=4), key=st.sampled_from(["content", "id", "message"]))
def test_odd_values_anywhere_do_not_raise(core: ModuleType, values: list[object], key: str) -> None:
    """Whatever stands for a content, an id, a message or a block, the list goes out (B11)."""
    messages: list[object] = [ask("t1")]
    for value in values:
        messages += [{"role": "user", "type": "user", "content": [], key: value}, user(value)]
        messages += [assistant(value, value), user(result(value, value), result("t1", [value]))]
        messages += [record(user(value), isSidechain=value, agentId=value)]
    before = canonical(messages)
    done = enforce(core, messages, plan_options(core, limit=0))
    assert len(messages) == len(done.messages)
    assert before == canonical(messages)


def test_depth_is_no_danger(core: ModuleType) -> None:
    """Nesting that would overflow a recursive walk is passed over (F4)."""
    deep = _endless()
    messages = [user(deep, result("t1", deep), result("t2", [deep]), {"type": deep})]
    done = enforce(core, [*messages, user(result("t3", BIG))], plan_options(core))
    assert dict(done.plan.skipped) == {"not_text": 2}
    assert [choice.key.tool_use_id for choice in done.plan.choices] == ["t3"]
