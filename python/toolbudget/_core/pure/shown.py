"""Previews in any style: which one a text gets, and in which form it came out."""

from __future__ import annotations

from collections.abc import Callable
from types import MappingProxyType
from typing import TYPE_CHECKING, Final, Literal, NamedTuple, TypeAlias

from toolbudget._core.pure.preview import cut_preview, preview_window
from toolbudget._core.pure.styles import (
    HEAD_TAIL_VERSION,
    JSON_VERSION,
    OUTLINE_VERSION,
    SALIENT_VERSION,
    TABLE_VERSION,
    head_tail_preview,
    json_preview,
    salient_preview,
    table_preview,
)

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

__all__ = ["STYLE_VERSIONS", "OutlinePreview", "PreviewStyle", "Shown", "show_preview"]

PreviewStyle: TypeAlias = Literal["head", "head_tail", "salient", "json", "outline", "auto"]

OutlinePreview: TypeAlias = Callable[[str, int], tuple[str, bool] | None]
"""Shows the outline of source code within so many bytes; ``None`` if it cannot be parsed."""

STYLE_VERSIONS: Final[Mapping[str, int]] = MappingProxyType(
    {
        "head_tail": HEAD_TAIL_VERSION,
        "json": JSON_VERSION,
        "outline": OUTLINE_VERSION,
        "salient": SALIENT_VERSION,
        "table": TABLE_VERSION,
    }
)
"""By the form of a preview: which version of it is made now. That of ``head`` never changes."""


class Shown(NamedTuple):
    """A preview.

    Attributes:
        text: Safe to stand in a frame.
        has_more: Whether anything of the text was left out.
        style: The form it came out in: ``head``, ``head_tail``, ``salient``, ``json``, ``table`` or
            ``outline``. It is ``head`` wherever the beginning of the text is all that is shown.
    """

    text: str
    has_more: bool
    style: str


def show_preview(
    parts: Sequence[str],
    max_bytes: int,
    style: str,
    outline: OutlinePreview | None = None,
) -> Shown:
    r"""Show the text that ``parts`` make when they are joined, in a style.

    A text that fits comes back whole. A style that has nothing better to show, or too little room,
    shows the beginning. ``json`` shows tables as well. ``outline`` shows the beginning and the end
    of what cannot be outlined. ``auto`` chooses by what the text begins with: ``json`` for JSON and
    tables, ``outline`` for source code, ``salient`` for logs and other output line by line, and
    ``head_tail`` for all else.

    Args:
        parts: The texts.
        max_bytes: UTF-8 bytes that the preview may take, its notes included.
        style: How to choose what is shown.
        outline: Shows the outline of source code; without it there are none.

    Example:
        >>> log = "test: ok\n" * 900 + "E   assert 1 == 2\n" + "test: ok\n" * 98
        >>> shown = show_preview((log,), 240, "auto")
        >>> shown.style, shown.text.splitlines()[1]
        ('salient', '901:E assert 1 == 2')
    """
    max_bytes = max(0, max_bytes)
    head, has_more = cut_preview(preview_window(parts, max_bytes), max_bytes)
    if style == "head" or not has_more or max_bytes == 0:
        return Shown(head, has_more, "head")
    text = str.__str__(parts[0]) if len(parts) == 1 else "".join(parts)
    found, form = _show(text, max_bytes, style, outline)
    if found is None or found == head:
        if style not in {"auto", "outline"}:
            return Shown(head, has_more, "head")
        found, form = head_tail_preview(text, max_bytes)[0], "head_tail"
    return Shown(found, has_more, "head" if found == head else form)


def _show(
    text: str, max_bytes: int, style: str, outline: OutlinePreview | None
) -> tuple[str | None, str]:
    """Give a preview and its form; none, or the beginning of the text, if nothing fits."""
    if style == "json":
        return _structured(text, max_bytes)
    if style == "auto":
        return _by_kind(text, max_bytes, outline)
    if style == "outline":
        return _outlined(text, max_bytes, outline), style
    make = salient_preview if style == "salient" else head_tail_preview
    return make(text, max_bytes)[0], style


def _by_kind(text: str, max_bytes: int, outline: OutlinePreview | None) -> tuple[str | None, str]:
    # Here, as those of the styles: its regular expressions are compiled by the import.
    from toolbudget._core.pure.kind import KIND_WINDOW_CHARS, kind_of

    kind = kind_of(text[:KIND_WINDOW_CHARS].encode("utf-8", "surrogatepass"))
    found, form = _structured(text, max_bytes, may_be_json=kind == "json")
    if found is not None:
        return found, form
    if kind == "code":
        return _outlined(text, max_bytes, outline), "outline"
    if kind == "other":
        return None, "head_tail"
    return salient_preview(text, max_bytes)[0], "salient"


def _structured(text: str, max_bytes: int, *, may_be_json: bool = True) -> tuple[str | None, str]:
    head = cut_preview(text, max_bytes)[0]
    if may_be_json and (found := json_preview(text, max_bytes)[0]) != head:
        return found, "json"
    found = table_preview(text, max_bytes)[0]
    return None if found == head else found, "table"


def _outlined(text: str, max_bytes: int, outline: OutlinePreview | None) -> str | None:
    made = None if outline is None else outline(text, max_bytes)
    return cut_preview(made[0], max_bytes)[0] or None if made else None
