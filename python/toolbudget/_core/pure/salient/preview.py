"""The preview itself: lines chosen one by one until the bytes are used up."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, NamedTuple

from toolbudget._core.pure.preview import cut_preview
from toolbudget._core.pure.salient.around import (
    end_of_interest,
    first_lines,
    lines_after,
    lines_before,
    tail_lines,
)
from toolbudget._core.pure.salient.clean import bare
from toolbudget._core.pure.salient.lines import Lines
from toolbudget._core.pure.salient.page import Page
from toolbudget._core.pure.salient.rank import SHOWN_FIRST, SHOWN_LAST, rank
from toolbudget._core.pure.salient.scan import scan
from toolbudget._core.pure.size import utf8_length

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from toolbudget._core.pure.salient.rank import Ranked

__all__ = ["salient_preview"]

# Below this the note alone would take most of the room.
_LEAST_BYTES: Final = 240
# A page with less room than this is full.
_LEAST_ROOM_BYTES: Final = 30
_LEAST_TAIL_BYTES: Final = 60
_FEW_LINES_PERCENT: Final = 75
# With more room left than that, the text is of lines that are all alike.
_UNUSED_PERCENT: Final = 60
# Fewer bytes than a row takes, so that enough lines are looked at.
_SHORT_ROW_BYTES: Final = 6


class _Form(NamedTuple):
    """How the room is shared out; all values were tried on labelled logs."""

    line_chars: int
    tail_percent: int
    last_percent: int
    context_lines: tuple[int, ...]
    before_lines: int


_SMALL: Final = _Form(80, 10, 0, (3, 2, 1), 1)
_MIDDLE: Final = _Form(120, 20, 6, (4, 4, 4, 2, 2, 2, 2, 2, 1), 2)
_LARGE: Final = _Form(160, 20, 6, (4, 4, 4, 2, 2, 2, 2, 2, 1), 2)
_MIDDLE_FROM_BYTES: Final = 1_500
_LARGE_FROM_BYTES: Final = 3_000

# What the first findings get if room is left: more lines around them, and longer stack traces.
_WIDENED: Final = 3
_WIDE_AFTER: Final = 8
_WIDE_BEFORE: Final = 3
_WIDE_FRAMES: Final = 3
_FRAMES: Final = 2


def salient_preview(text: str, max_bytes: int) -> tuple[str, bool]:
    r"""Show the lines of a log or of a command's output that matter most.

    A text that fits comes back whole, made wire-safe. Otherwise a note says how much is shown, and
    the lines follow in their order, each with its number: failures with the lines around them, the
    end, and with room enough the first. If little stands out, the rest of the room shows both ends
    as they are. Only ``\n`` ends a line. Codes for a terminal, overwritten
    text, a CI system's times and superfluous blanks are not shown, and long lines are cut. With
    little room the beginning of the text is shown instead.

    Args:
        text: The whole text.
        max_bytes: UTF-8 bytes that the preview may take, its own note included.

    Returns:
        The preview, and whether anything was left out.

    Example:
        >>> log = "test: ok\n" * 900 + "E   assert 1 == 2\n" + "test: ok\n" * 98
        >>> print(salient_preview(log, 240)[0])
        [3 of 999 lines shown (number:text), 996 left out; 9,000 bytes in all]
        901:E assert 1 == 2
        998:test: ok
        999:test: ok
    """
    text = str.__str__(text)  # methods of a subclass take no part
    head, has_more = cut_preview(text, max_bytes)
    if not has_more or max_bytes < _LEAST_BYTES:
        return head, has_more
    lines = Lines(text)
    found = scan(lines)
    text_bytes = utf8_length(text)
    note_bytes = max(
        len(_note(lines.count, lines.count, lines.count, text_bytes)),
        len(_note_of_all(lines.count, max_bytes, text_bytes)),
    )
    form = _form(max_bytes)
    # A text of few, long lines: each of them may take its share.
    line_chars = max(form.line_chars, _FEW_LINES_PERCENT * max_bytes // 100 // lines.count)
    page = Page(lines, max_bytes - note_bytes, line_chars)
    end = end_of_interest(found, lines.count)
    _add_ends(page, lines, end, form, max_bytes)
    ranked = rank(found, lines.count)
    _add_findings(page, lines, ranked, form)
    _add_tail(page, tail_lines(lines, end), page.room_bytes)
    _add_tail(page, tail_lines(lines, lines.count - 1, is_bare=True), page.room_bytes)
    if page.room_bytes * 100 > max_bytes * _UNUSED_PERCENT:
        _add_doubtful(page, ranked)
        _fill(page, lines, max_bytes)
    if len(page) == 0:
        return head, has_more
    note = _note(len(page), lines.count, lines.count - len(page), text_bytes)
    if len(page) == lines.count:
        # Not whole, or all would have fitted: long lines are cut, and codes are gone.
        note = _note_of_all(lines.count, page.shown_bytes, text_bytes)
    return f"{note}\n{page}", True


def _form(max_bytes: int) -> _Form:
    if max_bytes < _MIDDLE_FROM_BYTES:
        return _SMALL
    return _MIDDLE if max_bytes < _LARGE_FROM_BYTES else _LARGE


def _add_ends(page: Page, lines: Lines, end: int, form: _Form, max_bytes: int) -> None:
    """Show the end of the output; with room enough, the first and the last lines of all as well."""
    _add_tail(page, tail_lines(lines, end), max_bytes * form.tail_percent // 100)
    if form.last_percent == 0:
        return
    page.add_context(first_lines(lines))
    if end + 1 < lines.count:
        last = tail_lines(lines, lines.count - 1)
        _add_tail(page, last, max_bytes * form.last_percent // 100)


def _add_findings(page: Page, lines: Lines, ranked: Sequence[Ranked], form: _Form) -> None:
    shown: list[int] = []
    for weight, number in ranked:
        if weight < SHOWN_FIRST or page.room_bytes < _LEAST_ROOM_BYTES:
            break
        if not page.add(number):
            continue
        limit = form.context_lines[min(len(shown), len(form.context_lines) - 1)]
        shown.append(number)
        frames = _FRAMES if len(shown) <= _WIDENED else 1
        page.add_context(lines_after(lines, number, limit, frames))
        page.add_context(lines_before(lines, number, form.before_lines))
    for number in shown[:_WIDENED]:
        page.add_context(lines_after(lines, number, _WIDE_AFTER, _WIDE_FRAMES))
        page.add_context(lines_before(lines, number, _WIDE_BEFORE))
    for weight, number in ranked:
        if weight < SHOWN_LAST or page.room_bytes < _LEAST_ROOM_BYTES:
            return
        if page.add(number):
            page.add_context(lines_after(lines, number, 1, 1))


def _add_doubtful(page: Page, ranked: Sequence[Ranked]) -> None:
    """Show what else may tell of a failure, with half of the room: nothing else stands out."""
    least_bytes = max(page.room_bytes // 2, _LEAST_ROOM_BYTES)
    for _, number in ranked:
        if page.room_bytes < least_bytes:
            return
        page.add(number)


def _add_tail(page: Page, numbers: Iterable[int], room_bytes: int) -> None:
    least_bytes = page.room_bytes - room_bytes
    for number in numbers:
        if page.room_bytes - _LEAST_TAIL_BYTES <= least_bytes:
            return
        page.add_tail(number)


def _fill(page: Page, lines: Lines, max_bytes: int) -> None:
    """Show the end and the beginning as they are, with half of the room for each."""
    count = min(lines.count, max_bytes // _SHORT_ROW_BYTES)
    half_bytes = page.room_bytes // 2
    last = range(lines.count - 1, lines.count - 1 - count, -1)
    for numbers, least_bytes in ((last, half_bytes), (range(count), 0)):
        for number in numbers:
            if page.room_bytes - _LEAST_ROOM_BYTES < least_bytes:
                break
            if bare(lines.get(number)):
                page.add_plain(number)


def _note_of_all(line_count: int, shown_bytes: int, text_bytes: int) -> str:
    lines = f"{line_count:,} of {line_count:,} lines shown in part (number:text)"
    return f"[{lines}: {shown_bytes:,} of {text_bytes:,} bytes]"


def _note(shown: int, line_count: int, left_out: int, text_bytes: int) -> str:
    counts = f"{shown:,} of {line_count:,} lines shown (number:text), {left_out:,} left out"
    return f"[{counts}; {text_bytes:,} bytes in all]"
