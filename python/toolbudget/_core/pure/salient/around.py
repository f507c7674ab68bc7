"""Lines that explain another line: those around a finding, and those at the end."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from toolbudget._core.pure.salient.clean import bare
from toolbudget._core.pure.salient.role import (
    is_boilerplate,
    is_build_step,
    is_command,
    is_frame,
    is_noise,
    is_passing,
    is_path,
    is_timed,
    quoted_command,
)

if TYPE_CHECKING:
    from collections.abc import Iterator

    from toolbudget._core.pure.salient.lines import Lines
    from toolbudget._core.pure.salient.scan import Scan

__all__ = ["end_of_interest", "first_lines", "lines_after", "lines_before", "tail_lines"]

_BLANK_LINES: Final = 3
_NEAR_END_LINES: Final = 60
_FIRST_LINES: Final = 20
_TAIL_LINES: Final = 200
_MULTI_LINE_EXIT: Final = b'" exited with'


def lines_before(lines: Lines, number: int, limit: int) -> list[int]:
    """Give up to ``limit`` lines before ``number``, nearest first."""
    taken: list[int] = []
    for candidate in range(number - 1, max(-1, number - limit - 3), -1):
        line = bare(lines.get(candidate))
        if not line:
            continue
        if len(taken) == limit or is_passing(line) or is_timed(line) or is_command(line):
            break
        if is_noise(line):
            continue
        taken.append(candidate)
    return taken


def lines_after(lines: Lines, number: int, limit: int, frames: int) -> list[int]:
    """Give up to ``limit`` lines after ``number``, with at most so many stack frames."""
    taken: list[int] = []
    blank_count = 0
    for candidate in range(number + 1, min(lines.count, number + 6 + 2 * limit)):
        line = bare(lines.get(candidate))
        if len(taken) == limit:
            break
        if not line:
            blank_count += 1
            if blank_count > _BLANK_LINES:
                break
            continue
        if is_passing(line) or is_timed(line) or is_command(line):
            break
        frames -= is_frame(line)
        if frames < 0:
            break
        if not is_noise(line) and not is_boilerplate(line.lower()):
            taken.append(candidate)
    return taken


def end_of_interest(found: Scan, line_count: int) -> int:
    """Tell the line at which the output really ends: the last failed exit, if one is near."""
    sections = list(found.sections)
    if sections:
        return sections[-1].last
    exits = list(found.exits)
    if exits and line_count - exits[-1] < _NEAR_END_LINES:
        return exits[-1]
    return line_count - 1


def first_lines(lines: Lines) -> list[int]:
    """Give the first line with a word, which often says what ran."""
    for number in range(min(lines.count, _FIRST_LINES)):
        line = bare(lines.get(number))
        if line and not is_noise(line):
            return [number]
    return []


def tail_lines(lines: Lines, end: int, *, is_bare: bool = False) -> Iterator[int]:
    """Give the lines from ``end`` upwards that are worth a look, or all with ``is_bare``."""
    in_command = False
    for number in range(end, max(-1, end - _TAIL_LINES), -1):
        line = bare(lines.get(number))
        if line.startswith(_MULTI_LINE_EXIT):
            in_command = True
            yield number
        elif in_command:
            in_command = not quoted_command(line)
        elif is_bare:
            if line:
                yield number
        elif line and (number == end or not _is_idle(line)):
            yield number


def _is_idle(line: bytes) -> bool:
    return (
        is_noise(line)
        or is_boilerplate(line.lower())
        or is_passing(line)
        or is_timed(line)
        or is_build_step(line)
        or is_path(line)
    )
