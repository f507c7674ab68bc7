"""Models behind a client of Anthropic's SDK, which is never imported here."""

from __future__ import annotations

import inspect
from typing import TYPE_CHECKING, Any, Final

from toolbudget._core.pure.shape import field, plain_text
from toolbudget.errors import ConfigError
from toolbudget.loop.model import read_response
from toolbudget.messages.marks import CACHE_CONTROL, MAX_CACHE_BREAKPOINTS
from toolbudget.messages.params import add_cache_breakpoint
from toolbudget.messages.plain import clone, shown

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from toolbudget.loop.model import ModelRequest, ModelResponse

__all__ = ["DEFAULT_MAX_OUTPUT_TOKENS", "AnthropicModel", "AsyncAnthropicModel", "request_body"]

DEFAULT_MAX_OUTPUT_TOKENS: Final = 16_000
"""Output tokens of one response; every current model allows them."""


class _Anthropic:
    """What both clients' models have in common."""

    _is_async = False

    def __init__(
        self,
        client: object,
        model: str,
        *,
        max_tokens: int = DEFAULT_MAX_OUTPUT_TOKENS,
        enable_prompt_caching: bool = True,
        streams: bool = True,
        parameters: Mapping[str, Any] | None = None,
    ) -> None:
        create: Any = field(field(client, "messages"), "create")
        if not callable(create):
            raise ConfigError(f"client (argument) has no messages.create: {shown(client)}")
        if inspect.iscoroutinefunction(inspect.unwrap(create)) is not self._is_async:
            kind = "asynchronous" if self._is_async else "synchronous"
            raise ConfigError(f"client (argument) must be {kind}: {shown(client)}")
        if plain_text(model) in {None, ""}:
            raise ConfigError(f"model (argument) must be the name of a model: {shown(model)}")
        if type(max_tokens) is not int or max_tokens < 1:
            raise ConfigError(
                f"max_tokens (argument) must be a whole number above 0: {shown(max_tokens)}"
            )
        self._client: Any = client
        self._frame: dict[str, Any] = {
            "model": model,
            "max_tokens": max_tokens,
            **(parameters or {}),
        }
        self._is_caching = enable_prompt_caching
        self._streams = streams

    def _prepare(self, request: ModelRequest) -> tuple[Any, dict[str, Any]]:
        """Give the client's ``messages``, and what to call it with."""
        body = self._frame | request_body(request, enable_prompt_caching=self._is_caching)
        return (self._client.beta if "betas" in body else self._client).messages, body


class AnthropicModel(_Anthropic):
    """Asks a model through ``anthropic.Anthropic`` or a client like it: Bedrock, Vertex ….

    Retries and time-outs are the client's. With prompt caching there are breakpoints behind the
    system prompt (or the tools), behind what the last request held, and at the end.

    Args:
        client: The client.
        model: The name of the model.
        max_tokens: Output tokens of one response.
        enable_prompt_caching: Put breakpoints; those of the host stay without it too.
        streams: Pass the text on piece by piece, to ``on_text`` of the request.
        parameters: More parameters of every request: ``thinking``, ``metadata`` …; with
            ``betas`` among them the client's ``beta.messages`` is used.

    Raises:
        ConfigError: An argument cannot be used.

    Example:
        >>> from types import SimpleNamespace
        >>> from toolbudget.loop import AgentLoop, AnthropicModel
        >>> answer = {"content": [{"type": "text", "text": "Hello!"}], "stop_reason": "end_turn"}
        >>> client = SimpleNamespace(messages=SimpleNamespace(create=lambda **body: answer))
        >>> AgentLoop(AnthropicModel(client, "any", streams=False)).run("hello").text
        'Hello!'
    """

    def __call__(self, request: ModelRequest) -> ModelResponse:
        """Ask the model.

        Raises:
            Exception: What the client raises.
        """
        messages, body = self._prepare(request)
        if not self._streams:
            return read_response(messages.create(**body))
        with messages.stream(**body) as stream:
            for text in stream.text_stream:
                request.on_text(text)
            return read_response(stream.get_final_message())


class AsyncAnthropicModel(_Anthropic):
    """Asks a model through ``anthropic.AsyncAnthropic`` or a client like it.

    Args and errors are those of :class:`AnthropicModel`.

    Example:
        >>> import asyncio
        >>> from types import SimpleNamespace
        >>> from toolbudget.loop import AgentLoop, AsyncAnthropicModel
        >>> async def create(**body):
        ...     return {"content": [{"type": "text", "text": "Hello!"}]}
        >>> client = SimpleNamespace(messages=SimpleNamespace(create=create))
        >>> loop = AgentLoop(AsyncAnthropicModel(client, "any", streams=False))
        >>> asyncio.run(loop.arun("hello")).text
        'Hello!'
    """

    _is_async = True

    async def __call__(self, request: ModelRequest) -> ModelResponse:
        """Ask the model.

        Raises:
            Exception: What the client raises.
        """
        messages, body = self._prepare(request)
        if not self._streams:
            return read_response(await messages.create(**body))
        async with messages.stream(**body) as stream:
            async for text in stream.text_stream:
                request.on_text(text)
            return read_response(await stream.get_final_message())


def request_body(request: ModelRequest, *, enable_prompt_caching: bool = True) -> dict[str, Any]:
    """Make what a request adds to the body: messages, system prompt, tools and parameters.

    Args:
        request: The request; nothing of it is changed or shared.
        enable_prompt_caching: Put breakpoints.

    Example:
        >>> from toolbudget.loop import ModelRequest
        >>> from toolbudget.loop.anthropic_model import request_body
        >>> request = ModelRequest(
        ...     messages=[{"role": "user", "content": "hello"}], system="Be brief."
        ... )
        >>> request_body(request)["system"]
        [{'type': 'text', 'text': 'Be brief.', 'cache_control': {'type': 'ephemeral'}}]
    """
    body: dict[str, Any] = clone(request.parameters)
    tools: list[dict[str, Any]] = clone(request.tools)
    system: Any = clone(request.system)
    if enable_prompt_caching:
        if isinstance(system, str) and system:
            system = [{"type": "text", "text": system}]
        # Tools come before the system prompt, so that one breakpoint behind both is enough.
        last = (system or tools)[-1:]
        if last and not any(CACHE_CONTROL in one for one in (*tools, *(system or ()))):
            last[0][CACHE_CONTROL] = {"type": "ephemeral"}
    if system:
        body["system"] = system
    if tools:
        body["tools"] = tools
    marks = sum(CACHE_CONTROL in one for one in (*tools, *(system or ())) if isinstance(one, dict))
    body["messages"] = (
        _with_breakpoints(request.messages, max(MAX_CACHE_BREAKPOINTS - marks, 0))
        if enable_prompt_caching
        else clone(request.messages)
    )
    return body


def _with_breakpoints(messages: Sequence[Any], max_breakpoints: int) -> list[Any]:
    """Put breakpoints at the end and where the last request ended.

    A provider looks for a cached prefix some twenty blocks before a breakpoint only, and the
    results of one answer may be more than that.
    """
    answers = [index for index, one in enumerate(messages) if one["role"] == "assistant"]
    end = answers[-1] if answers else 0
    seen = add_cache_breakpoint(messages[:end], max_breakpoints=max_breakpoints)
    return list(add_cache_breakpoint([*seen, *messages[end:]], max_breakpoints=max_breakpoints))
