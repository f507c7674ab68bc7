"""Putting in again what was decided before, without deciding anything."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

from toolbudget import _core as core

if TYPE_CHECKING:
    from collections.abc import Sequence

    from toolbudget.budget.journal import Journal
    from toolbudget.budget.policy import Policy

__all__ = ["reapply"]


def reapply(journal: Journal, policy: Policy, messages: Sequence[Any]) -> Sequence[Any]:
    """Give messages with every recorded text in its place; nothing is stored or recorded."""
    options = replace(policy.plan_options(journal.store, "running"), leaves_fresh=True)
    plan = core.plan(messages, journal.state.known(journal.fingerprints), options)
    return core.rewrite(messages, plan.changes) if plan.changes else messages
