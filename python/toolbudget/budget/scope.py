"""Per-task and per-thread values: concurrent callers of one session each see their own report."""

from __future__ import annotations

import asyncio
import threading
from typing import Generic, TypeVar
from weakref import WeakKeyDictionary

__all__ = ["PerCaller"]

Value = TypeVar("Value")


class PerCaller(Generic[Value]):
    """Holds one value for each running asyncio task, or for each thread outside of tasks.

    Callers that have ended are forgotten.
    """

    __slots__ = ("_default", "_lock", "_values")

    def __init__(self, default: Value) -> None:
        """Begin with ``default`` for everyone."""
        self._default = default
        self._lock = threading.Lock()
        self._values: WeakKeyDictionary[object, Value] = WeakKeyDictionary()

    def set(self, value: Value) -> None:
        """Set the value of the caller."""
        with self._lock:
            self._values[_caller()] = value

    def get(self) -> Value:
        """Return what the caller set last."""
        with self._lock:
            return self._values.get(_caller(), self._default)


def _caller() -> object:
    try:
        task = asyncio.current_task()
    except RuntimeError:
        task = None
    return threading.current_thread() if task is None else task
