"""Replacing the history by a summary that the host makes (Q3)."""

from __future__ import annotations

import inspect
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from toolbudget._display import shown
from toolbudget._threads import in_thread
from toolbudget.errors import ConfigError, ToolBudgetError
from toolbudget.messages.plain import detached
from toolbudget.pipeline.checks import check_callable, check_count
from toolbudget.pipeline.cutting import Cut, cut_out, earlier_edits
from toolbudget.pipeline.rounds import before_prompt, read_rounds, results_of
from toolbudget.pipeline.stage import StageResult
from toolbudget.tokens import estimate_tokens, estimate_tokens_for_messages

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Iterator, Mapping, Sequence

    from toolbudget.budget.session import Session
    from toolbudget.pipeline.stage import StageName, TurnContext

__all__ = ["Autocompact", "SummaryError"]

_LISTED_RESULTS: Final = 50
_NO_ID: Final = "(without an id)"
_HEADING: Final = (
    "This conversation goes on from an earlier one that became too long. It is summarised here:"
)


class SummaryError(ToolBudgetError):
    """The host's summary cannot be used, so the history stays as it was."""


class _Plan(NamedTuple):
    session: Session
    start: int
    end: int
    tokens: int
    """Estimated tokens of what the summary is to stand for."""


class Autocompact:
    """Replaces the history by the host's summary when the window is ``over``.

    The summariser is given copies of the messages that go, with references as references, so that
    the summary can name files. What comes back stands as one user message before the newest rounds,
    with a list of the stored results by id and path. Every result that goes is stored in full
    first.

    If the summariser fails, or its summary is empty, too long, or makes the history no shorter, the
    history stays as it was. Then it is not asked again until the context has grown.

    Args:
        summarise: Called with the messages; returns the summary, or something to be awaited for it:
            then only :meth:`Pipeline.arun` can be used.
        protect_rounds: So many of the newest rounds stay, at least 1.
        max_summary_tokens: A longer summary (estimated) is not used.
        min_gain_tokens: A summary that saves less is not used, and a history that is shorter is not
            summarised.

    Raises:
        ConfigError: An argument cannot be used.

    Example:
        >>> import tempfile
        >>> from toolbudget import ContextWindow, Session
        >>> from toolbudget.pipeline import Autocompact, Pipeline
        >>> stage = Autocompact(lambda messages: f"{len(messages)} messages", min_gain_tokens=1)
        >>> session = Session.open(tempfile.mkdtemp(), "demo")
        >>> pipeline = Pipeline([stage], session=session, window=ContextWindow())
        >>> history = [{"role": "user", "content": "Count. " * 100}]
        >>> for number in range(4):
        ...     history.append({"role": "assistant", "content": str(number)})
        ...     history.append({"role": "user", "content": "Go on."})
        >>> result = pipeline.run(history, used_tokens=170_000)
        >>> len(history), len(result.messages), result.messages[0]["content"].splitlines()[-1]
        (9, 6, '4 messages')
    """

    name: Final[StageName] = "autocompact"

    def __init__(
        self,
        summarise: Callable[[Sequence[Any]], str | Awaitable[str]],
        *,
        protect_rounds: int = 2,
        max_summary_tokens: int = 20_000,
        min_gain_tokens: int = 1_000,
    ) -> None:
        check_callable("summarise", summarise)
        check_count("protect_rounds", protect_rounds, at_least=1)
        check_count("max_summary_tokens", max_summary_tokens, at_least=1)
        check_count("min_gain_tokens", min_gain_tokens, at_least=1)
        self.summarise: Final = summarise
        self.protect_rounds: Final = protect_rounds
        self.max_summary_tokens: Final = max_summary_tokens
        self.min_gain_tokens: Final = min_gain_tokens

    def run(self, context: TurnContext) -> StageResult | None:
        """Summarise if the window is over."""
        return self._run(context, self._plan(context))

    async def arun(self, context: TurnContext) -> StageResult | None:
        """Do what :meth:`run` does; the summariser may be asynchronous."""
        return await self._arun(context, self._plan(context))

    def recover_from_overflow(self, context: TurnContext) -> StageResult | None:
        """Summarise because the provider has refused the request."""
        return self._run(context, self._plan(context, is_forced=True))

    async def arecover_from_overflow(self, context: TurnContext) -> StageResult | None:
        """Do what :meth:`recover_from_overflow` does; the summariser may be asynchronous."""
        return await self._arun(context, self._plan(context, is_forced=True))

    def _run(self, context: TurnContext, plan: _Plan | None) -> StageResult | None:
        if plan is None:
            return None
        with self._one_attempt(context):
            summary = self.summarise(_handed_out(context, plan))
        if inspect.isawaitable(summary):
            if inspect.iscoroutine(summary):
                summary.close()
            raise ConfigError(f"summarise is asynchronous, use arun: {shown(self.summarise)}")
        return self._replace(context, plan, summary)

    async def _arun(self, context: TurnContext, plan: _Plan | None) -> StageResult | None:
        if plan is None:
            return None
        messages = _handed_out(context, plan)
        with self._one_attempt(context):
            if inspect.iscoroutinefunction(self.summarise):
                summary: object = await self.summarise(messages)
            else:
                summary = await in_thread(self.summarise, messages)
                if inspect.isawaitable(summary):
                    summary = await summary
        return await in_thread(self._replace, context, plan, summary)

    def _plan(self, context: TurnContext, *, is_forced: bool = False) -> _Plan | None:
        session, check, messages = context.session, context.check, context.messages
        is_over = check is not None and check.state == "over"
        if session is None or not (is_forced or is_over):
            return None
        wait_until_tokens: int = context.memory.get(self.name, 0)
        if context.used_tokens < wait_until_tokens and not is_forced:
            return None
        rounds = read_rounds(messages)
        if len(rounds.starts) <= self.protect_rounds:
            return None
        start = rounds.first_message
        end = before_prompt(messages, start, rounds.starts[-self.protect_rounds])
        tokens = estimate_tokens_for_messages(messages[start:end])
        if tokens < self.min_gain_tokens:
            return None
        return _Plan(session, start, end, tokens)

    @contextmanager
    def _one_attempt(self, context: TurnContext) -> Iterator[None]:
        """Remember when it was tried; forgotten again if it was worth it, or broken off."""
        context.memory[self.name] = context.used_tokens + self.min_gain_tokens
        try:
            yield
        except Exception:
            raise
        except BaseException:  # cancelled, or the keyboard: that says nothing about the summariser
            context.memory.pop(self.name, None)
            raise

    def _replace(self, context: TurnContext, plan: _Plan, summary: object) -> StageResult:
        if not isinstance(summary, str) or not summary.strip():
            raise SummaryError(f"summary is empty or no text: {type(summary).__name__}")
        summary_tokens = estimate_tokens(summary)
        if summary_tokens > self.max_summary_tokens:
            raise SummaryError(f"summary is too long: about {summary_tokens} tokens")
        messages = context.messages
        span = messages[plan.start : plan.end]
        listed: dict[str, str] = {}
        for edit in earlier_edits(plan.session, span):
            listed.update(_listed_in(edit.info))
        listed.update(plan.session.store_results(results_of(span)))
        text = _text(summary, listed)
        gain_tokens = plan.tokens - estimate_tokens(text)
        if gain_tokens < self.min_gain_tokens:
            raise SummaryError(f"summary would save too little: about {gain_tokens} tokens")
        info = {"results": list(listed.items())[-_LISTED_RESULTS:]}
        left = cut_out(context, messages, Cut("compact", plan.start, plan.end, text, info))
        context.memory.pop(self.name, None)
        detail = f"{len(span)} messages summarised"
        return StageResult(messages=left, changed=len(span), detail=detail)


def _handed_out(context: TurnContext, plan: _Plan) -> list[Any]:
    """Give copies: the history is the host's, and must not change by what a summariser does."""
    return [detached(message) for message in context.messages[plan.start : plan.end]]


def _text(summary: str, paths: Mapping[str, str]) -> str:
    lines = [_HEADING, "", summary.strip()]
    if paths:
        shown = list(paths.items())[-_LISTED_RESULTS:]
        lines += ["", "Full outputs of its tools, by id of the call:"]
        lines += [f"- {tool_use_id or _NO_ID}: {path}" for tool_use_id, path in shown]
        if len(paths) > len(shown):
            lines.append(f"and {len(paths) - len(shown)} older ones in the same place")
    return "\n".join(lines)


def _listed_in(info: Mapping[str, Any]) -> dict[str, str]:
    listed: dict[str, str] = {}
    entries = info.get("results")
    for entry in entries if isinstance(entries, list) else ():
        match entry:
            case [str(tool_use_id), str(path)]:
                listed[tool_use_id] = path
            case _:
                continue
    return listed
