"""What becomes of a plan while it is carried out."""

from __future__ import annotations

from itertools import repeat
from typing import TYPE_CHECKING, Final

from toolbudget.budget.report import Failure
from toolbudget.budget.storing import StoreOutcome

if TYPE_CHECKING:
    from collections.abc import Sequence

    from toolbudget._core.pure import Key, Plan

__all__ = ["Transaction"]

# Of a plan without choices. Nobody changes it: what is stored or given up are choices.
_NOTHING_STORED: Final = StoreOutcome()


class Transaction:
    """What became of one plan: the plan that held in the end, its stores and its failures.

    Attributes:
        keeps_failed: A result that could not be stored is decided: kept.
        taken: What is decided to be replaced, as things are.
        failed: What is decided to be kept because it could not be stored.
    """

    __slots__ = ("failed", "failures", "keeps_failed", "outcome", "plan", "taken")

    def __init__(self, plan: Plan) -> None:
        """Begin with the plan as it was made without the lock."""
        self.keeps_failed = True
        self.follow(plan)

    def follow(self, plan: Plan) -> None:
        """Take another plan instead; until something is stored, every choice counts as kept."""
        self.plan = plan
        choices = plan.choices
        self.outcome = StoreOutcome(kept=list(choices)) if choices else _NOTHING_STORED
        self.failures: list[Failure] = []
        self.fix()

    def fix(self) -> None:
        """Make lists of what is decided as things are, for the record and for the state.

        A plan makes its items when they are looked at, which may fail. After the record is written
        nothing may.
        """
        outcome = self.outcome
        self.taken: list[tuple[Key, str | None]] = []
        self.failed: list[Key] = []
        if self.plan.adoptions or outcome.replaced:
            adopted = [(adoption.key, adoption.replacement) for adoption in self.plan.adoptions]
            replaced = [(item.choice.key, item.replacement) for item in outcome.replaced]
            self.taken = [*adopted, *replaced]
        if outcome.kept and self.keeps_failed:
            self.failed = [choice.key for choice in outcome.kept]

    @property
    def kept(self) -> Sequence[Key]:
        """Results that the plan decided to keep; a key is made for each when they are looked at."""
        return self.plan.kept

    def note_redaction(self, *, strict: bool) -> None:
        """Count what the ``redact`` hook could not handle as failures of the plan.

        Raises:
            Exception: With ``strict`` the first one.
        """
        self.failures = [
            Failure("redact", tool_use_id, error)
            for tool_use_id, error in self.plan.redaction_failures
        ]
        if strict and self.failures:
            raise self.failures[0].error

    def decisions(self) -> Sequence[tuple[Key, str | None]]:
        """Return every decision that was taken, as it is to enter the state and the record."""
        kept = [*zip(self.kept, repeat(None)), *zip(self.failed, repeat(None))]
        return [*self.taken, *kept]
