"""The scripted model: what it answers, what it says it used, and what it refuses."""

from __future__ import annotations

import copy
from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from tests.layer.loop.agents import call
from tests.layer.messages import api_rules
from tests.layer.messages.conversations import conversations
from toolbudget import ConfigError, InvalidMessageError
from toolbudget.loop import AgentLoop, ModelRequest, ModelResponse, ScriptedModel
from toolbudget.loop.api_rules import refusals
from toolbudget.messages import normalize_messages_for_api
from toolbudget.messages.marks import MAX_CACHE_BREAKPOINTS
from toolbudget.tokens import estimate_tokens

if TYPE_CHECKING:
    from collections.abc import Sequence

USER: dict[str, Any] = {"role": "user", "content": [{"type": "text", "text": "Go."}]}


def test_an_answer_that_paused_may_be_last() -> None:
    """The provider goes on with an answer within which it runs a tool of its own."""
    search = {"type": "server_tool_use", "id": "s1", "name": "web_search", "input": {}}
    model = ScriptedModel([{"content": [search], "stop_reason": "pause_turn"}, "Found."])
    assert AgentLoop(model).run("Search.").text == "Found."
    assert [one["role"] for one in model.requests[1].messages] == ["user", "assistant"]


def ask(model: ScriptedModel, *messages: dict[str, Any]) -> ModelResponse:
    """Ask with some messages."""
    return model(ModelRequest(messages=messages or (USER,)))


def test_a_reply_may_have_any_form() -> None:
    """Text, blocks, a provider's JSON, a response, or a function of the request."""
    blocks = [call("t1", text="one")]
    model = ScriptedModel(
        [
            "Hello.",
            blocks,
            {"content": "Hi.", "stop_reason": "refusal", "id": "m", "usage": {"output_tokens": 1}},
            ModelResponse([{"type": "text", "text": "Yes."}], "max_tokens"),
            lambda request: f"{len(request.messages)} message",
        ]
    )
    answers = [ask(model) for _ in range(5)]
    texts = [answer.text for answer in answers]
    assert texts == ["Hello.", "", "Hi.", "Yes.", "1 message"]
    reasons = [answer.stop_reason for answer in answers]
    assert reasons == ["end_turn", "tool_use", "refusal", "max_tokens", "end_turn"]
    assert [answer.id for answer in answers] == ["msg_1", "msg_2", "m", "msg_4", "msg_5"]
    assert answers[1].calls == blocks
    assert answers[2].usage == {"output_tokens": 1}


def test_a_reply_is_not_shared() -> None:
    """What a loop does with an answer does not change the script."""
    blocks = [call("t1", text="one")]
    given = copy.deepcopy(blocks)
    ask(ScriptedModel([blocks])).content[0]["input"]["text"] = "other"
    assert blocks == given


def test_an_exception_is_raised() -> None:
    """As a provider's client would."""
    with pytest.raises(ConnectionError, match="gone"):
        ask(ScriptedModel([ConnectionError("gone")]))


@pytest.mark.parametrize(
    ("script", "problem"),
    [([], "at its end, replies: 0"), ([7], "reply 1 of the script is none: 7")],
)
def test_a_script_that_has_no_reply(script: list[Any], problem: str) -> None:
    """The error says so, and names what is there instead."""
    with pytest.raises(ConfigError, match=problem):
        ask(ScriptedModel(script))


def test_usage_is_what_a_cache_of_the_last_request_would_report() -> None:
    """What both requests begin with is read, the rest is written; a changed message costs all."""
    answer: dict[str, Any] = {"role": "assistant", "content": [{"type": "text", "text": "Yes."}]}
    more = {"role": "user", "content": [{"type": "text", "text": "x" * 4_000}]}
    model = ScriptedModel(["Yes."] * 4)
    first, second, third = (
        ask(model),
        ask(model, USER, answer, more),
        ask(model, USER, answer, more),
    )
    changed = {"role": "user", "content": [{"type": "text", "text": "Stop."}]}
    fourth = ask(model, changed, answer, more)

    def parts(response: ModelResponse) -> tuple[int, int]:
        assert response.usage is not None
        usage = response.usage
        return usage["cache_read_input_tokens"], usage["cache_creation_input_tokens"]

    assert parts(first)[0] == 0
    assert parts(second)[0] == parts(first)[1]
    assert parts(second)[1] >= estimate_tokens("x" * 4_000)
    assert parts(third) == (sum(parts(second)), 0)
    assert parts(fourth)[1] >= parts(second)[1]
    assert parts(fourth)[0] < parts(second)[0]


def test_breakpoints_are_no_part_of_what_is_cached() -> None:
    """A marker that moves on costs nothing."""
    mark = {"type": "ephemeral"}
    marked = {"role": "user", "content": [{"type": "text", "text": "Go.", "cache_control": mark}]}
    model = ScriptedModel(["Yes.", "Yes."])
    ask(model, marked)
    second = ask(model, USER)
    assert second.usage is not None
    assert second.usage["cache_creation_input_tokens"] == 0


ASSISTANT: dict[str, Any] = {"role": "assistant", "content": [call("t1")]}
RESULT: dict[str, Any] = {"type": "tool_result", "tool_use_id": "t1", "content": "one"}
MARK: dict[str, Any] = {"type": "text", "text": "x", "cache_control": {"type": "ephemeral"}}


@pytest.mark.parametrize(
    ("messages", "problem"),
    [
        ([], "there is no message"),
        ([{"role": "user", "content": []}], "message 0: it is empty"),
        ([{"role": "user", "content": [{"type": "text", "text": " "}]}], "a text is empty"),
        ([USER, USER], "message 1: role 'user' twice in a row"),
        ([{"role": "tool", "content": "x"}], "message 0: role 'tool'"),
        ([USER, ASSISTANT], "message 1: the user speaks last"),
        ([USER, ASSISTANT, USER], r"calls without a result: \['t1'\]"),
        ([{"role": "user", "content": [RESULT]}], r"results without a call: \['t1'\]"),
        (
            [USER, ASSISTANT, {"role": "user", "content": [*USER["content"], RESULT]}],
            "something stands before a result",
        ),
        (
            [
                USER,
                ASSISTANT,
                {
                    "role": "user",
                    "content": [{**RESULT, "content": [{"type": "text", "text": ""}]}],
                },
            ],
            "message 2: a text is empty",
        ),
        ([{"role": "user", "content": [MARK] * 5}], "there are 5 cache breakpoints"),
    ],
)
def test_what_a_provider_refuses_is_refused(messages: list[Any], problem: str) -> None:
    """The request is kept, so that a test can look at it."""
    model = ScriptedModel(["never"])
    with pytest.raises(InvalidMessageError, match=f"request 1: .*{problem}"):
        model(ModelRequest(messages=messages))
    assert model.requests[0].messages == messages


@given(conversations(), st.data())
def test_its_rules_are_the_apis(conversation: Sequence[Any], data: st.DataObject) -> None:
    """A second reading of the rules refuses nothing that these accept, whatever is left out."""
    framed = [{"role": "user", "content": "first"}, *conversation]
    request = list(normalize_messages_for_api([*framed, {"role": "user", "content": "last"}]))
    # Those of the host stay, however many they are.
    assume(len(list(api_rules.breakpoints_in(request))) <= MAX_CACHE_BREAKPOINTS)
    if request[-1]["role"] == "user":  # else what was said last waits for a later request
        assert refusals(request) == []
    index = data.draw(st.integers(0, len(request) - 1))
    blocks = request[index]["content"]
    if request[index]["role"] == "system" or data.draw(st.booleans()):
        del request[index]
    else:
        del blocks[data.draw(st.integers(0, len(blocks) - 1))]
    problems = [
        problem for problem in api_rules.refusals(request) if "while a call is open" not in problem
    ]
    if problems:
        assert refusals(request)


def test_the_loop_keeps_the_rules_by_itself() -> None:
    """A script that calls the same id in every turn still makes requests that are accepted."""
    model = ScriptedModel([*[[call("call_0", "missing")]] * 3, "Done."])
    assert AgentLoop(model).run("Go.").text == "Done."


@pytest.mark.parametrize("block", [{}, {"text": "a"}, {"type": []}, {"type": {"a": 1}}], ids=repr)
def test_a_block_without_a_kind_is_of_none(block: dict[str, Any]) -> None:
    """What a model gave back is neither a text nor a call, and the roles are still told."""
    response = ModelResponse([block, {"type": "text", "text": "Done."}, call("t1")])
    assert (response.text, response.calls) == ("Done.", [call("t1")])
    assert refusals([USER, {"role": "assistant", "content": [block]}]) == [
        "message 1: the user speaks last"
    ]
    assert ask(ScriptedModel([[block]])).content == [block]
