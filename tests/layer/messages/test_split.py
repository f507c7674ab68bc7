"""One block per record."""

from __future__ import annotations

import copy
import uuid
from typing import Any

import pytest
from anthropic.types import TextBlock
from hypothesis import given

from tests.builders import answer, call, msg, res
from tests.layer.messages.conversations import blocks_of, conversations
from tests.layer.messages.test_guards import sdk_message
from tests.strategies import message_lists
from toolbudget import InvalidMessageError, collect_candidates_by_message
from toolbudget.messages import normalize_messages

Record = dict[str, Any]


def text(words: str) -> Record:
    """Make a text block."""
    return {"type": "text", "text": words}


def record(name: str, *blocks: Record, role: str = "user", **others: object) -> Record:
    """Make a transcript record of blocks."""
    message = {"role": role, "content": list(blocks)}
    return {"type": role, "message": message, "uuid": name, **others}


def derived(name: str, index: int) -> str:
    """Say the rule of derived uuids a second time."""
    return str(uuid.uuid5(uuid.NAMESPACE_OID, f"{name}:{index}"))


def test_texts_become_blocks_and_records_of_one_block_stay() -> None:
    """Nothing but the form of a text changes before the first record of several blocks."""
    single = record("b", text("two"), isMeta=True)
    typed = {"type": "user", "message": {"role": "user", "content": "one"}, "uuid": "a"}
    parts = normalize_messages([typed, single])
    assert parts == [record("a", text("one")), single]
    assert parts[1] is single


def test_split_records_and_all_after_them_get_derived_uuids() -> None:
    """A split goes on through its chain, and only there."""
    side: Record = {"isSidechain": True, "agentId": "a1"}
    parts = normalize_messages(
        [
            record("a", text("1")),
            record("b", text("2"), text("3"), role="assistant", requestId="r"),
            record("c", text("4")),
            record("d", text("5"), **side),
            record("e", text("6"), text("7")),
        ]
    )
    expected = ["a", derived("b", 0), derived("b", 1), derived("c", 0), "d"]
    expected += [derived("e", 0), derived("e", 1)]
    assert [part["uuid"] for part in parts] == expected
    assert [part["message"]["content"][0]["text"] for part in parts] == list("1234567")
    assert [part.get("requestId") for part in parts[:3]] == [None, "r", "r"]


def test_references_follow_the_records_that_were_split() -> None:
    """Parts are chained, children hang on the last one, results name the part of their call."""
    parts = normalize_messages(
        [
            record("a", call("t1", "Bash"), call("t2", "Bash"), role="assistant", parentUuid=None),
            record("b", res("t1", "x"), parentUuid="a", sourceToolAssistantUUID="a"),
            record("c", res("t2", "y"), parentUuid="b", sourceToolAssistantUUID="a"),
            {"type": "system", "uuid": "d", "parentUuid": "c"},
        ]
    )
    first, second = derived("a", 0), derived("a", 1)
    assert [part["parentUuid"] for part in parts] == [
        None,
        first,
        second,
        derived("b", 0),
        derived("c", 0),
    ]
    assert parts[2]["sourceToolAssistantUUID"] == first
    assert parts[3]["sourceToolAssistantUUID"] == second


def test_pasted_images_take_their_numbers_along() -> None:
    """Each image has its own number, a text none; with another count all keep all."""
    image = {"type": "image", "source": {"type": "file", "file_id": "f"}}
    parts = normalize_messages([record("a", image, text("x"), image, imagePasteIds=[4, 7])])
    assert [part.get("imagePasteIds") for part in parts] == [[4], None, [7]]
    parts = normalize_messages([record("a", image, text("x"), imagePasteIds=[4, 7])])
    assert [part.get("imagePasteIds") for part in parts] == [[4, 7], [4, 7]]


def test_messages_without_uuid_and_without_blocks() -> None:
    """API messages are split without ids, what has no blocks passes through."""
    nothing: list[Record] = [msg(), {"role": "user"}, {"role": "user", "content": 7}]
    assert normalize_messages(nothing) == nothing
    assert normalize_messages([answer(text("1"), call("t", "Bash"), message_id="m")]) == [
        answer(text("1"), message_id="m"),
        answer(call("t", "Bash"), message_id="m"),
    ]
    assert normalize_messages([record("\ud800", text("1"), text("2"))])[1]["uuid"]


def test_sdk_objects_become_dicts() -> None:
    """An answer of the provider's client is split as its JSON would be."""
    one, two = normalize_messages(
        [sdk_message(TextBlock(type="text", text="1"), TextBlock(type="text", text="2"))]
    )
    assert (one["id"], one["role"], one["usage"]["input_tokens"]) == ("msg_1", "assistant", 1)
    assert one["content"] == [text("1")]
    assert two["content"] == [text("2")]


def test_what_is_no_message_list_is_an_error() -> None:
    """The error names the index and the value."""
    with pytest.raises(InvalidMessageError, match=r"message 1 .*: 42"):
        normalize_messages([msg(), 42])


@given(conversations())
def test_every_block_is_in_its_place_and_alone(conversation: list[Record]) -> None:
    """Blocks and their order stay, twice is once, the input is not touched."""
    before = copy.deepcopy(conversation)
    parts = normalize_messages(conversation)
    assert list(blocks_of(parts)) == list(blocks_of(conversation))
    assert all(len(list(blocks_of([part]))) <= 1 for part in parts)
    assert normalize_messages(parts) == parts
    assert conversation == before


@given(conversations(), conversations())
def test_parts_stay_when_records_are_appended(early: list[Record], late: list[Record]) -> None:
    """Earlier records have the same uuids in every longer conversation."""
    parts = normalize_messages(early)
    assert normalize_messages([*early, *late])[: len(parts)] == parts


@given(conversations())
def test_the_budget_sees_the_same_groups(conversation: list[Record]) -> None:
    """Splitting changes no group and no candidate of the budget."""

    def groups(messages: list[Record]) -> list[list[tuple[str, object]]]:
        found = collect_candidates_by_message(messages)
        return [[(one.tool_use_id, one.content) for one in group] for group in found]

    assert groups(normalize_messages(conversation)) == groups(conversation)


@given(message_lists())
def test_odd_messages_pass(messages: list[Any]) -> None:
    """Whatever stands where a text or block should, a message list of the budget passes."""
    parts = normalize_messages(messages)
    assert len(parts) >= len(messages)
