"""Open descriptors that close themselves when nobody holds them any more.

Python may raise ``KeyboardInterrupt`` after any built-in function has returned, also between
``os.open`` and the statement that takes its number over. A plain number would be lost there, and
the descriptor with it, until the process ends.
"""

from __future__ import annotations

import os
from functools import partial
from typing import Final

__all__ = ["close", "is_closed", "open_owned"]

_NO_MODE: Final = 0o777


class _Number(int):
    """The number of a descriptor that is closed."""

    __slots__ = ()


class _Owned(_Number):
    """The number of an open descriptor, which belongs to whoever holds this object."""

    __slots__ = ()

    def __del__(self) -> None:
        """Close what an interrupt has kept its owner from closing."""
        close(self)


def open_owned(path: str, flags: int, mode: int = _NO_MODE, *, parent: int | None = None) -> int:
    """Open a file as ``os.open`` does; the number returned owns the descriptor.

    Raises:
        OSError: It cannot be opened.
    """
    # Not a call inside a call: `map` runs both without a moment for an interrupt between them.
    opened = map(partial(os.open, dir_fd=parent), (path,), (flags,), (mode,))
    [handle] = map(_Owned, opened)
    return handle


def is_closed(handle: int) -> bool:
    """Tell whether a number that owned its descriptor is closed: it may be another file's now."""
    return type(handle) is _Number


def close(handle: int) -> None:
    """Close a descriptor; one that owned itself and is closed already stays so.

    Its number may be another file's by then, so it must not be closed a second time.

    Raises:
        OSError: As of ``os.close``; the descriptor is closed all the same.
    """
    kind = type(handle)
    if kind is _Number:
        return
    if kind is _Owned:
        # Nothing comes between these two, since changing a class calls no Python. By its class, not
        # by a mark that `__del__` would ask: an interrupt in there would be lost.
        handle.__class__ = _Number
    os.close(handle)
