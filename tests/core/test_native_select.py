from __future__ import annotations

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from toolbudget import _core

python = _core.load("python")
native = _core.load("native")

sizes_of_results = st.lists(st.integers(0, 60) | st.integers(0, 2**62), max_size=40)
limits = st.integers() | st.floats(allow_nan=True, allow_infinity=True)


@given(sizes_of_results, st.integers(0, 3_000) | st.integers(-(2**100), 2**100), limits)
def test_both_cores_select_the_same(sizes: list[int], total: int, limit: float) -> None:
    """For any sizes, total and limit, the cores take the same results in the same order."""
    expected = python.select_largest(sizes, total, limit)
    assert expected == native.select_largest(sizes, total, limit)


@given(st.lists(st.integers(0, 9), min_size=1, max_size=30))
def test_a_limit_at_a_reachable_total_is_met_exactly(sizes: list[int]) -> None:
    """The total may be equal to the limit: nothing more is taken then."""
    total = sum(sizes)
    limit = total - max(sizes)
    assert native.select_largest(sizes, total, limit) == python.select_largest(sizes, total, limit)


@pytest.mark.parametrize(
    ("limit", "taken"),
    [(math.inf, []), (10**40, []), (-math.inf, [1, 0]), (-(10**40), [1, 0]), (math.nan, [1, 0])],
    ids=["infinite", "huge", "minus infinite", "minus huge", "not a number"],
)
def test_odd_limits(limit: float, taken: list[int]) -> None:
    """An infinite limit takes nothing; one that is never met takes all."""
    assert native.select_largest([1, 2], 3, limit) == taken


def test_whole_limits_are_compared_exactly() -> None:
    """A whole limit above 2**53 is not rounded to a float."""
    assert native.select_largest([1], 2**53 + 1, 2**53) == [0]
    assert native.select_largest([1], 2**53 + 1, 2**53 + 1) == []


def test_sizes_are_numbers() -> None:
    """A size that is no whole number is refused, not rounded."""
    with pytest.raises(TypeError):
        native.select_largest([1.5], 3, 1)


def test_a_size_beyond_64_bits_is_refused() -> None:
    """No text is so long; it is not cut down silently."""
    with pytest.raises(OverflowError):
        native.select_largest([2**64], 2**64, 1)
