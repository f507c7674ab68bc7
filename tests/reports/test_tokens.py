from __future__ import annotations

import pytest

from toolbudget.tokens import (
    message_token_count_from_last_api_response,
    rough_token_count_estimation,
    token_count_from_last_api_response,
    token_count_with_estimation,
)


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


def test_a_usage_that_each_record_repeats_counts_once() -> None:
    """TOKENS 35: three records of one response report 900 tokens, and that is what they are."""
    usage = {"output_tokens": 900}
    message = {"role": "assistant", "id": "m1", "content": [], "usage": usage}
    records = 3 * [{"type": "assistant", "message": message}]
    assert message_token_count_from_last_api_response(records) == 900
    assert token_count_from_last_api_response(records) == 900
    assert token_count_with_estimation(records) == 900
