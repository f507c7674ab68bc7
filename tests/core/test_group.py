from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import given

from tests.core.group_oracle import find_groups
from tests.core.harness import Block, assistant, record, result, text_block, tool_use, user
from tests.strategies import SdkObject, Text, message_lists

if TYPE_CHECKING:
    from types import ModuleType


READ = "Read".__eq__


def no_tool(_name: str) -> bool:
    """Exempt no tool."""
    return False


def groups_of(core: ModuleType, *messages: object) -> list[str]:
    """Give the ids of each group, written together."""
    survey = core.collect(messages, no_tool)
    return ["".join(item.tool_use_id for item in group.candidates) for group in survey.groups]


def results(*tool_use_ids: str) -> Block:
    """Make a user message that holds these results."""
    return user(*(result(tool_use_id, "text") for tool_use_id in tool_use_ids))


def says(message_id: object, **more: object) -> Block:
    """Make an assistant message with a word in it."""
    return {**assistant(message_id, text_block("word")), **more}


def test_user_messages_in_a_row_are_one_group(core: ModuleType) -> None:
    """What the API merges into one user message is judged together (B2)."""
    assert groups_of(core, says("m1"), results("a", "b"), results("c")) == ["abc"]


def test_an_assistant_message_splits(core: ModuleType) -> None:
    """A message with a new id starts a new group."""
    assert groups_of(core, says("m1"), results("a"), says("m2"), results("b")) == ["a", "b"]


def test_results_before_any_answer_are_a_group(core: ModuleType) -> None:
    """A list may begin anywhere, after a compaction for example."""
    assert groups_of(core, results("a"), says("m1"), results("b")) == ["a", "b"]


def test_records_of_one_streamed_answer_do_not_split(core: ModuleType) -> None:
    """A streamed answer comes as several records of one id, with results in between (B2)."""
    messages = [
        record(says("m1")),
        record(assistant("m1", tool_use("a"))),
        record(results("a")),
        record(assistant("m1", tool_use("b"))),
        record(results("b")),
        record(assistant("m1", tool_use("c"))),
        record(results("c")),
        record(says("m2")),
        record(results("d")),
    ]
    assert groups_of(core, *messages) == ["abc", "d"]


def test_an_id_that_occurred_before_never_splits(core: ModuleType) -> None:
    """Not only the last id counts: any id that has occurred in the chain is known (B2)."""
    messages = [says("m1"), results("a"), says("m2"), results("b"), says("m1"), results("c")]
    assert groups_of(core, *messages) == ["a", "bc"]


@pytest.mark.parametrize("message_id", [None, "", 7, ["m1"], {"id": "m1"}])
def test_a_message_without_an_id_always_splits(core: ModuleType, message_id: object) -> None:
    """Without an id, an empty one or one that is no text, nothing joins two messages (B2)."""
    answer = says(message_id)
    messages = [answer, results("a"), answer, results("b"), says("m1"), results("c"), answer]
    assert groups_of(core, *messages, results("d")) == ["a", "b", "c", "d"]


def test_a_new_id_splits_without_results_between(core: ModuleType) -> None:
    """Several answers in a row end one group, and make no empty ones."""
    messages = [says("m1"), results("a"), says("m2"), says("m3"), says("m2"), results("b")]
    assert groups_of(core, *messages) == ["a", "b"]


def test_ids_of_a_subclass_are_compared_as_text(core: ModuleType) -> None:
    """A str subclass is a str (B11)."""
    messages = [says("m1"), results("a"), says(Text("m1")), results("b"), says(Text("m2"))]
    assert groups_of(core, *messages, results("c")) == ["ab", "c"]


@pytest.mark.parametrize(
    "between",
    [
        {"type": "progress", "data": {"type": "bash_progress"}},
        {"type": "progress", "message": says("m9")},
        {"type": "attachment", "attachment": {"type": "file"}},
        {"type": "attachment", "message": says("m9")},
        {"type": "system", "subtype": "info", "content": "x"},
        {"type": "system", "message": says("m9")},
        {"type": "file-history-snapshot", "messageId": "m9"},
        {"type": "content-replacement", "replacements": []},
        {"type": "summary", "summary": "x", "leafUuid": "u"},
        {"role": "system", "content": "be brief"},
        {"role": "developer", "content": "be brief", "id": "m9"},
        {"type": "user", "message": {"role": "system", "content": "x"}},
        {"role": "user", "content": "typed by a person"},
        {"role": "user", "content": [text_block("typed by a person")]},
        {"role": "user", "content": []},
        {"role": "user"},
        {},
    ],
    ids=range(17),
)
def test_other_records_never_split(core: ModuleType, between: Block) -> None:
    """Progress, attachment, system and other records, and user text, leave a group whole (B2)."""
    messages = [says("m1"), results("a"), between, results("b"), says("m2"), between, results("c")]
    assert groups_of(core, *messages) == ["ab", "c"]


def test_an_answer_as_an_object_splits(core: ModuleType) -> None:
    """SDK objects are messages: their ids count as those of dicts do."""
    answer = SdkObject(type="message", role="assistant", id="m1", content=[])
    other = SdkObject(type="message", role="assistant", id="m2", content=[])
    messages = [answer, results("a"), says("m1"), results("b"), other, results("c")]
    assert groups_of(core, *messages) == ["ab", "c"]
    assert groups_of(core, results("a"), record(answer), results("b")) == ["a", "b"]


@pytest.mark.parametrize(
    "mark",
    [
        {"isSidechain": True},
        {"agentId": "a1"},
        {"isSidechain": True, "agentId": "a1"},
    ],
    ids=["sidechain", "agent", "agent of a sidechain"],
)
def test_chains_are_grouped_apart(core: ModuleType, mark: dict[str, Any]) -> None:
    """Records of a sub-agent stand among the others and split nothing of theirs (B2)."""
    messages = [
        record(says("m1")),
        record(results("a")),
        record(says("m8"), **mark),
        record(results("x"), **mark),
        record(results("b")),
        record(results("y"), **mark),
        record(says("m9"), **mark),
        record(results("z"), **mark),
        record(results("c")),
    ]
    assert groups_of(core, *messages) == ["abc", "xy", "z"]


def test_ids_are_compared_within_a_chain(core: ModuleType) -> None:
    """A copied record of another chain does not make an id known here (B2)."""
    messages = [
        record(results("a")),
        record(says("m1"), isSidechain=True),
        record(says("m1")),
        record(results("b")),
        record(results("x"), isSidechain=True),
        record(says("m1"), isSidechain=True),
        record(results("y"), isSidechain=True),
    ]
    assert groups_of(core, *messages) == ["a", "b", "xy"]


@pytest.mark.parametrize("mark", [{}, {"isSidechain": False}, {"isSidechain": None}])
def test_the_main_chain_is_one(core: ModuleType, mark: dict[str, Any]) -> None:
    """A plain message, a record without a mark and one marked as no sidechain belong together."""
    messages = [says("m1"), record(results("a"), **mark), results("b"), record(says("m1"), **mark)]
    assert groups_of(core, *messages, results("c")) == ["abc"]


def test_two_agents_are_two_chains(core: ModuleType) -> None:
    """Sub-agents that run at once do not count against each other."""
    one: dict[str, Any] = {"isSidechain": True, "agentId": "one"}
    two: dict[str, Any] = {"isSidechain": True, "agentId": "two"}
    messages = [
        record(results("a"), **one),
        record(results("b"), **two),
        record(says("m1"), **one),
        record(results("c"), **one),
        record(results("d"), **two),
    ]
    assert groups_of(core, *messages) == ["a", "bd", "c"]


def test_results_keep_the_order_of_appearance(core: ModuleType) -> None:
    """Within a group, and from group to group, the order is that of the list."""
    survey = core.collect(
        [results("c", "a"), {}, results("b"), says("m1"), results("a", "a")], no_tool
    )
    places = [
        (item.message_index, item.block_index, item.tool_use_id)
        for group in survey.groups
        for item in group.candidates
    ]
    assert places == [(0, 0, "c"), (0, 1, "a"), (2, 0, "b"), (4, 0, "a"), (4, 1, "a")]


def test_a_block_keeps_its_place_among_others(core: ModuleType) -> None:
    """Positions are those in the message, whatever stands between."""
    message = user(text_block("hint"), result("a", "text"), 7, result(7, "text"), result("b", "t"))
    [group] = core.collect([message], no_tool).groups
    assert [item.block_index for item in group.candidates] == [1, 4]


@given(messages=message_lists())
def test_grouping_is_what_the_rules_say(core: ModuleType, messages: list[Any]) -> None:
    """Groups, names, exemption and sizes of any list are those of the rules read one by one."""
    expected = [list(map(_seen, group.results)) for group in find_groups(messages, READ)]
    found = core.collect(messages, READ).groups
    assert expected == [list(map(_seen, group.candidates)) for group in found]


def _seen(item: Any) -> tuple[object, ...]:  # noqa: ANN401  # the oracle's and the core's are alike
    place = (item.message_index, item.block_index, item.tool_use_id)
    return (*place, item.tool_name, item.is_exempt, item.size, item.text)
