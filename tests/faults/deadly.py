"""A file system whose user dies at a chosen call, as by ``kill -9``."""

from __future__ import annotations

import os
import signal
import threading
from typing import TYPE_CHECKING, Any, Literal, TypeAlias, cast

if TYPE_CHECKING:
    from collections.abc import Callable

    from toolbudget.storage._files import FileSystem

__all__ = ["DeadlyFiles", "Moment"]

Moment: TypeAlias = Literal["before", "after", "half"]
"""When to die: before the call, after it, or in the middle of a write."""


class DeadlyFiles:
    """Passes every call on, and kills this process at the N-th of them.

    With ``half`` only writes are counted, and the fatal one takes half of its bytes.
    """

    def __init__(self, inner: FileSystem, number: int, moment: Moment) -> None:
        """Count from 1."""
        self._inner = inner
        self._moment = moment
        self._calls_left = number
        self._lock = threading.Lock()

    @property
    def files(self) -> FileSystem:
        """The same object, as what it is used for."""
        return cast("FileSystem", self)

    def __getattr__(self, method: str) -> Callable[..., Any]:
        inner = getattr(self._inner, method)

        def call(*arguments: Any, **options: object) -> object:  # noqa: ANN401 - passed on
            is_fatal = self._is_the_one(method)
            if is_fatal and self._moment == "half":
                handle, data = arguments
                inner(handle, data[: len(data) // 2])
            if is_fatal and self._moment != "after":
                _die()
            outcome: object = inner(*arguments, **options)
            if is_fatal:
                _die()
            return outcome

        return call

    def _is_the_one(self, method: str) -> bool:
        if self._moment == "half" and method != "write":
            return False
        with self._lock:
            self._calls_left -= 1
            return self._calls_left == 0


def _die() -> None:
    os.kill(os.getpid(), signal.SIGKILL)
