"""Previews and replacements as plain functions."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, NamedTuple

from toolbudget import _core as core
from toolbudget._display import shown as shown_value
from toolbudget.budget.outlines import outline_for
from toolbudget.errors import ConfigError
from toolbudget.limits import PREVIEW_SIZE_BYTES
from toolbudget.limits.environment import PREVIEW_STYLES
from toolbudget.limits.validation import choice
from toolbudget.storage._paths import refuse_unshowable

if TYPE_CHECKING:
    from toolbudget.limits import PreviewStyle

__all__ = ["Preview", "build_replacement", "generate_preview"]


class Preview(NamedTuple):
    """The leading part of a text.

    Attributes:
        text: At most so many bytes in UTF-8 as were asked for; safe to put into a request.
        has_more: Whether anything was left out.

    Example:
        >>> from toolbudget import generate_preview
        >>> text, has_more = generate_preview("a short text")
        >>> text, has_more
        ('a short text', False)
    """

    text: str
    has_more: bool


def generate_preview(text: str, max_bytes: int = PREVIEW_SIZE_BYTES) -> Preview:
    r"""Cut the leading part of a text, in time that does not depend on its length.

    NUL and lone surrogates become U+FFFD, and the ``<`` of our frame's tags ``&lt;``. The cut never
    falls inside a character; it falls at the last line break that is strictly past half of
    ``max_bytes``, if there is one.

    Args:
        text: Any text.
        max_bytes: Largest size in UTF-8 bytes.

    Raises:
        TypeError: ``text`` is no text; bytes are not guessed at.
        ConfigError: ``max_bytes`` is no whole number of at least 0.

    Example:
        >>> from toolbudget import generate_preview
        >>> generate_preview("one\ntwo\nthree", max_bytes=9)
        Preview(text='one\ntwo', has_more=True)
    """
    if not isinstance(text, str):
        raise TypeError(f"text must be str, not {type(text).__name__}")
    _check_bytes("max_bytes", max_bytes)
    return Preview(*core.cut_preview(text, max_bytes))


def build_replacement(
    text: str,
    path: str,
    *,
    preview_bytes: int = PREVIEW_SIZE_BYTES,
    style: PreviewStyle = "head",
) -> str:
    """Build the exact string that stands in for a text.

    Args:
        text: The full text.
        path: Where the model can read it.
        preview_bytes: Size of the preview in UTF-8 bytes; 0 leaves it out.
        style: How the preview is chosen, as for ``Limits(preview_style=)``.

    Raises:
        TypeError: ``text`` is no text; bytes are not guessed at.
        ConfigError: ``style`` is unknown, or needs packages that are not installed, or
            ``preview_bytes`` is no whole number of at least 0, or ``path`` could not be shown in
            one line inside the frame.

    Example:
        >>> import toolbudget
        >>> print(toolbudget.build_replacement("abc", "/results/t1.txt", preview_bytes=0))
        <persisted-output>
        Output too large (3 bytes). Full output saved to: /results/t1.txt
        </persisted-output>
    """
    if not isinstance(text, str):
        raise TypeError(f"text must be str, not {type(text).__name__}")
    given_path = os.fspath(path) if isinstance(path, os.PathLike) else path
    refuse_unshowable(given_path, "path (argument)")
    _check_bytes("preview_bytes", preview_bytes)
    choice(style, "style", PREVIEW_STYLES)
    shown = None
    if style != "head" and preview_bytes > 0:
        shown = core.show_preview((text,), preview_bytes, style, outline_for(style))
    return core.build_replacement(text, given_path, preview_bytes=preview_bytes, shown=shown)


def _check_bytes(field: str, value: object) -> None:
    """Refuse what is no size of a preview.

    Raises:
        ConfigError: It is no whole number of at least 0.
    """
    if type(value) is not int or value < 0:
        raise ConfigError(f"{field} (argument) must be a whole number >= 0: {shown_value(value)}")
