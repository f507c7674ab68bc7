"""The first stage: the budget of tool results."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from toolbudget.pipeline.stage import StageResult

if TYPE_CHECKING:
    from toolbudget.pipeline.stage import StageName, TurnContext

__all__ = ["Budget"]


class Budget:
    r"""Applies the session's limits, and every decision that was taken before.

    It never breaks the cached prefix: what it puts in the place of a result that the model has seen
    is what the model has seen.

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
        )
