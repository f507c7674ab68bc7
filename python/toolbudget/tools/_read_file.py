"""The tool that reads a file, however large it is and whatever it holds."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Final

from toolbudget._core.pure.replacement import format_size
from toolbudget._threads import in_thread
from toolbudget.storage.page_note import page_with_note
from toolbudget.storage.text_page import MAX_PAGE_CHARS, TextPage, read_page
from toolbudget.storage.text_source import open_file
from toolbudget.tools.definition import Parameter, ToolResult, tool

if TYPE_CHECKING:
    import os

    from toolbudget.storage.text_page import TextSource

__all__ = ["RANGE_PARAMETERS", "ReadFileResult", "aread_file", "read_file"]

RANGE_PARAMETERS: Final = (
    Parameter("start_line", "integer", "First line to show, from 1.", minimum=1),
    Parameter("end_line", "integer", "Last line to show, inclusive.", minimum=1),
    Parameter(
        "start_byte",
        "integer",
        "Where to begin instead, as a position in bytes: for going on within a very long line.",
        minimum=0,
    ),
)

# How much is looked through at once: as much as is pruned without keeping the reader waiting.
_PRUNED_CHARS: Final = 1_000_000


@dataclass(frozen=True, slots=True, kw_only=True)
class ReadFileResult(ToolResult):
    """What :func:`read_file` found.

    Attributes:
        path: The file, as it was asked for.
        page: What is shown of it and where it goes on; ``None`` of a file that is no text.
        is_binary: Whether it is none.
        is_pruned: Whether only the lines are shown that the explanation asks for; the page then
            covers the others too.
    """

    path: str
    page: TextPage | None
    is_binary: bool = False
    is_pruned: bool = False


@tool(
    Parameter("path", "string", "The file to read.", is_required=True),
    *RANGE_PARAMETERS,
    Parameter(
        "explanation",
        "string",
        "What you are looking for. Of a long file only the lines about it are then shown.",
    ),
    Parameter("skip_pruning", "boolean", "Show every line, whatever the explanation says."),
    description=(
        "Read a text file, all of it or a range of lines. Lines are counted from 1. A long file "
        "is shown in part; the last line then says how to continue."
    ),
)
def read_file(
    path: str | os.PathLike[str],
    start_line: int | None = None,
    end_line: int | None = None,
    explanation: str | None = None,
    skip_pruning: bool = False,  # noqa: FBT001, FBT002 - the order is that of X4
    *,
    start_byte: int | None = None,
    max_chars: int = MAX_PAGE_CHARS,
) -> ReadFileResult:
    r"""Read a text file, or a range of its lines.

    Only what is shown is held in memory. Lines end with ``\n``, as they do for ``grep``. The
    encoding is that of the byte order mark, else UTF-8; what is not shows as ``\xNN``, and the
    result says so.

    Args:
        path: The file. Symbolic links are followed.
        start_line: First line, from 1; by default the first one.
        end_line: Last line, inclusive; by default that of the file.
        explanation: What is looked for. If the lines asked for are more than a page, only those
            that hold its words are shown, by :func:`toolbudget.pruning.prune_by_relevance`.
        skip_pruning: Show every line all the same.
        start_byte: Where to begin instead, in bytes.
        max_chars: The most characters of it that are shown, in whole lines if a line fits. More
            than that is a next page, and the result says where it begins.

    Raises:
        ToolInputError: The range cannot be, or lies behind the end.
        ToolError: There is no such file, or it is none: a directory, a FIFO, a device.

    Example:
        >>> from pathlib import Path
        >>> from toolbudget.tools import read_file
        >>> _ = Path("notes.txt").write_text("one\ntwo\nthree\n")
        >>> print(read_file("notes.txt", 2, max_chars=4).text)
        two
        [Line 2, bytes 4-8 of 14 bytes. Continue with start_line=3.]
    """
    name = str(path)
    with open_file(name) as source:
        if source.is_binary:
            size = format_size(source.size_bytes)
            text = f"[A binary file of {size}, not shown: {name!r}]"
            return ReadFileResult(text=text, path=name, page=None, is_binary=True)
        page = read_page(
            source,
            start_line=start_line,
            end_line=end_line,
            start_byte=start_byte,
            max_chars=max_chars,
        )
        if explanation is not None and not skip_pruning and page.next_start_line is not None:
            pruned = _pruned(source, page, explanation, end_line, max_chars)
            if pruned is not None:
                text = f"{page_with_note(pruned, end_line=end_line)}\n{_pruning_note(pruned)}"
                return ReadFileResult(text=text, path=name, page=pruned, is_pruned=True)
    return ReadFileResult(text=page_with_note(page, end_line=end_line), path=name, page=page)


async def aread_file(
    path: str | os.PathLike[str],
    start_line: int | None = None,
    end_line: int | None = None,
    explanation: str | None = None,
    skip_pruning: bool = False,  # noqa: FBT001, FBT002 - the order is that of X4
    *,
    start_byte: int | None = None,
    max_chars: int = MAX_PAGE_CHARS,
) -> ReadFileResult:
    r"""Do what :data:`read_file` does without blocking the event loop.

    Example:
        >>> import asyncio
        >>> from pathlib import Path
        >>> from toolbudget.tools import aread_file
        >>> _ = Path("notes.txt").write_text("one\ntwo\nthree\n")
        >>> print(asyncio.run(aread_file("notes.txt", 2, 2)).text)
        two
        [Line 2, bytes 4-8.]
    """
    return await in_thread(
        read_file.function,
        path,
        start_line,
        end_line,
        explanation,
        skip_pruning,
        start_byte=start_byte,
        max_chars=max_chars,
    )


def _pruned(
    source: TextSource, page: TextPage, explanation: str, end_line: int | None, max_chars: int
) -> TextPage | None:
    """Return a longer page of which only the lines about something are kept.

    ``None`` if that is no gain: a line is too long, or most lines or none are about it.
    """
    from toolbudget.pruning import prune_by_relevance

    room_chars = _PRUNED_CHARS
    while room_chars > max_chars:
        longer = read_page(
            source, start_line=page.start_line, end_line=end_line, max_chars=room_chars
        )
        if longer.next_start_byte is not None:
            return None
        text = prune_by_relevance(longer.text, explanation)
        if text == longer.text:
            return None
        if len(text) <= max_chars:
            return replace(longer, text=text)
        # What is kept of half of it is about half as long; where it ends is then known exactly.
        room_chars = min(room_chars, len(longer.text)) // 2
    return None


def _pruning_note(page: TextPage) -> str:
    counted = f" Gaps are counted from line {page.start_line}." if page.start_line != 1 else ""
    return f"[Only the lines about the explanation.{counted} skip_pruning shows all.]"
