"""The gate of an engine: one result, when its tool has run."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, Any, Final, cast

from toolbudget import _core as core
from toolbudget.budget.exclusive import Exclusive
from toolbudget.budget.gate import Verdict, judge_result, replace_block
from toolbudget.budget.settings import check_text
from toolbudget.budget.summary import report_of

if TYPE_CHECKING:
    from collections.abc import Mapping

    from toolbudget._core.pure import Plan
    from toolbudget.budget.journal import Journal
    from toolbudget.budget.policy import Policy
    from toolbudget.budget.report import EnforcementReport

__all__ = ["Gating"]

# How empty text and references begin.
_NOT_AT_ONCE: Final = ("", "<")


class Gating(Exclusive):
    """What an engine does with a single result.

    Args:
        journal: State, record log and store.
        policy: Limits and hooks.
    """

    def __init__(self, journal: Journal, policy: Policy) -> None:
        """Begin without a result."""
        super().__init__(journal.session_id)
        self.policy = policy
        self._journal = journal
        self._unit = policy.limits.unit
        # Limits by tool, as far as they are the same at every call.
        self._fixed_limits: dict[str, float] = {}

    def fits_at_once(self, block: object, tool_name: object) -> bool:
        """Tell whether a result surely stays as it is: small, of plain text, and never met before.

        It is the most frequent answer of the gate, and takes a hundredth of the time of the others.
        Whatever is not sure is left to :meth:`gate`; so is a call from a hook.
        """
        if type(block) is not dict or type(tool_name) is not str or self._is_deciding():
            return False
        limits = self._fixed_limits
        limit = limits.get(tool_name)
        if limit is None:
            if self.policy.limits.overrides is not None:
                return False
            limit = self.policy.limit(tool_name)
            limits[tool_name] = limit
        content, tool_use_id = block.get("content"), block.get("tool_use_id")
        if type(content) is not str or type(tool_use_id) is not str:
            return False
        kind, journal = block.get("type"), self._journal
        return (
            (len(content) if self._unit == "chars" else core.measure((content,), self._unit))
            <= limit
            and content[:1] not in _NOT_AT_ONCE
            and not content.isspace()
            and type(kind) is str
            and kind == "tool_result"
            and not journal.state.may_know(tool_use_id, len(content))
            and not journal.owes_records
        )

    def gate(
        self,
        block: Mapping[str, Any],
        tool_name: str,
        declared_limit: float | None,
        caller: Mapping[str, object] | None,
    ) -> tuple[dict[str, Any], EnforcementReport]:
        """Check one result against its tool's limit."""
        started_s = time.perf_counter()
        check_text("tool_name", tool_name)
        if declared_limit is not None:
            self.policy.declared.declare(tool_name, declared_limit)
            # A new one: what another thread works out at this moment goes into the old one.
            self._fixed_limits = {}
        options = self.policy.gate_options(tool_name)
        verdict = Verdict(block, None)
        journal = self._journal

        def make_plan() -> Plan:
            nonlocal verdict
            verdict = judge_result(
                block,
                tool_name=tool_name,
                caller=caller,
                state=journal.state,
                fingerprint=journal.fingerprint,
                options=options,
                store=journal.store,
            )
            return verdict.as_plan()

        with self._deciding():
            done = journal.transact(make_plan, keeps_failed=False)
        result = cast("dict[str, Any]", verdict.block)
        if done.outcome.replaced:
            result = replace_block(block, done.outcome.replaced[0].replacement)
        report = report_of(done, None, started_s=started_s)
        return result, report
