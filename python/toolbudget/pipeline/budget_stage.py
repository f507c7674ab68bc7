"""The first stage: the budget of tool results."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from toolbudget._core.pure.shape import text_parts
from toolbudget.pipeline.rounds import results_of
from toolbudget.pipeline.stage import StageResult

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from collections.abc import Set as AbstractSet

    from toolbudget.budget.report import EnforcementReport
    from toolbudget.pipeline.stage import StageName, TurnContext

__all__ = ["Budget", "places_of_texts"]


class Budget:
    r"""Applies the session's limits, and every decision that was taken before.

    It breaks no cached prefix: what it puts in the place of a result that the model has seen is
    what the model has seen. Only results that went out undecided are fresh although they were sent:
    those from before there was a budget, or of a turn in which a strict one failed. If one of them
    is replaced, the report names its message.

    Example:
        >>> import tempfile
        >>> from toolbudget import Limits, Session
        >>> from toolbudget.pipeline import Budget, Pipeline
        >>> limits = Limits(max_message_chars=1_000)
        >>> session = Session.open(tempfile.mkdtemp(), "demo", limits=limits)
        >>> block = {"type": "tool_result", "tool_use_id": "t1", "content": "line\n" * 1_000}
        >>> result = Pipeline([Budget()], session=session).run(
        ...     [{"role": "user", "content": [block]}]
        ... )
        >>> result.report("budget").changed
        1
    """

    name: Final[StageName] = "budget"

    def run(self, context: TurnContext) -> StageResult | None:
        """Enforce the limits of one API message, each result once and for all."""
        session = context.session
        if session is None:
            return None
        messages = session.enforce(context.messages)
        report = session.report
        failures = f", {len(report.failures)} failed" if report.failures else ""
        return StageResult(
            messages=messages,
            changed=report.replaced,
            detail=f"{report.replaced} replaced, {report.reapplied} replaced before{failures}",
            is_announced=False,
            seen_changes=_seen_changes(messages, report),
        )


def _seen_changes(messages: Sequence[Any], report: EnforcementReport) -> tuple[int, ...]:
    """Return the messages with a new replacement of a result that may have been in a request."""
    return tuple(places_of_texts(messages, {one.replacement for one in report.newly_replaced}))


def places_of_texts(messages: Sequence[Any], texts: AbstractSet[str]) -> Iterator[int]:
    """Yield the index of each message that holds a result of one of the texts."""
    for index in range(len(messages) if texts else 0):
        results = results_of(messages[index : index + 1])
        if any("".join(text_parts(one.content) or ()) in texts for one in results):
            yield index
