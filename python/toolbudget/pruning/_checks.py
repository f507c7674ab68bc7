"""What all functions of this package check first."""

from __future__ import annotations

from toolbudget.limits.validation import ARGUMENT, config_error, positive_whole_number

__all__ = ["checked_max_size", "checked_text"]


def checked_text(value: object, field: str = "text") -> str:
    """Give ``value`` as a plain ``str``, whose methods no subclass has replaced.

    Raises:
        ConfigError: It is no text.
    """
    if not isinstance(value, str):
        raise config_error(field, ARGUMENT, "a str", value)
    return str.__str__(value)


def checked_max_size(value: object, field: str = "max_size") -> int:
    """Give ``value`` as a plain ``int`` of at least 1.

    Raises:
        ConfigError: It is anything else.
    """
    return positive_whole_number(value, field)
