"""Checks of the arguments that stages are made with."""

from __future__ import annotations

import math

from toolbudget.errors import ConfigError

__all__ = ["check_callable", "check_count", "check_seconds", "check_share"]


def check_count(name: str, value: object, *, at_least: int = 0) -> None:
    """Refuse what is no whole number, or a smaller one.

    Raises:
        ConfigError: It is something else.
    """
    if type(value) is not int or value < at_least:
        raise ConfigError(
            f"{name} (argument) must be a whole number of at least {at_least}: {value!r}"
        )


def check_seconds(name: str, value: object) -> None:
    """Refuse what is no finite number above 0.

    Raises:
        ConfigError: It is something else.
    """
    is_number = isinstance(value, int | float) and not isinstance(value, bool)
    if not is_number or not 0 < value < math.inf:  # type: ignore[operator]
        raise ConfigError(f"{name} (argument) must be a finite number of seconds: {value!r}")


def check_share(name: str, value: object) -> None:
    """Refuse what is no number above 0 and below 1.

    Raises:
        ConfigError: It is something else.
    """
    if not isinstance(value, float) or not 0 < value < 1:
        raise ConfigError(f"{name} (argument) must be above 0 and below 1: {value!r}")


def check_callable(name: str, value: object) -> None:
    """Refuse what cannot be called.

    Raises:
        ConfigError: It is something else.
    """
    if not callable(value):
        raise ConfigError(f"{name} (argument) must be callable: {value!r}")
