"""Folding parts of a history: a protocol, its stage, and a small algorithm to begin with (Q3)."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise
from typing import TYPE_CHECKING, Any, Final, NamedTuple, Protocol

from toolbudget.messages.plain import shown
from toolbudget.pipeline.checks import check_methods
from toolbudget.pipeline.cutting import Cut, cut_out
from toolbudget.pipeline.rounds import results_of
from toolbudget.pipeline.stage import StageResult
from toolbudget.pipeline.validity import RefusedStageError
from toolbudget.tokens import estimate_tokens_for_messages

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from toolbudget.pipeline.stage import StageName, TurnContext

__all__ = ["Collapse", "CollapseCommit", "CollapseStatistics", "ContextCollapse"]

_RESTORED: Final = "collapse-restored"


class CollapseCommit(NamedTuple):
    """A part of the history that is to be folded for good."""

    start: int
    """Index of its first message."""
    end: int
    """Index behind its last one."""
    text: str
    """What stands in its place, as one user message."""


class ContextCollapse(Protocol):
    """The algorithm of a host that folds its history; the library only keeps it honest.

    What to fold, when, and into which words is the host's. The stage :class:`Collapse` records each
    commit and the snapshot, applies them in every later turn, and refuses what could not be sent.
    """

    def apply_if_needed(self, context: TurnContext) -> Sequence[CollapseCommit]:
        """Say what to fold now; nothing most of the time. Parts must not overlap."""

    def recover_from_overflow(self, context: TurnContext) -> Sequence[CollapseCommit]:
        """Say what to fold because the provider has refused the request."""

    def snapshot(self) -> Mapping[str, Any]:
        """Return what the algorithm must know again after a resume, as JSON."""

    def restore(self, snapshot: Mapping[str, Any]) -> None:
        """Go on from a snapshot; called once, before the first turn of a resumed session."""


@dataclass(slots=True)
class CollapseStatistics:
    """What was folded since the stage was made, for display.

    Attributes:
        commits: Parts that were folded.
        messages: How many messages they held.
        saved_tokens: By how many estimated tokens the history became shorter.
        refused: Parts that could not be folded.
    """

    commits: int = 0
    messages: int = 0
    saved_tokens: int = 0
    refused: int = 0


class Collapse:
    """The stage around a host's :class:`ContextCollapse`.

    A commit is recorded as an edit of the history, together with the snapshot. It is put in again
    in every later turn, whether the algorithm is still there or not. Every result that goes is
    stored in full first.

    Args:
        algorithm: What decides; :class:`FinishedTasks` is one to begin with.

    Raises:
        ConfigError: It lacks a method of :class:`ContextCollapse`.

    Example:
        >>> from toolbudget.pipeline import Collapse, FinishedTasks
        >>> Collapse(FinishedTasks(lambda messages: "done")).statistics.commits
        0
    """

    name: Final[StageName] = "collapse"

    def __init__(self, algorithm: ContextCollapse) -> None:
        check_methods(
            "algorithm",
            algorithm,
            "apply_if_needed",
            "recover_from_overflow",
            "snapshot",
            "restore",
        )
        self.algorithm: Final = algorithm
        self.statistics: Final = CollapseStatistics()

    def run(self, context: TurnContext) -> StageResult | None:
        """Fold what the algorithm says."""
        if context.session is None:
            return None
        self._restore(context)
        return self._commit(context, self.algorithm.apply_if_needed(context))

    def recover_from_overflow(self, context: TurnContext) -> StageResult | None:
        """Fold what the algorithm says when the provider has refused the request."""
        if context.session is None:
            return None
        self._restore(context)
        return self._commit(context, self.algorithm.recover_from_overflow(context))

    def _restore(self, context: TurnContext) -> None:
        if context.session is None or context.memory.get(_RESTORED):
            return
        snapshot = context.session.collapse_snapshot
        if snapshot is not None:
            self.algorithm.restore(snapshot)
        context.memory[_RESTORED] = True

    def _commit(
        self, context: TurnContext, commits: Sequence[CollapseCommit]
    ) -> StageResult | None:
        session = context.session
        messages: Sequence[Any] = context.messages
        if session is None or not commits:
            return None
        try:
            ordered = _checked(commits, len(messages))
        except RefusedStageError:
            self.statistics.refused += len(commits)
            raise
        folded = 0
        # From the back, so that the places of those before stay what they are.
        for commit in reversed(ordered):
            span = messages[commit.start : commit.end]
            cut = Cut("collapse", commit.start, commit.end, commit.text, {})
            try:
                session.store_results(results_of(span))
                left = cut_out(context, messages, cut, snapshot=self.algorithm.snapshot())
            except Exception:
                self.statistics.refused += 1
                if not folded:
                    raise
                break
            added = estimate_tokens_for_messages(left[commit.start : commit.start + 1])
            self.statistics.saved_tokens += estimate_tokens_for_messages(span) - added
            self.statistics.commits += 1
            self.statistics.messages += len(span)
            folded += 1
            messages = left
        parts = "1 part folded" if folded == 1 else f"{folded} parts folded"
        return StageResult(messages=messages, changed=folded, detail=parts)


def _checked(commits: Sequence[CollapseCommit], count: int) -> list[CollapseCommit]:
    """Give the commits from the front to the back.

    Raises:
        RefusedStageError: One is not about messages that are there, or two are about the same.
    """
    for commit in commits:
        places = getattr(commit, "start", None), getattr(commit, "end", None)
        is_placed = all(type(place) is int for place in places)
        if not is_placed or not 0 <= commit.start < commit.end <= count:
            raise RefusedStageError(f"commit is no part of {count} messages: {shown(commit)}")
        text: object = commit.text
        if not isinstance(text, str) or not text.strip():
            raise RefusedStageError(f"commit has no text to put in: {shown(commit)}")
    ordered = sorted(commits, key=lambda commit: commit.start)
    for one, following in pairwise(ordered):
        if following.start < one.end:
            raise RefusedStageError(f"commits overlap: {shown(one)} and {shown(following)}")
    return ordered
