"""What other limits of a message would do, reckoned on columns without any text."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final, NamedTuple

import numpy as np

from toolbudget import _core as core
from toolbudget._core.pure import Standing
from toolbudget._core.pure.choose import PREVIEW_STEPS_PERCENT
from toolbudget._display import shown
from toolbudget.errors import ConfigError
from toolbudget.limits.validation import choice, positive_number, positive_whole_number

if TYPE_CHECKING:
    from typing import Protocol

    from numpy.typing import NDArray

    from toolbudget._core.pure import Accounting

    class _Columns(Protocol):
        @property
        def group(self) -> NDArray[np.int32]: ...
        @property
        def size(self) -> NDArray[np.int64]: ...
        @property
        def shown(self) -> NDArray[np.int64]: ...
        @property
        def decision(self) -> NDArray[np.int8]: ...
        @property
        def is_followed(self) -> NDArray[np.bool_]: ...


__all__ = ["USUAL_PATH_CHARS", "WhatIf", "replacement_chars", "what_if"]

_KILO: Final = 1024
# Beyond every sum of sizes, and far enough from the largest int64 to be added to one.
_NO_LIMIT: Final = 1 << 62


USUAL_PATH_CHARS: Final = 100
"""What is assumed if nothing is said: a home folder, a session's id, an id of 30 characters."""


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class WhatIf:
    """What each of many limits would do; all arrays are in the order of ``limits``.

    ``replaced``, ``chars_after`` and ``over_limit_chars`` are what an ``EnforcementReport`` calls
    so.

    Attributes:
        limits: ``float64``: the limits that were asked about.
        replaced: ``int64``: results that would be newly replaced.
        chars_after: ``int64``: characters of all text results as they would be handed out.
        groups_over: ``int64``: groups over the limit before anything is replaced.
        groups_left_over: ``int64``: groups that would still be over it.
        over_limit_chars: ``int64``: by how much, summed.

    Example:
        >>> import math, toolbudget
        >>> result = {"type": "tool_result", "tool_use_id": "t1", "content": "x" * 9_000}
        >>> columns = toolbudget.collect([{"role": "user", "content": [result]}])
        >>> columns.what_if([5_000, math.inf]).replaced.tolist()
        [1, 0]
    """

    limits: NDArray[np.float64]
    replaced: NDArray[np.int64]
    chars_after: NDArray[np.int64]
    groups_over: NDArray[np.int64]
    groups_left_over: NDArray[np.int64]
    over_limit_chars: NDArray[np.int64]


def what_if(
    columns: _Columns,
    limits: Iterable[float] | NDArray[Any],
    *,
    preview_bytes: int,
    path_chars: int | NDArray[Any],
    accounting: Accounting,
) -> WhatIf:
    """Answer :meth:`toolbudget.CandidateColumns.what_if`."""
    asked = [positive_number(limit, "limits") for limit in _plain(limits)]
    preview_bytes = positive_whole_number(preview_bytes, "preview_bytes")
    choice(accounting, "accounting", ("visible", "originals"))
    groups = _Groups.of(columns, accounting)
    fresh = _FreshRows(columns, _path_chars(path_chars, len(columns.size)), accounting)
    steps = [preview_bytes * percent // 100 for percent in PREVIEW_STEPS_PERCENT]
    rows = [_judge(_whole(limit), groups, fresh, steps) for limit in asked]
    numbers = np.array(rows, np.int64).reshape(len(rows), 5)
    chars_before = int(columns.shown.sum())
    return WhatIf(
        limits=np.array(asked, np.float64),
        replaced=numbers[:, 0],
        chars_after=chars_before - numbers[:, 1],
        groups_over=numbers[:, 2],
        groups_left_over=numbers[:, 3],
        over_limit_chars=numbers[:, 4],
    )


def _plain(limits: Iterable[float] | NDArray[Any]) -> Iterable[Any]:
    if isinstance(limits, np.ndarray):
        return limits.ravel().tolist()
    if not isinstance(limits, Iterable):
        raise ConfigError(f"limits (argument) must be several numbers: {shown(limits)}")
    return limits


def _whole(limit: float) -> int:
    """Return the largest whole number that a limit allows: sums of sizes are whole."""
    return int(min(limit, _NO_LIMIT))


def _path_chars(path_chars: int | NDArray[Any], rows: int) -> NDArray[np.int64]:
    lengths = np.asarray(path_chars)
    if lengths.dtype.kind not in "iu" or lengths.shape not in {(), (rows,)} or (lengths < 0).any():
        problem = "must be a whole number of at least 0, or one for each row"
        raise ConfigError(f"path_chars (argument) {problem}: {path_chars!r:.80}")
    return np.broadcast_to(lengths.astype(np.int64), (rows,))


class _Groups(NamedTuple):
    """Sums by group before any choice."""

    visible: NDArray[np.int64]
    """What the limit bounds."""
    fixed: NDArray[np.int64] | None
    """What no choice changes: previews shrink only if that fits; ``None`` if they never do."""

    @classmethod
    def of(cls, columns: _Columns, accounting: Accounting) -> _Groups:
        decision = columns.decision
        is_fresh = decision == Standing.FRESH
        is_standing = (decision == Standing.REPLACED) | (decision == Standing.REFERENCE)
        is_fixed = decision == Standing.KEPT
        if accounting == "visible":
            is_fixed |= is_standing
        fixed = _sum_by_group(columns, is_fixed)
        visible = fixed + _sum_by_group(columns, is_fresh)
        return cls(visible, fixed if accounting == "visible" else None)


def _sum_by_group(columns: _Columns, rows: NDArray[np.bool_]) -> NDArray[np.int64]:
    sums = np.zeros(len(columns.is_followed), np.int64)
    np.add.at(sums, columns.group[rows], columns.shown[rows])
    return sums


class _Step(NamedTuple):
    """The fresh rows that gain something at one size of previews, in the order of choice."""

    start: NDArray[np.int64]
    """By group: its first row; one more at the end."""
    counted: NDArray[np.int64]
    """What all rows before each one take off what the limit bounds."""
    gained: NDArray[np.int64]
    """What they take off what is handed out."""


class _FreshRows:
    """The fresh rows, by group and the largest first; equal ones in order of appearance."""

    def __init__(
        self, columns: _Columns, path_chars: NDArray[np.int64], accounting: Accounting
    ) -> None:
        rows = np.flatnonzero(columns.decision == Standing.FRESH)
        order = rows[np.lexsort((-columns.size[rows], columns.group[rows]))]
        self._group = columns.group[order]
        self._size = columns.size[order]
        self._path_chars = path_chars[order]
        self._groups = len(columns.is_followed)
        self._accounting = accounting
        self._steps: dict[int, _Step] = {}

    def step(self, preview_bytes: int) -> _Step:
        """Return what could be taken with previews of so many bytes; reckoned once."""
        if preview_bytes not in self._steps:
            self._steps[preview_bytes] = self._reckon(preview_bytes)
        return self._steps[preview_bytes]

    def _reckon(self, preview_bytes: int) -> _Step:
        replacement = replacement_chars(self._size, self._path_chars, preview_bytes)
        gains = replacement < self._size
        size = self._size[gains]
        gained = _running_sum(size - replacement[gains])
        counts = np.bincount(self._group[gains], minlength=self._groups)
        return _Step(
            start=_running_sum(counts),
            counted=gained if self._accounting == "visible" else _running_sum(size),
            gained=gained,
        )


def _judge(
    limit: int, groups: _Groups, fresh: _FreshRows, steps: list[int]
) -> tuple[int, int, int, int, int]:
    """Choose in every group; gives the columns of the answer, the gain in place of what is left."""
    over = np.flatnonzero(groups.visible > limit)
    excess = groups.visible[over] - limit
    taken = np.zeros(len(over), np.int64)
    counted = np.zeros(len(over), np.int64)
    gained = np.zeros(len(over), np.int64)
    open_groups = np.arange(len(over))
    for number, preview_bytes in enumerate(steps):
        if number == 1:
            if groups.fixed is None:
                break
            open_groups = open_groups[groups.fixed[over[open_groups]] <= limit]
        if not len(open_groups):
            break
        step = fresh.step(preview_bytes)
        start = step.start[over[open_groups]]
        end = step.start[over[open_groups] + 1]
        reached = np.searchsorted(step.counted, step.counted[start] + excess[open_groups])
        reached = np.minimum(reached, end)
        taken[open_groups] = reached - start
        counted[open_groups] = step.counted[reached] - step.counted[start]
        gained[open_groups] = step.gained[reached] - step.gained[start]
        open_groups = open_groups[counted[open_groups] < excess[open_groups]]
    left_chars = np.maximum(excess - counted, 0)
    return (
        int(taken.sum()),
        int(gained.sum()),
        len(over),
        int(np.count_nonzero(left_chars)),
        int(left_chars.sum()),
    )


def _running_sum(numbers: NDArray[Any]) -> NDArray[np.int64]:
    """Return the sums of all numbers before each one, and of all of them at the end."""
    sums = np.zeros(len(numbers) + 1, np.int64)
    np.cumsum(numbers, out=sums[1:])
    return sums


def replacement_chars(
    size: NDArray[np.int64], path_chars: NDArray[np.int64], preview_bytes: int
) -> NDArray[np.int64]:
    """Return the lengths of replacements of ASCII texts without line breaks."""
    frame_chars = len(core.build_replacement("", "", preview_bytes=preview_bytes, size_bytes=0))
    chars = path_chars + _label_chars(size)
    chars += frame_chars - len("0 bytes")
    if preview_bytes > 0:
        chars += np.minimum(size, preview_bytes)
        chars += len("\n...") * (size > preview_bytes)
    return chars


def _label_chars(size_bytes: NDArray[np.int64]) -> NDArray[np.int64]:
    """Return the lengths of sizes as a replacement writes them: ``812 bytes``, ``82.3KB``."""
    unit = np.full_like(size_bytes, _KILO)
    unit[size_bytes >= _KILO**2] = _KILO**2
    unit[size_bytes >= _KILO**3] = _KILO**3
    # 20 times a size could be beyond 64 bits only for one of 400 petabytes.
    whole, tenth = np.divmod((20 * size_bytes + unit) // (2 * unit), 10)
    scaled = _digits(whole) + len(".5") * (tenth > 0) + len("KB")
    plain = _digits(size_bytes) + len(" bytes")
    chars: NDArray[np.int64] = np.where(size_bytes < _KILO, plain, scaled)
    return chars


def _digits(numbers: NDArray[np.int64]) -> NDArray[np.int64]:
    powers = 10 ** np.arange(1, 19, dtype=np.int64)
    return np.searchsorted(powers, numbers, side="right") + 1
