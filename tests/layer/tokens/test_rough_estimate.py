import math
import re
from decimal import Decimal
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.strategies import Text
from toolbudget.errors import ConfigError
from toolbudget.tokens import (
    bytes_per_token_for_file_type,
    rough_token_count_estimation,
    rough_token_count_for_chars,
)


@pytest.mark.parametrize(
    ("count_chars", "expected"),
    [(0, 0), (1, 0), (2, 1), (3, 1), (4, 1), (5, 1), (6, 2), (10, 3), (84_833, 21_208)],
)
def test_four_characters_are_a_token(count_chars: int, expected: int) -> None:
    """By default a quarter of the characters, halves rounded up, not to even."""
    assert rough_token_count_for_chars(count_chars) == expected
    assert rough_token_count_estimation("x" * count_chars) == expected


@pytest.mark.parametrize(
    ("count_chars", "bytes_per_token", "expected"),
    [(3, 2, 2), (5, 2, 3), (9, 2.5, 4), (5, 10, 1), (4, 10, 0), (1, 0.5, 2), (7, 1, 7)],
)
def test_other_ratios(count_chars: int, bytes_per_token: float, expected: int) -> None:
    """The ratio may be any positive int or float."""
    assert rough_token_count_for_chars(count_chars, bytes_per_token) == expected


@pytest.mark.parametrize("text", ["\U0001f600" * 6, "\u4e2d" * 6, "\ud800" * 6, "e\u0301" * 3])
def test_characters_are_code_points(text: str) -> None:
    """Neither bytes nor what looks like one character is counted."""
    assert rough_token_count_estimation(text) == 2


def test_a_subclass_counts_by_the_characters_it_holds() -> None:
    """B11: a str subclass is a str, whatever its own methods say."""
    text = Text("x" * 400)
    assert len(text) == 3
    assert rough_token_count_estimation(text) == 100


def test_no_float_error_in_large_counts() -> None:
    """Counts beyond the precision of floats are still rounded exactly."""
    count_chars = 4 * 10**30 + 2
    assert rough_token_count_for_chars(count_chars) == 10**30 + 1
    assert rough_token_count_for_chars(count_chars - 1) == 10**30
    assert rough_token_count_for_chars(10**400, 0.5) == 2 * 10**400


def test_numpy_counts_do_not_overflow() -> None:
    """A count out of an array is as good as an int, also with a ratio of many digits."""
    count: Any = np.int64(10**12)
    assert rough_token_count_for_chars(count, 3.7) == round(Fraction(10**12) / Fraction(3.7))


@given(
    st.integers(0, 10**20),
    st.one_of(
        st.integers(1, 10**6),
        st.floats(min_value=0, exclude_min=True, allow_infinity=False, allow_nan=False),
    ),
)
def test_is_the_exact_quotient_rounded_half_up(count_chars: int, ratio: float) -> None:
    """The estimate is the whole number nearest to the exact quotient, the upper one of two."""
    quotient = Fraction(count_chars) / Fraction(ratio)
    assert rough_token_count_for_chars(count_chars, ratio) == math.floor(quotient + Fraction(1, 2))


@given(st.text())
def test_text_and_its_length_give_the_same(text: str) -> None:
    """Both functions agree for every text and ratio."""
    for ratio in (2, 4, 3.5):
        by_length = rough_token_count_for_chars(len(text), ratio)
        assert rough_token_count_estimation(text, ratio) == by_length


@pytest.mark.parametrize(
    "value", [0, 0.0, -1, -0.5, math.nan, math.inf, -math.inf, None, True, "4", Decimal(4)]
)
def test_unusable_ratio_is_refused(value: object) -> None:
    """A ratio that is no finite positive int or float is an error that shows it."""
    untyped: Any = value
    expected = f"bytes_per_token (argument) must be a finite positive number: {value!r}"
    pattern = f"^{re.escape(expected)}$"
    with pytest.raises(ConfigError, match=pattern):
        rough_token_count_estimation("text", untyped)
    with pytest.raises(ConfigError, match=pattern):
        rough_token_count_for_chars(4, untyped)


def test_ratio_that_cannot_be_shown_is_refused() -> None:
    """A negative int with too many digits to print is refused like any other."""
    with pytest.raises(ConfigError, match=r": <int>$"):
        rough_token_count_for_chars(4, -(10**5_000))


@pytest.mark.parametrize(
    ("extension", "expected"),
    [
        ("json", 2),
        ("jsonl", 2),
        ("jsonc", 2),
        (".json", 2),
        ("JSON", 2),
        ("json5", 4),
        ("py", 4),
        (".txt", 4),
        ("", 4),
        ("..json", 4),
        ("package.json", 4),
    ],
)
def test_file_types(extension: str, expected: int) -> None:
    """Only the dense JSON types count two characters for a token, with or without a dot."""
    assert bytes_per_token_for_file_type(extension) == expected
