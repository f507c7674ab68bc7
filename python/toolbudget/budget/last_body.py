"""The body that was enforced last: what is known about it, in case that it comes again."""

from __future__ import annotations

import dataclasses
from typing import TYPE_CHECKING, Final, Generic, NamedTuple, TypeAlias, TypeVar, cast

from toolbudget import _core as core

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from toolbudget._core.pure import Change, JsonScan, Plan, PlanOptions
    from toolbudget.budget.report import EnforcementReport
    from toolbudget.budget.state import ContentReplacementState

__all__ = ["LastBody", "Output"]

_Made = TypeVar("_Made")

# A copy of a larger body is not kept for the case that the same one comes again.
_MAX_KEPT_BYTES: Final = 16 << 20

Changes: TypeAlias = "Sequence[Change]"


class Output(NamedTuple, Generic[_Made]):
    """A form in which a body goes out."""

    put_together: Callable[[JsonScan, Changes], _Made]
    """Makes it of a scan and changes."""
    unchanged: Callable[[bytes], _Made]
    """Makes it of a body without any."""


class _Settled(NamedTuple):
    """A plan that decided nothing, and what it depended on beside the body."""

    plan: Plan
    report: EnforcementReport | None
    """What the call that carried it out came to."""
    state: ContentReplacementState
    state_changes: int
    options: PlanOptions
    exemptions: dict[str, bool]

    def holds(self, state: ContentReplacementState, options: PlanOptions) -> bool:
        """Tell whether the same plan would be made again."""
        made_with = self.options
        return (
            state is self.state
            and state.changes == self.state_changes
            and options.limit == made_with.limit
            and options.accounting == made_with.accounting
            and options.rule == made_with.rule
            and all(
                options.is_exempt_tool(tool) is known for tool, known in self.exemptions.items()
            )
        )


class _Kept(NamedTuple):
    """An output of the last body, and of which changes it was made."""

    changes: Changes
    output: bytes | list[bytes | memoryview]


class LastBody:
    """Scans, plans and puts together; what holds for a body that comes again is not done again."""

    __slots__ = ("_kept", "_settled", "scan")

    def __init__(self) -> None:
        """Begin without any body."""
        self.scan: JsonScan | None = None
        self._settled: _Settled | None = None
        # By the function that puts them together.
        self._kept: dict[object, _Kept] = {}

    def begin(self, body: bytes) -> None:
        """Scan a body.

        Raises:
            InvalidMessageError: It is malformed, or holds no messages.
        """
        scan = core.scan_json(body, self.scan)
        if scan is not self.scan:
            self.scan, self._kept = scan, {}
            # What was decided depends on the messages alone, and names their places in the list.
            if not scan.has_known_messages:
                self._settled = None

    def report(
        self, state: ContentReplacementState, options: PlanOptions
    ) -> EnforcementReport | None:
        """Give the report of the same call before, if this one would come to the same."""
        settled = self._settled
        if settled is None or settled.report is None or not settled.holds(state, options):
            return None
        return settled.report

    def settle(self, plan: Plan, report: EnforcementReport) -> None:
        """Take note of what a call came to."""
        if self._settled is not None and self._settled.plan is plan:
            self._settled = self._settled._replace(report=report)

    def plan(self, state: ContentReplacementState, options: PlanOptions) -> Plan:
        """Plan for the body that was scanned."""
        exemptions: dict[str, bool] = {}

        def is_exempt_tool(tool_name: str) -> bool:
            is_exempt = options.is_exempt_tool(tool_name)
            exemptions[tool_name] = is_exempt
            return is_exempt

        noting = dataclasses.replace(options, is_exempt_tool=is_exempt_tool)
        plan = core.plan_json(self._scanned, state.known(), noting)
        is_settled = not (plan.decides or plan.redaction_failures)
        self._settled = None
        if is_settled:
            self._settled = _Settled(plan, None, state, state.changes, options, exemptions)
        return plan

    def put_together_again(self, body: bytes, output: Output[_Made]) -> _Made:
        """Make the output of the plan that :meth:`report` is about."""
        changes: Changes = () if self._settled is None else self._settled.plan.changes
        return self.put_together(body, changes, output)

    def put_together(self, body: bytes, changes: Changes, output: Output[_Made]) -> _Made:
        """Make the output; the same object as before if neither body nor changes are others."""
        if not changes:
            return output.unchanged(body)
        kept = self._kept.get(output.put_together)
        if kept is not None and _are_same(kept.changes, changes):
            self._kept[output.put_together] = kept._replace(changes=changes)
            return cast("_Made", _copied(kept.output))
        made = output.put_together(self._scanned, changes)
        if isinstance(made, list) or (isinstance(made, bytes) and len(made) <= _MAX_KEPT_BYTES):
            self._kept[output.put_together] = _Kept(changes, _copied(made))
        return made

    @property
    def _scanned(self) -> JsonScan:
        if self.scan is None:
            raise AssertionError("no body was scanned")
        return self.scan


def _are_same(one: Changes, other: Changes) -> bool:
    """Compare changes whose order says nothing, since each is about another place."""
    return one is other or (
        len(one) == len(other)
        and {change[:2]: change.replacement for change in one}
        == {change[:2]: change.replacement for change in other}
    )


def _copied(output: bytes | list[bytes | memoryview]) -> bytes | list[bytes | memoryview]:
    """Give a list that its owner may change, with views that its owner may release."""
    if isinstance(output, bytes):
        return output
    return [memoryview(piece) if isinstance(piece, memoryview) else piece for piece in output]
