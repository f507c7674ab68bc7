"""What the loop tells its host while it runs."""

from __future__ import annotations

import logging
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final, Literal, TypeAlias

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from toolbudget.continuation import CompletionEvent, ContinueDecision
    from toolbudget.loop.model import ModelRequest, ModelResponse
    from toolbudget.loop.usage import TokenUsage

__all__ = [
    "Continued",
    "EndReason",
    "Ended",
    "LoopEvent",
    "LoopResult",
    "Overflowed",
    "RequestReady",
    "Responded",
    "TextPiece",
    "ToolCalled",
    "ToolFinished",
    "Transition",
    "Unrecorded",
    "tell",
]

Transition: TypeAlias = Literal[
    "user_input",
    "resumed",
    "tool_results",
    "pause",
    "token_budget_continuation",
    "overflow_recovery",
]
"""What led to a request."""

EndReason: TypeAlias = Literal["completed", "max_turns", "aborted"]
"""Why a run ended: the model had nothing more to call, the bound was met, or the host asked."""

_logger: Final = logging.getLogger("toolbudget")


@dataclass(frozen=True, slots=True, kw_only=True)
class LoopResult:
    """How a run ended.

    Attributes:
        reason: ``completed``, ``max_turns`` or ``aborted``.
        text: The text of the last response of the run.
        stop_reason: Why the model stopped, as the provider says; ``max_tokens`` is a cut answer.
        turns: Responses of the run.
        usage: Their tokens.
        completion: How a run ended that the token budget had continued.
    """

    reason: EndReason
    text: str
    stop_reason: str | None
    turns: int
    usage: TokenUsage
    completion: CompletionEvent | None = None


@dataclass(frozen=True, slots=True)
class RequestReady:
    """A request is about to be sent.

    Attributes:
        turn: Which one of the run, from 1.
        transition: What led to it.
        request: The request.
        report: What the pipeline, or the budget, did for it; ``None`` without either.
    """

    turn: int
    transition: Transition
    request: ModelRequest
    report: object


@dataclass(frozen=True, slots=True)
class TextPiece:
    """A piece of the text of a response that is still being streamed."""

    text: str


@dataclass(frozen=True, slots=True)
class Responded:
    """A response is complete and recorded."""

    turn: int
    response: ModelResponse


@dataclass(frozen=True, slots=True)
class ToolCalled:
    """A tool is about to run."""

    tool_use_id: str
    name: str
    input: Any


@dataclass(frozen=True, slots=True)
class ToolFinished:
    """A call has its result.

    Attributes:
        tool_use_id: The call's id.
        name: The tool.
        result: The ``tool_result`` block, as the gate left it.
    """

    tool_use_id: str
    name: str
    result: Mapping[str, Any]

    @property
    def is_error(self) -> bool:
        """Whether the model is told that the call failed."""
        return self.result.get("is_error") is True


@dataclass(frozen=True, slots=True)
class Continued:
    """The token budget is not used up, so that the model was told to go on."""

    decision: ContinueDecision


@dataclass(frozen=True, slots=True)
class Overflowed:
    """The model refused a request as too long; it is asked again, since the pipeline made room."""

    error: Exception


@dataclass(frozen=True, slots=True)
class Unrecorded:
    """Messages could not be written to the transcript; the next one to be written brings them."""

    error: Exception


@dataclass(frozen=True, slots=True)
class Ended:
    """The run is over."""

    result: LoopResult


LoopEvent: TypeAlias = (
    RequestReady
    | TextPiece
    | Responded
    | ToolCalled
    | ToolFinished
    | Continued
    | Overflowed
    | Unrecorded
    | Ended
)


def tell(on_event: Callable[[LoopEvent], object] | None, event: LoopEvent) -> None:
    """Call the host back; what it raises is logged and changes nothing."""
    if on_event is None:
        return
    try:
        on_event(event)
    except Exception:
        _logger.exception("on_event raised for %s", type(event).__name__)
