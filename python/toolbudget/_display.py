"""Show any value at all in a message that must stay short and on one line."""

from __future__ import annotations

import os
import reprlib
from typing import Final

__all__ = ["quoted_path", "shown"]

_MAX_SHOWN_CHARS: Final = 200
# PATH_MAX of Linux: a longer one is none, and any shorter one is wanted whole.
_MAX_PATH_CHARS: Final = 4_096


class _BoundedRepr(reprlib.Repr):
    """The same text on every version of Python, and no address of a value that has no text."""

    def __init__(self, max_chars: int) -> None:
        super().__init__()
        self.maxstring = self.maxother = self.maxlong = max_chars

    def repr_int(self, x: int, level: int) -> str:
        try:
            text = repr(x)
        except ValueError:  # it has more digits than are printed; 3.14 would give its address
            return f"<{type(x).__name__}>"
        return text if len(text) <= self.maxlong else super().repr_int(x, level)

    def repr_instance(self, x: object, level: int) -> str:  # noqa: ARG002 - as the base
        text = repr(x)
        return text if len(text) <= self.maxother else text[: self.maxother - 3] + "..."


def shown(value: object, max_chars: int = _MAX_SHOWN_CHARS) -> str:
    """Give ``repr(value)``, cut where it is long, and never an exception.

    The text has no line break and no other control character, whatever the value's own ``__repr__``
    returns, so that a value cannot forge a log line.

    Args:
        value: Anything.
        max_chars: How long a text, a number or an object may be, alone or inside of a container.

    Example:
        >>> from toolbudget._display import shown
        >>> shown("10000"), len(shown("x" * 1_000_000)), shown(10**5_000)
        ("'10000'", 200, '<int>')
    """
    try:
        text = _BoundedRepr(max_chars).repr(value)
    except Exception:  # noqa: BLE001 - __repr__ is foreign code
        return f"<{type(value).__name__}>"
    if text.isprintable():
        return text
    return text.encode("unicode_escape").decode("ascii")


def quoted_path(path: object) -> str:
    """Give the same of a path, which is cut only where no file can have it."""
    is_path = isinstance(path, str | os.PathLike)
    return shown(path, _MAX_PATH_CHARS if is_path else _MAX_SHOWN_CHARS)
