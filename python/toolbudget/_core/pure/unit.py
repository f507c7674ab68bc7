"""Units that the size of a text can be measured in."""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal, TypeAlias

from toolbudget._core.pure.size import utf8_length
from toolbudget._core.pure.tokens import estimate_tokens

if TYPE_CHECKING:
    from collections.abc import Sequence

__all__ = ["Unit", "measure"]

Unit: TypeAlias = Literal["chars", "tokens", "bytes"]


def measure(parts: Sequence[str], unit: Unit) -> int:
    """Measure the text that ``parts`` make when they are joined.

    Example:
        >>> [measure(["日本", "!"], unit) for unit in ("chars", "tokens", "bytes")]
        [3, 4, 7]
    """
    if unit == "tokens":
        return estimate_tokens(parts)
    if unit == "bytes":
        return sum(map(utf8_length, parts))
    return sum(map(str.__len__, parts))
