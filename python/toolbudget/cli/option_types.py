"""Values of options that click has no type for."""

from __future__ import annotations

import math
import re
from typing import TYPE_CHECKING, Final

import click

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

__all__ = ["read_age", "read_file", "read_folder", "read_limit", "read_path", "read_size"]

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


def read_folder(_context: click.Context, option: click.Parameter, text: str | None) -> str | None:
    """Read the name of a folder: an empty one comes of an unset variable, and means none.

    Raises:
        BadParameter: It is empty.
    """
    if text == "":
        raise click.BadParameter(f"must name a folder: {text!r}", param=option)
    return text


def read_file(_context: click.Context, option: click.Parameter, text: str | None) -> str | None:
    """Read the name of a file: an empty one comes of an unset variable, and means none.

    Raises:
        BadParameter: It is empty.
    """
    if text == "":
        raise click.BadParameter(f"must name a file: {text!r}", param=option)
    return text


def read_path(_context: click.Context, argument: click.Parameter, text: str) -> str:
    """Read a path; an empty one comes of an unset variable, and means none.

    Raises:
        BadParameter: It is empty.
    """
    if not text:
        raise click.BadParameter(f"must name a file or folder: {text!r}", param=argument)
    return text


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
