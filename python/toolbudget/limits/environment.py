"""Read limits from environment variables (L5).

A variable that is set counts, and an unusable value is an error that names the variable: one that
is read and then ignored is worse than none. An unset variable leaves the default, an empty one does
not.

Numbers are written as in Python and TOML, in decimal: ``50000``, ``50_000``, ``1e5``, ``2.5e4``.
Anything else (``50k``, ``50,000``, ``0x10``, ``inf``, ``-1``) is refused. White space around a
value, and for words the case, do not matter. ``off`` makes one of the two limits infinite.
"""

from __future__ import annotations

import math
import os
import re
from typing import TYPE_CHECKING, Final, Literal, TypeAlias, TypeVar, get_args

from toolbudget.limits.validation import ARGUMENT, choice, config_error

if TYPE_CHECKING:
    from collections.abc import Callable, Container, Mapping

__all__ = [
    "DURABILITY_VARIABLE",
    "PREVIEW_STYLES",
    "Durability",
    "PreviewStyle",
    "durability_from_environment",
    "limits_from_environment",
    "variable_of",
]

Durability: TypeAlias = Literal["full", "data", "process"]
PreviewStyle: TypeAlias = Literal["head"]
PREVIEW_STYLES: Final[tuple[PreviewStyle, ...]] = get_args(PreviewStyle)

DURABILITY_VARIABLE: Final = "TOOLBUDGET_DURABILITY"
_DURABILITIES: Final[tuple[Durability, ...]] = get_args(Durability)
_NUMBER: Final = re.compile(
    r"\+?\d+(?:_\d+)*(\.\d+(?:_\d+)*)?(e[+-]?\d+)?", re.ASCII | re.IGNORECASE
)
_Choice = TypeVar("_Choice", bound=str)


def limits_from_environment(
    environ: Mapping[str, str], *, given: Container[str]
) -> dict[str, object]:
    """Read the fields of ``Limits`` that have a variable, except those in ``given``.

    Args:
        environ: Variables by name.
        given: Fields that an argument sets; their variables are not looked at.

    Returns:
        Only the fields whose variables are set.

    Raises:
        ConfigError: A variable holds a value that cannot be used; the message names both.
    """
    return {
        field: read(environ[variable], field, variable)
        for field, (variable, read) in _READERS.items()
        if field not in given and variable in environ
    }


def variable_of(field: str) -> str:
    """Return the variable that sets a field.

    Example:
        >>> variable_of("preview_bytes")
        'TOOLBUDGET_PREVIEW_BYTES'
    """
    return _READERS[field][0]


def durability_from_environment(
    durability: Durability | None = None, *, environ: Mapping[str, str] | None = None
) -> Durability:
    """Decide how durable stored results are.

    The argument counts, else the variable ``TOOLBUDGET_DURABILITY``, else ``"full"``.

    Args:
        durability: What the host asks for; ``None`` if it leaves that to the environment.
        environ: Variables by name; ``os.environ`` by default.

    Raises:
        ConfigError: The value that counts is none of ``"full"``, ``"data"`` and ``"process"``.

    Example:
        >>> from toolbudget.limits import durability_from_environment
        >>> durability_from_environment(environ={"TOOLBUDGET_DURABILITY": "process"})
        'process'
    """
    if durability is not None:
        return choice(durability, "durability", _DURABILITIES, ARGUMENT)
    text = (os.environ if environ is None else environ).get(DURABILITY_VARIABLE)
    if text is None:
        return "full"
    return _read_choice(text, "durability", _DURABILITIES, DURABILITY_VARIABLE)


def _read_limit(text: str, field: str, variable: str) -> float:
    if text.strip().lower() == "off":
        return math.inf
    number = _parse_number(text)
    if not 0 < number < math.inf:
        raise config_error(field, variable, "a positive number or 'off'", text)
    return number


def _read_whole_number(text: str, field: str, variable: str) -> int:
    number = _parse_number(text)
    if not isinstance(number, int) or number < 1:
        raise config_error(field, variable, "a whole number of at least 1", text)
    return number


def _read_preview_style(text: str, field: str, variable: str) -> PreviewStyle:
    return _read_choice(text, field, PREVIEW_STYLES, variable)


def _read_choice(text: str, field: str, choices: tuple[_Choice, ...], variable: str) -> _Choice:
    word = text.strip().lower()
    return choice(word if word in choices else text, field, choices, variable)


def _parse_number(text: str) -> float:
    """Give a whole number as ``int``, another one as ``float``, and NaN for what is no number."""
    word = text.strip()
    match = _NUMBER.fullmatch(word)
    if match is None:
        return math.nan
    if match[1] is None and match[2] is None:
        try:
            return int(word)
        except ValueError:  # more digits than the interpreter converts
            return math.nan
    number = float(word)
    return int(number) if number.is_integer() else number


_READERS: Final[Mapping[str, tuple[str, Callable[[str, str, str], object]]]] = {
    "max_result_chars": ("TOOLBUDGET_MAX_RESULT_CHARS", _read_limit),
    "max_message_chars": ("TOOLBUDGET_MAX_MESSAGE_CHARS", _read_limit),
    "preview_bytes": ("TOOLBUDGET_PREVIEW_BYTES", _read_whole_number),
    "preview_style": ("TOOLBUDGET_PREVIEW_STYLE", _read_preview_style),
}
