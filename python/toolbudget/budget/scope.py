"""Per-task and per-thread values: concurrent callers of one session each see their own report."""

from __future__ import annotations

import asyncio
import threading
from asyncio import _get_running_loop  # tells without an exception that there is none
from typing import Generic, TypeVar, cast
from weakref import WeakKeyDictionary

from toolbudget._mutex import Mutex

__all__ = ["PerCaller"]

Value = TypeVar("Value")


class PerCaller(Generic[Value]):
    """Holds one value for each running asyncio task, or for each thread outside of tasks.

    Callers that have ended are forgotten.
    """

    __slots__ = ("_default", "_lock", "_of_tasks", "_of_threads")

    def __init__(self, default: Value) -> None:
        """Begin with ``default`` for everyone."""
        self._default = default
        self._lock = Mutex()
        self._of_tasks: WeakKeyDictionary[object, Value] = WeakKeyDictionary()
        self._of_threads = threading.local()

    def set(self, value: Value) -> None:
        """Set the value of the caller."""
        task = None if _get_running_loop() is None else asyncio.current_task()
        if task is None:
            self._of_threads.value = value
            return
        with self._lock:
            self._of_tasks[task] = value

    def get(self) -> Value:
        """Return what the caller set last."""
        task = None if _get_running_loop() is None else asyncio.current_task()
        if task is None:
            return cast("Value", getattr(self._of_threads, "value", self._default))
        with self._lock:
            return self._of_tasks.get(task, self._default)
