"""The preview style ``head_tail``: the beginning and the end of a text, and what lies between."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from toolbudget._core.pure.preview import cut_preview, make_wire_safe
from toolbudget._core.pure.size import utf8_length

if TYPE_CHECKING:
    from collections.abc import Callable

__all__ = ["head_tail_preview"]

_HEAD_PERCENT: Final = 70
# With less room beside the note the beginning alone is shown.
_LEAST_ROOM_BYTES: Final = 100


def head_tail_preview(text: str, max_bytes: int) -> tuple[str, bool]:
    r"""Show 70 percent from the beginning and 30 percent from the end, with a note between them.

    A text that fits comes back whole, made wire-safe. Both parts end at a line end if one is near,
    and never inside a character. Lines count as left out if nothing of them is shown; if there are
    none, the bytes do. With little room the beginning is shown instead.

    Args:
        text: The whole text.
        max_bytes: UTF-8 bytes that the preview may take, its note included.

    Returns:
        The preview, and whether anything was left out.

    Example:
        >>> print(head_tail_preview("".join(f"line {n}\n" for n in range(9_999)), 190)[0])
        line 0
        line 1
        ...
        [... 9,984 of 9,999 lines left out; 98,880 bytes in all ...]
        ...
        line 9998
        <BLANKLINE>
    """
    text = str.__str__(text)  # methods of a subclass take no part
    head, has_more = cut_preview(text, max_bytes)
    if not has_more:
        return head, has_more
    line_count = text.count("\n") + (not text.endswith("\n"))
    text_bytes = utf8_length(text)
    room_bytes = max_bytes - len(_note(line_count, line_count, text_bytes))
    if room_bytes < _LEAST_ROOM_BYTES:
        return head, has_more
    head_bytes = room_bytes * _HEAD_PERCENT // 100
    head_chars = _head_chars(text, head_bytes)
    tail_chars = min(_tail_chars(text, room_bytes - head_bytes), len(text) - head_chars)
    tail_start = len(text) - tail_chars
    left_out = max(0, text.count("\n", head_chars, tail_start) - 1)
    head, tail = text[:head_chars], text[tail_start:]
    note = _note(left_out, line_count, text_bytes)
    if left_out == 0:
        shown_bytes = utf8_length(head) + utf8_length(tail)
        note = _note_of_bytes(text_bytes - shown_bytes, text_bytes)
    return make_wire_safe(head) + note + make_wire_safe(tail), True


def _head_chars(text: str, room_bytes: int) -> int:
    """Tell how many characters of the beginning are shown."""
    chars = _most_chars(lambda count: text[:count], len(text), room_bytes)
    line_end = text.rfind("\n", 0, chars)
    return line_end if 2 * line_end > chars else chars


def _tail_chars(text: str, room_bytes: int) -> int:
    """Tell how many characters of the end are shown."""
    chars = _most_chars(lambda count: text[len(text) - count :], len(text), room_bytes)
    start = len(text) - chars
    line_end = text.find("\n", start, start + chars // 2)
    return chars if line_end < 0 else len(text) - line_end - 1


def _most_chars(part: Callable[[int], str], text_chars: int, room_bytes: int) -> int:
    """Find the largest count for which the safe form of ``part(count)`` takes so many bytes."""
    least, most = 0, min(text_chars, room_bytes)
    while least < most:
        middle = (least + most + 1) // 2
        if utf8_length(make_wire_safe(part(middle))) <= room_bytes:
            least = middle
        else:
            most = middle - 1
    return least


def _note_of_bytes(left_out_bytes: int, text_bytes: int) -> str:
    """Say what is left out where something of every line is shown; no longer than other notes."""
    return f"\n[... {left_out_bytes:,} of {text_bytes:,} bytes left out ...]\n"


def _note(left_out: int, line_count: int, text_bytes: int) -> str:
    counts = f"{left_out:,} of {line_count:,} lines left out; {text_bytes:,} bytes in all"
    return f"\n[... {counts} ...]\n"
