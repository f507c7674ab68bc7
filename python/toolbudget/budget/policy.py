"""The policy of a session: its limits and hooks, as the options of one call."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from toolbudget._core.pure import PlanOptions
from toolbudget.budget.gate import GateOptions
from toolbudget.budget.once import OncePerText
from toolbudget.budget.outlines import outline_for
from toolbudget.budget.storing import expected_path, is_json_content, path_prefix

if TYPE_CHECKING:
    from collections.abc import Callable

    from toolbudget._core.pure import Rule
    from toolbudget.limits import DeclaredLimits, Limits
    from toolbudget.storage.store import ResultStore

__all__ = ["Policy", "RunningOptions"]


@dataclass(frozen=True, slots=True)
class Policy:
    """What the host has set; overrides of the limits are read once for each call."""

    limits: Limits
    declared: DeclaredLimits
    redact: Callable[[str], str] | None = None

    def copy(self) -> Policy:
        """Return the same policy for a child; what its tools declare later is its own."""
        return replace(self, declared=self.declared.copy())

    def gate_options(self, tool_name: str) -> GateOptions:
        """Return what the gate needs for a result of one tool."""
        declared = self._declared(tool_name)
        return GateOptions(
            limit=self.limits.for_tool(tool_name, declared),
            is_exempt=self.limits.is_exempt(tool_name, declared),
            unit=self.limits.unit,
            preview_bytes=self.limits.preview_bytes,
            preview_style=self.limits.preview_style,
            outline=outline_for(self.limits.preview_style),
            reader_hint=self.limits.reader_hint,
            redact=None if self.redact is None else OncePerText(self.redact),
        )

    def limit(self, tool_name: str) -> float:
        """Tell how large a result of one tool may be, in the unit of the limits."""
        return self.limits.for_tool(tool_name, self._declared(tool_name))

    def plan_options(self, store: ResultStore, rule: Rule) -> PlanOptions:
        """Return what a plan needs."""
        overrides = self.limits.read_overrides()
        return PlanOptions(
            limit=self.limits.message_limit(overrides),
            is_limit_overridden=overrides.message is not None,
            preview_bytes=self.limits.preview_bytes,
            preview_style=self.limits.preview_style,
            outline=outline_for(self.limits.preview_style),
            unit=self.limits.unit,
            accounting=self.limits.accounting,
            reader_hint=self.limits.reader_hint,
            redact=None if self.redact is None else OncePerText(self.redact),
            rule=rule,
            expected_path=lambda name, is_json: expected_path(store, name, is_json=is_json),
            path_prefix=path_prefix(store),
            is_stored_as_json=is_json_content,
            is_exempt_tool=_Answers(self.is_exempt_tool).__getitem__,
        )

    def is_exempt_tool(self, tool_name: str) -> bool:
        """Tell whether neither limit touches a tool's results."""
        return self.limits.is_exempt(tool_name, self._declared(tool_name))

    def _declared(self, tool_name: str) -> float:
        return self.declared.for_tool(tool_name, self.limits.unit)


class RunningOptions:
    """The options of a running session's plans: the same object for as long as they are the same.

    They are others once a tool has declared a limit; and in every call if a provider of overrides
    is asked, or if there is a ``redact`` hook, which is called once for each text of a call.
    """

    __slots__ = ("_fixed", "_policy", "_store", "_version")

    def __init__(self, policy: Policy, store: ResultStore) -> None:
        """Begin without options."""
        self._policy = policy
        self._store = store
        self._fixed: PlanOptions | None = None
        self._version = 0

    def current(self) -> PlanOptions:
        """Return those of this call."""
        policy = self._policy
        version = policy.declared.version
        if self._fixed is not None and self._version == version:
            return self._fixed
        options = policy.plan_options(self._store, "running")
        if policy.redact is None and policy.limits.overrides is None:
            self._version, self._fixed = version, options
        return options


class _Answers(dict[str, bool]):
    """What a question by name was answered: as long as nothing is declared, it is the same."""

    __slots__ = ("_ask",)

    def __init__(self, ask: Callable[[str], bool]) -> None:
        """Begin without answers."""
        super().__init__()
        self._ask = ask

    def __missing__(self, name: str) -> bool:
        """Ask once."""
        answer = self[name] = self._ask(name)
        return answer
