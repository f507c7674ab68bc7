from __future__ import annotations

import copy
from collections import UserDict
from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import given

from tests.core.call_strategy import Call, calls
from tests.core.harness import (
    Block,
    State,
    canonical,
    enforce,
    options_for,
    record,
    result,
    text_block,
    user,
)
from tests.strategies import Text

if TYPE_CHECKING:
    from collections.abc import Mapping
    from types import ModuleType

EPHEMERAL = {"type": "ephemeral"}
ONE_HOUR = {"type": "ephemeral", "ttl": "1h"}


@pytest.mark.parametrize(
    ("content", "expected"),
    [
        ("old", "new"),
        (Text("old"), "new"),
        ([text_block("old")], [text_block("new")]),
        ([text_block("old"), text_block("older")], [text_block("new")]),
        ((text_block("old"),), [text_block("new")]),
        (
            [text_block("old", cache_control=EPHEMERAL)],
            [text_block("new", cache_control=EPHEMERAL)],
        ),
        (
            [
                text_block("a", cache_control=EPHEMERAL),
                text_block("b", cache_control=ONE_HOUR),
                text_block("c"),
            ],
            [text_block("new", cache_control=ONE_HOUR)],
        ),
        ([text_block("old", citations=[], extra=1)], [text_block("new")]),
        (
            [UserDict(text_block("old", cache_control=ONE_HOUR))],
            [text_block("new", cache_control=ONE_HOUR)],
        ),
    ],
    ids=range(9),
)
def test_the_form_stays(core: ModuleType, content: object, expected: object) -> None:
    """A string stays one; a list stays a list, of one text block with the last mark (W3)."""
    assert canonical(expected) == canonical(core.replace_content(content, "new"))


def message() -> Block:
    """Make a message with keys and blocks that must stay where they are."""
    first = {"is_error": True, **result("a", "old"), "cache_control": EPHEMERAL, "extra": {"k": 1}}
    return {
        "extra": [1],
        "content": [text_block("hint"), first, result("b", [text_block("old")]), 7],
        "role": "user",
        "more": None,
    }


def test_only_the_content_changes(core: ModuleType) -> None:
    """Every other key, its value and the order of keys stay (G5, B10)."""
    messages = [message(), message()]
    output = core.rewrite(messages, [core.Change(1, 1, "new")])
    expected = copy.deepcopy(messages)
    expected[1]["content"][1]["content"] = "new"
    assert canonical(expected) == canonical(output)


def test_unchanged_objects_are_shared(core: ModuleType) -> None:
    """A changed message is a shallow copy down to the changed block; the rest is the same (B10)."""
    messages = [message(), message()]
    before = canonical(messages)
    output = core.rewrite(messages, [core.Change(1, 1, "new")])
    assert before == canonical(messages)
    assert output is not messages
    assert output[0] is messages[0]
    assert output[1] is not messages[1]
    assert output[1]["extra"] is messages[1]["extra"]
    for index in (0, 2, 3):
        assert output[1]["content"][index] is messages[1]["content"][index]
    changed, old = output[1]["content"][1], messages[1]["content"][1]
    assert changed is not old
    assert changed["cache_control"] is old["cache_control"]
    assert changed["extra"] is old["extra"]


def test_the_mark_of_a_list_is_shared(core: ModuleType) -> None:
    """A carried ``cache_control`` is the object that it was."""
    mark = {"type": "ephemeral"}
    [block] = core.replace_content([text_block("old", cache_control=mark)], "new")
    assert block["cache_control"] is mark


def test_a_record_keeps_its_own_keys(core: ModuleType) -> None:
    """A record and the message in it are copied; the structured copy beside it stays (W1)."""
    structured = {"stdout": "old"}
    wrapped = record(message(), toolUseResult=structured, isSidechain=False)
    output = core.rewrite([wrapped], [core.Change(0, 2, "new")])
    expected = copy.deepcopy(wrapped)
    expected["message"]["content"][2]["content"] = [text_block("new")]
    assert canonical([expected]) == canonical(output)
    assert output[0]["toolUseResult"] is structured
    assert output[0]["message"]["content"][1] is wrapped["message"]["content"][1]


def test_several_changes_of_one_message(core: ModuleType) -> None:
    """Each change finds its block, in whatever order they come."""
    changes = [core.Change(0, 2, "second"), core.Change(0, 1, "first")]
    [output] = core.rewrite([message()], changes)
    assert output["content"][1]["content"] == "first"
    assert output["content"][2]["content"] == [text_block("second")]


def test_nothing_to_change_gives_the_input(core: ModuleType) -> None:
    """Without changes nothing is copied."""
    messages = [message()]
    assert core.rewrite(messages, []) is messages


@pytest.mark.parametrize(
    "make",
    [
        lambda: {"role": "user", "content": (result("a", "old"), 7)},
        lambda: UserDict(user(result("a", "old"), 7)),
        lambda: user(UserDict(result("a", "old")), 7),
    ],
    ids=["tuple", "mapping", "mapping as block"],
)
def test_what_changes_becomes_plain(core: ModuleType, make: Any) -> None:  # noqa: ANN401
    """A changed tuple becomes a list, another kind of mapping a dict (W3)."""
    [output] = core.rewrite([make()], [core.Change(0, 0, "new")])
    assert canonical(user(result("a", "new"), 7)) == canonical(output)


def test_the_output_of_a_tuple_is_a_list(core: ModuleType) -> None:
    """A changed list of messages is a list, whatever sequence came in."""
    output = core.rewrite((message(),), [core.Change(0, 1, "new")])
    assert type(output) is list


@given(call=calls())
def test_the_input_is_never_changed(core: ModuleType, call: Call) -> None:
    """After a call the input is what it was, down to types, order of keys and texts (B10)."""
    before = canonical(call.messages)
    enforce(core, call.messages, options_for(core, call.settings), State.of(call.past))
    assert before == canonical(call.messages)


@given(call=calls())
def test_all_but_replaced_contents_is_shared(core: ModuleType, call: Call) -> None:
    """Whatever was not replaced is the same object in the output, at the same place (B10)."""
    done = enforce(core, call.messages, options_for(core, call.settings), State.of(call.past))
    replaced = {(change.message_index, change.block_index) for change in done.plan.changes}
    for choice in done.plan.choices:
        places = [*choice.occurrences, *(follower for follower, _ in choice.followers)]
        replaced |= {(place.message_index, place.block_index) for place in places}
    changed_messages = {message_index for message_index, _ in replaced}
    assert len(call.messages) == len(done.messages)
    for index, (old, new) in enumerate(zip(call.messages, done.messages, strict=True)):
        if index not in changed_messages:
            assert old is new
            continue
        changed_blocks = {block for message_index, block in replaced if message_index == index}
        _check_shared(old, new, changed_blocks)


def _check_shared(old: Mapping[str, Any], new: Mapping[str, Any], changed_blocks: set[int]) -> None:
    assert list(old) == list(new)
    if "content" not in new:
        assert all(old[key] is new[key] for key in old if key != "message")
        _check_shared(old["message"], new["message"], changed_blocks)
        return
    assert all(old[key] is new[key] for key in old if key != "content")
    for index, (old_block, new_block) in enumerate(
        zip(old["content"], new["content"], strict=True)
    ):
        if index in changed_blocks:
            assert list(old_block) == list(new_block)
            assert all(old_block[key] is new_block[key] for key in old_block if key != "content")
        else:
            assert old_block is new_block


def test_keys_of_a_subclass_of_str_give_the_same_objects(core: ModuleType) -> None:
    """Of a key only the characters count, in the message, the result and its parts."""

    def named(**fields: object) -> dict[str, object]:
        return {Text(name): value for name, value in fields.items()}

    part = named(type="text", text="long")
    block = named(type="tool_result", tool_use_id="t1", content=[part])
    messages = [named(message=named(role="user", content=[block]))]
    changes = [core.Change(0, 0, "short")]
    first, earlier = core.rewrite_again(messages, changes, [])
    again, _ = core.rewrite_again(messages, changes, earlier)
    assert again[0]["message"]["content"][0]["content"][0]["text"] == "short"
    assert again[0] is first[0]


@given(call=calls())
def test_rewriting_again_gives_the_same_objects(core: ModuleType, call: Call) -> None:
    """The output is that of rewriting, and each changed message the one of the call before."""
    plan = core.plan(
        call.messages, State.of(call.past).known(core), options_for(core, call.settings)
    )
    changes = list(plan.changes)
    first, earlier = core.rewrite_again(call.messages, changes, [])
    again, pairs = core.rewrite_again(call.messages, changes, earlier)
    assert canonical(first) == canonical(core.rewrite(call.messages, changes))
    assert all(one is other for one, other in zip(first, again, strict=True))
    assert (again is call.messages) is (not changes)
    assert [id(one) for one in pairs] == [id(one) for one in earlier]
    assert {id(one) for one in pairs[::2]} <= {id(one) for one in call.messages}


def test_messages_are_found_wherever_they_stand_now(core: ModuleType) -> None:
    """Order and number may change; one message in two places has an output for each."""
    one, other, third = message(), message(), message()

    def rewritten(messages: list[Block], earlier: list[object]) -> tuple[list[Any], list[object]]:
        changes = [core.Change(place, 1, "new") for place in range(len(messages))]
        output, pairs = core.rewrite_again(messages, changes, earlier)
        return output, pairs

    first, earlier = rewritten([one, other, one], [])
    assert first[0] is not first[2]
    again, earlier = rewritten([third, one, one, other], earlier)
    assert [id(made) for made in again[1:]] == [id(first[place]) for place in (0, 2, 1)]
    last, _ = rewritten([other, one, one, one], earlier)
    assert [id(made) for made in last[:3]] == [id(first[place]) for place in (1, 0, 2)]
    assert last[3] == first[0]
    assert all(last[3] is not made for made in first)


def test_an_output_that_has_become_its_own_input_is_no_output(core: ModuleType) -> None:
    """Whatever a host hands in as earlier outputs, what comes back is right."""
    given = message()
    changes = [core.Change(0, 1, "new")]
    expected = core.rewrite([given], changes)
    circle: dict[str, Any] = {}
    circle["content"] = circle
    strange: tuple[object, ...] = (given, None, 7, [], circle, UserDict(expected[0]), expected)
    for earlier in strange:
        output, _ = core.rewrite_again([given], changes, [given, earlier])
        assert canonical(output) == canonical(expected)
        assert output[0] is not earlier
