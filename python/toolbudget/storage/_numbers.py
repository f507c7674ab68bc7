"""The numbers that a reader is given."""

from __future__ import annotations

from toolbudget._display import shown
from toolbudget.errors import ToolInputError

__all__ = ["check_whole_number"]


def check_whole_number(name: str, value: object, *, minimum: int) -> None:
    """Refuse what is no whole number, or too small.

    Raises:
        ToolInputError: It is such a one.
    """
    if isinstance(value, bool) or not isinstance(value, int):
        raise ToolInputError(f"{name} must be a whole number: {shown(value)}")
    if value < minimum:
        raise ToolInputError(f"{name} must be at least {minimum}: {shown(value)}")
