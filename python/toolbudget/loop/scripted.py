"""A model that answers from a script: for tests, examples and everything else without a network."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import TYPE_CHECKING, Any, TypeAlias

from toolbudget.errors import ConfigError, InvalidMessageError
from toolbudget.loop.api_rules import refusals
from toolbudget.loop.model import ModelResponse, read_response
from toolbudget.messages.plain import shown
from toolbudget.tokens import estimate_tokens

if TYPE_CHECKING:
    from toolbudget.loop.model import ModelRequest

__all__ = ["ScriptedModel"]

Reply: TypeAlias = str | list[dict[str, Any]] | Mapping[str, Any] | ModelResponse | Exception


class ScriptedModel:
    """Answers each request with the next reply of a script, and refuses what a provider would.

    A reply is a text, a list of blocks, a response, or an exception, which is raised. Where it
    names no usage it gets one: estimates, the same in every run, and as a prompt cache would have
    them that keeps the last request: what this one has in common with it, message by message, is
    read from the cache, the rest is written to it. The ids of responses are numbered.

    Args:
        script: The replies in order, or a function that makes one of a request.

    Attributes:
        requests: Every request that has come, refused ones too.

    Example:
        >>> from toolbudget.loop import ModelRequest, ScriptedModel
        >>> model = ScriptedModel(["Hello!", lambda request: f"{len(request.messages)} message"])
        >>> request = ModelRequest(messages=[{"role": "user", "content": "hello"}])
        >>> model(request).text, model(request).text
        ('Hello!', '1 message')
    """

    def __init__(
        self,
        script: Iterable[Reply | Callable[[ModelRequest], Reply]] | Callable[[ModelRequest], Reply],
    ) -> None:
        self.requests: list[ModelRequest] = []
        self._next = _from_function(script) if callable(script) else _from_list(iter(script))
        self._cached: list[str] = []

    def __call__(self, request: ModelRequest) -> ModelResponse:
        """Answer a request.

        Raises:
            InvalidMessageError: A provider would refuse it; the message says why.
            ConfigError: The script is at its end, or the reply is none.
            Exception: The reply, if it is one.
        """
        self.requests.append(request)
        problems = refusals(request.messages)
        if problems:
            raise InvalidMessageError(f"request {len(self.requests)}: {'; '.join(problems)}")
        reply = self._next(request)
        if isinstance(reply, Exception):
            raise reply
        response = self._read(reply)
        usage = self._usage(request, response) if response.usage is None else response.usage
        if response.text:
            request.on_text(response.text)
        return ModelResponse(
            response.content,
            response.stop_reason or ("tool_use" if response.calls else "end_turn"),
            usage,
            response.id or f"msg_{len(self.requests)}",
            response.model or "scripted",
        )

    def _read(self, reply: Reply) -> ModelResponse:
        if isinstance(reply, (str, list)):
            return read_response({"content": reply})
        if isinstance(reply, (Mapping, ModelResponse)):
            return read_response(reply)
        raise ConfigError(f"reply {len(self.requests)} of the script is none: {shown(reply)}")

    def _usage(self, request: ModelRequest, response: ModelResponse) -> dict[str, int]:
        parts = [json.dumps([request.system, request.tools], default=dict, sort_keys=True)]
        parts += [_without_marks(message) for message in request.messages]
        shared = 0
        for old, new in zip(self._cached, parts, strict=False):
            if old != new:
                break
            shared += 1
        self._cached = parts
        return {
            "input_tokens": 0,
            "cache_read_input_tokens": sum(map(estimate_tokens, parts[:shared])),
            "cache_creation_input_tokens": sum(map(estimate_tokens, parts[shared:])),
            "output_tokens": estimate_tokens(json.dumps(response.content)),
        }


def _from_function(function: Callable[[ModelRequest], Reply]) -> Callable[[ModelRequest], Reply]:
    return function


def _from_list(
    replies: Iterator[Reply | Callable[[ModelRequest], Reply]],
) -> Callable[[ModelRequest], Reply]:
    count = 0

    def give_next(request: ModelRequest) -> Reply:
        nonlocal count
        try:
            reply = next(replies)
        except StopIteration:
            raise ConfigError(f"the script is at its end, replies: {count}") from None
        count += 1
        return reply(request) if callable(reply) else reply

    return give_next


def _without_marks(message: Mapping[str, Any]) -> str:
    """Write a message without its cache breakpoints, which are no part of what is cached."""

    def plain(value: object) -> object:
        if isinstance(value, Mapping):
            return {key: plain(one) for key, one in value.items() if key != "cache_control"}
        return [plain(one) for one in value] if isinstance(value, list) else value

    return json.dumps(plain(message), sort_keys=True)
