"""What becomes of a plan while it is carried out."""

from __future__ import annotations

from itertools import repeat
from typing import TYPE_CHECKING, Final

from toolbudget.budget.recorder import SHOWN_ID_CHARS, why_unrecordable
from toolbudget.budget.report import Failure
from toolbudget.budget.storing import StoreOutcome
from toolbudget.errors import TranscriptError

if TYPE_CHECKING:
    from collections.abc import Sequence

    from toolbudget._core.pure import Choice, Key, Plan

__all__ = ["Transaction"]

# Of a plan without choices. Nobody changes it: what is stored or given up are choices.
_NOTHING_STORED: Final = StoreOutcome()


class Transaction:
    """What became of one plan: the plan that held in the end, its stores and its failures.

    Attributes:
        keeps_failed: A result that could not be stored is decided: kept.
    """

    __slots__ = ("_decisions", "failures", "keeps_failed", "kept", "outcome", "plan")

    def __init__(self, plan: Plan) -> None:
        """Begin with the plan as it was made without the lock."""
        self.keeps_failed = True
        self.follow(plan)

    def follow(self, plan: Plan) -> None:
        """Take another plan instead; until something is stored, every choice counts as kept."""
        self.plan = plan
        # To make a list of nothing costs as much as a key.
        self.kept = list(plan.kept) if plan.kept else []
        choices = plan.choices
        self.outcome = StoreOutcome(kept=list(choices)) if choices else _NOTHING_STORED
        self.failures: list[Failure] = []
        self.fix()

    def fix(self) -> None:
        """Make a list of what is decided as things are, for the record and for the state.

        A plan makes its items when they are looked at, which may fail. After the record is written
        nothing may.
        """
        outcome = self.outcome
        decisions: list[tuple[Key, str | None]] = list(zip(self.kept, repeat(None)))
        if self.plan.adoptions or outcome.replaced:
            adopted = [(adoption.key, adoption.replacement) for adoption in self.plan.adoptions]
            replaced = [(item.choice.key, item.replacement) for item in outcome.replaced]
            decisions = [*adopted, *replaced, *decisions]
        if outcome.kept and self.keeps_failed:
            decisions += [(choice.key, None) for choice in outcome.kept]
        self._decisions = decisions

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

    def can_be_recorded(self, choice: Choice) -> bool:
        """Tell whether a record can hold a choice; if not, that is a failure."""
        problem = why_unrecordable(choice.key)
        if problem is None:
            return True
        shown_id = choice.key.tool_use_id[:SHOWN_ID_CHARS]
        self.failures.append(Failure("record", shown_id, TranscriptError(problem)))
        return False

    def decisions(self) -> Sequence[tuple[Key, str | None]]:
        """Return every decision that was taken, as it is to enter the state and the record."""
        return self._decisions
