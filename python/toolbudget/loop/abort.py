"""The host's wish that a run ends, from whatever thread or task it comes."""

from __future__ import annotations

from contextlib import contextmanager
from typing import TYPE_CHECKING

from toolbudget._mutex import Mutex

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

__all__ = ["Abort", "AbortedError"]


class AbortedError(Exception):
    """Ends a model that is streaming when the host has aborted; it never leaves the loop."""


class Abort:
    """A flag that wakes whoever waits for it."""

    def __init__(self) -> None:
        self._lock = Mutex()
        self._callbacks: list[Callable[[], object]] = []
        self._is_requested = False

    @property
    def is_requested(self) -> bool:
        """Whether the run is to end."""
        return self._is_requested

    def request(self) -> None:
        """Ask for the end; asking again changes nothing."""
        with self._lock:
            callbacks = [] if self._is_requested else list(self._callbacks)
            self._is_requested = True
        for callback in callbacks:
            callback()

    @contextmanager
    def telling(self, callback: Callable[[], object]) -> Iterator[None]:
        """Call back once when the end is asked for, at once if it has been."""
        with self._lock:
            self._callbacks.append(callback)
            is_late = self._is_requested
        try:
            if is_late:
                callback()
            yield
        finally:
            with self._lock:
                self._callbacks.remove(callback)
