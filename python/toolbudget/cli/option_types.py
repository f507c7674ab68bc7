"""Values of options that click has no type for."""

from __future__ import annotations

import math
import re
from typing import TYPE_CHECKING, Final, TypeVar

import click

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

__all__ = [
    "read_age",
    "read_file",
    "read_folder",
    "read_limit",
    "read_output",
    "read_path",
    "read_size",
]

_Name = TypeVar("_Name", str, "str | None")

_NUMBER_AND_UNIT: Final = re.compile(r"([0-9]{1,15}(?:\.[0-9]{1,9})?)\s*([A-Za-z]*)")
_UNITS_S: Final = {"s": 1, "m": 60, "h": 3600, "d": 86_400, "w": 604_800}
_UNITS_BYTES: Final = {"": 1, "B": 1, "KB": 1 << 10, "MB": 1 << 20, "GB": 1 << 30, "TB": 1 << 40}


def read_limit(_context: click.Context, option: click.Parameter, text: str | None) -> float | None:
    """Read a limit, in the unit of ``--unit``; ``off`` is infinite.

    Raises:
        BadParameter: It is neither; the message names the option and the value.
    """
    if text is None:
        return None
    if text.strip().lower() == "off":
        return math.inf
    try:
        limit_chars = int(text)
    except ValueError:
        limit_chars = 0
    if limit_chars < 1:
        wanted = "must be a whole number of at least 1, or 'off'"
        raise click.BadParameter(f"{wanted}: {text!r}", param=option)
    return limit_chars


def _reader_of_names(wanted: str) -> Callable[[click.Context, click.Parameter, _Name], _Name]:
    """Make a reader that refuses an empty name: it comes of an unset variable, and means none."""

    def read(_context: click.Context, parameter: click.Parameter, text: _Name) -> _Name:
        if text == "":
            raise click.BadParameter(f"must name a {wanted}: {text!r}", param=parameter)
        return text

    return read


read_folder = _reader_of_names("folder")
read_file = _reader_of_names("file")
read_path = _reader_of_names("file or folder")


def read_output(context: click.Context, parameter: click.Parameter, text: str | None) -> str | None:
    """Read the name of a file to write.

    Raises:
        BadParameter: It is empty.
        UsageError: It stands for standard output.
    """
    if text == "-":
        problem = f"{parameter.opts[0]} must name a file; standard output has the report"
        raise click.UsageError(f"{problem}: {text!r}", ctx=context)
    return read_file(context, parameter, text)


def read_age(_context: click.Context, option: click.Parameter, text: str | None) -> float | None:
    """Read an age in seconds: a number above 0 with its unit.

    Raises:
        BadParameter: It is none; the message names the option and the value.
    """
    age_s = None if text is None else _scaled(text, _UNITS_S, str.lower)
    if text is not None and age_s is None:
        wanted = "must be a number above 0 with a unit (s, m, h, d or w), as in 30d or 12h"
        raise click.BadParameter(f"{wanted}: {text!r}", param=option)
    return age_s


def read_size(_context: click.Context, option: click.Parameter, text: str | None) -> int | None:
    """Read a size in bytes: a number above 0, with or without a unit of 1024.

    Raises:
        BadParameter: It is none; the message names the option and the value.
    """
    size_bytes = None if text is None else _scaled(text, _UNITS_BYTES, str.upper)
    if text is not None and (size_bytes is None or size_bytes < 1):
        wanted = "must be a number of bytes above 0, as in 500MB or 10GB"
        raise click.BadParameter(f"{wanted}: {text!r}", param=option)
    return None if size_bytes is None else int(size_bytes)


def _scaled(text: str, units: Mapping[str, int], fold: Callable[[str], str]) -> float | None:
    match = _NUMBER_AND_UNIT.fullmatch(text.strip())
    unit = None if match is None else units.get(fold(match[2]))
    if match is None or unit is None:
        return None
    return float(match[1]) * unit or None
