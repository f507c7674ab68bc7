from __future__ import annotations

import math
from typing import TYPE_CHECKING

import pytest
from hypothesis import given
from hypothesis import strategies as st

if TYPE_CHECKING:
    from types import ModuleType


@pytest.mark.parametrize(
    ("sizes", "total", "limit", "taken"),
    [
        ([], 0, 0, []),
        ([], 9, 0, []),
        ([5], 5, 5, []),
        ([5], 5, 4, [0]),
        ([1, 3, 2], 6, 3, [1]),
        ([1, 3, 2], 6, 2.5, [1, 2]),
        ([2, 2, 2], 6, 3, [0, 1]),
        ([1, 3, 2], 106, 3, [1, 2, 0]),
        ([7, 7], 14, math.inf, []),
    ],
)
def test_the_largest_first_until_it_fits(
    core: ModuleType, sizes: list[int], total: int, limit: float, taken: list[int]
) -> None:
    """Largest first, ties in order of appearance, no more than needed; all if none helps (B6)."""
    assert taken == core.select_largest(sizes, total, limit)


@given(
    sizes=st.lists(st.integers(0, 20), max_size=12),
    fixed=st.integers(0, 20),
    limit=st.integers(-1, 150) | st.floats(-1, 150),
)
def test_the_choice_is_the_shortest_one_that_fits(
    core: ModuleType, sizes: list[int], fixed: int, limit: float
) -> None:
    """No shorter choice fits, and the order is by size, then by appearance."""
    total = fixed + sum(sizes)
    taken = core.select_largest(sizes, total, limit)
    by_rule = sorted(range(len(sizes)), key=lambda index: (-sizes[index], index))
    assert taken == by_rule[: len(taken)]
    remaining = [
        total - sum(sorted(sizes)[len(sizes) - count :]) for count in range(len(sizes) + 1)
    ]
    fitting = [count for count, chars in enumerate(remaining) if chars <= limit]
    assert len(taken) == (fitting[0] if fitting else len(sizes))
