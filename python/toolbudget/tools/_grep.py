"""The tool that searches files for a pattern."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from toolbudget._display import shown
from toolbudget._threads import in_thread
from toolbudget.storage.search import MAX_MATCHES, SearchHits, search_files
from toolbudget.storage.search_note import hits_with_notes
from toolbudget.storage.text_encoding import sendable
from toolbudget.tools.definition import Parameter, ToolResult, tool

if TYPE_CHECKING:
    import os

__all__ = ["GrepResult", "agrep", "grep"]

MAX_CHARS: Final = 20_000
"""The limit that ``grep`` has by default (L2), so that what it shows is not stored."""


@dataclass(frozen=True, slots=True, kw_only=True)
class GrepResult(ToolResult):
    """What :func:`grep` found.

    Attributes:
        hits: The lines, and how many there are in all.
    """

    hits: SearchHits


@tool(
    Parameter("pattern", "string", "A regular expression, as ripgrep takes it.", is_required=True),
    Parameter("path", "string", "The file or folder to search; by default the current one."),
    Parameter("include_pattern", "string", "A glob that files must match, such as *.py."),
    description=(
        f"Search files for a regular expression. Shows {MAX_MATCHES} matching lines as "
        "file:line: text and says how many more there are. Leaves out hidden, ignored and binary "
        "files."
    ),
)
def grep(
    pattern: str, path: str | os.PathLike[str] = ".", include_pattern: str | None = None
) -> GrepResult:
    r"""Search files for a pattern, as ``rg`` does.

    Hidden files, those that ``.gitignore`` names, and binary ones are left out; if ``path`` names a
    binary file, the answer says so. Files come in the order of their paths. A long line is cut
    around its match, and all that is shown stays below the limit that ``grep`` has by default. It
    takes the native core.

    Args:
        pattern: A regular expression of the ``regex`` crate: linear in time whatever it is.
        path: A file, or a folder with all that is below it.
        include_pattern: A glob that files must match, as ``rg --glob`` takes it.

    Raises:
        ToolInputError: The pattern or the glob is none.
        ToolError: The path cannot be searched, or the native core is missing.

    Example:
        >>> from pathlib import Path
        >>> from toolbudget import ToolError
        >>> from toolbudget.tools import grep
        >>> _ = Path("notes.txt").write_text("one\ntwo\nthree\n")
        >>> try:
        ...     print(grep("t[wh]").text)
        ... except ToolError:  # the pure core does not search
        ...     print("notes.txt:2: two\nnotes.txt:3: three")
        notes.txt:2: two
        notes.txt:3: three
    """
    hits = search_files(pattern, str(path), include=include_pattern)
    remedy = "a longer pattern, a path below, or include_pattern"
    text = hits_with_notes(hits, pattern, remedy=remedy, max_chars=MAX_CHARS)
    # In a folder they are left out like hidden ones; of this one the caller wants to know.
    if hits.is_binary:
        text = sendable(f"[A binary file, not searched: {shown(str(path))}]")
    return GrepResult(text=text, hits=hits)


async def agrep(
    pattern: str, path: str | os.PathLike[str] = ".", include_pattern: str | None = None
) -> GrepResult:
    r"""Do what :data:`grep` does without blocking the event loop.

    Example:
        >>> import asyncio
        >>> from pathlib import Path
        >>> from toolbudget import ToolError
        >>> from toolbudget.tools import agrep
        >>> _ = Path("notes.txt").write_text("one\ntwo\nthree\n")
        >>> try:
        ...     print(asyncio.run(agrep("tw")).text)
        ... except ToolError:  # the pure core does not search
        ...     print("notes.txt:2: two")
        notes.txt:2: two
    """
    return await in_thread(grep.function, pattern, path, include_pattern)
