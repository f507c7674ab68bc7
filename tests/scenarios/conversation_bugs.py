"""Mistakes in taking and keeping decisions, to be made for the length of a test."""

from __future__ import annotations

import dataclasses
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final
from unittest import mock

from tests.builders import is_reference, read_reference
from tests.faults.bugs import seeded
from toolbudget import Session, _core, build_replacement
from toolbudget.budget.state import ContentReplacementState
from toolbudget.storage._files import POSIX

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from contextlib import AbstractContextManager

    from toolbudget._core.pure import Known, Plan, PlanOptions
    from toolbudget.budget.settings import Settings
    from toolbudget.storage.records import ContentReplacementRecord

__all__ = ["BUGS"]


@contextmanager
def _ids_alone() -> Iterator[None]:
    """Let the last decision about an id hold for every text that has this id."""
    right = _core.plan

    def plan(messages: object, known: Known, options: PlanOptions) -> Plan:
        decisions = {name: dict(decided) for name, decided in known.decisions.items()}
        survey = _core.collect(messages, options.is_exempt_tool)
        for candidate in (one for group in survey.groups for one in group.candidates):
            decided = decisions.get(candidate.tool_use_id)
            if decided:
                latest = next(reversed(decided.values()))
                decided.setdefault(_core.fingerprint(candidate.parts), latest)
        return right(messages, dataclasses.replace(known, decisions=decisions), options)

    with mock.patch.object(_core, "plan", plan):
        yield


@contextmanager
def _replacements_made_anew() -> Iterator[None]:
    """Build a recorded replacement again when a session is opened, with the limits of now."""
    right_resume, right_apply = Session._resume.__func__, ContentReplacementState.apply_entry  # type: ignore[attr-defined]
    preview_bytes = 0

    def resume(cls: type[Session], home: object, settings: Settings, parent: object) -> Session:
        nonlocal preview_bytes
        preview_bytes = settings.policy.limits.preview_bytes
        opened: Session = right_resume(cls, home, settings, parent)
        return opened

    def apply_entry(state: ContentReplacementState, entry: ContentReplacementRecord) -> None:
        right_apply(state, dataclasses.replace(entry, replacement=_built_anew(entry.replacement)))

    def _built_anew(replacement: str) -> str:
        path = read_reference(replacement).path if is_reference(replacement) else Path()
        if path.suffix != ".txt" or not path.exists():
            return replacement
        text = path.read_bytes().decode("utf-8", "surrogatepass")
        return build_replacement(text, str(path), preview_bytes=preview_bytes)

    resuming: Any = classmethod(resume)
    with (
        mock.patch.object(Session, "_resume", resuming),
        mock.patch.object(ContentReplacementState, "apply_entry", apply_entry),
    ):
        yield


BUGS: Final[dict[str, Callable[[], AbstractContextManager[None]]]] = {
    "a decision is about an id alone": _ids_alone,
    "records are kept in memory": lambda: seeded("late", POSIX),
    "replacements are made anew from the limits of now": _replacements_made_anew,
}
