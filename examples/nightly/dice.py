"""Choices that look random and are the same on every machine and every Python."""

from __future__ import annotations

import random
from typing import TYPE_CHECKING, Final, TypeVar

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

__all__ = ["Dice", "fit"]

T = TypeVar("T")

_HEXADECIMAL: Final = "0123456789abcdef"


class Dice:
    """Draws from a sequence that depends on its seed alone.

    Only ``random()`` of the generator is used: its numbers are promised to stay the same.
    """

    def __init__(self, seed: str) -> None:
        self._random = random.Random(f"tidewatch {seed}")  # noqa: S311 - a story, not a secret

    def number(self, low: int, high: int) -> int:
        """Draw a whole number, both ends included."""
        return low + int(self._random.random() * (high - low + 1))

    def pick(self, items: Sequence[T]) -> T:
        """Draw one of the items."""
        return items[self.number(0, len(items) - 1)]

    def happens(self, *, percent: int) -> bool:
        """Tell whether something happens that does so in ``percent`` of all cases."""
        return self.number(1, 100) <= percent

    def text(self, length: int, alphabet: str = _HEXADECIMAL) -> str:
        """Draw characters, hexadecimal digits by default."""
        return "".join(self.pick(alphabet) for _ in range(length))


def fit(head: Sequence[str], body: Iterator[str], tail: Sequence[str], *, max_chars: int) -> str:
    """Join the lines of a head, as many of an endless body as there is room for, and a tail."""
    lines = list(head)
    room_chars = max_chars - sum(len(line) + 1 for line in [*head, *tail])
    for line in body:
        room_chars -= len(line) + 1
        if room_chars < 0:
            break
        lines.append(line)
    return "\n".join([*lines, *tail])
