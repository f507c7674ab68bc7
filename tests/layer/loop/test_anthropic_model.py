"""The loop over clients of the real SDK, and a transport that plays the provider."""

from __future__ import annotations

import copy
from typing import TYPE_CHECKING, Any

import anthropic
import pytest

from tests.layer.loop.agents import BOTH_WAYS, call, run, say
from tests.layer.loop.anthropic_server import Server, client_of, too_long
from tests.layer.messages.api_rules import breakpoints_in, refusals
from toolbudget import ConfigError, PrefixGuard
from toolbudget.loop import (
    AgentLoop,
    AnthropicModel,
    AsyncAnthropicModel,
    LoopEvent,
    ModelRequest,
    TextPiece,
)
from toolbudget.loop.anthropic_model import request_body

if TYPE_CHECKING:
    from toolbudget import Session

both_ways = pytest.mark.parametrize("is_async", BOTH_WAYS, ids=["sync", "async"])
streamed_or_not = pytest.mark.parametrize("streams", [True, False], ids=["stream", "whole"])
THINKING: dict[str, Any] = {"type": "thinking", "thinking": "I shall look.", "signature": "c2ln"}


def model_of(server: Server, *, is_async: bool, **options: Any) -> Any:  # noqa: ANN401
    """Give a model of the kind that fits the client."""
    kind = AsyncAnthropicModel if is_async else AnthropicModel
    return kind(client_of(server, is_async=is_async), "some-model", **options)


@both_ways
@streamed_or_not
def test_a_conversation_over_http(session: Session, *, is_async: bool, streams: bool) -> None:
    """Calls are answered, thinking goes back with its signature, usage is what was reported."""
    text = {"type": "text", "text": "Let me look."}
    server = Server(
        [[THINKING, text, call("t1", text="one"), call("t2", text="x" * 150_000)], [text]]
    )
    pieces: list[str] = []

    def tell(event: LoopEvent) -> None:
        if isinstance(event, TextPiece):
            pieces.append(event.text)

    model = model_of(
        server, is_async=is_async, streams=streams, parameters={"metadata": {"user_id": "u"}}
    )
    loop = AgentLoop(model, session=session, tools=[say], system="Be brief.", on_event=tell)
    result = run(loop, "Go.", is_async=is_async)
    assert (result.text, result.stop_reason, result.turns) == ("Let me look.", "end_turn", 2)
    assert (result.usage.output_tokens, result.usage.cache_read_tokens) == (14, 600)
    assert pieces == (["Let m", "e look."] * 2 if streams else [])
    first, second = server.bodies
    assert (first["model"], first["max_tokens"]) == ("some-model", 16_000)
    assert first["metadata"] == {"user_id": "u"}
    assert bool(first.get("stream")) is streams
    assert refusals(second["messages"]) == []
    thinking, *_ = second["messages"][1]["content"]
    assert thinking == THINKING
    results = {block["tool_use_id"]: block for block in second["messages"][2]["content"]}
    assert results["t1"]["content"] == "one"
    assert results["t2"]["content"].startswith("<persisted-output>")
    assert second["tools"][0]["input_schema"] == {"type": "object"}


def test_breakpoints_follow_the_conversation() -> None:
    """One behind tools and system prompt, one where the last request ended, one at the end."""
    server = Server([[call(f"t{turn}", text="one")] for turn in range(5)] + [[call("t9")]])
    loop = AgentLoop(model_of(server, is_async=False), tools=[say], system="Be brief.", max_turns=6)
    loop.run("Go.")
    guard = PrefixGuard()
    ends: list[int] = []
    for body in server.bodies:
        marked = [block for key in ("tools", "system") for block in body[key]]
        assert [one.get("cache_control") for one in marked] == [None, {"type": "ephemeral"}]
        places = [
            index for index, one in enumerate(body["messages"]) if list(breakpoints_in([one]))
        ]
        assert places == [*ends[-1:], len(body["messages"]) - 1]
        ends.append(places[-1])
        assert guard.check_request(body).is_intact


def test_a_hosts_own_breakpoints_count() -> None:
    """Never more than four in all, and none is added where the host has put its own."""
    mark = {"type": "ephemeral", "ttl": "1h"}
    system = [{"type": "text", "text": "Be brief.", "cache_control": mark}] * 3
    messages: list[dict[str, Any]] = []
    for turn in range(3):
        messages.append({"role": "user", "content": [{"type": "text", "text": f"{turn}"}]})
        messages.append({"role": "assistant", "content": [{"type": "text", "text": "Yes."}]})
    messages.append({"role": "user", "content": [{"type": "text", "text": "And?"}]})
    request = ModelRequest(messages=messages, system=system)
    given = copy.deepcopy(request)
    body = request_body(request)
    assert body["system"] == system
    marked = list(breakpoints_in(body["messages"]))
    assert [block["text"] for block in marked] == ["And?"]
    assert request == given


def test_without_prompt_caching_nothing_is_marked() -> None:
    """The body is what was asked for, and shares nothing with it."""
    messages = [{"role": "user", "content": [{"type": "text", "text": "hello"}]}]
    request = ModelRequest(messages=messages, system="Be brief.")
    body = request_body(request, enable_prompt_caching=False)
    assert body == {"system": "Be brief.", "messages": messages}
    assert body["messages"][0]["content"] is not messages[0]["content"]


@both_ways
def test_parameters_of_a_stage_reach_the_provider(*, is_async: bool) -> None:
    """With ``betas`` among them the client's beta endpoint is used."""
    server = Server([[{"type": "text", "text": "Done."}]])
    parameters = {
        "betas": ["context-management-2025-06-27"],
        "context_management": {"edits": [{"type": "clear_tool_uses_20250919"}]},
    }
    loop = AgentLoop(model_of(server, is_async=is_async), parameters=parameters)
    assert run(loop, "Go.", is_async=is_async).text == "Done."
    assert server.bodies[0]["context_management"] == parameters["context_management"]
    assert server.headers[0]["anthropic-beta"] == "context-management-2025-06-27"


@both_ways
@streamed_or_not
def test_an_error_of_the_provider_is_the_sdks(*, is_async: bool, streams: bool) -> None:
    """It comes to the host as the client raises it."""
    server = Server([too_long()])
    loop = AgentLoop(model_of(server, is_async=is_async, streams=streams))
    with pytest.raises(anthropic.BadRequestError, match="prompt is too long"):
        run(loop, "Go.", is_async=is_async)


@both_ways
def test_a_client_of_the_other_kind_is_refused(*, is_async: bool) -> None:
    """At the door, before anything is asked."""
    kind = AnthropicModel if is_async else AsyncAnthropicModel
    with pytest.raises(ConfigError, match=r"client \(argument\) must be (a)?synchronous"):
        kind(client_of(Server([]), is_async=is_async), "some-model")


@pytest.mark.parametrize(
    ("arguments", "problem"),
    [
        ({"client": None}, r"client \(argument\) has no messages.create: None"),
        ({"model": ""}, r"model \(argument\) must be the name of a model: ''"),
        ({"max_tokens": 0}, r"max_tokens \(argument\) .*: 0"),
    ],
)
def test_arguments_of_a_model_are_checked(arguments: dict[str, Any], problem: str) -> None:
    """The error names the argument and the value."""
    given = {"client": client_of(Server([]), is_async=False), "model": "some-model"} | arguments
    client, model = given.pop("client"), given.pop("model")
    with pytest.raises(ConfigError, match=problem):
        AnthropicModel(client, model, **given)
