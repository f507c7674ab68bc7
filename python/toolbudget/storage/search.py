"""Searching files for a pattern, on the crates of ripgrep that the native core brings along."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, NamedTuple

from toolbudget import _core as core
from toolbudget._display import shown
from toolbudget.errors import ToolError, ToolInputError

if TYPE_CHECKING:
    import os
    from collections.abc import Callable, Iterable
    from types import ModuleType

__all__ = [
    "MAX_LINE_CHARS",
    "MAX_MATCHES",
    "FoundLine",
    "SearchHits",
    "add_up",
    "check_pattern",
    "search_files",
    "search_text",
]

MAX_MATCHES: Final = 50
"""How many matching lines are shown (X4)."""

MAX_LINE_CHARS: Final = 200
"""How much of a line is shown: enough of a line of code, little of a minified file."""

# No automaton is kept for one of some 10,000, and then each byte costs as much as the pattern is
# long: minutes for a megabyte.
_MAX_PATTERN_CHARS: Final = 5_000

# More than anyone would page through; counting on would search a whole disk for a common word.
_MAX_COUNTED: Final = 10_000


class FoundLine(NamedTuple):
    """One line that a search shows.

    Attributes:
        path: The file it is in.
        line: Its number, from 1.
        is_match: Whether it matches; else it stands near one that does.
        text: The line without its end, cut around the match if it is long.
    """

    path: str
    line: int
    is_match: bool
    text: str


class SearchHits(NamedTuple):
    """What a search found.

    Attributes:
        lines: What is shown, in the order of paths and lines.
        matches: How many lines match, shown or not.
        files: In how many files.
        unreadable: How many files or folders could not be read.
        is_partial: Whether the search ended early, because so much matches.
        is_binary: Whether what was to be searched is a binary file itself.
    """

    lines: tuple[FoundLine, ...]
    matches: int
    files: int
    unreadable: int
    is_partial: bool
    is_binary: bool = False


def search_files(
    pattern: str,
    path: str,
    *,
    include: str | None = None,
    max_matches: int = MAX_MATCHES,
) -> SearchHits:
    """Search a file, or a folder with all that is below it.

    Args:
        pattern: A regular expression, in the syntax of ripgrep.
        path: Where to search.
        include: A glob that files must match.
        max_matches: The most matching lines to show.

    Raises:
        ToolInputError: The pattern or glob is none.
        ToolError: The path cannot be searched, or the native core is not there.
    """
    _check("path", path)
    if include is not None:
        _check("include_pattern", include)
    native = _native_for(pattern)
    try:
        found = native._search_files(  # noqa: SLF001 - it is no part of the core
            pattern,
            path,
            include=include,
            max_matches=max_matches,
            max_counted=max(_MAX_COUNTED, max_matches + 1),
            max_line_chars=MAX_LINE_CHARS,
            context_lines=0,
            is_text=False,
        )
    except ValueError as error:
        value = include if str(error).startswith("invalid include_pattern") else pattern
        raise ToolInputError(f"{error}: {shown(value)}") from error
    except OSError as error:
        reason = str(error).partition(" (os error")[0]
        raise ToolError(f"cannot search, {reason[:1].lower()}{reason[1:]}: {path!r}") from error
    return _hits(found)


def search_text(
    pattern: str,
    read: Callable[[int, int], bytes],
    *,
    label: str,
    max_matches: int,
    context_lines: int,
) -> SearchHits:
    """Search one text, which is UTF-8 whatever it holds.

    Args:
        pattern: A regular expression, in the syntax of ripgrep.
        read: Gives bytes from a position, as many as asked for or fewer.
        label: What stands in the place of a path.
        max_matches: The most matching lines to show.
        context_lines: How many lines around a match to show.

    Raises:
        ToolInputError: The pattern is none.
        ToolError: The native core is not there.
        Exception: What ``read`` raises.
    """
    native = _native_for(pattern)
    try:
        found = native._search_text(  # noqa: SLF001 - it is no part of the core
            pattern,
            read,
            max_matches=max_matches,
            max_counted=max(_MAX_COUNTED, max_matches + 1),
            max_line_chars=MAX_LINE_CHARS,
            context_lines=context_lines,
        )
    except ValueError as error:
        raise ToolInputError(f"{error}: {shown(pattern)}") from error
    hits = _hits(found)
    return hits._replace(lines=tuple(line._replace(path=label) for line in hits.lines))


def check_pattern(pattern: str) -> None:
    """Refuse a pattern that is none also where there is nothing to search.

    Raises:
        ToolInputError: The pattern is none.
        ToolError: The native core is not there.
    """
    search_text(pattern, lambda _position, _size: b"", label="", max_matches=1, context_lines=0)


def add_up(parts: Iterable[SearchHits]) -> SearchHits:
    """Return several searches as one."""
    all_parts = tuple(parts)
    return SearchHits(
        tuple(line for part in all_parts for line in part.lines),
        matches=sum(part.matches for part in all_parts),
        files=sum(part.files for part in all_parts),
        unreadable=sum(part.unreadable for part in all_parts),
        is_partial=any(part.is_partial for part in all_parts),
        is_binary=any(part.is_binary for part in all_parts),
    )


def _hits(
    found: tuple[list[tuple[str | os.PathLike[str], int, bool, str]], int, int, int, bool, bool],
) -> SearchHits:
    lines, matches, files, unreadable, is_partial, is_binary = found
    told = (FoundLine(str(path), number, is_match, text) for path, number, is_match, text in lines)
    return SearchHits(tuple(told), matches, files, unreadable, is_partial, is_binary)


def _native_for(pattern: str) -> ModuleType:
    _check("pattern", pattern)
    if len(pattern) > _MAX_PATTERN_CHARS:
        most = f"pattern must have at most {_MAX_PATTERN_CHARS:,} characters, not {len(pattern):,}"
        raise ToolInputError(f"{most}: {shown(pattern)}")
    if core.NAME != "native":
        raise ToolError("searching needs the native core: install a wheel, or build it with Rust")
    from toolbudget._core import _native

    return _native


def _check(name: str, value: object) -> None:
    """Refuse what the search cannot be given.

    Raises:
        ToolInputError: It is no text, is empty, or has a surrogate that stands for no byte.
    """
    if not isinstance(value, str) or not value:
        raise ToolInputError(f"{name} must be text with at least one character: {shown(value)}")
    if "\0" in value or any("\ud800" <= character <= "\udfff" for character in value):
        raise ToolInputError(f"{name} must be free of NUL and lone surrogates: {shown(value)}")
