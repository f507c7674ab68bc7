"""The kept results of a record, as JSON: what most turns of a session have to record."""

from __future__ import annotations

import json
import re
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable

    from toolbudget._core.pure.decision import Key

__all__ = ["kept_json", "most_bytes", "survives_json"]

# A character beyond the first 65,536 becomes two escapes of six bytes.
_ESCAPED_BYTES: Final = 12
_SURROGATE_PAIR: Final = re.compile("[\ud800-\udbff][\udc00-\udfff]")
_ENCODER: Final = json.JSONEncoder(ensure_ascii=True, allow_nan=False, separators=(",", ":"))


def kept_json(
    keys: Iterable[Key],
    left_out: Collection[Key],
    *,
    max_id_bytes: int,
    max_part_chars: int,
) -> list[bytes]:
    """Write results as records name them: lists of id, size and hash, as ASCII JSON.

    Each result stands there once, where it comes first. One whose id no record can hold is left
    out.

    Args:
        keys: The results.
        left_out: Those that are not to be written.
        max_id_bytes: What an id may take in a record, reckoned with :func:`most_bytes`.
        max_part_chars: Characters of ids and hashes after which another part begins.

    Returns:
        One list for each record, as JSON; at least one.

    Example:
        >>> from toolbudget._core.pure import Fingerprint, Key
        >>> keys = [Key("t1", Fingerprint(3, "a9")), Key("t2", Fingerprint(5, "c1"))]
        >>> kept_json(keys, (), max_id_bytes=1_000, max_part_chars=1_000)
        [b'[["t1",3,"a9"],["t2",5,"c1"]]']
    """
    part: list[tuple[str, int, str]] = []
    parts, chars = [part], 0
    for key in dict.fromkeys(keys):
        tool_use_id, (size_chars, text_hash) = key
        is_recordable = most_bytes(tool_use_id) <= max_id_bytes and survives_json(tool_use_id)
        if key in left_out or not is_recordable:
            continue
        if chars > max_part_chars:
            part, chars = [], 0
            parts.append(part)
        part.append((tool_use_id, size_chars, text_hash))
        chars += len(tool_use_id) + len(text_hash)
    return [_ENCODER.encode(part).encode("ascii") for part in parts]


def most_bytes(text: str) -> int:
    r"""Reckon what a text takes in a record, escapes of ASCII characters not counted.

    Example:
        >>> most_bytes("abc"), most_bytes("ab\u00e9")
        (3, 36)
    """
    return len(text) * (1 if text.isascii() else _ESCAPED_BYTES)


def survives_json(text: str) -> bool:
    r"""Tell whether a text is the same once it was written as JSON and read again.

    JSON cannot tell a character beyond the first 65,536 from the two surrogates that stand for it.

    Example:
        >>> survives_json("\U0001f600"), survives_json("\ud83d"), survives_json("\ud83d" + "\ude00")
        (True, True, False)
    """
    return text.isascii() or not _SURROGATE_PAIR.search(text)
