"""Clients of the real SDK over a transport that plays the provider."""

from __future__ import annotations

import asyncio
import json
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Final, NamedTuple

import anthropic
import httpx2

from toolbudget import acount_tokens, count_tokens

if TYPE_CHECKING:
    from collections.abc import Callable

    from toolbudget.tokens import TokenCount

__all__ = [
    "CLIENTS",
    "LARGE",
    "MESSAGES",
    "SMALL",
    "Asked",
    "Provider",
    "count",
    "counter",
    "refusal",
]

LARGE: Final = "large-model"
SMALL: Final = "small-model"
MESSAGES: Final = [{"role": "user", "content": "x" * 400}]


class Asked(NamedTuple):
    """One HTTP request: the step it belongs to, and its body."""

    step: str
    body: dict[str, Any]
    timeout_s: float | None


@dataclass
class Provider:
    """Answers each step as it is told: a number of tokens, a refusal, or an exception.

    Attributes:
        endpoint: What the count-tokens endpoint does.
        small: What the small model does.
        large: What the larger model does.
        asked: Every request that has come.
    """

    endpoint: object = 100
    small: object = 200
    large: object = 300
    asked: list[Asked] = field(default_factory=list)

    @property
    def steps(self) -> list[str]:
        """The steps that were asked for, in order."""
        return [one.step for one in self.asked]

    def answer(self, request: httpx2.Request) -> httpx2.Response:
        """Answer one request over HTTP."""
        body = json.loads(request.content)
        step = step_of(str(request.url), body)
        self.asked.append(Asked(step, body, request.extensions["timeout"]["read"]))
        outcome = getattr(self, step)
        if isinstance(outcome, type):
            raise outcome("played", request=request)
        if isinstance(outcome, httpx2.Response):
            return httpx2.Response(outcome.status_code, content=outcome.content)
        if step == "endpoint":
            return httpx2.Response(200, json={"input_tokens": outcome})
        return httpx2.Response(200, json=message_of(outcome))


def step_of(url: str, body: dict[str, Any]) -> str:
    """Tell which step a request belongs to, for each of the three providers."""
    if "count_tokens" in url or "count-tokens" in url:
        return "endpoint"
    return "small" if SMALL in (body.get("model") or url) else "large"


def message_of(outcome: object) -> dict[str, Any]:
    """Make a response whose usage has so many input tokens, most of them cached."""
    usage = outcome
    if isinstance(outcome, int):
        usage = {
            "input_tokens": outcome - 90,
            "cache_read_input_tokens": 80,
            "cache_creation_input_tokens": 10,
            "output_tokens": 1,
        }
    return {
        "id": "m",
        "type": "message",
        "role": "assistant",
        "model": "m",
        "content": [],
        "stop_reason": "max_tokens",
        "usage": usage,
    }


def refusal(status: int, message: str = "played") -> httpx2.Response:
    """Make an answer that is an error."""
    error = {"type": "error", "error": {"type": "played_error", "message": message}}
    return httpx2.Response(status, json=error)


def _anthropic(http: Any, is_async: bool, **options: Any) -> Any:  # noqa: ANN401, FBT001
    kind = anthropic.AsyncAnthropic if is_async else anthropic.Anthropic
    return kind(api_key="key", http_client=http, **options)


def _bedrock(http: Any, is_async: bool, **options: Any) -> Any:  # noqa: ANN401, FBT001
    kind = anthropic.AsyncAnthropicBedrock if is_async else anthropic.AnthropicBedrock
    return kind(api_key="key", aws_region="us-east-1", http_client=http, **options)


def _vertex(http: Any, is_async: bool, **options: Any) -> Any:  # noqa: ANN401, FBT001
    kind = anthropic.AsyncAnthropicVertex if is_async else anthropic.AnthropicVertex
    place: Any = {"region": "global", "project_id": "project", "access_token": "token"}
    return kind(**place, http_client=http, **options)


CLIENTS: Final[dict[str, Callable[..., Any]]] = {
    "anthropic": _anthropic,
    "bedrock": _bedrock,
    "vertex": _vertex,
}


def count(
    provider: Provider,
    *,
    client: str = "anthropic",
    is_async: bool = False,
    **arguments: Any,  # noqa: ANN401
) -> TokenCount:
    """Count through a client of the SDK that retries nothing unless it is told to."""
    return counter(provider, client=client, is_async=is_async)(**arguments)


def counter(
    provider: Provider, *, client: str = "anthropic", is_async: bool = False, max_retries: int = 0
) -> Callable[..., TokenCount]:
    """Give a function that counts, each time through the same client."""
    transport = httpx2.MockTransport(provider.answer)
    http = (httpx2.AsyncClient if is_async else httpx2.Client)(transport=transport)
    used = CLIENTS[client](http, is_async, max_retries=max_retries)

    def count_once(**arguments: Any) -> TokenCount:  # noqa: ANN401
        arguments = {"model": LARGE, "small_model": SMALL, "messages": MESSAGES} | arguments
        messages = arguments.pop("messages")
        if is_async:
            return asyncio.run(acount_tokens(used, messages, **arguments))
        return count_tokens(used, messages, **arguments)

    return count_once
