from __future__ import annotations

import pytest

from toolbudget.tokens import rough_token_count_estimation


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        pytest.param(100 * "a", 25, id="ascii"),
        pytest.param(25 * "\u4f60\u597d\u4e16\u754c", 25, id="chinese"),
        pytest.param(100 * "\U0001f600", 25, id="emoji"),
    ],
)
def test_the_rough_estimate_is_no_more_than_it_says(text: str, expected: int) -> None:
    """TOKENS 34: the rough count is a quarter of the characters of any script: no measurement."""
    assert rough_token_count_estimation(text) == expected
