"""Sessions on a file system of the test's own."""

from __future__ import annotations

from typing import TYPE_CHECKING

from toolbudget import Limits, Session
from toolbudget.budget.home import Home
from toolbudget.budget.policy import Policy
from toolbudget.budget.settings import Settings
from toolbudget.limits import DeclaredLimits
from toolbudget.storage._files import POSIX

if TYPE_CHECKING:
    import os
    from collections.abc import Callable

    from toolbudget.budget.report import Event
    from toolbudget.storage._files import Durability, FileSystem

__all__ = ["open_session"]


def open_session(
    root: str | os.PathLike[str],
    session_id: str,
    *,
    files: FileSystem = POSIX,
    limits: Limits | None = None,
    agent_id: str | None = None,
    parent: Session | None = None,
    durability: Durability = "full",
    uses_sidecar: bool = False,
    redact: Callable[[str], str] | None = None,
    on_event: Callable[[Event], object] | None = None,
    strict: bool = False,
) -> Session:
    """Open a session, or one of its sub-agents, as ``Session.open`` does, on any file system."""
    settings = Settings(
        policy=Policy(limits or Limits(), DeclaredLimits(None), redact),
        durability=durability,
        uses_sidecar=uses_sidecar,
        on_event=on_event,
        is_strict=strict,
    )
    return Session._resume(Home.at(root, session_id, agent_id, files=files), settings, parent)
