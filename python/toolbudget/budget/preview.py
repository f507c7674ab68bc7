"""Previews as a plain function."""

from __future__ import annotations

from typing import NamedTuple

from toolbudget import _core as core
from toolbudget.errors import ConfigError
from toolbudget.limits import PREVIEW_SIZE_BYTES

__all__ = ["Preview", "generate_preview"]


class Preview(NamedTuple):
    """The leading part of a text.

    Attributes:
        text: At most so many bytes in UTF-8 as were asked for; safe to put into a request.
        has_more: Whether anything was left out.
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
    if type(max_bytes) is not int or max_bytes < 0:
        raise ConfigError(f"max_bytes (argument) must be a whole number >= 0: {max_bytes!r}")
    return Preview(*core.cut_preview(text, max_bytes))
