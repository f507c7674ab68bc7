"""A request made of a host's records, case by case."""

from __future__ import annotations

from typing import Any, Final

import pytest

from tests.builders import answer, call, msg, res
from tests.layer.messages.api_rules import refusals
from toolbudget import InvalidMessageError
from toolbudget.messages import (
    NO_CONTENT,
    NO_RESULT,
    create_assistant_message,
    create_user_message,
    held_back_content,
    normalize_messages_for_api,
    split_chains,
)

Block = dict[str, Any]

SERVER_CALL: Final[Block] = {"type": "server_tool_use", "id": "s1", "name": "web", "input": {}}
SERVER_RESULT: Final[Block] = {
    "type": "web_search_tool_result",
    "tool_use_id": "s1",
    "content": [],
}
CODE: Final = {"type": "code_execution_20260120", "tool_id": "s1"}


def text(words: str, **others: object) -> Block:
    """Make a text block."""
    return {"type": "text", "text": words, **others}


def normal(*messages: object) -> list[Any]:
    """Normalise, check that the API accepts it, and look at what comes back as plain dicts."""
    request: list[Any] = list(normalize_messages_for_api(messages))
    assert refusals(request) == []
    return request


def test_a_streamed_answer_with_results_between_is_one_message() -> None:
    """Records of one id are merged in order, wherever the results of its calls stand."""
    records = [
        answer({"type": "thinking", "thinking": "…", "signature": "c2ln"}, message_id="m1"),
        answer(call("a", "Bash"), message_id="m1"),
        msg(res("a", "of a")),
        answer(call("b", "Bash"), message_id="m1"),
        {"type": "progress", "toolUseID": "b"},
        msg(res("b", "of b")),
    ]
    request = normal(*records)
    assert [block["type"] for block in request[0]["content"]] == [
        "thinking",
        "tool_use",
        "tool_use",
    ]
    assert request[1]["content"] == [res("a", "of a"), res("b", "of b")]


def test_a_late_record_of_an_old_answer_stays_where_the_budget_groups_it() -> None:
    """An old id does not change a message that was already sent: its call joins the open answer."""
    request = normal(
        answer(call("a", "Bash"), message_id="m1"),
        msg(res("a", "of a")),
        answer(call("b", "Bash"), message_id="m2"),
        answer(call("c", "Bash"), message_id="m1"),
        msg(res("c", "of c"), res("b", "of b")),
    )
    assert request[0]["content"] == [call("a", "Bash")]
    assert request[2]["content"] == [call("b", "Bash"), call("c", "Bash")]


def test_results_come_before_the_users_words() -> None:
    """Results come first, each kind in the order in which it was recorded."""
    request = normal(
        answer(call("a", "Bash"), call("b", "Bash")),
        msg(text("first"), res("b", "of b")),
        msg(res("a", "of a"), text("second")),
    )
    assert request[1]["content"] == [
        res("b", "of b"),
        res("a", "of a"),
        text("first"),
        text("second"),
    ]


def test_a_result_without_its_call_becomes_text_in_full() -> None:
    """Text, images and even unknown parts of a stray result reach the model."""
    image = {"type": "image", "source": {"type": "url", "url": "https://example.com/a.png"}}
    content = [text("all of it"), image, {"type": "tool_reference", "tool_name": "Grep"}]
    stray = res("gone", content, is_error=True, cache_control={"type": "ephemeral"})
    request = normal(msg(stray))
    label, *parts = request[0]["content"]
    assert "gone" in label["text"]
    assert "Error result" in label["text"]
    reference = '{"type":"tool_reference","tool_name":"Grep"}'
    mark = {"type": "ephemeral"}
    assert parts == [text("all of it"), image, text(reference, cache_control=mark)]


def test_a_second_result_of_one_call_becomes_text() -> None:
    """The API takes one result for a call; what another one says is kept."""
    request = normal(answer(call("a", "Bash")), msg(res("a", "one"), res("a", "two")))
    results = [block for block in request[1]["content"] if block["type"] == "tool_result"]
    assert results == [res("a", "one")]
    assert request[1]["content"][-1] == text("two")


def test_a_call_without_a_result_gets_one_that_says_so() -> None:
    """The missing result is an error result; a member of a toolset has its toolset's name."""
    asked = call("a", "computer", toolset_name="computer")
    missing = res("a", NO_RESULT, is_error=True, toolset_name="computer")
    assert normal(answer(asked)) == [answer(asked), msg(missing)]
    request = normal(answer(asked), msg(text("stop")), answer(text("ok")))
    assert request[1] == msg(missing, text("stop"))


@pytest.mark.parametrize("blank", ["", " ", [], [text(" ")]])
def test_a_call_without_a_result_is_not_joined_by_the_next_answer(blank: object) -> None:
    """A blank word was no reason for a request of its own; the call that waits is one."""
    asked = [msg(text("go")), answer(call("a", "Bash"), message_id="m1")]
    asked.append({"role": "user", "content": blank})
    sent = normal(*asked)
    assert normal(*asked, answer(text("ok"), message_id="m2"))[: len(sent)] == sent


@pytest.mark.parametrize("empty", ["", " ", "\n\t", "\u2003"])
def test_empty_texts_are_left_out_everywhere(empty: str) -> None:
    """No text block of white space alone is sent, nor one inside a result."""
    request = normal(
        msg(text(empty), text("hello")),
        answer(text(empty), call("a", "Bash"), call("b", "Bash")),
        msg(res("a", [text(empty)]), res("b", [text("out"), text(empty)])),
    )
    assert request[0] == msg(text("hello"))
    assert request[1] == answer(call("a", "Bash"), call("b", "Bash"))
    without_content = {"type": "tool_result", "tool_use_id": "a"}
    assert request[2] == msg(without_content, res("b", [text("out")]))


def test_an_answer_of_nothing_still_stands_between_two_messages() -> None:
    """An answer without content is kept as a placeholder, so that what was sent stays."""
    request = normal(msg(text("one")), answer(text(" "), message_id="m1"), msg(text("two")))
    assert request == [msg(text("one")), answer(text(NO_CONTENT)), msg(text("two"))]


def test_a_breakpoint_on_an_empty_text_moves_to_the_block_before() -> None:
    """The prefix that it marks stays marked."""
    mark = {"type": "ephemeral"}
    assert normal(msg(text("hello"), text("", cache_control=mark))) == [
        msg(text("hello", cache_control=mark))
    ]
    assert normal(msg(text("", cache_control=mark), text("hello"))) == [msg(text("hello"))]


def test_words_wait_while_code_waits_for_a_result() -> None:
    """Behind a call of running code the message holds results only; the words come after."""
    asked = call("a", "Query", caller=CODE)
    conversation = [answer(asked, message_id="m1"), msg(text("faster!"), res("a", "[]"))]
    assert normal(*conversation) == [answer(asked), msg(res("a", "[]"))]
    assert held_back_content(conversation) == [text("faster!")]
    done = answer(text("done"), message_id="m2")
    request = normal(*conversation, done)
    assert request[2:] == [answer(text("done")), msg(text("faster!"))]
    assert held_back_content([*conversation, done]) == []
    request = normal(*conversation, done, msg(text("thanks")))
    assert request[3] == msg(text("faster!"), text("thanks"))


def test_an_answer_that_paused_is_continued() -> None:
    """While the provider's own tool runs, nothing stands between the two parts of an answer."""
    paused = [answer(SERVER_CALL, message_id="m1"), msg(text("hurry"))]
    assert normal(*paused) == [answer(SERVER_CALL)]
    request = normal(*paused, answer(SERVER_RESULT, text("found"), message_id="m2"))
    assert request == [answer(SERVER_CALL, SERVER_RESULT, text("found")), msg(text("hurry"))]


def test_what_is_not_for_the_model_is_left_out() -> None:
    """Virtual messages and records of the host's own are not sent; meta and summaries are."""
    request = normal(
        create_user_message("caveat", is_meta=True),
        create_user_message("summary", is_compact_summary=True, is_visible_in_transcript_only=True),
        create_user_message("shown only", is_virtual=True),
        create_assistant_message("shown only", is_virtual=True),
        {"type": "attachment", "attachment": {"type": "file"}},
        {"type": "system", "subtype": "api_error", "content": "overloaded"},
    )
    assert request == [msg(text("caveat"), text("summary"))]


def test_system_messages_stand_behind_the_users_turn() -> None:
    """A system message inside a conversation comes before the next answer, in its own form."""
    system = {"role": "system", "content": "be brief"}
    request = normal(
        answer(call("a", "Bash")),
        system,
        msg(res("a", "out")),
        answer(text("ok")),
    )
    assert request == [
        answer(call("a", "Bash")),
        msg(res("a", "out")),
        system,
        answer(text("ok")),
    ]


def test_side_chains_are_requests_of_their_own() -> None:
    """A list of several chains gives the main one's request; each other one by itself."""
    main = create_user_message("main")
    side = {**create_user_message("side"), "isSidechain": True, "agentId": "a1"}
    assert normal(side, main) == [msg(text("main"))]
    assert normal(side) == [msg(text("side"))]
    assert split_chains([side, main]) == [[main], [side]]
    other = {**side, "agentId": "a2"}
    with pytest.raises(InvalidMessageError, match=r"2 chains.*'a1', 'a2'"):
        normalize_messages_for_api([side, other])


def test_of_many_chains_a_few_are_named() -> None:
    """Each of 4,000 agents, with ids of any length, stood in one error: megabytes of it."""
    messages = [
        {
            "type": "user",
            "agentId": f"a{number}" + "x" * 9_000,
            "message": {"role": "user", "content": "hello"},
        }
        for number in range(4_000)
    ]
    with pytest.raises(InvalidMessageError, match=r"4000 chains.*'a0x.*'a4x.*, …$") as caught:
        normalize_messages_for_api(messages)
    assert len(str(caught.value)) < 400


def test_thinking_and_signed_blocks_stay_as_they_are() -> None:
    """What the provider signed goes back unchanged, also what an empty thinking block holds."""
    blocks = [
        {"type": "thinking", "thinking": "", "signature": "c2ln"},
        {"type": "redacted_thinking", "data": "b3BhcXVl"},
        {"type": "compaction", "content": None, "encrypted_content": "eA=="},
        {"type": "a kind of tomorrow", "x": [1, {"y": None}]},
    ]
    assert normal(answer(*blocks, message_id="m1")) == [answer(*blocks)]


@pytest.mark.parametrize(
    ("messages", "problem"),
    [
        (42, r"not int: 42"),
        ([{"role": "user", "content": "x"}, 42], r"message 1 .*: 42"),
        ([{"role": "user", "content": 7}], r"message 0 .*neither text nor a list of blocks: 7"),
        ([msg("loose text")], r"message 0, block 0 .*: 'loose text'"),
        ([{"role": "tool", "content": "x"}], r"message 0 has no role that the API knows: 'tool'"),
        ([msg(), {"type": "user", "message": "x"}], r"message 1 is a record without a message"),
    ],
)
def test_what_no_request_can_hold_is_an_error(messages: list[Any], problem: str) -> None:
    """The error names the index and the value."""
    with pytest.raises(InvalidMessageError, match=problem):
        normalize_messages_for_api(messages)


def test_odd_but_legal_messages_pass() -> None:
    """Tuples, missing content, unknown keys and ids that are used twice are no errors."""
    assert normal() == []
    assert normal({"role": "user"}, {"type": "user", "message": {"role": "user"}}) == []
    request = normal({"role": "user", "content": (text("a", odd=1),), "name": "someone"})
    assert request == [msg(text("a", odd=1))]
    twice = [answer(call("call_0", "Bash")), msg(res("call_0", "one"))]
    assert normal(*twice, answer(call("call_0", "Bash")), msg(res("call_0", "two"))) == [
        *twice,
        answer(call("call_0", "Bash")),
        msg(res("call_0", "two")),
    ]


def test_deep_nesting_is_no_error() -> None:
    """The depth of a tool's input is the model's choice and must not end the host."""
    nested: list[object] = []
    for _ in range(100_000):
        nested = [nested]
    request = normalize_messages_for_api(
        [answer(call("a", "Bash", input=nested)), msg(res("a", ""))]
    )
    assert request[0]["content"][0]["input"] is not nested
    while nested:  # a list this deep cannot be freed at once
        nested = nested.pop()  # type: ignore[assignment]
    nested = request[0]["content"][0].pop("input")
    while nested:
        nested = nested.pop()  # type: ignore[assignment]


def test_a_stray_result_that_no_encoder_takes_is_an_error() -> None:
    """It could not be sent by anyone; the error comes before a request is made of it."""
    nested: list[object] = []
    for _ in range(100_000):
        nested = [nested]
    with pytest.raises(InvalidMessageError, match="nested too deeply"):
        normalize_messages_for_api([msg(res("gone", [{"type": "odd", "x": nested}]))])
    while nested:
        nested = nested.pop()  # type: ignore[assignment]


def test_odd_contents_of_a_stray_result_are_kept() -> None:
    """No id, no content, a number: whatever a server sent, the model reads it."""
    request = normal(msg({"type": "tool_result", "content": 7}, res("gone", None)))
    without_id, number, without_content = request[0]["content"]
    assert "without an id" in without_id["text"]
    assert number == text("7")
    assert "gone" in without_content["text"]
