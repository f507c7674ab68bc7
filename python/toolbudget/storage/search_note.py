"""What a reader is told of a search: the lines, how many more there are, and how to see less."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from toolbudget._display import shown
from toolbudget.storage.text_encoding import sendable

if TYPE_CHECKING:
    from toolbudget.storage.search import FoundLine, SearchHits

__all__ = ["hits_with_notes"]

# More than the notes below the lines ever take.
_NOTES_CHARS: Final = 500


def hits_with_notes(hits: SearchHits, pattern: str, *, remedy: str, max_chars: int) -> str:
    """Return what a search found as a model is shown it.

    Each line found takes one line, whatever its path is. Those that have no room are counted with
    the others that are not shown.

    Args:
        hits: What was found.
        pattern: What was searched for.
        remedy: What would find less.
        max_chars: The most characters to show.
    """
    lines: list[str] = []
    room_chars = max_chars - _NOTES_CHARS
    more = hits.matches
    for found in hits.lines:
        line = _line(found)
        room_chars -= len(line) + 1
        if room_chars < 0:
            break
        lines.append(line)
        more -= found.is_match
    if not hits.matches:
        lines.append(f"[Nothing matches {shown(pattern)}.]")
    if more:
        least = "At least " if hits.is_partial else ""
        where = "1 file" if hits.files == 1 else f"{hits.files} files"
        count = f"[{least}{more} more matching lines; there are matches in {where}."
        lines.append(f"{count} To see less: {remedy}.]")
    if hits.unreadable:
        lines.append(f"[Could not be read: {hits.unreadable}.]")
    return sendable("\n".join(lines))


def _line(found: FoundLine) -> str:
    path = found.path
    if "\n" in path:  # it would look like a line of another file
        path = path.replace("\n", "\\n")
    if found.is_match:
        return f"{path}:{found.line}: {found.text}"
    return f"{path}-{found.line}- {found.text}"
