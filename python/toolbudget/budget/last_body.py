"""The body that was enforced last: what is known about it, in case that it comes again."""

from __future__ import annotations

import dataclasses
from typing import TYPE_CHECKING, Final, Generic, NamedTuple, TypeAlias, TypeVar, cast

from toolbudget import _core as core

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from toolbudget._core.pure import Change, JsonScan, Plan, PlanOptions
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
            self.scan, self._settled, self._kept = scan, None, {}

    def plan(self, state: ContentReplacementState, options: PlanOptions) -> Plan:
        """Plan for the body that was scanned."""
        if self._settled is not None and self._settled.holds(state, options):
            return self._settled.plan
        exemptions: dict[str, bool] = {}

        def is_exempt_tool(tool_name: str) -> bool:
            is_exempt = options.is_exempt_tool(tool_name)
            exemptions[tool_name] = is_exempt
            return is_exempt

        noting = dataclasses.replace(options, is_exempt_tool=is_exempt_tool)
        plan = core.plan_json(self._scanned, state.known(), noting)
        is_settled = not (plan.decides or plan.redaction_failures)
        self._settled = (
            _Settled(plan, state, state.changes, options, exemptions) if is_settled else None
        )
        return plan

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
    """Give a list that its owner may change."""
    return output if isinstance(output, bytes) else list(output)
