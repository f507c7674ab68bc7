"""Stepping over JSON text: from the start of a value to its end, from one member to the next."""

from __future__ import annotations

import json
import re
from typing import Final

from toolbudget.errors import InvalidMessageError

__all__ = ["damaged", "read_key", "skip_blanks", "skip_value"]

_SHOWN_BYTES: Final = 20

# Possessive throughout: no backtracking, so time and memory do not depend on what stands there.
_INSIDE_STRING: Final = rb'[^"\\]*+(?:\\.[^"\\]*+)*+"'
_BLANKS: Final = re.compile(rb"[ \t\n\r]*+")
_STRING: Final = re.compile(rb'"' + _INSIDE_STRING, re.DOTALL)
_SCALAR: Final = re.compile(rb"[^ \t\n\r,:\[\]{}\"]++")
_TO_NEXT_BRACKET: Final = re.compile(
    rb'[^"\[\]{}]*+(?:"' + _INSIDE_STRING + rb'[^"\[\]{}]*+)*+([\[\]{}])', re.DOTALL
)


def skip_blanks(data: bytes, start: int) -> int:
    """Return the position of the first byte from ``start`` on that is no JSON white space."""
    blanks = _BLANKS.match(data, start)
    return blanks.end() if blanks else start


def skip_value(data: bytes, start: int) -> int:
    """Return the position behind the value that begins at ``start``.

    Raises:
        InvalidMessageError: No whole value stands there.
    """
    if data[start : start + 1] in {b"{", b"["}:
        return _skip_container(data, start)
    found = _STRING.match(data, start) or _SCALAR.match(data, start)
    if found is None:
        raise damaged(data, start)
    return found.end()


def read_key(data: bytes, start: int) -> tuple[str, int]:
    """Return the key that begins at ``start``, decoded, and the position of its value.

    Raises:
        InvalidMessageError: No key and colon stand there.
    """
    token = _STRING.match(data, start)
    if token is None:
        raise damaged(data, start)
    colon = skip_blanks(data, token.end())
    if data[colon : colon + 1] != b":":
        raise damaged(data, colon)
    return _decode_key(token[0]), skip_blanks(data, colon + 1)


def damaged(data: bytes, position: int) -> InvalidMessageError:
    """Return the error for text that is not what it should be at ``position``."""
    shown = data[position : position + _SHOWN_BYTES]
    return InvalidMessageError(f"not JSON at byte {position}: {shown!r}")


def _decode_key(token: bytes) -> str:
    if b"\\" not in token:
        return token[1:-1].decode("utf-8", "surrogatepass")
    key: str = json.loads(token)
    return key


def _skip_container(data: bytes, start: int) -> int:
    depth = 1
    position = start + 1
    while depth:
        bracket = _TO_NEXT_BRACKET.match(data, position)
        if bracket is None:
            raise damaged(data, position)
        depth += 1 if bracket[1] in {b"{", b"["} else -1
        position = bracket.end()
    return position
