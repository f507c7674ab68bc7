"""Checks of what stages are made with and turns are given."""

from __future__ import annotations

import math
from typing import TypeGuard

from toolbudget._display import shown
from toolbudget.errors import ConfigError

__all__ = [
    "check_callable",
    "check_count",
    "check_methods",
    "check_seconds",
    "check_share",
    "check_turn",
]


def check_count(name: str, value: object, *, at_least: int = 0) -> None:
    """Refuse what is no whole number, or a smaller one.

    Raises:
        ConfigError: It is something else.
    """
    if type(value) is not int or value < at_least:
        raise ConfigError(
            f"{name} (argument) must be a whole number of at least {at_least}: {shown(value)}"
        )


def check_seconds(name: str, value: object) -> None:
    """Refuse what is no finite number above 0.

    Raises:
        ConfigError: It is something else.
    """
    if not _is_number(value) or not 0 < value < math.inf:
        raise ConfigError(f"{name} (argument) must be a finite number of seconds: {shown(value)}")


def check_turn(now_s: object, idle_s: object, used_tokens: object) -> None:
    """Refuse what says nothing about a turn, before any stage has run.

    Seconds may be negative: clocks are put back.

    Raises:
        ConfigError: One of them is something else; ``None`` stands for what was not given.
    """
    if now_s is not None and (not _is_number(now_s) or not math.isfinite(now_s)):
        raise ConfigError(f"now_s (argument) must be a finite number of seconds: {shown(now_s)}")
    if idle_s is not None and (not _is_number(idle_s) or math.isnan(idle_s)):
        raise ConfigError(f"idle_s (argument) must be a number of seconds: {shown(idle_s)}")
    if used_tokens is not None:
        check_count("used_tokens", used_tokens)


def check_share(name: str, value: object) -> None:
    """Refuse what is no number above 0 and below 1.

    Raises:
        ConfigError: It is something else.
    """
    if not isinstance(value, float) or not 0 < value < 1:
        raise ConfigError(f"{name} (argument) must be above 0 and below 1: {shown(value)}")


def check_callable(name: str, value: object) -> None:
    """Refuse what cannot be called.

    Raises:
        ConfigError: It is something else.
    """
    if not callable(value):
        raise ConfigError(f"{name} (argument) must be callable: {shown(value)}")


def check_methods(name: str, value: object, *methods: str) -> None:
    """Refuse what lacks one of the methods that will be called.

    Raises:
        ConfigError: It does.
    """
    for method in methods:
        if not callable(getattr(value, method, None)):
            raise ConfigError(f"{name} (argument) must have a method {method}: {shown(value)}")


def _is_number(value: object) -> TypeGuard[float]:
    return isinstance(value, int | float) and not isinstance(value, bool)
