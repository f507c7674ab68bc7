"""Whatever a host recorded, in whatever order: what becomes of it as a request."""

from __future__ import annotations

import copy
import re
from collections import Counter
from typing import Any, Final

from hypothesis import given
from hypothesis import strategies as st

from tests.layer.messages.api_rules import refusals
from tests.layer.messages.conversations import (
    blocks_of,
    conversations,
    leaves,
    well_paired_conversations,
)
from toolbudget import collect_candidates_by_message
from toolbudget.messages import NO_CONTENT, NO_RESULT, held_back_content, normalize_messages_for_api

Element = dict[str, Any]

# What stands in a request beside what the host recorded.
LABEL: Final = re.compile(r"\[(Error result|Result) of tool call .*\]", re.DOTALL)


def role_of(element: Element) -> str | None:
    """Give the role of a record or API message."""
    role: str | None = element.get("message", element).get("role")
    return role


def answer_id(element: Element) -> str | None:
    """Give the id of an assistant message."""
    name: str | None = element.get("message", element).get("id")
    return name


@given(conversations())
def test_the_api_accepts_every_conversation(conversation: list[Element]) -> None:
    """No rule of the API is broken, however the records were ordered."""
    assert refusals(normalize_messages_for_api(conversation)) == []


@given(conversations())
def test_nothing_is_lost_and_little_is_added(conversation: list[Element]) -> None:
    """Every text and block is in the request or held back, once; only notices are added."""
    request = leaves(blocks_of(normalize_messages_for_api(conversation)))
    held = leaves(held_back_content(conversation))
    recorded = leaves(blocks_of(conversation))
    assert recorded - (request + held) == Counter()
    added = (request + held) - recorded
    assert all(text in {NO_CONTENT, NO_RESULT} or LABEL.fullmatch(text) for text in added)


@given(conversations())
def test_a_request_is_already_normal(conversation: list[Element]) -> None:
    """Normalising twice gives what normalising once gives."""
    request = normalize_messages_for_api(conversation)
    assert normalize_messages_for_api(request) == request


@given(conversations())
def test_the_hosts_messages_are_not_touched(conversation: list[Element]) -> None:
    """The input stays, and what is done to the output does not reach it."""
    before = copy.deepcopy(conversation)
    request: list[Any] = list(normalize_messages_for_api(conversation))
    assert conversation == before
    for message in request:
        for block in message["content"]:
            for value in block.values():
                if isinstance(value, dict | list):
                    value.clear()
            block.clear()
    assert conversation == before


@given(conversations(), st.data())
def test_earlier_messages_stay_when_records_are_appended(
    conversation: list[Element], data: st.DataObject
) -> None:
    """All messages before the last answer are the same bytes in every longer conversation."""
    length = data.draw(st.integers(0, len(conversation)))
    early = normalize_messages_for_api(conversation[:length])
    answers = [index for index, message in enumerate(early) if message["role"] == "assistant"]
    closed = early[: answers[-1]] if answers else []
    assert normalize_messages_for_api(conversation)[: len(closed)] == closed


@given(conversations(), conversations(), st.sampled_from(["the last question", "", " ", []]))
def test_a_request_that_was_answered_stays_whole(
    conversation: list[Element], later: list[Element], question: object
) -> None:
    """Once a new answer follows what the user said, the whole request before it is final."""
    asked = [*conversation, {"role": "user", "content": question}]
    request = normalize_messages_for_api(asked)
    if not request or request[-1]["role"] != "user":
        return  # the question waits for the provider's tool, or is none
    answer = {"role": "assistant", "id": "another", "content": [{"type": "text", "text": "yes"}]}
    longer = normalize_messages_for_api([*asked, answer, *later])
    assert longer[: len(request)] == request


@given(well_paired_conversations())
def test_the_budget_sees_the_same_groups(conversation: list[Element]) -> None:
    """Raw and normalised messages have the same candidates in the same groups."""

    def groups(messages: list[Any]) -> list[list[tuple[str, object]]]:
        found = collect_candidates_by_message(messages)
        return [[(one.tool_use_id, one.content) for one in group] for group in found]

    assert groups(list(normalize_messages_for_api(conversation))) == groups(conversation)


@given(well_paired_conversations())
def test_well_paired_conversations_are_only_put_together(conversation: list[Element]) -> None:
    """Nothing at all is added to a conversation in which every call has its result."""
    request = normalize_messages_for_api(conversation)
    assert refusals(request) == []
    assert leaves(blocks_of(request)) == leaves(blocks_of(conversation))
    assert held_back_content(conversation) == []


@given(well_paired_conversations())
def test_results_of_one_answer_are_in_one_message(conversation: list[Element]) -> None:
    """All calls of one ``message.id`` are in one message, their results in the next one."""
    expected: dict[str, set[str]] = {}
    for element in conversation:
        for block in element["content"] if role_of(element) == "assistant" else ():
            expected.setdefault(answer_id(element) or "", set()).add(block["id"])
    request = [message["content"] for message in normalize_messages_for_api(conversation)]
    results = [
        {block["tool_use_id"] for block in blocks if block["type"] == "tool_result"}
        for blocks in request
    ]
    assert [names for names in results if names] == list(expected.values())
