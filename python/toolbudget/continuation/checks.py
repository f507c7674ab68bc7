"""Checks of numbers of tokens that a host gives."""

from __future__ import annotations

from toolbudget._display import shown
from toolbudget.errors import ConfigError

__all__ = ["check_tokens"]


def check_tokens(name: str, value: object, *, or_none: bool = False) -> None:
    """Refuse what is no whole number of tokens; a share of nan or of infinity says nothing.

    Raises:
        ConfigError: It is no ``int``.
    """
    if type(value) is not int:
        kinds = "an int, or None" if or_none else "an int"
        raise ConfigError(f"{name} (argument) must be tokens, {kinds}: {shown(value)}")
