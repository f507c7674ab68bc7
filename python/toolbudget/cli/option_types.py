"""Values of options that click has no type for."""

from __future__ import annotations

import math

import click

__all__ = ["read_folder", "read_limit"]


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
