"""One decision at a time: among threads, against hooks, and after a fork of the process."""

from __future__ import annotations

import os
import weakref
from typing import TYPE_CHECKING, Final

from toolbudget._mutex import Mutex
from toolbudget.errors import ToolBudgetError

if TYPE_CHECKING:
    from collections.abc import Callable
    from contextlib import AbstractContextManager

__all__ = ["Exclusive"]

_living: Final[weakref.WeakSet[Exclusive]] = weakref.WeakSet()


class Exclusive:
    """What only one thread works with at a time.

    Args:
        name: The session, for errors.
    """

    def __init__(self, name: str) -> None:
        """Begin with nobody at work."""
        self._name = name
        self._is_torn = False
        self._renew_lock()
        _living.add(self)

    def _renew_lock(self) -> None:
        self._lock = Mutex()
        # Tells whether this thread holds the lock, as a condition asks it: nothing that an
        # interrupt could leave behind has to be kept for it.
        self._is_deciding: Callable[[], bool] = self._lock._is_owned  # type: ignore[attr-defined]  # noqa: SLF001

    def _deciding(self) -> AbstractContextManager[object]:
        """Return the lock of every decision; a hook of a decision cannot begin another one."""
        if self._is_deciding():
            raise ToolBudgetError("a session cannot be used by its own store or redact hook")
        if self._is_torn:
            problem = "another thread was using the session when this process was forked"
            raise ToolBudgetError(f"{problem}, open it again: {self._name!r}")
        return self._lock

    def after_fork(self) -> None:
        """In a forked child: give up what a thread that is not here was in the middle of.

        Nobody would ever release its lock, and what it has left may be half of a decision.
        """
        if self._lock.acquire(blocking=False):
            self._lock.release()
            return
        self._is_torn = True
        self._renew_lock()


def _after_fork() -> None:
    for one in tuple(_living):
        one.after_fork()


os.register_at_fork(after_in_child=_after_fork)
