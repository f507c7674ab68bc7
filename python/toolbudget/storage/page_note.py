"""What a reader is told below a page: what it is a part of, and how to go on."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from toolbudget._core.pure.replacement import format_size

if TYPE_CHECKING:
    from toolbudget.storage.text_page import TextPage

__all__ = ["page_with_note"]

_PLAIN_ENCODING: Final = "UTF-8"


def page_with_note(page: TextPage, *, end_line: int | None = None) -> str:
    """Return a page as a model is shown it.

    A text that is shown whole, and as it is, stands alone; else a last line in brackets follows.

    Args:
        page: The page.
        end_line: The last line that was asked for.
    """
    notes = [*_notes(page, end_line)]
    if not notes:
        return page.text
    separator = "" if not page.text or page.text.endswith("\n") else "\n"
    return f"{page.text}{separator}[{' '.join(notes)}]"


def _notes(page: TextPage, end_line: int | None) -> list[str]:
    notes: list[str] = []
    if page.has_more:
        notes += [f"{_part(page)} of {format_size(page.size_bytes)}.", _way_on(page, end_line)]
    elif not page.size_bytes:
        notes.append("The file is empty.")
    elif page.start_line is None or page.start_line > 1:
        notes.append(f"{_part(page)}.")
    if page.encoding != _PLAIN_ENCODING:
        notes.append(f"{page.encoding}.")
    if not page.is_exact:
        broken = "Not all of it is text that can be shown:"
        notes.append(f"{broken} bytes are written as \\xNN, NUL and lone surrogates as \ufffd.")
    return notes


def _part(page: TextPage) -> str:
    bytes_shown = f"bytes {page.start_byte}-{page.end_byte}"
    if page.start_line is None:
        return bytes_shown.capitalize()
    if page.start_line == page.end_line:
        return f"Line {page.start_line}, {bytes_shown}"
    return f"Lines {page.start_line}-{page.end_line}, {bytes_shown}"


def _way_on(page: TextPage, end_line: int | None) -> str:
    if page.next_start_line is None:
        return f"Continue with start_byte={page.next_start_byte}."
    until = "" if end_line is None else f", end_line={end_line}"
    return f"Continue with start_line={page.next_start_line}{until}."
