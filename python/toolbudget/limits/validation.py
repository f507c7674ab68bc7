"""Check what a user sets: an unusable value is an error, never a silent default (L5).

Each check takes the field's name and the source of the value, because the message names both.
"""

from __future__ import annotations

import math
import re
from collections.abc import Mapping
from numbers import Integral, Real
from typing import Final, TypeVar

from toolbudget._display import shown
from toolbudget.errors import ConfigError
from toolbudget.limits.defaults import READER_HINT_MAX_CHARS

__all__ = [
    "ARGUMENT",
    "choice",
    "config_error",
    "line_of_text",
    "named_limits",
    "positive_number",
    "positive_whole_number",
    "whole_number",
]

ARGUMENT: Final = "argument"

_FRAME_TAG: Final = re.compile(r"</?persisted-output", re.IGNORECASE)
_Choice = TypeVar("_Choice", bound=str)


def config_error(field: str, source: str, requirement: str, value: object) -> ConfigError:
    """Build the error for a value that does not meet ``requirement``."""
    return ConfigError(f"{field} ({source}) must be {requirement}: {shown(value)}")


def positive_number(value: object, field: str, source: str = ARGUMENT) -> float:
    """Give ``value`` as a plain ``int`` or ``float`` above 0, or raise ``ConfigError``.

    Taken are all real numbers but ``bool``: ``int`` and its subclasses, ``float``, ``math.inf``,
    fractions and numpy scalars. ``Decimal`` is none of them.
    """
    number = _plain_number(value)
    if number is None or not number > 0:
        raise config_error(field, source, "a positive number", value)
    return number


def _plain_number(value: object) -> float | None:
    if isinstance(value, bool) or not isinstance(value, Real):
        return None
    try:
        number = int(value) if isinstance(value, Integral) else float(value)
    except (ArithmeticError, TypeError, ValueError):
        return None
    # A type wider than float may overflow without an exception; that is not the infinite meant.
    if number == math.inf and value != math.inf:
        return None
    return number


def positive_whole_number(value: object, field: str, source: str = ARGUMENT) -> int:
    """Give ``value`` as a plain ``int`` of at least 1, or raise ``ConfigError``.

    Taken are ``int``, its subclasses but ``bool``, and numpy's integers; ``2000.0`` is not.
    """
    number = _plain_number(value)
    if number is None or not isinstance(number, int) or number < 1:
        raise config_error(field, source, "a whole number of at least 1", value)
    return number


def whole_number(value: object, field: str, source: str = ARGUMENT) -> int:
    """Give ``value`` as a plain ``int`` of at least 0, or raise ``ConfigError``."""
    number = _plain_number(value)
    if number is None or not isinstance(number, int) or number < 0:
        raise config_error(field, source, "a whole number of at least 0", value)
    return number


def choice(
    value: object, field: str, choices: tuple[_Choice, ...], source: str = ARGUMENT
) -> _Choice:
    """Give the one of ``choices`` that ``value`` equals, or raise ``ConfigError``."""
    if isinstance(value, str) and value in choices:
        return choices[choices.index(value)]
    raise config_error(field, source, " or ".join(map(repr, choices)), value)


def line_of_text(value: object, field: str, source: str = ARGUMENT) -> str:
    """Give ``value`` if it can stand as one line inside a replacement, or raise ``ConfigError``.

    That is text with something to see in it, without a line break of any kind, a NUL, a lone
    surrogate or the tags that frame a replacement, and not longer than a hint should be.
    """
    if not isinstance(value, str) or not value.strip() or value.splitlines() != [value]:
        raise config_error(field, source, "one line of text", value)
    if len(value) > READER_HINT_MAX_CHARS:
        requirement = f"at most {READER_HINT_MAX_CHARS} characters, not {len(value)}"
        raise config_error(field, source, requirement, value)
    if "\0" in value or any("\ud800" <= character <= "\udfff" for character in value):
        raise config_error(field, source, "free of NUL and lone surrogates", value)
    if _FRAME_TAG.search(value):
        raise config_error(field, source, "free of <persisted-output> tags", value)
    return value


def named_limits(value: object, field: str, source: str = ARGUMENT) -> dict[str, float]:
    """Copy a mapping of tool names to positive numbers, or raise ``ConfigError``.

    A bad limit is named by its key: ``tools['Bash']``.
    """
    if not isinstance(value, Mapping):
        raise config_error(field, source, "a mapping of tool names to limits", value)
    limits: dict[str, float] = {}
    for name, limit in value.items():
        if not isinstance(name, str):
            raise config_error(field, source, "a mapping with text as keys", name)
        limits[name] = positive_number(limit, f"{field}[{shown(name)}]", source)
    return limits
