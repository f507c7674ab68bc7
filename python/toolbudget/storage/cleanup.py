"""Removing old sessions: a plan first, then what the plan says.

A session goes whole or not at all. It stays as long as it lives: while a process has it open, while
one of its files or its transcript is younger than the age, and while a session that lives has
results of it. What another program owns stays.
"""

from __future__ import annotations

import math
import os
import time
from collections import Counter
from contextlib import suppress
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final, Literal

from toolbudget._display import quoted_path, shown
from toolbudget.errors import ConfigError, TranscriptError
from toolbudget.storage._files import POSIX, close_quietly
from toolbudget.storage._removal import NotDeletedError, NotRemovedError, remove_session
from toolbudget.storage._session_files import TRASH_NAME
from toolbudget.storage._session_places import sessions_of_root
from toolbudget.storage._tree_removal import remove_tree
from toolbudget.storage.survey import SessionSummary, summary_of

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Sequence
    from collections.abc import Set as AbstractSet
    from pathlib import Path

    from toolbudget.storage._files import RemovingFileSystem

__all__ = [
    "DEFAULT_AGE_S",
    "CleanupPlan",
    "KeptReason",
    "PlannedRemoval",
    "RemovalReason",
    "Removed",
    "carry_out",
    "plan_cleanup",
]

DEFAULT_AGE_S: Final = 86_400.0
"""Where only quotas are given, a session that was written within a day lives (one day)."""

RemovalReason = Literal["age", "session-quota", "total-quota"]
"""Why a session goes: it is too old, too large, or all together are."""

KeptReason = Literal["in-use", "young", "needed", "within-quota", "not-ours", "unreadable"]
"""Why one stays."""


@dataclass(frozen=True, slots=True)
class PlannedRemoval:
    """A session that would go.

    Attributes:
        summary: What it is.
        reason: Why it goes.
    """

    summary: SessionSummary
    reason: RemovalReason


@dataclass(frozen=True, slots=True)
class CleanupPlan:
    """What a clean-up would do; nothing has been changed.

    Attributes:
        root: The folder of all sessions.
        removals: What would go: whoever has results of another session before that session, apart
            from that the oldest first.
        kept: How many sessions stay, by the reason.
        kept_bytes: Bytes of those.
        leftovers: What an earlier clean-up moved out of the way and could not delete.
        older_than_s: The age in seconds from which on a session does not live.
        now_s: When the plan was made, in seconds since the epoch.
    """

    root: Path
    removals: tuple[PlannedRemoval, ...]
    kept: dict[KeptReason, int]
    kept_bytes: int
    leftovers: tuple[str, ...]
    older_than_s: float
    now_s: float

    @property
    def freed_bytes(self) -> int:
        """Bytes that would be free afterwards."""
        return sum(one.summary.total_bytes for one in self.removals)


@dataclass(frozen=True, slots=True)
class Removed:
    """What became of one planned removal.

    Attributes:
        planned: The removal.
        problem: Why the session stays after all, or why not all of it could be deleted; ``None`` if
            there is nothing left of it.
        is_gone: Whether nobody finds the session any more, though some of it may be on the disk:
            that is for the next clean-up to delete.
    """

    planned: PlannedRemoval
    problem: str | None = None
    is_gone: bool = False


def plan_cleanup(
    root: str | os.PathLike[str],
    *,
    older_than_s: float | None = None,
    max_bytes: int | None = None,
    max_session_bytes: int | None = None,
    now_s: float | None = None,
    files: RemovingFileSystem = POSIX,
    on_looked_at: Callable[[SessionSummary], object] | None = None,
) -> CleanupPlan:
    """Say which sessions would be removed.

    Args:
        root: The folder of all sessions; whether a session is needed can be told only of all.
        older_than_s: Sessions go that nobody has written for more than so many seconds. Without it,
            quotas alone decide, over sessions older than a day.
        max_bytes: The oldest sessions go until the rest has at most so many bytes.
        max_session_bytes: Sessions with more bytes go.
        now_s: The time now, in seconds since the epoch.
        files: The file system.
        on_looked_at: Told of each session that was looked at.

    Raises:
        ConfigError: No limit is given, one is not above 0, or it is not the folder of all sessions.
        OSError: The folder cannot be looked at.

    Example:
        >>> from toolbudget import Session
        >>> with Session.open("sessions", "old", durability="process") as session:
        ...     block = {"type": "tool_result", "tool_use_id": "t1", "content": "x" * 60_000}
        ...     small = session.gate(block, tool_name="Fetch")
        >>> import time
        >>> plan = plan_cleanup("sessions", older_than_s=60, now_s=time.time() + 120)
        >>> [(one.summary.place.name, one.reason) for one in plan.removals]
        [('old', 'age')]
        >>> [one.problem for one in carry_out(plan)]
        [None]
    """
    _require_limits(older_than_s, max_bytes, max_session_bytes)
    now_s = time.time() if now_s is None else now_s
    age_s = DEFAULT_AGE_S if older_than_s is None else older_than_s
    if not os.fspath(root):
        # An unset variable must never stand for the folder that one happens to be in.
        raise ConfigError(f"root (argument) names no folder: {quoted_path(root)}")
    folder, places = sessions_of_root(root, files=files)
    found: list[SessionSummary] = []
    for place in places:
        summary = summary_of(place, files=files)
        found.append(summary)
        if on_looked_at is not None:
            on_looked_at(summary)
    kept = _living(found, age_s=age_s, now_s=now_s)
    idle = [one for one in found if one.place.name not in kept]
    family = _Family(found)
    reasons: dict[str, RemovalReason] = {}
    for one in idle:
        if older_than_s is not None:
            reasons[one.place.name] = "age"
        elif max_session_bytes is not None and one.total_bytes > max_session_bytes:
            reasons[one.place.name] = "session-quota"
    _spare_needed(reasons, family)
    if max_bytes is not None:
        _shrink(reasons, idle, family, max_bytes=max_bytes)
        _spare_needed(reasons, family)
    for one in idle:
        name = one.place.name
        if name not in reasons:
            kept[name] = "needed" if older_than_s is not None else "within-quota"
    planned = sorted((one for one in idle if one.place.name in reasons), key=family.order)
    return CleanupPlan(
        root=folder,
        removals=tuple(PlannedRemoval(one, reasons[one.place.name]) for one in planned),
        kept=dict(Counter(kept.values())),
        kept_bytes=sum(one.total_bytes for one in found if one.place.name in kept),
        leftovers=_leftovers(folder, files),
        older_than_s=age_s,
        now_s=now_s,
    )


def carry_out(plan: CleanupPlan, *, files: RemovingFileSystem = POSIX) -> Iterator[Removed]:
    """Remove what a plan says, one session after the other.

    Each is looked at once more: what has been opened or written since the plan was made stays, and
    so does every session whose results it has.

    Args:
        plan: What :func:`plan_cleanup` gave.
        files: The file system.

    Yields:
        What became of each session.
    """
    _delete_leftovers(plan, files)
    needed: set[str] = set()
    for planned in plan.removals:
        summary = planned.summary
        if summary.place.name in needed:
            needed |= summary.parents
            yield Removed(planned, "a session that stays has results of it")
            continue
        try:
            remove_session(summary, files=files)
        except NotDeletedError as error:
            yield Removed(planned, str(error), is_gone=True)
        except (NotRemovedError, TranscriptError) as error:
            needed |= summary.parents
            yield Removed(planned, str(error))
        except OSError as error:
            needed |= summary.parents
            yield Removed(planned, error.strerror or str(error))
        else:
            yield Removed(planned, is_gone=True)


class _Family:
    """Which sessions have results of which, and the order in which they may go."""

    def __init__(self, found: Sequence[SessionSummary]) -> None:
        self._parents = {one.place.name: one.parents for one in found}
        self._newest_s = {one.place.name: one.newest_s for one in found}
        self._depth: dict[str, int] = {}
        self.total_bytes = sum(one.total_bytes for one in found)
        self._settle()

    def _settle(self) -> None:
        """Let every ancestor be as young as its youngest descendant, and go behind it."""
        self._depth = dict.fromkeys(self._parents, 0)
        waiting = [name for name, parents in self._parents.items() if parents]
        # Records that were tampered with may name each other in a ring; a family has no more
        # generations than members.
        for _ in range(len(self._parents)):
            changed = []
            for name in waiting:
                for parent in self._parents[name] & self._parents.keys():
                    newest_s = max(self._newest_s[parent], self._newest_s[name])
                    depth = max(self._depth[parent], self._depth[name] + 1)
                    if (newest_s, depth) != (self._newest_s[parent], self._depth[parent]):
                        self._newest_s[parent], self._depth[parent] = newest_s, depth
                        changed.append(parent)
            if not changed:
                return
            waiting = changed

    def order(self, summary: SessionSummary) -> tuple[float, int, str]:
        """Return what sorts descendants first, and apart from that the oldest first."""
        name = summary.place.name
        return self._newest_s[name], self._depth[name], name

    def ancestors(self, names: Iterable[str]) -> set[str]:
        """Return every session that any of these has results of, directly or not."""
        found: set[str] = set()
        waiting = list(names)
        while waiting:
            new = self._parents.get(waiting.pop(), frozenset()) - found
            found |= new
            waiting.extend(new)
        return found

    @property
    def names(self) -> AbstractSet[str]:
        """Every session."""
        return self._parents.keys()


def _living(
    found: Sequence[SessionSummary], *, age_s: float, now_s: float
) -> dict[str, KeptReason]:
    """Return the sessions that live, with the reason."""
    living: dict[str, KeptReason] = {}
    for one in found:
        if not one.is_ours:
            living[one.place.name] = "not-ours"
        elif one.failures:
            living[one.place.name] = "unreadable"
        elif one.is_in_use:
            living[one.place.name] = "in-use"
        elif now_s - one.newest_s <= age_s:
            living[one.place.name] = "young"
    for name in _Family(found).ancestors(living) - living.keys():
        living[name] = "needed"
    return living


def _spare_needed(reasons: dict[str, RemovalReason], family: _Family) -> None:
    """Let every session stay that one which stays has results of."""
    for name in family.ancestors(family.names - reasons.keys()):
        reasons.pop(name, None)


def _shrink(
    reasons: dict[str, RemovalReason],
    idle: Sequence[SessionSummary],
    family: _Family,
    *,
    max_bytes: int,
) -> None:
    """Let the oldest go until the rest fits."""
    left = [one for one in idle if one.place.name not in reasons]
    total_bytes = family.total_bytes - sum(
        one.total_bytes for one in idle if one.place.name in reasons
    )
    for one in sorted(left, key=family.order):
        if total_bytes <= max_bytes:
            return
        reasons[one.place.name] = "total-quota"
        total_bytes -= one.total_bytes


def _require_limits(
    older_than_s: float | None, max_bytes: int | None, max_session_bytes: int | None
) -> None:
    given: dict[str, object] = {
        "older_than_s": older_than_s,
        "max_bytes": max_bytes,
        "max_session_bytes": max_session_bytes,
    }
    if all(value is None for value in given.values()):
        raise ConfigError(f"a clean-up needs one of {', '.join(given)}: all are None")
    for name, value in given.items():
        if value is None:
            continue
        if (
            isinstance(value, bool)
            or not isinstance(value, int | float)
            or not 0 < value < math.inf
        ):
            raise ConfigError(f"{name} (argument) must be a number above 0: {shown(value)}")


def _leftovers(root: Path, files: RemovingFileSystem) -> tuple[str, ...]:
    handle = files.open_root(str(root))
    try:
        return tuple(sorted(name for name in files.names(handle) if TRASH_NAME.fullmatch(name)))
    finally:
        close_quietly(files, handle)


def _delete_leftovers(plan: CleanupPlan, files: RemovingFileSystem) -> None:
    if not plan.leftovers:
        return
    handle = files.open_root(str(plan.root))
    try:
        for name in plan.leftovers:
            # Another clean-up may be at it; what cannot be deleted now waits for the next.
            with suppress(OSError):
                remove_tree(name, handle, files)
    finally:
        close_quietly(files, handle)
