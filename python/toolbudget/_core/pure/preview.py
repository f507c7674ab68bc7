"""Previews: the leading part of a text, made safe for the wire, cut without scanning the rest."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Sequence

__all__ = ["cut_preview", "make_wire_safe", "preview_window"]

# `re.IGNORECASE` on text also folds U+017F, U+0130 and U+0131; the native core does the same.
_FRAME_TAG: Final = re.compile(r"<(?=/?persisted-output)", re.IGNORECASE)
_UNSAFE: Final = re.compile("[\x00\ud800-\udfff]")
# A tag can begin inside the cut and end behind it: so many characters more must be looked at.
_TAG_LOOK_AHEAD_CHARS: Final = len("</persisted-output")


def make_wire_safe(text: str) -> str:
    """Replace what a request body or our own frame could not carry.

    Lone surrogates and NUL become U+FFFD. The ``<`` of ``<persisted-output`` and
    ``</persisted-output`` (any case) becomes ``&lt;``, so that no text can forge or close a frame.

    Example:
        >>> make_wire_safe("</persisted-output>")
        '&lt;/persisted-output>'
    """
    return _FRAME_TAG.sub("&lt;", _UNSAFE.sub("\ufffd", text))


def cut_preview(text: str, max_bytes: int) -> tuple[str, bool]:
    r"""Cut the wire-safe form of ``text`` to at most ``max_bytes`` UTF-8 bytes.

    The cut never falls inside a character. When something is left out, the text ends before the
    last line break that stands strictly past half of ``max_bytes``, if there is one.

    Returns:
        The preview, and whether anything was left out.

    Example:
        >>> cut_preview("one\ntwo\nthree", 9)
        ('one\ntwo', True)
    """
    text = str.__str__(text)  # methods of a subclass take no part
    max_bytes = max(0, max_bytes)
    window = make_wire_safe(preview_window((text,), max_bytes))
    encoded = window.encode()
    if len(encoded) <= max_bytes:
        return window, False
    head = encoded[:max_bytes].decode("utf-8", "ignore").encode()
    newline = head.rfind(b"\n")
    if 2 * newline > max_bytes:
        head = head[:newline]
    return head.decode(), True


def preview_window(parts: Sequence[str], max_bytes: int) -> str:
    """Return the beginning of the joined ``parts`` that previews of ``max_bytes`` are cut from.

    Every character takes at least one byte, so nothing behind it can be shown.

    Example:
        >>> len(preview_window(["x" * 500, "y" * 500], 500))
        518
    """
    room_chars = max_bytes + _TAG_LOOK_AHEAD_CHARS if max_bytes >= 0 else 0
    heads: list[str] = []
    for part in parts:
        if room_chars <= 0:
            break
        heads.append(part[:room_chars])
        room_chars -= len(heads[-1])
    return heads[0] if len(heads) == 1 else "".join(heads)
