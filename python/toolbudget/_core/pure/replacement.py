"""The replacement text that stands in for a result, and how one is recognised."""

from __future__ import annotations

from typing import Final

from toolbudget._core.pure.preview import cut_preview
from toolbudget._core.pure.shown import Shown
from toolbudget._core.pure.size import utf8_length

__all__ = [
    "FRAME_CHARS",
    "REFERENCE_MAX_CHARS",
    "build_replacement",
    "format_size",
    "is_framed_reference",
]

OPENING: Final = "<persisted-output>\n"
CLOSING: Final = "\n</persisted-output>"
# Other programs' references are at most this long; a larger text in the same frame is plain data.
REFERENCE_MAX_CHARS: Final = 16_384

_NOTICE: Final = "Output too large ({size}). Full output saved to: {path}"
# No replacement is shorter: what a text of at most this length could gain need not be tried.
FRAME_CHARS: Final = len(OPENING + _NOTICE.format(size="", path="") + CLOSING)

# What the label says that a preview shows, by its form.
_SHOWN: Final = {
    "head_tail": "start and end",
    "json": "JSON in part",
    "outline": "outline of the code",
    "salient": "selected lines",
    "table": "first and last rows",
}

_KILO: Final = 1024
_UNITS: Final = ("KB", "MB", "GB")


def format_size(size_bytes: int) -> str:
    """Write a byte count for a reader: ``812 bytes``, ``82.3KB``, ``2MB``.

    Units are of 1024, with one decimal rounded half up on integers; ``.0`` is dropped.

    Example:
        >>> format_size(84_275)
        '82.3KB'
    """
    if size_bytes < _KILO:
        return f"{size_bytes} bytes"
    exponent = 1
    while exponent < len(_UNITS) and size_bytes >= _KILO ** (exponent + 1):
        exponent += 1
    unit_bytes = _KILO**exponent
    tenths = (20 * size_bytes + unit_bytes) // (2 * unit_bytes)
    whole, tenth = divmod(tenths, 10)
    return f"{whole}.{tenth}{_UNITS[exponent - 1]}" if tenth else f"{whole}{_UNITS[exponent - 1]}"


def build_replacement(
    text: str,
    path: str,
    *,
    preview_bytes: int,
    reader_hint: str | None = None,
    size_bytes: int | None = None,
    shown: Shown | None = None,
) -> str:
    r"""Build the exact string that stands in for ``text``.

    It depends on nothing but its arguments: no clock, locale or platform takes part in it.

    Args:
        text: The full text that was stored.
        path: Where the model can read it.
        preview_bytes: Largest size of the preview in UTF-8 bytes; 0 leaves the preview out.
        reader_hint: A line about the host's own reader, behind the path line.
        size_bytes: UTF-8 bytes of ``text``, if they are known already.
        shown: The preview; by default, and in the style ``head``, the beginning of ``text``.

    Example:
        >>> print(build_replacement("x" * 5000, "/tmp/t.txt", preview_bytes=10))
        <persisted-output>
        Output too large (4.9KB). Full output saved to: /tmp/t.txt
        <BLANKLINE>
        Preview (first 10 bytes):
        xxxxxxxxxx
        ...
        </persisted-output>
    """
    size = format_size(utf8_length(text) if size_bytes is None else size_bytes)
    lines = [_NOTICE.format(size=size, path=path)]
    if reader_hint is not None:
        lines.append(reader_hint)
    if preview_bytes > 0:
        lines += _preview_lines(text, preview_bytes, shown)
    return OPENING + "\n".join(lines) + CLOSING


def _preview_lines(text: str, preview_bytes: int, shown: Shown | None) -> list[str]:
    label = f"first {format_size(preview_bytes)}"
    if shown is None:
        shown = Shown(*cut_preview(text, preview_bytes), "head")
    elif shown.style != "head":
        label = f"{_SHOWN[shown.style]}, at most {format_size(preview_bytes)}"
    lines = ["", f"Preview ({label}):", shown.text]
    return [*lines, "..."] if shown.has_more else lines


def is_framed_reference(text: str) -> bool:
    r"""Tell whether ``text`` looks like another program's reference: framed, and short.

    Example:
        >>> is_framed_reference("<persisted-output>\nsaved\n</persisted-output>\n")
        True
        >>> is_framed_reference("<persisted-output>\nsaved")
        False
    """
    return (
        len(text) <= REFERENCE_MAX_CHARS
        and text.startswith(OPENING)
        and text.rstrip().endswith(CLOSING)
    )
