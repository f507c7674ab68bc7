"""Growth curves as SVG: seconds against size, both axes logarithmic."""

from __future__ import annotations

import math
from html import escape
from typing import TYPE_CHECKING, Final

from benches.report_tables import duration

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

__all__ = ["growth_curve"]

Point = tuple[float, float]

WIDTH: Final = 720
HEIGHT: Final = 420
LEFT: Final = 80
RIGHT: Final = 150
TOP: Final = 40
BOTTOM: Final = 50
COLOURS: Final = ("#c0392b", "#1f6fb2", "#2e8b57", "#8e44ad", "#b9770e", "#555555")


class _Axes:
    """Maps sizes and seconds to places in the picture."""

    def __init__(self, points: Sequence[Point]) -> None:
        sizes, seconds = zip(*points, strict=True)
        self.sizes = _decades(sizes)
        self.seconds = _decades(seconds)

    def place(self, size: float, seconds: float) -> Point:
        """Give the place of a point."""
        right = _share(size, self.sizes) * (WIDTH - LEFT - RIGHT)
        up = _share(seconds, self.seconds) * (HEIGHT - TOP - BOTTOM)
        return round(LEFT + right, 1), round(HEIGHT - BOTTOM - up, 1)


def growth_curve(title: str, lines: Mapping[str, Sequence[Point]]) -> str:
    """Draw a line for each way through its points of size and seconds."""
    axes = _Axes([point for points in lines.values() for point in points])
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {HEIGHT}">',
        "<style>text { font: 12px sans-serif }</style>",
        f'<rect width="{WIDTH}" height="{HEIGHT}" fill="white"/>',
        f'<text x="{LEFT}" y="22">{escape(title)}: time against size</text>',
        *_grid(axes),
    ]
    for position, (way, points) in enumerate(lines.items()):
        parts += _line(way, [axes.place(*point) for point in points], position)
    return "\n".join([*parts, "</svg>"]) + "\n"


def _grid(axes: _Axes) -> list[str]:
    """Draw a line and a label at each power of ten."""
    (left_size, right_size), (low_s, high_s) = axes.sizes, axes.seconds
    parts = []
    for power in range(left_size, right_size + 1):
        x, bottom = axes.place(10.0**power, 10.0**low_s)
        parts.append(f'<line x1="{x}" y1="{TOP}" x2="{x}" y2="{bottom}" stroke="#ddd"/>')
        label = f"{10**power:,}"
        parts.append(f'<text x="{x}" y="{bottom + 18}" text-anchor="middle">{label}</text>')
    for power in range(low_s, high_s + 1):
        x, y = axes.place(10.0**left_size, 10.0**power)
        parts.append(f'<line x1="{x}" y1="{y}" x2="{WIDTH - RIGHT}" y2="{y}" stroke="#ddd"/>')
        label = duration(10.0**power)
        parts.append(f'<text x="{x - 8}" y="{y + 4}" text-anchor="end">{label}</text>')
    return parts


def _line(way: str, places: Sequence[Point], position: int) -> list[str]:
    colour = COLOURS[position % len(COLOURS)]
    path = " ".join(f"{x},{y}" for x, y in places)
    x, y = places[-1]
    dots = [f'<circle cx="{x}" cy="{y}" r="3" fill="{colour}"/>' for x, y in places]
    return [
        f'<polyline points="{path}" fill="none" stroke="{colour}" stroke-width="2"/>',
        *dots,
        f'<text x="{x + 8}" y="{y + 4}" fill="{colour}">{escape(way)}</text>',
    ]


def _decades(values: Sequence[float]) -> tuple[int, int]:
    """Give the powers of ten around values; at least one decade."""
    low = math.floor(math.log10(min(values)))
    return low, max(math.ceil(math.log10(max(values))), low + 1)


def _share(value: float, powers: tuple[int, int]) -> float:
    low, high = powers
    return (math.log10(value) - low) / (high - low)
