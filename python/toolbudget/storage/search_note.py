"""What a reader is told of a search: the lines, how many more there are, and how to see less."""

from __future__ import annotations

from typing import TYPE_CHECKING

from toolbudget.limits.display import shown
from toolbudget.storage.text_encoding import sendable

if TYPE_CHECKING:
    from toolbudget.storage.search import SearchHits

__all__ = ["hits_with_notes"]


def hits_with_notes(hits: SearchHits, pattern: str, *, remedy: str) -> str:
    """Return what a search found as a model is shown it.

    Args:
        hits: What was found.
        pattern: What was searched for.
        remedy: What would find less.
    """
    lines = [
        f"{found.path}:{found.line}: {found.text}"
        if found.is_match
        else f"{found.path}-{found.line}- {found.text}"
        for found in hits.lines
    ]
    if not hits.matches:
        lines.append(f"[Nothing matches {shown(pattern)}.]")
    more = hits.matches - sum(line.is_match for line in hits.lines)
    if more:
        least = "At least " if hits.is_partial else ""
        where = "1 file" if hits.files == 1 else f"{hits.files} files"
        count = f"[{least}{more} more matching lines; there are matches in {where}."
        lines.append(f"{count} To see less: {remedy}.]")
    if hits.unreadable:
        lines.append(f"[Could not be read: {hits.unreadable}.]")
    return sendable("\n".join(lines))
