"""What a turn of the pipeline did, stage by stage."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal, TypeAlias

if TYPE_CHECKING:
    from toolbudget.pipeline.stage import StageName
    from toolbudget.tokens import WindowCheck

__all__ = ["PipelineResult", "StageReport", "StageStatus"]

StageStatus: TypeAlias = Literal["changed", "unchanged", "failed", "refused"]


@dataclass(frozen=True, slots=True, kw_only=True)
class StageReport:
    """What one stage did in one turn.

    Attributes:
        name: The stage.
        status: ``changed`` or ``unchanged``; ``failed`` if it raised, ``refused`` if what it gave
            could not be sent. After the last two the turn goes on with what the stage before left.
        changed: How many results, messages or spans it changed.
        detail: What it did, in a few words.
        tokens_before: Estimated tokens of the messages that it was given.
        tokens_after: Estimated tokens of those that it left.
        prefix_broken_at: Index of the first message that goes out in another form than it had in
            the request before, so that the provider's prompt cache misses from there on; ``None``
            if none does.
        error: Why it failed, or why its result was refused.
        elapsed_s: Seconds that it took.
    """

    name: StageName
    status: StageStatus
    changed: int = 0
    detail: str = ""
    tokens_before: int = 0
    tokens_after: int = 0
    prefix_broken_at: int | None = None
    error: Exception | None = None
    elapsed_s: float = 0.0

    @property
    def saved_tokens(self) -> int:
        """By how many tokens it made the messages shorter, estimated."""
        return self.tokens_before - self.tokens_after

    def __str__(self) -> str:
        """Say what happened in one line."""
        line = f"{self.name}: {self.status}"
        if self.error is not None:
            return f"{line}: {self.error}"
        if self.status == "changed":
            line += f", {self.detail or self.changed}, {self.saved_tokens:,} tokens less"
        if self.prefix_broken_at is not None:
            line += f", cached prefix ends before message {self.prefix_broken_at}"
        return line


@dataclass(frozen=True, slots=True, kw_only=True)
class PipelineResult:
    """What to send, and what was done for it.

    Attributes:
        messages: The only thing to send.
        reports: One report for each stage, in their order.
        used_tokens: What is in the context, reported and estimated.
        check: How full that makes the window; ``None`` without a window.
        replayed_edits: How many edits of earlier turns were put in again.
        adopted_at: Index of the first message that goes out in another form because another process
            on the same session has cleared or replaced a result, or cut the history; ``None`` if
            none does.
    """

    messages: list[Any]
    reports: tuple[StageReport, ...]
    used_tokens: int
    check: WindowCheck | None = None
    replayed_edits: int = 0
    adopted_at: int | None = None

    @property
    def prefix_broken_at(self) -> int | None:
        """Index of the first message that goes out in another form than before, if one does."""
        places = (self.adopted_at, *(report.prefix_broken_at for report in self.reports))
        return min((place for place in places if place is not None), default=None)

    @property
    def failures(self) -> tuple[StageReport, ...]:
        """The stages that failed, or whose result was refused."""
        return tuple(report for report in self.reports if report.error is not None)

    def report(self, name: StageName) -> StageReport | None:
        """Return what one stage did; ``None`` if the pipeline does not have it."""
        return next((report for report in self.reports if report.name == name), None)
