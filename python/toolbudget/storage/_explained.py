"""Errors of the operating system about a transcript, told by what was tried and where."""

from __future__ import annotations

from typing import TYPE_CHECKING

from toolbudget.errors import TranscriptError

if TYPE_CHECKING:
    from pathlib import Path
    from types import TracebackType

__all__ = ["explained", "reason_of_failure"]


class explained:  # noqa: N801 - used as a statement: `with explained(...)`
    """Turns an error of the operating system into one that says what was tried, and where.

    Raises:
        TranscriptError: In place of an ``OSError``, or of the ``ValueError`` for an unusable path.
    """

    __slots__ = ("_action", "_path")

    def __init__(self, action: str, path: Path) -> None:
        self._action = action
        self._path = path

    def __enter__(self) -> None:
        """Begin what may fail."""

    def __exit__(
        self,
        exception_type: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        """Explain what failed, if anything did."""
        if isinstance(error, (OSError, ValueError)):
            raise TranscriptError(
                f"cannot {self._action} transcript {self._path}: {reason_of_failure(error)}"
            ) from error


def reason_of_failure(error: OSError | ValueError) -> str:
    """Return the operating system's own words for an error, as far as it has any."""
    return (isinstance(error, OSError) and error.strerror) or str(error)
