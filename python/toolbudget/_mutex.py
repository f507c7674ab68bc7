"""A lock that an interrupt cannot leave taken."""

from __future__ import annotations

from _thread import RLock  # `threading.RLock` is a function

__all__ = ["Mutex"]


class Mutex(RLock):  # type: ignore[misc]  # final for type checkers only
    """An :class:`~threading.RLock` that is free again however its ``with`` block ends.

    Since Python 3.14 a signal may be handled between ``__enter__`` of a built-in lock and the
    beginning of what gives it back (python/cpython#148874): after a Ctrl-C there it is taken for
    ever. None is handled while a function of Python's returns, nor before the built-in ``__exit__``
    that this class leaves as it is.

    Example:
        >>> mutex = Mutex()
        >>> with mutex, mutex:  # the same thread may take it again
        ...     mutex.acquire(blocking=False)
        True
        >>> mutex.release()
    """

    __slots__ = ()

    def __enter__(self) -> bool:  # type: ignore[override]  # the other takes arguments
        """Wait until no other thread has it, and take it."""
        try:
            self.acquire()
        except BaseException:
            # Raised while this waited, or after it was taken. Any other call before this one could
            # be interrupted in its turn.
            try:  # noqa: SIM105
                self.release()
            except RuntimeError:
                pass  # it is not ours
            raise
        return True
