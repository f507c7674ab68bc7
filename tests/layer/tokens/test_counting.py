"""Exact counting through the clients of the real SDK, over a transport that plays the provider."""

from __future__ import annotations

import asyncio
import gc
import json
from types import SimpleNamespace
from typing import Any, Final

import anthropic
import httpx2
import pytest

from tests.layer.tokens.providers import LARGE, MESSAGES, SMALL, Provider, count, counter, refusal
from tests.layer.tokens.usage_oracle import tokens_of
from toolbudget import (
    ConfigError,
    InvalidMessageError,
    ToolBudgetError,
    acount_tokens,
    count_tokens,
)
from toolbudget.messages import normalize_messages_for_api
from toolbudget.tokens._content import content_tokens
from toolbudget.tokens.count_cache import CountCache, _caches, key_of

EVERY_CLIENT: Final = pytest.mark.parametrize("client", ["anthropic", "vertex", "bedrock"])
BOTH_WAYS: Final = pytest.mark.parametrize("is_async", [False, True], ids=["sync", "async"])
TOOLS: Final = [{"name": "Read", "description": "reads", "input_schema": {"type": "object"}}]
# Bedrock's client refuses to count before anything is sent.
NO_ENDPOINT: Final = {"bedrock"}


@BOTH_WAYS
@pytest.mark.parametrize("client", ["anthropic", "vertex"])
def test_the_endpoint_is_asked_first(client: str, *, is_async: bool) -> None:
    """One request, with everything that counts, and nothing else is needed."""
    provider = Provider(endpoint=1234)
    told = count(provider, client=client, is_async=is_async, tools=TOOLS, system="Be brief.")
    assert (told.tokens, told.exact, told.step, told.model) == (1234, True, "endpoint", LARGE)
    assert told.failures == ()
    assert provider.steps == ["endpoint"]
    body = provider.asked[0].body
    assert (body["messages"], body["tools"], body["system"]) == (MESSAGES, TOOLS, "Be brief.")


@BOTH_WAYS
def test_bedrock_has_no_endpoint(*, is_async: bool) -> None:
    """Its client says so itself; the small model is asked for one token."""
    provider = Provider(small=1234)
    told = count(provider, client="bedrock", is_async=is_async, tools=TOOLS, system="Be brief.")
    assert (told.tokens, told.exact, told.step, told.model) == (1234, True, "small_model", SMALL)
    assert [(one.step, one.status) for one in told.failures] == [("endpoint", None)]
    assert "not supported in Bedrock" in told.failures[0].reason
    body = provider.asked[0].body
    assert (body["max_tokens"], body["tools"], body["system"]) == (1, TOOLS, "Be brief.")


@BOTH_WAYS
@EVERY_CLIENT
@pytest.mark.parametrize("status", [400, 403, 404, 405, 429, 500, 529])
def test_what_one_step_refuses_the_next_one_tells(
    client: str, status: int, *, is_async: bool
) -> None:
    """The reason and the status of each refusal are in the result."""
    provider = Provider(endpoint=refusal(status), small=refusal(status, "not here"), large=1234)
    told = count(provider, client=client, is_async=is_async)
    assert (told.tokens, told.exact, told.step, told.model) == (1234, True, "larger_model", LARGE)
    assert [one.step for one in told.failures] == ["endpoint", "small_model"]
    assert told.failures[1].status == status
    assert "not here" in told.failures[1].reason
    expected = ["small", "large"] if client in NO_ENDPOINT else ["endpoint", "small", "large"]
    assert provider.steps == expected


@BOTH_WAYS
@EVERY_CLIENT
def test_if_nobody_tells_it_is_an_estimate(client: str, *, is_async: bool) -> None:
    """The estimate is not called exact, and has the reason of every step."""
    provider = Provider(endpoint=refusal(404), small=refusal(404), large=refusal(529))
    told = count(provider, client=client, is_async=is_async)
    assert (told.tokens, told.exact, told.step, told.model) == (
        tokens_of(400),
        False,
        "estimate",
        None,
    )
    assert [one.step for one in told.failures] == ["endpoint", "small_model", "larger_model"]
    assert told.explain.startswith(f"{tokens_of(400)} tokens, estimated (count-tokens endpoint: ")


@BOTH_WAYS
@EVERY_CLIENT
@pytest.mark.parametrize("silence", [httpx2.ReadTimeout, httpx2.ConnectError])
def test_no_answer_is_no_end(client: str, silence: type[Exception], *, is_async: bool) -> None:
    """A time-out or a missing host leads on, and to the estimate if nobody answers."""
    provider = Provider(endpoint=silence, small=silence, large=1234)
    told = count(provider, client=client, is_async=is_async)
    assert (told.tokens, told.step) == (1234, "larger_model")
    provider = Provider(endpoint=silence, small=silence, large=silence)
    told = count(provider, client=client, is_async=is_async)
    assert (told.tokens, told.exact) == (tokens_of(400), False)
    assert [one.status for one in told.failures] == [None, None, None]


@pytest.mark.parametrize("status", [401, 413])
def test_what_every_step_would_refuse_is_asked_once(status: int) -> None:
    """A refused key is refused everywhere, and so is a body that is too large."""
    provider = Provider(endpoint=refusal(status))
    told = count(provider)
    assert (told.exact, told.step) == (False, "estimate")
    assert [(one.step, one.status) for one in told.failures] == [("endpoint", status)]
    assert provider.steps == ["endpoint"]


@BOTH_WAYS
def test_retries_are_those_of_the_client(*, is_async: bool, monkeypatch: Any) -> None:  # noqa: ANN401
    """A refusal is retried as the client is set; after silence the other steps are not."""
    monkeypatch.setattr("anthropic._base_client.INITIAL_RETRY_DELAY", 0.0)
    monkeypatch.setattr("anthropic._base_client.MAX_RETRY_DELAY", 0.0)
    provider = Provider(endpoint=refusal(529), small=refusal(529))
    counter(provider, is_async=is_async, max_retries=2)()
    assert provider.steps == 3 * ["endpoint"] + 3 * ["small"] + ["large"]
    provider = Provider(endpoint=httpx2.ReadTimeout, small=httpx2.ReadTimeout)
    counter(provider, is_async=is_async, max_retries=2)()
    assert provider.steps == [*3 * ["endpoint"], "small", "large"]


@BOTH_WAYS
def test_the_time_of_a_request_can_be_set(*, is_async: bool) -> None:
    """Every step gets it; without it the client's own holds."""
    provider = Provider(endpoint=refusal(404), small=refusal(404))
    count(provider, is_async=is_async, timeout_s=2.5)
    assert [one.timeout_s for one in provider.asked] == [2.5, 2.5, 2.5]
    count(provider := Provider(), is_async=is_async)
    assert provider.asked[0].timeout_s == 600


def test_thinking_goes_to_the_endpoint_only() -> None:
    """One token of output leaves no room for a budget of thoughts."""
    provider = Provider(endpoint=refusal(400))
    thinking = {"type": "enabled", "budget_tokens": 2000}
    count(provider, thinking=thinking)
    assert provider.asked[0].body["thinking"] == thinking
    assert "thinking" not in provider.asked[1].body


def test_without_a_small_model_the_larger_one_is_asked() -> None:
    """The step is passed over, and the result says so."""
    provider = Provider(endpoint=refusal(404), large=1234)
    told = count(provider, small_model=None)
    assert (told.tokens, told.step) == (1234, "larger_model")
    assert told.failures[1] == ("small_model", "no small_model was given", None)


def test_one_model_is_not_asked_twice() -> None:
    """A host may have one model only."""
    provider = Provider(endpoint=refusal(404), large=refusal(404))
    told = count(provider, small_model=LARGE)
    assert provider.steps == ["endpoint", "large"]
    assert told.failures[2].reason == "it is the small model"


@pytest.mark.parametrize(
    "usage", [None, {}, {"input_tokens": 0, "output_tokens": 1}, {"input_tokens": None}], ids=repr
)
def test_an_answer_without_a_count_is_no_answer(usage: object) -> None:
    """A usage of nothing cannot be that of a request."""
    told = count(Provider(endpoint=None, small=usage, large=1234))
    assert (told.tokens, told.step) == (1234, "larger_model")
    assert [one.reason for one in told.failures] == 2 * ["the answer has no count"]


def test_strict_raises_instead_of_estimating() -> None:
    """The message has every reason, the cause is the client's last exception."""
    provider = Provider(endpoint=refusal(404), small=refusal(403), large=refusal(400, "no such"))
    with pytest.raises(ToolBudgetError, match=r"endpoint: NotFoundError.*no such") as caught:
        count(provider, strict=True)
    assert isinstance(caught.value.__cause__, anthropic.BadRequestError)
    assert count(Provider(), strict=True).exact


@BOTH_WAYS
@pytest.mark.parametrize(
    ("trouble", "is_kept"),
    [
        (httpx2.ReadTimeout, False),
        *((refusal(status), False) for status in (408, 409, 425, 429, 500, 503, 529)),
        *((refusal(status), True) for status in (400, 403, 404, 405)),
    ],
)
def test_a_passing_failure_is_not_remembered(
    trouble: Any,  # noqa: ANN401 - as the provider takes it
    *,
    is_kept: bool,
    is_async: bool,
) -> None:
    """T5: the small model's number does not stand for the endpoint's once that answers again."""
    provider = Provider(endpoint=trouble, small=1111)
    count_once = counter(provider, is_async=is_async)
    assert (count_once().tokens, count_once().from_cache) == (1111, is_kept)
    provider.endpoint = 1234
    again = count_once()
    assert (again.tokens, again.step) == ((1111, "small_model") if is_kept else (1234, "endpoint"))


@BOTH_WAYS
def test_the_same_content_is_asked_once(*, is_async: bool) -> None:
    """A result is found again by content, through other objects too; other content is not."""
    provider = Provider(endpoint=1234)
    count_once = counter(provider, is_async=is_async)
    first = count_once()
    again = count_once(messages=json.loads(json.dumps(MESSAGES)))
    assert (first.from_cache, again.from_cache, again.tokens) == (False, True, 1234)
    assert len(provider.asked) == 1
    for other in (
        {"messages": [{"role": "user", "content": "x" * 401}]},
        {"system": "s"},
        {"tools": TOOLS},
        {"model": "other"},
        {"small_model": None},
        {"thinking": {"type": "disabled"}},
        {"cached": False},
    ):
        assert not count_once(**other).from_cache
    assert len(provider.asked) == 8


def test_estimates_and_failures_are_not_kept() -> None:
    """As soon as the provider answers again, the result is exact."""
    provider = Provider(endpoint=refusal(529), small=refusal(529), large=refusal(529))
    count_once = counter(provider)
    assert not count_once().exact
    provider.endpoint = 1234
    assert count_once().tokens == 1234


def test_each_client_has_results_of_its_own() -> None:
    """One name of a model may mean different ones; a client that is gone leaves nothing."""
    gc.collect()
    before = len(_caches)
    counters = [counter(Provider(endpoint=tokens)) for tokens in (111, 222)]
    assert [count_once().tokens for count_once in counters] == [111, 222]
    assert len(_caches) == before + 2
    del counters
    gc.collect()
    assert len(_caches) == before


def test_the_cache_is_bounded() -> None:
    """What was not asked for the longest time is forgotten first."""
    cache: CountCache[int] = CountCache(max_entries=2)
    cache.put(b"a", 1)
    cache.put(b"b", 2)
    assert cache.get(b"a") == 1
    cache.put(b"c", 3)
    assert [cache.get(key) for key in (b"a", b"b", b"c")] == [1, None, 3]
    assert len(cache) == 2


def test_what_is_no_json_has_no_key() -> None:
    """It cannot be known again, so it is not kept; lone surrogates are text."""
    assert key_of({"messages": [object()]}) is None
    assert key_of({"messages": ["\ud800"]}) is not None
    assert key_of({"a": 1, "b": 2}) != key_of({"b": 2, "a": 1})


def test_a_response_of_the_sdk_may_be_among_the_messages() -> None:
    """It is sent and known again as what it stands for."""
    answer = anthropic.types.TextBlock(type="text", text="y" * 400)
    messages = [*MESSAGES, {"role": "assistant", "content": [answer]}, *MESSAGES]
    provider = Provider(endpoint=refusal(404), small=refusal(404), large=refusal(404))
    count_once = counter(provider)
    texts = ["x" * 400, "y" * 400, "x" * 400]
    assert count_once(messages=messages).tokens == sum(map(content_tokens, texts))
    assert provider.asked[0].body["messages"][1]["content"][0]["text"] == "y" * 400
    provider.endpoint = 1234
    count_once(messages=messages)
    assert count_once(messages=messages).from_cache


def test_any_object_with_the_methods_will_do() -> None:
    """A host's own client needs the two methods and nothing else."""
    methods = SimpleNamespace(
        count_tokens=lambda *, model, messages: {"input_tokens": len(model) + len(messages)}
    )
    told = count_tokens(SimpleNamespace(messages=methods), MESSAGES, model="model")
    assert (told.tokens, told.exact, told.from_cache) == (6, True, False)


@pytest.mark.parametrize(
    "client", [None, object(), 7, {"messages": 1}], ids=["none", "object", "number", "mapping"]
)
def test_a_client_without_methods_is_an_estimate(client: object) -> None:
    """It has nothing to count with."""
    told = count_tokens(client, MESSAGES, model="m", small_model="s", tools=TOOLS, system="x" * 40)
    assert (told.exact, [one.step for one in told.failures]) == (
        False,
        ["endpoint", "small_model", "larger_model"],
    )
    assert told.tokens > tokens_of(400) + tokens_of(40)  # tools too


def test_an_asynchronous_client_is_not_taken_for_one_that_answers() -> None:
    """Its answer would be a coroutine that nobody awaits."""
    http = httpx2.AsyncClient(transport=httpx2.MockTransport(Provider().answer))
    client = anthropic.AsyncAnthropic(api_key="key", http_client=http)
    with pytest.raises(ConfigError, match="use acount_tokens"):
        count_tokens(client, MESSAGES, model="m")


def test_a_cancelled_task_is_cancelled() -> None:
    """It does not go on with the next step."""
    provider = Provider(endpoint=refusal(404))

    async def wait_for_ever(**_arguments: object) -> object:
        return await asyncio.Event().wait()

    methods = SimpleNamespace(count_tokens=wait_for_ever, create=wait_for_ever)

    async def cancel() -> None:
        client = SimpleNamespace(messages=methods)
        task = asyncio.ensure_future(acount_tokens(client, MESSAGES, model="m"))
        await asyncio.sleep(0)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task

    asyncio.run(cancel())
    assert provider.asked == []


@pytest.mark.parametrize(
    ("arguments", "field"),
    [
        ({"model": ""}, "model"),
        ({"model": None}, "model"),
        ({"small_model": ""}, "small_model"),
        ({"small_model": 7}, "small_model"),
        ({"timeout_s": 0}, "timeout_s"),
        ({"timeout_s": "5"}, "timeout_s"),
        ({"timeout_s": float("nan")}, "timeout_s"),
        ({"tools": 5}, "tools"),
        ({"tools": "read_file"}, "tools"),
        ({"tools": {"name": "read_file"}}, "tools"),
        ({"system": 5}, "system"),
        ({"system": b"Be brief."}, "system"),
        ({"system": {"type": "text", "text": "Be brief."}}, "system"),
    ],
    ids=repr,
)
def test_an_unusable_argument_is_named(arguments: dict[str, Any], field: str) -> None:
    """Nothing is sent."""
    provider = Provider()
    with pytest.raises(ConfigError, match=rf"^{field} \(argument\) must be .*: "):
        count(provider, **arguments)
    assert provider.asked == []


@pytest.mark.parametrize("messages", ["text", None, [7], {"role": "user"}], ids=repr)
def test_what_cannot_be_messages_is_an_error(messages: object) -> None:
    """The provider would only say that something is wrong."""
    with pytest.raises(InvalidMessageError):
        count_tokens(None, messages, model="m")  # type: ignore[arg-type]


def test_records_are_made_a_request_of_first() -> None:
    """What is asked about is what the host would send, not what it records."""
    records = [
        {"type": "user", "uuid": "u1", "message": {"role": "user", "content": "Go on."}},
        {"type": "progress", "uuid": "u2", "data": {}},
        {
            "type": "assistant",
            "uuid": "u3",
            "message": {
                "id": "m1",
                "role": "assistant",
                "usage": {"input_tokens": 5},
                "content": [{"type": "tool_use", "id": "t1", "name": "Bash", "input": {}}],
            },
        },
        {
            "type": "user",
            "uuid": "u4",
            "toolUseResult": "copy",
            "message": {
                "role": "user",
                "content": [{"type": "tool_result", "tool_use_id": "t1", "content": "done"}],
            },
        },
    ]
    provider = Provider(endpoint=9)
    assert count(provider, messages=records).tokens == 9
    assert provider.asked[0].body["messages"] == normalize_messages_for_api(records)


def test_of_a_message_role_and_content_are_sent() -> None:
    """Providers refuse the other keys of an answer, so that no step would count."""
    answer = {"id": "m1", "type": "message", "role": "assistant", "content": "Yes.", "usage": {}}
    provider = Provider(endpoint=9)
    count(provider, messages=[*MESSAGES, answer])
    assert provider.asked[0].body["messages"] == [
        *MESSAGES,
        {"role": "assistant", "content": "Yes."},
    ]
