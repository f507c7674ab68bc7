"""Estimates of tokens (T2): by kinds of characters, and characters divided by a fixed ratio."""

from __future__ import annotations

import math
from typing import Final

from toolbudget import _core as core
from toolbudget.tokens._checks import config_error, whole_number

__all__ = [
    "bytes_per_token_for_file_type",
    "estimate_tokens",
    "rough_token_count_estimation",
    "rough_token_count_for_chars",
]

_DEFAULT_BYTES_PER_TOKEN: Final = 4
_DENSE_BYTES_PER_TOKEN: Final = 2
# Their brackets, quotes and commas are tokens of one character each.
_DENSE_FILE_TYPES: Final = frozenset({"json", "jsonl", "jsonc"})


def estimate_tokens(text: str) -> int:
    """Estimate the tokens of a text from the kinds of its characters, rather over than under.

    Words, digits, signs, line breaks, scripts and emoji each have a weight; the sum is rounded up.
    It is an estimate: tokenizers differ, and those of newer models make more tokens of the same
    text. docs/tokens.md shows how far off it is, by kind of text.

    The native core reads a text once and copies none of it. A lone surrogate counts as a symbol.

    Args:
        text: Any text.

    Returns:
        Tokens; 0 for an empty text and for a single blank.

    Raises:
        ConfigError: ``text`` is no text.

    Example:
        >>> from toolbudget.tokens import estimate_tokens
        >>> estimate_tokens("The tests of the parser have passed."), estimate_tokens("你好世界")
        (9, 7)
    """
    return core.estimate_tokens((_checked_text(text),))


def rough_token_count_estimation(
    text: str, bytes_per_token: float = _DEFAULT_BYTES_PER_TOKEN
) -> int:
    """Estimate the tokens of a text as ``len(text) / bytes_per_token``, rounded half up.

    Args:
        text: The text; its characters (code points) are counted, not its bytes.
        bytes_per_token: The ratio, an ``int`` or ``float``, finite and above 0.

    Raises:
        ConfigError: ``text`` is no text, or ``bytes_per_token`` is anything else.

    Example:
        >>> from toolbudget.tokens import rough_token_count_estimation
        >>> rough_token_count_estimation("x" * 10), rough_token_count_estimation("x" * 10, 2)
        (3, 5)
    """
    return rough_token_count_for_chars(len(_checked_text(text)), bytes_per_token)


def rough_token_count_for_chars(
    count_chars: int, bytes_per_token: float = _DEFAULT_BYTES_PER_TOKEN
) -> int:
    """Estimate the tokens of a text of which only the number of characters is known.

    The quotient is exact: a ``float`` ratio stands for the very fraction it holds, so that no
    rounding of the division moves a result across a half.

    Args:
        count_chars: Characters of the text, at least 0.
        bytes_per_token: The ratio, an ``int`` or ``float``, finite and above 0.

    Raises:
        ConfigError: An argument is anything else.

    Example:
        >>> from toolbudget.tokens import rough_token_count_for_chars
        >>> rough_token_count_for_chars(84_833), rough_token_count_for_chars(9, 2.5)
        (21208, 4)
    """
    numerator, denominator = _ratio(bytes_per_token)
    count = whole_number(count_chars, "count_chars")
    if count < 0:
        raise config_error("count_chars", "at least 0", count_chars)
    return (2 * count * denominator + numerator) // (2 * numerator)


def bytes_per_token_for_file_type(extension: str) -> int:
    """Give the ratio for a file type: 2 for ``json``, ``jsonl`` and ``jsonc``, else 4.

    Args:
        extension: The file name's extension, in any case, with or without its dot (so
            ``Path.suffix`` too).

    Raises:
        ConfigError: ``extension`` is no text.

    Example:
        >>> from toolbudget.tokens import bytes_per_token_for_file_type
        >>> bytes_per_token_for_file_type("jsonl"), bytes_per_token_for_file_type(".py")
        (2, 4)
    """
    if not isinstance(extension, str):
        raise config_error("extension", "a str", extension)
    is_dense = extension.lower().removeprefix(".") in _DENSE_FILE_TYPES
    return _DENSE_BYTES_PER_TOKEN if is_dense else _DEFAULT_BYTES_PER_TOKEN


def _checked_text(text: object) -> str:
    if isinstance(text, str):
        return str.__str__(text)  # methods of a subclass take no part
    raise config_error("text", "a str", text)


def _ratio(value: object) -> tuple[int, int]:
    if isinstance(value, int | float) and not isinstance(value, bool) and 0 < value < math.inf:
        return value.as_integer_ratio()
    raise config_error("bytes_per_token", "a finite positive number", value)
