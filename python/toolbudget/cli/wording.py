"""Words and numbers for a person; whatever a transcript holds is safe to show."""

from __future__ import annotations

__all__ = ["count", "grouped", "printable", "shorten"]


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


def shorten(text: str, max_chars: int) -> str:
    """Make text printable, on one line, and cut out its middle if it is too long.

    Example:
        >>> shorten("mcp__tracker__search", 12)
        'mcp__t…earch'
    """
    shown = printable(text)
    if len(shown) <= max_chars:
        return shown
    kept_chars = max_chars - 1
    head_chars = kept_chars - kept_chars // 2
    return f"{shown[:head_chars]}…{shown[len(shown) - kept_chars // 2 :]}"


def _escape(character: str) -> str:
    return character.encode("unicode_escape").decode("ascii")
