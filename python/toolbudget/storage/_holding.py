"""Handles and locks that an interrupt cannot leave behind.

Python may raise ``KeyboardInterrupt`` whenever it enters a function of its own. A ``with`` block
calls its ``__exit__`` and an :class:`~contextlib.ExitStack` its callbacks as such functions, so a
Ctrl-C at that moment leaves the rest undone, and a lock held for as long as somebody keeps the
traceback: the next call of this process would wait for it for ever.
"""

from __future__ import annotations

from contextlib import suppress
from typing import TYPE_CHECKING, Self, TypeVar

from toolbudget.storage._directories import close_quietly

if TYPE_CHECKING:
    from collections.abc import Callable, Generator

    from toolbudget.storage._filesystem import FileSystem

__all__ = ["Holding", "hold"]

_Held = TypeVar("_Held")


class Holding:
    """Open handles that are given back together, the last one first."""

    __slots__ = ("_files", "_handles")

    def __init__(self, files: FileSystem) -> None:
        """Begin with none."""
        self._files = files
        self._handles: list[tuple[int, bool]] = []

    def __enter__(self) -> Self:
        """For handles without a lock: of those an interrupt costs one, and nobody waits for it."""
        return self

    def __exit__(self, *_details: object) -> None:
        """Give all of them back."""
        self.release()

    def __len__(self) -> int:
        """How many are held."""
        return len(self._handles)

    def add(self, handle: int, *, gets_lock: bool = False) -> int:
        """Take over an open handle; one that is locked has to be added before it is."""
        self._handles.append((handle, gets_lock))
        return handle

    def pop(self) -> int:
        """Give away the last handle; closing it is the caller's business from now on."""
        return self._handles.pop()[0]

    def release(self, *, down_to: int = 0) -> None:
        """Close all but so many. Called again after an interrupt, it goes on where it was."""
        while len(self._handles) > down_to:
            handle, has_lock = self._handles[-1]
            if has_lock:
                # Explicitly, not only by closing: a forked child may hold a copy of the handle.
                with suppress(OSError):
                    self._files.unlock(handle)
            close_quietly(self._files, handle)
            # After it, since a handle knows that it is closed: an interrupt in there leaves it here
            # for the next call.
            del self._handles[-1]


def hold(files: FileSystem, take: Callable[[Holding], _Held]) -> Generator[_Held, None, None]:
    """Yield what ``take`` has locked, and hold it until the generator is closed.

    The caller closes it in a plain ``finally``: that enters no function of Python's before the
    handles are given back, so one interrupt cannot keep them, wherever it hits.
    """
    holding = Holding(files)
    try:
        try:
            yield take(holding)
        finally:
            holding.release()
    except BaseException:
        # An interrupt may have hit the first way out.
        holding.release()
        raise
