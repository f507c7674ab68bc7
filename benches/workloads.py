"""The conversations that the benches work on, the same in every run."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

if TYPE_CHECKING:
    from collections.abc import Callable
    from types import ModuleType

    from toolbudget._core.pure import Known, Plan, PlanOptions

__all__ = ["LARGE_WORKLOADS", "WORKLOADS", "Workload", "planning", "turns"]

# As that of a session's own store.
PATH_PREFIX: Final = "/sessions/s1/tool-results/"


def _result(tool_use_id: str, size_chars: int) -> dict[str, Any]:
    line = f"{tool_use_id}: a line of a log that says what was done\n"
    text = (line * (size_chars // len(line) + 1))[:size_chars]
    return {"type": "tool_result", "tool_use_id": tool_use_id, "content": text}


def turns(count: int, results: int, size_chars: int) -> list[Any]:
    """Make turns: an answer with its calls, then the message with their results."""
    messages: list[Any] = []
    for turn in range(count):
        ids = [f"toolu_{turn}_{number}" for number in range(results)]
        calls = [{"type": "tool_use", "id": name, "name": "Bash", "input": {}} for name in ids]
        blocks = [_result(name, size_chars) for name in ids]
        messages.append({"role": "assistant", "id": f"msg_{turn}", "content": calls})
        messages.append({"role": "user", "content": blocks})
    return messages


@dataclass(frozen=True)
class Workload:
    """One conversation, and how often which parts of it are there."""

    name: str
    turns: int
    results: int
    size_chars: int

    def messages(self) -> list[Any]:
        """Make the conversation anew: no object of it has been seen by any core."""
        return turns(self.turns, self.results, self.size_chars)

    @property
    def blocks(self) -> int:
        """How many results there are."""
        return self.turns * self.results

    @property
    def units(self) -> int:
        """What costs are given for: each result."""
        return self.blocks

    def first(self, core: ModuleType) -> Callable[[], Plan]:
        """Plan with nothing known: every result is decided about.

        A core may put off hashing until somebody looks at what was decided; see :meth:`taken`.
        """
        return planning(core, self.messages(), core.Known({}, {}))

    def taken(self, core: ModuleType) -> Callable[[], object]:
        """The same, and look at every key and choice as a session does: this hashes their texts."""
        plan = self.first(core)

        def plan_and_look() -> object:
            made = plan()
            return [*made.kept], [*made.choices]

        return plan_and_look

    def repeat(self, core: ModuleType, messages: list[Any] | None = None) -> Callable[[], Plan]:
        """Plan with what earlier passes decided: nothing is left to decide or to look up anew."""
        messages = self.messages() if messages is None else messages
        first: Plan = core.plan(messages, core.Known({}, {}), _options(core))
        again = planning(core, messages, _known(core, first))
        again()
        return again


def _options(core: ModuleType) -> PlanOptions:
    options: PlanOptions = core.PlanOptions(
        limit=200_000,
        preview_bytes=2_000,
        expected_path=lambda name, _is_json: f"{PATH_PREFIX}{name}.txt",
        path_prefix=PATH_PREFIX,
        is_stored_as_json=lambda _content: False,
        is_exempt_tool="Read".__eq__,
    )
    return options


def planning(core: ModuleType, messages: list[Any], known: Known) -> Callable[[], Plan]:
    """Make the call that plans, with callbacks as cheap as can be."""
    options = _options(core)
    plan: Callable[..., Plan] = core.plan
    return lambda: plan(messages, known, options)


def _known(core: ModuleType, plan: Plan) -> Known:
    decisions: dict[str, dict[Any, str | None]] = {}
    by_length: dict[int, set[str]] = {}
    for key in plan.kept:
        decisions.setdefault(key.tool_use_id, {})[key.fingerprint] = None
    for choice in plan.choices:
        key, text = choice.key, choice.replacement
        decisions.setdefault(key.tool_use_id, {})[key.fingerprint] = text
        by_length.setdefault(len(text), set()).add(text)
    known: Known = core.Known(decisions, by_length, {}, plan.fingerprints, object())
    return known


WORKLOADS = (
    Workload("one message of 10 x 40,000", 1, 10, 40_000),
    Workload("one message of 1,000 x 2,000", 1, 1_000, 2_000),
    Workload("200 turns of 5 x 1,000", 200, 5, 1_000),
)

LARGE_WORKLOADS = (
    Workload("2,000 turns of 5 x 1,000", 2_000, 5, 1_000),
    Workload("one message of 100,000 x 100", 1, 100_000, 100),
)
