"""A machine that plays hosts: turns, edits, rewinds, forks, resumes, limits and disks that fail."""

from __future__ import annotations

from contextlib import nullcontext
from typing import Final

from tests.faults.harness import Harness, Outcome, Scale
from tests.scenarios.conversation_bugs import BUGS
from tests.scenarios.conversation_machine import ConversationMachine, run_steps

__all__ = ["HARNESS"]

# The suite runs the machine for longer than the bounded scale does, on both cores.
_STEPS: Final = {Scale.BOUNDED: 2_000, Scale.SOAK: 100_000}
_SEED: Final = 20_261_130


def _run(scale: Scale, bug: str | None) -> Outcome:
    before = ConversationMachine.steps
    violations: tuple[str, ...] = ()
    try:
        with nullcontext() if bug is None else BUGS[bug]():
            steps = _STEPS[scale if bug is None else Scale.BOUNDED]
            run_steps(steps, _SEED, shrinks=bug is None)
    except AssertionError as error:
        violations = (f"seed {_SEED}: {str(error).splitlines()[0] if str(error) else error!r}",)
    return Outcome(ConversationMachine.steps - before, violations)


HARNESS: Final = Harness(
    "conversations",
    "what a model has seen never changes, whatever the host and its disk do",
    _run,
    tuple(BUGS),
)
