"""Exact counting through a client, step by step until one answers (SPEC T5)."""

from __future__ import annotations

import inspect
from typing import TYPE_CHECKING

from toolbudget.errors import ConfigError
from toolbudget.tokens._steps import Question, TokenCount, count_by_steps

if TYPE_CHECKING:
    from collections.abc import Sequence

    from toolbudget.tokens._steps import Steps

__all__ = ["acount_tokens", "count_tokens"]


def count_tokens(
    client: object,
    messages: Sequence[object],
    *,
    model: str,
    small_model: str | None = None,
    tools: Sequence[object] | None = None,
    system: str | Sequence[object] | None = None,
    thinking: object = None,
    timeout_s: float | None = None,
    strict: bool = False,
    cached: bool = True,
) -> TokenCount:
    """Count the tokens of a request as exactly as the provider lets us.

    Each step is tried only if the one before is unavailable: the provider's count-tokens endpoint;
    a request with ``max_tokens=1`` to ``small_model``, whose usage tells; the same to ``model``;
    the estimate, which is flagged ``exact=False``. The second and third cost as any request does.
    A refused key or a body that is too large would meet every step, so it leads to the estimate at
    once. Time-outs and retries are those of the client; none are added, and once a step got no
    answer at all, the others are not retried.

    Exact results are kept for the client, up to 256 of them, and found again by the content of the
    request. Estimates and failures are not kept.

    Args:
        client: Any object with the Anthropic SDK's ``messages.count_tokens`` and
            ``messages.create``: ``Anthropic``, ``AnthropicBedrock``, ``AnthropicVertex`` ….
        messages: Messages as they would be sent.
        model: The model that the tokens are counted for.
        small_model: A cheaper model of the same provider; without one that step is passed over.
            Tokenizers differ between generations: ``TokenCount.model`` says whose was used.
        tools: Tools of the request.
        system: System prompt of the request.
        thinking: Thinking configuration; only the endpoint gets it, since one token of output
            leaves no room for thoughts.
        timeout_s: Seconds for each try of a request, above 0; by default what the client has.
        strict: Raise instead of estimating.
        cached: Look for an earlier result, and keep this one.

    Raises:
        ConfigError: An argument cannot be used, or the client is asynchronous.
        InvalidMessageError: ``messages`` is no sequence of messages.
        ToolBudgetError: With ``strict``: no step answered; the message says why each did not.

    Example:
        >>> from toolbudget import count_tokens
        >>> count = count_tokens(None, [{"role": "user", "content": "x" * 400}], model="any")
        >>> count.exact, count.step
        (False, 'estimate')
    """
    question = Question.ask(
        client,
        messages,
        model=model,
        small_model=small_model,
        tools=tools,
        system=system,
        thinking=thinking,
        timeout_s=timeout_s,
        cached=cached,
    )
    return _run(count_by_steps(question, strict=strict))


async def acount_tokens(
    client: object,
    messages: Sequence[object],
    *,
    model: str,
    small_model: str | None = None,
    tools: Sequence[object] | None = None,
    system: str | Sequence[object] | None = None,
    thinking: object = None,
    timeout_s: float | None = None,
    strict: bool = False,
    cached: bool = True,
) -> TokenCount:
    """Count as :func:`count_tokens` does, through an asynchronous client.

    Args:
        client: ``AsyncAnthropic`` or any object whose methods are like its.
        messages: Messages as they would be sent.
        model: The model that the tokens are counted for.
        small_model: A cheaper model of the same provider.
        tools: Tools of the request.
        system: System prompt of the request.
        thinking: Thinking configuration, for the endpoint.
        timeout_s: Seconds for each try of a request, above 0; by default what the client has.
        strict: Raise instead of estimating.
        cached: Look for an earlier result, and keep this one.

    Raises:
        ConfigError: An argument cannot be used.
        InvalidMessageError: ``messages`` is no sequence of messages.
        ToolBudgetError: With ``strict``: no step answered.

    Example:
        >>> import asyncio
        >>> from toolbudget import acount_tokens
        >>> messages = [{"role": "user", "content": "x" * 400}]
        >>> asyncio.run(acount_tokens(None, messages, model="any")).step
        'estimate'
    """
    question = Question.ask(
        client,
        messages,
        model=model,
        small_model=small_model,
        tools=tools,
        system=system,
        thinking=thinking,
        timeout_s=timeout_s,
        cached=cached,
    )
    return await _arun(count_by_steps(question, strict=strict))


def _run(steps: Steps) -> TokenCount:
    """Carry out each request that the steps ask for, and tell them what came of it."""
    outcome: object = None
    while True:
        try:
            request = steps.send(outcome)
        except StopIteration as end:
            count: TokenCount = end.value
            return count
        try:
            outcome = request()
        except Exception as error:  # noqa: BLE001 - a client may raise anything; a step judges it
            outcome = error
        if inspect.isawaitable(outcome):
            if inspect.iscoroutine(outcome):
                outcome.close()
            raise ConfigError(
                f"client is asynchronous, use acount_tokens: {type(outcome).__name__}"
            )


async def _arun(steps: Steps) -> TokenCount:
    outcome: object = None
    while True:
        try:
            request = steps.send(outcome)
        except StopIteration as end:
            count: TokenCount = end.value
            return count
        try:
            outcome = request()
            if inspect.isawaitable(outcome):
                outcome = await outcome
        except Exception as error:  # noqa: BLE001 - as above
            outcome = error
