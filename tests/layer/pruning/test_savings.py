"""What a technique saves."""

from __future__ import annotations

from toolbudget.pruning import Savings, measure_savings, total_savings
from toolbudget.tokens import estimate_tokens


def test_it_measures_characters_and_estimated_tokens() -> None:
    """The figures are those of the texts."""
    before, after = "some words " * 100, "some words"
    saved = measure_savings("cut", before, after)
    assert saved == ("cut", 1, 1_100, 10, estimate_tokens(before), estimate_tokens(after))
    assert saved.saved_chars == 1_090
    assert saved.saved_tokens == estimate_tokens(before) - estimate_tokens(after)


def test_a_total_is_the_sum_of_each_technique() -> None:
    """Techniques keep their order; nothing saved of nothing is 0 percent."""
    parts = [Savings("a", 1, 10, 5, 4, 1), Savings("b", 1, 0, 0, 0, 0), Savings("a", 2, 1, 1, 4, 1)]
    totals = total_savings(parts)
    assert totals == (Savings("a", 3, 11, 6, 8, 2), Savings("b", 1, 0, 0, 0, 0))
    assert [total.saved_percent for total in totals] == [75, 0]
