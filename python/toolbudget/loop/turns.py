"""The steps of one run: ask the model, run what it calls, and again until it calls nothing."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Any, Final

from toolbudget._core.pure.shape import text_field
from toolbudget.continuation import (
    StopDecision,
    TurnBudget,
    check_token_budget,
    create_budget_tracker,
    parse_token_budget,
)
from toolbudget.errors import ConfigError
from toolbudget.loop.abort import AbortedError
from toolbudget.loop.calls import Answer, error_result
from toolbudget.loop.effects import AskModel, RunCalls, Work
from toolbudget.loop.events import (
    Continued,
    Ended,
    LoopResult,
    Overflowed,
    RequestReady,
    Responded,
    ToolCalled,
    ToolFinished,
)
from toolbudget.loop.model import read_response
from toolbudget.loop.resume import NUDGE_ORIGIN, replay_budget, text_of, words_wait
from toolbudget.loop.usage import TokenUsage
from toolbudget.messages.plain import clone

if TYPE_CHECKING:
    from collections.abc import Callable, Generator, Mapping, Sequence

    from toolbudget.continuation import BudgetTracker, CompletionEvent
    from toolbudget.loop.abort import Abort
    from toolbudget.loop.conversation import Conversation
    from toolbudget.loop.effects import Effect, Steps
    from toolbudget.loop.events import EndReason, LoopEvent, Transition
    from toolbudget.loop.model import ModelResponse
    from toolbudget.loop.shaping import Shaped, Shaper

__all__ = ["ABORTED", "CUT_OFF", "INTERRUPTED", "Run"]

ABORTED: Final = "(the call was aborted by the user; it may have been done in part)"
INTERRUPTED: Final = (
    "(the program ended before the result of this call was recorded; it may have been done, or done"
    " in part)"
)
CUT_OFF: Final = (
    "(the call was not run: the answer was cut off at the limit of tokens within its input)"
)
# Stop reasons of an answer that may end within the input of a call.
_CUT_OFF_REASONS: Final = frozenset({"max_tokens", "model_context_window_exceeded"})


class Run:
    """One run of a loop: from an input, or from where the last run ended, to a result."""

    def __init__(
        self,
        conversation: Conversation,
        shaper: Shaper,
        *,
        turn_budget: TurnBudget,
        agent_id: str | None,
        max_turns: int | None,
        abort: Abort,
        tell: Callable[[LoopEvent], None],
    ) -> None:
        self._conversation = conversation
        self._shaper = shaper
        self._turn_budget = turn_budget
        self._agent_id = agent_id
        self._max_turns = max_turns
        self._abort = abort
        self._tell = tell
        self.usage = TokenUsage()
        self._tracker: BudgetTracker = create_budget_tracker()
        self._completion: CompletionEvent | None = None
        self._last: Mapping[str, Any] = {}
        self._transition: Transition = "user_input"
        self._recovered: Shaped | None = None
        self._has_recovered = False
        self._has_words_waiting = False

    def steps(self, user_input: str | Sequence[object] | None) -> Steps:
        """Go on until the model calls nothing more, the bound is met or the host aborts."""
        yield Work(partial(self._begin, user_input))
        if user_input is None:
            self._transition = "resumed"
            if not (yield from self._goes_on_from_last()):
                return self._end("completed")
        while True:
            if self._abort.is_requested:
                return self._end("aborted")
            if self._max_turns is not None and self.usage.responses >= self._max_turns:
                return self._end("max_turns")
            try:
                response = yield from self._ask()
            except AbortedError:
                return self._end("aborted")
            if self._conversation.open_calls:
                yield from self._run_calls(response)
                self._transition = "tool_results"
            elif not (yield from self._goes_on(response.stop_reason)):
                return self._end("completed")

    def _begin(self, user_input: str | Sequence[object] | None) -> None:
        """Bring the conversation to where the model can be asked."""
        conversation = self._conversation
        conversation.load()
        if user_input is None and not conversation.records:
            raise ConfigError("there is no conversation to go on with: user_input (argument): None")
        budget = self._turn_budget
        is_new = not budget.turn_output_tokens and budget.current_turn_token_budget is None
        counted = budget if is_new else TurnBudget()
        self._tracker = replay_budget(conversation.records, counted, self._agent_id)
        self._answer_open_calls(INTERRUPTED)
        if user_input is not None:
            conversation.say(user_input)
            text = text_of({"content": user_input})
            budget.snapshot_output_tokens_for_turn(parse_token_budget(text))
            self._tracker = create_budget_tracker()

    def _ask(self) -> Generator[Effect, Any, ModelResponse]:
        """Ask the model; a request that is too long is made shorter once."""
        while True:
            shaped, records = self._recovered, self._conversation.records
            if shaped is None:
                shape, ashape = self._shaper.shape, self._shaper.ashape
                shaped = yield Work(partial(shape, records), partial(ashape, records))
            self._recovered = None
            turn = self.usage.responses + 1
            self._tell(RequestReady(turn, self._transition, shaped.request, shaped.report))
            if self._abort.is_requested:
                raise AbortedError
            # Words behind an answer that paused wait until the provider has ended it. Asked before
            # the model gets the list, since it may add to it.
            is_continued = shaped.request.messages[-1]["role"] == "assistant"
            try:
                reply = yield AskModel(shaped.request)
            except AbortedError:
                raise
            except Exception as error:  # noqa: BLE001 - a model may raise anything
                yield from self._recover(error)
                continue
            response = read_response(reply)
            self._has_recovered = False
            is_new = records[-1]["type"] == "user"
            self._has_words_waiting = is_continued and (is_new or self._has_words_waiting)
            yield Work(partial(self._take, response))
            self._tell(Responded(turn, response))
            return response

    def _recover(self, error: Exception) -> Generator[Effect, Any, None]:
        """Make room after an error that says that the request was too long; else raise it."""
        if self._has_recovered:
            raise error
        records, shaper = self._conversation.records, self._shaper
        self._recovered = yield Work(
            partial(shaper.recover, records, error), partial(shaper.arecover, records, error)
        )
        if self._recovered is None:
            raise error
        self._has_recovered = True
        self._transition = "overflow_recovery"
        self._tell(Overflowed(error))

    def _take(self, response: ModelResponse) -> None:
        self.usage, before = self.usage.plus(response.usage), self.usage
        self._turn_budget.add_output_tokens(self.usage.output_tokens - before.output_tokens)
        self._last = self._conversation.respond(response)

    def _goes_on_from_last(self) -> Generator[Effect, Any, bool]:
        """Tell whether there is something to ask the model, after an end or a kill."""
        last = self._conversation.records[-1]
        if last["type"] != "assistant":
            return True
        self._last = last["message"]
        self._has_words_waiting = words_wait(self._conversation.records)
        return (yield from self._goes_on(text_field(self._last, "stop_reason")))

    def _goes_on(self, stop_reason: str | None) -> Generator[Effect, Any, bool]:
        """Tell whether the model is asked again although it has called nothing."""
        if stop_reason == "pause_turn":  # a tool of the provider takes more than one request
            self._transition = "pause"
            return True
        if self._has_words_waiting:
            self._has_words_waiting = False
            self._transition = "user_input"
            return True
        if self._abort.is_requested:
            return True  # it ends before the next request
        budget, used = (
            self._turn_budget.current_turn_token_budget,
            self._turn_budget.turn_output_tokens,
        )
        decision = check_token_budget(self._tracker, self._agent_id, budget, used)
        if isinstance(decision, StopDecision):
            self._completion = decision.completion_event
            return False
        # The next request is made of the history, this answer and the nudge.
        say = partial(self._conversation.say, is_meta=True, origin=NUDGE_ORIGIN)
        yield Work(partial(say, decision.nudge_message))
        self._has_recovered = False
        self._transition = "token_budget_continuation"
        self._tell(Continued(decision))
        return True

    def _run_calls(self, response: ModelResponse) -> Generator[Effect, Any, None]:
        """Give every call of a response its result, whatever happens meanwhile."""
        failures: list[Exception] = []
        try:
            if response.stop_reason in _CUT_OFF_REASONS:
                yield Work(partial(self._answer_cut_off_call, response))
            calls = [] if self._abort.is_requested else self._conversation.open_calls
            for call in calls:
                self._tell(ToolCalled(call["id"], call["name"], clone(call.get("input"))))
            if calls:
                yield RunCalls(calls, partial(self._deliver, failures))
        except GeneratorExit:
            raise
        except BaseException:
            yield Work(partial(self._answer_open_calls, ABORTED))
            raise
        yield Work(partial(self._answer_open_calls, ABORTED))
        if failures:
            raise failures[0]

    def _deliver(self, failures: list[Exception], answer: Answer) -> None:
        """Take up the result of a call, and what a strict session raised about it."""
        if answer.failure is not None:
            failures.append(answer.failure)
        if self._conversation.answer(answer.result):
            self._tell(ToolFinished(answer.call["id"], answer.call["name"], answer.result))

    def _answer_cut_off_call(self, response: ModelResponse) -> None:
        """Answer the call that the limit of output tokens has cut off: its input is not whole."""
        last = response.content[-1]
        if last.get("type") == "tool_use":
            self._deliver([], Answer(last, error_result(last, CUT_OFF)))

    def _answer_open_calls(self, text: str) -> None:
        """Give every call without a result one that says why."""
        for call in self._conversation.open_calls:
            self._deliver([], Answer(call, error_result(call, text)))

    def _end(self, reason: EndReason) -> LoopResult:
        result = LoopResult(
            reason=reason,
            text=text_of(self._last),
            stop_reason=text_field(self._last, "stop_reason"),
            turns=self.usage.responses,
            usage=self.usage,
            completion=self._completion,
        )
        self._tell(Ended(result))
        return result
