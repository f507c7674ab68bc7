"""Checks of what a user sets; each names the argument and its value."""

from __future__ import annotations

import math
import operator
from fractions import Fraction
from numbers import Real

from toolbudget._display import shown
from toolbudget.errors import ConfigError

__all__ = ["config_error", "share", "whole_number"]


def whole_number(value: object, field: str) -> int:
    """Give a value as a plain ``int``, or raise ``ConfigError``; a ``bool`` is none."""
    if not isinstance(value, bool):
        try:
            return operator.index(value)  # type: ignore[arg-type]
        except TypeError:
            pass
    raise config_error(field, "a whole number", value)


def share(value: object, field: str) -> Fraction:
    """Give a share as the decimal that was written: 0.92 of 100 are 92, and not a bit more."""
    if not isinstance(value, bool) and isinstance(value, Real):
        try:
            number = float(value)
        except OverflowError:  # an int or a fraction beyond every float
            number = math.inf
        if math.isfinite(number):
            return Fraction(repr(number))
    raise config_error(field, "a finite number", value)


def config_error(field: str, requirement: str, value: object) -> ConfigError:
    """Build the error for a value that does not meet a requirement."""
    return ConfigError(f"{field} (argument) must be {requirement}: {shown(value)}")
