"""A watchdog: what hangs is interrupted, and so becomes a violation rather than a stuck run."""

from __future__ import annotations

import signal
from contextlib import contextmanager
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Iterator

__all__ = ["HangError", "watched"]

# A busy machine is slow, and that is no hang.
_HANGS_AFTER_S: Final = 90


class HangError(Exception):
    """It has taken too long."""


@contextmanager
def watched() -> Iterator[None]:
    """Interrupt what takes too long; for the main thread only.

    Raises:
        HangError: It has.
    """

    def interrupt(_number: int, _frame: object) -> None:
        raise HangError(f"hangs: nothing for {_HANGS_AFTER_S} s")

    before = signal.signal(signal.SIGALRM, interrupt)
    signal.alarm(_HANGS_AFTER_S)
    try:
        yield
    finally:
        signal.alarm(0)
        signal.signal(signal.SIGALRM, before)
