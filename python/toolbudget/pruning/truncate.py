"""Cutting: the beginning and the end of a text, with the length of what lies between (X1)."""

from __future__ import annotations

from typing import Final

from toolbudget.pruning._checks import checked_max_size, checked_text

__all__ = ["DEFAULT_MAX_SIZE_CHARS", "truncate_tool_result"]

DEFAULT_MAX_SIZE_CHARS: Final = 50_000
"""Characters that pass as they are; the limit of one result has the same default."""

_HEAD_PERCENT: Final = 70
_TAIL_PERCENT: Final = 30


def truncate_tool_result(text: str, max_size: int = DEFAULT_MAX_SIZE_CHARS) -> str:
    r"""Cut a text that is longer than ``max_size`` down to its beginning and its end.

    70 percent of ``max_size`` come from the beginning and 30 percent from the end, each rounded
    down; a note between them says how many characters are left out. The note comes on top. If the
    result would not be shorter, the text stays as it is.

    Two surrogates that stand for one character (as a careless decoder leaves them) stay together:
    a cut between them moves by one, so that one character more is left out.

    Args:
        text: Any text.
        max_size: Characters (code points) that pass as they are, at least 1.

    Raises:
        ConfigError: ``text`` is no text, or ``max_size`` no whole number of at least 1.

    Example:
        >>> from toolbudget.pruning import truncate_tool_result
        >>> truncate_tool_result("a" * 70 + "b" * 100 + "c" * 30, 100)
        'aaa...aaa\n\n[... truncated 100 characters ...]\n\nccc...ccc'
    """
    text = checked_text(text)
    max_size = checked_max_size(max_size)
    if len(text) <= max_size:
        return text
    head_end = max_size * _HEAD_PERCENT // 100
    tail_start = len(text) - max_size * _TAIL_PERCENT // 100
    head_end -= _splits_a_pair(text, head_end)
    tail_start += _splits_a_pair(text, tail_start)
    note = f"\n\n[... truncated {tail_start - head_end} characters ...]\n\n"
    cut = f"{text[:head_end]}{note}{text[tail_start:]}"
    return cut if len(cut) < len(text) else text


def _splits_a_pair(text: str, place: int) -> bool:
    before, behind = text[max(place - 1, 0) : place], text[place : place + 1]
    return "\ud800" <= before <= "\udbff" and "\udc00" <= behind <= "\udfff"
