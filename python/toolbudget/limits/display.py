"""Show any value at all in a message that must stay short and on one line."""

from __future__ import annotations

import reprlib
from typing import Final

__all__ = ["shown"]

_MAX_SHOWN_CHARS: Final = 200


class _BoundedRepr(reprlib.Repr):
    def repr_instance(self, x: object, level: int) -> str:  # noqa: ARG002 - as the base
        text = repr(x)
        return text if len(text) <= self.maxother else text[: self.maxother - 3] + "..."


_bounded = _BoundedRepr()
_bounded.maxstring = _MAX_SHOWN_CHARS
_bounded.maxother = _MAX_SHOWN_CHARS
_bounded.maxlong = _MAX_SHOWN_CHARS


def shown(value: object) -> str:
    """Give ``repr(value)``, cut where it is long, and never an exception.

    The text has no line break and no other control character, whatever the value's own ``__repr__``
    returns, so that a value cannot forge a log line.

    Example:
        >>> from toolbudget.limits.display import shown
        >>> shown("10000"), len(shown("x" * 1_000_000))
        ("'10000'", 200)
    """
    try:
        text = _bounded.repr(value)
    except Exception:  # noqa: BLE001 - __repr__ is foreign code, and a huge int has none at all
        return f"<{type(value).__name__}>"
    if text.isprintable():
        return text
    return text.encode("unicode_escape").decode("ascii")
