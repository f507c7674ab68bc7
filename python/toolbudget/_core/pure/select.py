"""Selection by the plain rule: the largest first, until what is left fits."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Sequence

__all__ = ["select_largest"]


def select_largest(sizes: Sequence[int], total: int, limit: float) -> list[int]:
    """Choose what to take away so that ``total`` comes down to ``limit``.

    Args:
        sizes: Size of each item; equal ones are taken in order of appearance.
        total: What all items and everything fixed beside them add up to.
        limit: The largest total that is allowed; may be infinite.

    Returns:
        Indices into ``sizes``, in the order taken.

    Example:
        >>> select_largest([10, 30, 20], total=60, limit=25)
        [1, 2]
    """
    taken: list[int] = []
    for index in sorted(range(len(sizes)), key=lambda index: -sizes[index]):
        if total <= limit:
            break
        taken.append(index)
        total -= sizes[index]
    return taken
