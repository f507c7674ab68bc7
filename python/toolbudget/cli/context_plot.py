"""The plot of ``toolbudget context``: as SVG, or drawn with characters."""

from __future__ import annotations

import importlib
import math
import re
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from toolbudget.cli.failure import CommandError
from toolbudget.cli.wording import printable
from toolbudget.cli.writing import write_named

if TYPE_CHECKING:
    from collections.abc import Sequence

    from toolbudget.cli.context_history import Turn
    from toolbudget.cli.context_report import ContextReport

__all__ = ["draw_svg", "draw_text", "require_library", "sampled", "without_extras", "write_svg"]

# More points than a picture has room for only make it large and slow.
_MAX_POINTS: Final = 400
_MAJOR_LABELS: Final = 10
_TEXT_ROWS: Final = 16
# What stands beside the drawing: numbers and name of the axes.
_AXIS_COLUMNS: Final = 24
_MIN_TEXT_COLUMNS: Final = 20
# So far apart are the numbers that the library writes below a drawing.
_TICK_COLUMNS: Final = 10
_ROUNDED: Final = 1e-6
# Braille: eight dots in each character.
_BLANK_DOTS: Final = "\u2800"
_DOTS: Final = re.compile("[\u2801-\u28ff]")
# Name, attribute of a turn, colour: the quiet one for what is there anyway.
_SERIES: Final = (
    ("cached", "cached_tokens", "#9ecae1"),
    ("new", "new_tokens", "#2171b5"),
    ("output", "output_tokens", "#31a354"),
    ("estimated", "estimated_tokens", "#fd8d3c"),
)


def write_svg(report: ContextReport, path: str) -> None:
    """Draw the turns and put the picture under its name, in the place of an earlier one.

    Raises:
        CommandError: The extra is missing, or the file cannot be written.
    """
    write_named(path, draw_svg(report))


def draw_svg(report: ContextReport) -> bytes:
    """Draw the turns as stacked areas, with lines where the thresholds are.

    Raises:
        CommandError: The extra is missing.
    """
    pygal = require_library("pygal", "--plot")
    turns = sampled(report.main.turns)
    check = report.check
    chart = pygal.StackedLine(
        fill=True,
        show_dots=False,
        js=[],  # by default the picture would fetch a script from elsewhere
        title=f"Tokens in the context of {printable(Path(report.input_path).name)}",
        x_title="turn",
        show_minor_x_labels=False,
        legend_at_bottom=True,
        style=pygal.style.Style(colors=tuple(color for _name, _attribute, color in _SERIES)),
        range=(0, max([check.size_tokens, *(turn.used_tokens for turn in turns)])),
        value_formatter=lambda tokens: f"{tokens:,.0f}",
    )
    chart.y_labels = [
        {"label": "0", "value": 0},
        {"label": f"near {check.near_tokens:,}", "value": check.near_tokens},
        {"label": f"over {check.over_tokens:,}", "value": check.over_tokens},
        {"label": f"size {check.size_tokens:,}", "value": check.size_tokens},
    ]
    chart.x_labels = [str(turn.number) for turn in turns]
    chart.x_labels_major_every = max(len(turns) // _MAJOR_LABELS, 1)
    for name, attribute, _color in _SERIES:
        chart.add(name, [getattr(turn, attribute) for turn in turns])
    chart.uuid = "context"  # else a random one: the picture of one transcript is always the same
    chart.add_xml_filter(without_extras)
    picture: bytes = chart.render()
    return picture


def draw_text(report: ContextReport, *, columns: int, has_colors: bool, is_ascii: bool) -> str:
    """Draw what is used at each turn with characters, and the thresholds as lines.

    Args:
        report: What to draw.
        columns: How wide it may be.
        has_colors: Whether the terminal has colours, and they are wanted.
        is_ascii: Whether the terminal can show nothing else.

    Raises:
        CommandError: The extra is missing.
    """
    plotille = require_library("plotille", "--plot")
    turns = sampled(report.main.turns)
    check = report.check
    figure = plotille.Figure()
    last = max([2, *(turn.number for turn in turns)])
    figure.width, end = _even_axis(last, max(columns - _AXIS_COLUMNS, _MIN_TEXT_COLUMNS))
    figure.height = _TEXT_ROWS
    figure.with_colors = has_colors
    figure.origin = False
    figure.x_label, figure.y_label = "turn", "tokens"
    figure.x_ticks_fkt = lambda turn, _next: _turn_label(turn, last)
    figure.y_ticks_fkt = lambda value, _next: f"{value:,.0f}"
    figure.set_x_limits(min_=1, max_=end)
    highest = max([check.size_tokens, *(turn.used_tokens for turn in turns)])
    figure.set_y_limits(min_=0, max_=highest)
    for name, tokens, color in (
        ("near", check.near_tokens, "yellow"),
        ("over", check.over_tokens, "red"),
    ):
        figure.plot([1, last], [tokens, tokens], lc=color)
        figure.text([1], [tokens], [f"{name} {tokens:,}"], lc=color)
    figure.plot([turn.number for turn in turns], [turn.used_tokens for turn in turns], lc="cyan")
    drawn: str = figure.show().replace(_BLANK_DOTS, " ")
    if is_ascii:
        drawn = _DOTS.sub("*", drawn)
    return "\n".join(line.rstrip() for line in drawn.splitlines())


def sampled(turns: Sequence[Turn], max_points: int = _MAX_POINTS) -> list[Turn]:
    """Choose so many turns at most, of each stretch the fullest, so that no peak is lost."""
    stretch = -(-len(turns) // max_points) or 1
    starts = range(0, len(turns), stretch)
    return [
        max(turns[start : start + stretch], key=lambda turn: turn.used_tokens) for start in starts
    ]


def _even_axis(last: int, max_columns: int) -> tuple[int, float]:
    """Return how wide to draw, and up to which turn, so that numbers stand at whole turns.

    Example:
        >>> _even_axis(13, 56), _even_axis(2, 56)
        ((40, 13.0), (50, 2.0))
    """
    turns = last - 1
    for_a_tick = turns * _TICK_COLUMNS / max_columns
    # Several turns from one number to the next, or several places for a number in each turn.
    step = math.ceil(for_a_tick) if for_a_tick > 1 else 1 / int(1 / for_a_tick)
    columns = math.ceil(turns * _TICK_COLUMNS / step)
    return columns, 1 + columns * step / _TICK_COLUMNS


def _turn_label(turn: float, last: int) -> str:
    """Name a turn on the axis; between two of them, and behind the last one, is none."""
    is_turn = round(turn) <= last and math.isclose(turn, round(turn), abs_tol=_ROUNDED)
    return f"{turn:.0f}" if is_turn else ""


def without_extras(root: Any) -> Any:  # noqa: ANN401 - of the library's own XML
    """Take out its script, which a still picture has no use for, and comments with the date."""
    for parent in list(root.iter()):
        for child in list(parent):
            if callable(child.tag) or str(child.tag).endswith("script"):
                parent.remove(child)
    return root


def require_library(name: str, option: str) -> Any:  # noqa: ANN401 - neither library has types
    """Import one of the libraries that draw.

    Raises:
        CommandError: It is not installed; the message names it and the option.
    """
    try:
        return importlib.import_module(name)
    except ImportError as error:
        raise CommandError(
            f"{option} needs {name}, which is not installed: pip install {name}"
        ) from error
