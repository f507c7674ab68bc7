"""Words and numbers for a person; whatever a transcript holds is safe to show."""

from __future__ import annotations

from itertools import accumulate
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable

__all__ = ["count", "grouped", "other_format_results", "printable", "shorten"]


def printable(text: str) -> str:
    r"""Write whatever could move a terminal's cursor or mislead the eye as an escape.

    Example:
        >>> printable("caf\u00e9 \x1b[31m\ud800")
        'café \\x1b[31m\\ud800'
    """
    if text.isprintable():
        return text
    return "".join(
        character if character.isprintable() else _escape(character) for character in text
    )


def grouped(number: float) -> str:
    """Write a whole number with a comma for each thousand.

    Example:
        >>> grouped(84_833)
        '84,833'
    """
    return f"{number:,}"


def count(number: int, noun: str) -> str:
    """Write a number of things.

    Example:
        >>> count(1, "result"), count(1200, "result")
        ('1 result', '1,200 results')
    """
    return f"{grouped(number)} {noun}" if number == 1 else f"{grouped(number)} {noun}s"


def other_format_results(messages: int) -> str:
    """Name what is passed over in messages that no provider of this format has made.

    Example:
        >>> other_format_results(2)
        "results in 2 messages of another wire format, such as OpenAI's"
    """
    return f"results in {count(messages, 'message')} of another wire format, such as OpenAI's"


def shorten(text: str, max_columns: int) -> str:
    """Make text printable, on one line, and cut out its middle if it is too wide.

    Args:
        text: Any text.
        max_columns: How wide it may be; Chinese, Japanese, Korean and emoji take two each.

    Example:
        >>> shorten("mcp__tracker__search", 12), shorten("\u5de5\u5177\u540d\u79f0", 7)
        ('mcp__t…earch', '工…称')
    """
    shown = printable(text)
    widths = _widths(shown)
    if sum(widths) <= max_columns:
        return shown
    kept_columns = max_columns - 1
    tail_columns = kept_columns // 2
    head = _count_within(widths, kept_columns - tail_columns)
    tail = _count_within(reversed(widths), tail_columns)
    return f"{shown[:head]}…{shown[len(shown) - tail :]}"


def _widths(text: str) -> list[int]:
    if text.isascii():
        return [1] * len(text)
    from rich.cells import get_character_cell_size

    return [get_character_cell_size(character) for character in text]


def _count_within(widths: Iterable[int], max_columns: int) -> int:
    return sum(columns <= max_columns for columns in accumulate(widths))


def _escape(character: str) -> str:
    return character.encode("unicode_escape").decode("ascii")
