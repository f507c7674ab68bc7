"""Read limits from a file that a user names (L5); none is ever looked for.

TOML, or JSON if the name ends in ``.json``; the keys are the fields of ``Limits``. A key that is
none of them is an error: a limit that is read and then ignored is worse than none.
"""

from __future__ import annotations

import json
import math
import os
import tomllib
from pathlib import Path
from typing import TYPE_CHECKING, Final, get_args

from toolbudget._display import shown
from toolbudget.errors import ConfigError
from toolbudget.limits.defaults import Unit
from toolbudget.limits.environment import PREVIEW_STYLES
from toolbudget.limits.validation import (
    choice,
    config_error,
    line_of_text,
    named_limits,
    positive_number,
    positive_whole_number,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

__all__ = ["limits_from_file"]

# A file of limits has a few lines; what is larger was named by mistake.
_MAX_BYTES: Final = 1 << 20
_OFF: Final = "off"


def limits_from_file(path: str | os.PathLike[str]) -> dict[str, object]:
    """Read the fields of ``Limits`` that a file sets, each checked.

    Args:
        path: The file.

    Returns:
        Only the fields that stand in it.

    Raises:
        ConfigError: It cannot be read, is neither TOML nor JSON, has a key that is no limit, or a
            value that cannot be used; the message names the field, the file and the value.
    """
    shown_path = os.fspath(path)
    values = _decode(_read(Path(path), shown_path), shown_path)
    for key in values:
        if key not in _READERS:
            known = ", ".join(_READERS)
            raise ConfigError(f"{key} ({shown_path}) is no limit; known are {known}: {shown(key)}")
    return {key: _READERS[key](value, key, shown_path) for key, value in values.items()}


def _unreadable(error: Exception, shown_path: str) -> ConfigError:
    reason = (error.strerror if isinstance(error, OSError) else None) or str(error)
    problem = f"config file (argument) cannot be read: {reason.lower()}"
    return ConfigError(f"{problem}: {shown_path!r}")


def _read(path: Path, shown_path: str) -> str:
    try:
        is_no_file = path.exists() and not path.is_file()
    except (OSError, ValueError) as error:
        raise _unreadable(error, shown_path) from error
    if is_no_file:
        # It might be read for ever.
        raise ConfigError(f"config file (argument) must be a regular file: {shown_path!r}")
    try:
        with path.open("rb") as file:
            data = file.read(_MAX_BYTES + 1)
    except (OSError, ValueError) as error:
        raise _unreadable(error, shown_path) from error
    if len(data) > _MAX_BYTES:
        raise ConfigError(f"config file (argument) must be smaller than 1 MB: {shown_path!r}")
    try:
        return data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise ConfigError(
            f"config file is not UTF-8 at byte {error.start}: {shown_path!r}"
        ) from error


def _decode(text: str, shown_path: str) -> Mapping[str, object]:
    is_json = shown_path.lower().endswith(".json")
    try:
        if is_json:
            values = json.loads(text, object_pairs_hook=_unique, parse_float=_parse_float)
        else:
            values = tomllib.loads(text, parse_float=_parse_float)
    except (ValueError, RecursionError) as error:
        kind = "JSON" if is_json else "TOML"
        raise ConfigError(f"config file is not {kind}: {error}: {shown_path!r}") from error
    if not isinstance(values, dict):
        raise ConfigError(f"config file must be a JSON object ({shown_path}): {shown(values)}")
    return values


class _TooLarge:
    """A number that no float holds: neither infinity, which turns a limit off, nor text."""

    def __init__(self, text: str) -> None:
        self._text = text

    def __repr__(self) -> str:
        return self._text


def _parse_float(text: str) -> float | _TooLarge:
    number = float(text)
    return _TooLarge(text) if math.isinf(number) and any(map(str.isdigit, text)) else number


def _unique(pairs: Sequence[tuple[str, object]]) -> dict[str, object]:
    values = dict(pairs)
    if len(values) != len(pairs):
        keys = [key for key, _ in pairs]
        twice = next(key for key in keys if keys.count(key) > 1)
        raise ValueError(f"key stands there twice: {twice!r}")
    return values


def _limit(value: object, field: str, source: str) -> float:
    if isinstance(value, str):
        if value.strip().lower() == _OFF:
            return math.inf
        raise config_error(field, source, "a positive number or 'off'", value)
    return positive_number(value, field, source)


def _tools(value: object, field: str, source: str) -> dict[str, float]:
    if not isinstance(value, dict):
        return named_limits(value, field, source)
    return {name: _limit(limit, f"{field}[{shown(name)}]", source) for name, limit in value.items()}


_READERS: Final[Mapping[str, Callable[[object, str, str], object]]] = {
    "max_result_chars": _limit,
    "max_message_chars": _limit,
    "preview_bytes": positive_whole_number,
    "preview_style": lambda value, field, source: choice(value, field, PREVIEW_STYLES, source),
    "accounting": lambda value, field, source: choice(
        value, field, ("visible", "originals"), source
    ),
    "reader_hint": line_of_text,
    "unit": lambda value, field, source: choice(value, field, get_args(Unit), source),
    "tools": _tools,
}
