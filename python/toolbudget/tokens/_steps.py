"""The steps of exact counting, as requests for someone else to carry out."""

from __future__ import annotations

from collections.abc import Callable, Generator, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import TYPE_CHECKING, Final, Literal, NamedTuple, NoReturn, TypeAlias, cast

from toolbudget._core.pure.shape import field, is_mapping
from toolbudget.errors import ToolBudgetError
from toolbudget.messages.plain import detached
from toolbudget.tokens._checks import config_error, share
from toolbudget.tokens._content import content_tokens, json_tokens
from toolbudget.tokens._records import read_usage
from toolbudget.tokens._sent import as_sent
from toolbudget.tokens.count_cache import cache_of, key_of

if TYPE_CHECKING:
    from collections.abc import Iterator

    from toolbudget.tokens.count_cache import CountCache

__all__ = ["CountStep", "Question", "StepFailure", "Steps", "TokenCount", "count_by_steps"]

CountStep: TypeAlias = Literal["endpoint", "small_model", "larger_model", "estimate"]

Request: TypeAlias = Callable[[], object]
"""Asks the provider; an asynchronous client gives something to await."""

_STEP_NAMES: Final = {
    "endpoint": "count-tokens endpoint",
    "small_model": "small model",
    "larger_model": "larger model",
}
# What may be otherwise a moment later: too slow, in each other's way, too many.
_PASSING_STATUSES: Final = frozenset({408, 409, 425, 429})
_SERVER_FAILED: Final = 500
# What would be the same at every step: the key is refused, the body is too large.
_FINAL_STATUSES: Final = frozenset({401, 413})
_MAX_REASON_CHARS: Final = 300


class StepFailure(NamedTuple):
    """Why a step did not answer."""

    step: CountStep
    reason: str
    status: int | None = None
    """The HTTP status, if there was an answer."""


@dataclass(frozen=True, slots=True)
class TokenCount:
    """How many tokens a request has, and who says so.

    Attributes:
        tokens: Tokens of messages, tools and system prompt.
        exact: Whether the provider counted them.
        step: Which step answered: ``endpoint``, ``small_model``, ``larger_model``, ``estimate``.
        model: The model that counted, ``None`` for the estimate.
        failures: Why the steps before did not answer.
        from_cache: Whether the answer is that of an earlier call with the same content.

    Example:
        >>> from toolbudget import count_tokens
        >>> print(count_tokens(None, [], model="any").explain)
        0 tokens, estimated (count-tokens endpoint: client has no messages.count_tokens; ...
    """

    tokens: int
    exact: bool
    step: CountStep
    model: str | None = None
    failures: tuple[StepFailure, ...] = ()
    from_cache: bool = False

    @property
    def explain(self) -> str:
        """The number, where it is from, and why not from an earlier step, in one line."""
        source = "estimated"
        if self.exact:
            source = f"counted by the {_STEP_NAMES[self.step]} for {self.model}"
        cached = ", from the cache" if self.from_cache else ""
        reasons = f" ({_reasons(self.failures)})" if self.failures else ""
        return f"{self.tokens:,} tokens, {source}{cached}{reasons}"


Steps: TypeAlias = Generator[Request, object, TokenCount]


@dataclass(frozen=True, slots=True)
class Question:
    """What is to be counted, and by whom."""

    client: object
    model: str
    small_model: str | None
    content: dict[str, object]
    """The arguments that hold the content."""
    thinking: object
    timeout_s: float | None
    estimate_tokens: int
    cache: CountCache[object] | None
    key: bytes | None
    whole: dict[str, object]
    """All that the key is made of."""

    @classmethod
    def ask(
        cls,
        client: object,
        messages: Sequence[object],
        *,
        model: str,
        small_model: str | None,
        tools: Sequence[object] | None,
        system: str | Sequence[object] | None,
        thinking: object,
        timeout_s: float | None,
        cached: bool,
    ) -> Question:
        """Check the arguments.

        Raises:
            ConfigError: One of them cannot be used.
            InvalidMessageError: ``messages`` is no sequence of messages.
        """
        _check_model(model, "model")
        if small_model is not None:
            _check_model(small_model, "small_model")
        if timeout_s is not None and not share(timeout_s, "timeout_s") > 0:
            raise config_error("timeout_s", "above 0", timeout_s)
        _check_blocks("tools", tools, is_text_allowed=False)
        _check_blocks("system", system, is_text_allowed=True)
        sent = as_sent(messages)
        content: dict[str, object] = {"messages": sent}
        given: dict[str, object] = {"tools": tools, "system": system}
        content |= {name: value for name, value in given.items() if value}
        cache = cache_of(client) if cached else None
        whole = content | {"model": model, "small_model": small_model, "thinking": thinking}
        return cls(
            client=client,
            model=model,
            small_model=small_model,
            content=content,
            thinking=thinking,
            timeout_s=timeout_s,
            estimate_tokens=_estimate(sent, tools, system),
            cache=cache,
            key=None if cache is None else key_of(whole),
            whole=whole,
        )


def count_by_steps(question: Question, *, strict: bool) -> Steps:
    """Yield one request after the other until one tells the count; return it.

    What is sent back is the answer, or the exception that came instead.

    Raises:
        ToolBudgetError: With ``strict``: no step answered.
    """
    known = _look_up(question)
    if known is not None:
        return known
    failures: list[StepFailure] = []
    last_error: Exception | None = None
    is_lasting = True
    for step, model in _plan(question, failures):
        outcome = yield partial(_request, question, step, model, last_error)
        tokens = 0 if isinstance(outcome, Exception) else _read_count(step, outcome)
        if tokens > 0:
            count = TokenCount(tokens, True, step, model, tuple(failures))  # noqa: FBT003
            # Else one model's number would stand for another's when that can be asked again.
            return _keep(question, count) if is_lasting else count
        last_error = outcome if isinstance(outcome, Exception) else None
        failures.append(_failure(step, last_error))
        is_lasting = is_lasting and not _is_passing(failures[-1], last_error)
        if failures[-1].status in _FINAL_STATUSES:
            break
    if strict:
        _raise(failures, last_error)
    return TokenCount(
        question.estimate_tokens, exact=False, step="estimate", failures=tuple(failures)
    )


def _plan(question: Question, failures: list[StepFailure]) -> Iterator[tuple[CountStep, str]]:
    """Yield the steps that can be tried; note why one cannot when its turn comes."""
    messages = _attribute(question.client, "messages")
    if callable(_attribute(messages, "count_tokens")):
        yield "endpoint", question.model
    else:
        failures.append(StepFailure("endpoint", "client has no messages.count_tokens"))
    can_ask = callable(_attribute(messages, "create"))
    if not can_ask:
        failures.append(StepFailure("small_model", "client has no messages.create"))
    elif question.small_model is None:
        failures.append(StepFailure("small_model", "no small_model was given"))
    else:
        yield "small_model", question.small_model
    if not can_ask:
        failures.append(StepFailure("larger_model", "client has no messages.create"))
    elif question.small_model == question.model:
        failures.append(StepFailure("larger_model", "it is the small model"))
    else:
        yield "larger_model", question.model


def _request(question: Question, step: CountStep, model: str, last_error: object) -> object:
    messages = _client(question, last_error).messages  # type: ignore[attr-defined]
    # Copies: a client that marks or trims what it sends must not change the host's history.
    content = {name: detached(value) for name, value in question.content.items()}
    arguments = content | {"model": model}
    if step != "endpoint":
        return messages.create(max_tokens=1, **arguments)
    if question.thinking is not None:
        arguments["thinking"] = detached(question.thinking)
    return messages.count_tokens(**arguments)


def _client(question: Question, last_error: object) -> object:
    """Return the client, with the options that hold for the next request."""
    options: dict[str, object] = {}
    if question.timeout_s is not None:
        options["timeout"] = question.timeout_s
    if _is_silent(last_error):
        # The step before has waited for as long as the client's retries last.
        options["max_retries"] = 0
    with_options = _attribute(question.client, "with_options")
    return with_options(**options) if options and callable(with_options) else question.client


def _read_count(step: CountStep, answer: object) -> int:
    """Read the tokens of the input; 0 if the answer does not tell."""
    usage = read_usage(answer if step == "endpoint" else field(answer, "usage"))
    return usage.total_tokens - usage.output_tokens


def _look_up(question: Question) -> TokenCount | None:
    if question.cache is None or question.key is None:
        return None
    known = cast("TokenCount | None", question.cache.get(question.key))
    return None if known is None else replace(known, from_cache=True)


def _keep(question: Question, count: TokenCount) -> TokenCount:
    if question.cache is None or question.key is None:
        return count
    # A task of the host may have changed the content while the answer was on its way.
    if key_of(question.whole) == question.key:
        question.cache.put(question.key, count)
    return count


def _failure(step: CountStep, error: Exception | None) -> StepFailure:
    if error is None:
        return StepFailure(step, "the answer has no count")
    status = field(error, "status_code")
    text = " ".join(str(error).split()) or "no reason given"
    reason = f"{type(error).__name__}: {text}"[:_MAX_REASON_CHARS]
    return StepFailure(step, reason, status if isinstance(status, int) else None)


def _is_passing(failure: StepFailure, error: Exception | None) -> bool:
    """Tell whether the step may well answer the next time."""
    status = failure.status
    if status is None:
        return _is_silent(error)
    return status in _PASSING_STATUSES or status >= _SERVER_FAILED


def _is_silent(error: object) -> bool:
    """Tell whether no answer came at all: a time-out, no connection."""
    if isinstance(error, OSError):
        return True
    # The SDK's own, which is never imported here.
    return any(kind.__name__ == "APIConnectionError" for kind in type(error).__mro__)


def _raise(failures: Sequence[StepFailure], cause: Exception | None) -> NoReturn:
    raise ToolBudgetError(f"tokens could not be counted: {_reasons(failures)}") from cause


def _reasons(failures: Sequence[StepFailure]) -> str:
    return "; ".join(f"{_STEP_NAMES[failure.step]}: {failure.reason}" for failure in failures)


def _attribute(value: object, name: str) -> object:
    return None if value is None or is_mapping(value) else field(value, name)


def _check_model(value: object, name: str) -> None:
    if not isinstance(value, str) or not value:
        raise config_error(name, "the name of a model", value)


def _check_blocks(name: str, value: object, *, is_text_allowed: bool) -> None:
    is_list = isinstance(value, Sequence) and not isinstance(value, str | bytes)
    if value is not None and not is_list and not (is_text_allowed and isinstance(value, str)):
        kinds = "text or a list of blocks" if is_text_allowed else "a list of tools"
        raise config_error(name, kinds, value)


def _estimate(messages: Sequence[object], tools: object, system: object) -> int:
    # What a response reported says nothing about the tools and the system prompt of this request.
    tokens = content_tokens(system) + (json_tokens(tools) if tools else 0)
    return tokens + sum(content_tokens(field(message, "content")) for message in messages)
