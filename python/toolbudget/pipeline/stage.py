"""What a stage of the pipeline is, what it is given, and what it answers."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Final, Literal, Protocol, TypeAlias, runtime_checkable

if TYPE_CHECKING:
    from collections.abc import Sequence

    from toolbudget.budget.session import Session
    from toolbudget.pipeline.report import StageReport
    from toolbudget.tokens import ContextWindow, WindowCheck

__all__ = ["STAGE_ORDER", "AsyncStage", "RecoveringStage", "Stage", "StageName", "StageResult"]
__all__ += ["TurnContext"]

StageName: TypeAlias = Literal["budget", "snip", "microcompact", "collapse", "autocompact"]

STAGE_ORDER: Final[tuple[StageName, ...]] = (
    "budget",
    "snip",
    "microcompact",
    "collapse",
    "autocompact",
)
"""The order of a turn (Q1): what loses least comes first."""


@dataclass(slots=True, kw_only=True)
class TurnContext:
    """One turn, as a stage sees it.

    Attributes:
        messages: What the stage before left. Neither the list nor anything in it is the stage's to
            change: what is to be sent otherwise is a new list that shares what stays.
        session: The conversation that decisions are recorded in; ``None`` if there is none.
        window: The model's context window; ``None`` if the host has named none.
        now_s: The host's clock, in seconds since the epoch.
        idle_s: Seconds since the last request; ``None`` if nothing tells.
        used_tokens: What is in the context now, reported and estimated as far as nothing better is
            known. The pipeline keeps it up to date from stage to stage.
        wanted_tokens: How many tokens must go, because the provider refused the request; ``None``
            in an ordinary turn, 0 if it did not say how many.
        known_edits: How many of the session's edits were put into the messages or do not fit them;
            see :meth:`Session.record_edit`.
        reports: What the stages before have done.
        memory: What a stage wants to know again in the next turn of this pipeline. It is not
            recorded: what must outlive the process belongs into the session.
    """

    messages: Sequence[Any]
    session: Session | None
    window: ContextWindow | None = None
    now_s: float = 0.0
    idle_s: float | None = None
    used_tokens: int = 0
    wanted_tokens: int | None = None
    known_edits: int = 0
    reports: list[StageReport] = field(default_factory=list)
    memory: dict[str, Any] = field(default_factory=dict)

    @property
    def check(self) -> WindowCheck | None:
        """How full the context is now; ``None`` without a window."""
        return None if self.window is None else self.window.check_tokens(self.used_tokens)


@dataclass(frozen=True, slots=True, kw_only=True)
class StageResult:
    """What a stage makes of the messages.

    Attributes:
        messages: The messages to go on with.
        changed: How many results, messages or spans it changed in this turn.
        detail: What it did, in a few words.
        is_announced: Whether the change is one that the model has not seen in another form. A stage
            that only puts in again what an earlier turn decided does not break the prefix.
        seen_changes: Of a change that is not announced: indexes, in order, of messages that may go
            out in another form all the same. The pipeline names the first that does.
    """

    messages: Sequence[Any]
    changed: int = 0
    detail: str = ""
    is_announced: bool = True
    seen_changes: tuple[int, ...] = ()


class Stage(Protocol):
    """One step between the history and the request.

    A stage never changes the messages it is given, and it may fail: then the pipeline goes on with
    what the stage before left. What it decides must be the same in the next turn; it records that
    in the session before it answers.
    """

    @property
    def name(self) -> StageName:
        """Its place in the order."""

    def run(self, context: TurnContext) -> StageResult | None:
        """Do its work; ``None`` if there is nothing to do."""


@runtime_checkable
class AsyncStage(Protocol):
    """A stage that waits for something, such as a summary, without blocking the event loop."""

    async def arun(self, context: TurnContext) -> StageResult | None:
        """Do what :meth:`Stage.run` does."""


@runtime_checkable
class RecoveringStage(Protocol):
    """A stage that can make room when the provider has refused a request as too long."""

    def recover_from_overflow(self, context: TurnContext) -> StageResult | None:
        """Make room whatever its thresholds say; ``None`` if it cannot."""
