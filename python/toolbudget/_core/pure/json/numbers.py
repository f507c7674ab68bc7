"""Numbers of JSON text as Python holds them, if it can hold them exactly."""

from __future__ import annotations

from decimal import Decimal, InvalidOperation

__all__ = ["Inexact", "exact_fraction", "exact_integer"]


class Inexact:
    """Stands for a number that Python cannot hold; no store takes it."""


def exact_integer(token: str) -> int | Inexact:
    """Return the number that ``token`` says.

    Example:
        >>> exact_integer("-12")
        -12
    """
    try:
        return int(token)
    except ValueError:  # more digits than Python reads
        return Inexact()


def exact_fraction(token: str) -> float | Inexact:
    """Return the number that ``token`` says if a float prints as the same number.

    Example:
        >>> exact_fraction("1.50"), type(exact_fraction("1e400")).__name__
        (1.5, 'Inexact')
    """
    number = float(token)
    try:
        is_exact = Decimal(repr(number)) == Decimal(token)
    except InvalidOperation:  # an exponent beyond all bounds
        return Inexact()
    return number if is_exact else Inexact()
