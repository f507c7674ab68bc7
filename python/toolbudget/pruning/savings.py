"""What a technique saves: characters and estimated tokens, before and after (X5)."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from toolbudget import _core as core
from toolbudget.pruning._checks import checked_text

if TYPE_CHECKING:
    from collections.abc import Iterable

__all__ = ["Savings", "measure_savings", "total_savings"]


class Savings(NamedTuple):
    """Sizes of texts before and after something was done to them.

    Attributes:
        technique: What was done, in the caller's words; of a tool, its name.
        texts: How many texts were measured.
        chars_before: Characters before.
        chars_after: Characters after.
        tokens_before: Estimated tokens before.
        tokens_after: Estimated tokens after.

    Example:
        >>> from toolbudget.pruning import Savings
        >>> saved = Savings("outline_code", 1, 1_000, 100, 250, 25)
        >>> saved.saved_chars, saved.saved_tokens, saved.saved_percent
        (900, 225, 90)
    """

    technique: str
    texts: int
    chars_before: int
    chars_after: int
    tokens_before: int
    tokens_after: int

    @property
    def saved_chars(self) -> int:
        """Characters less than before; below 0 if there are more."""
        return self.chars_before - self.chars_after

    @property
    def saved_tokens(self) -> int:
        """Estimated tokens less than before; below 0 if there are more."""
        return self.tokens_before - self.tokens_after

    @property
    def saved_percent(self) -> int:
        """Percent of the estimated tokens that are saved, rounded down; 0 of nothing."""
        return self.saved_tokens * 100 // self.tokens_before if self.tokens_before else 0


def measure_savings(technique: str, before: str, after: str) -> Savings:
    """Measure one text before and after; the tokens are ``tokens.estimate_tokens``.

    Raises:
        ConfigError: One of the arguments is no text.

    Example:
        >>> from toolbudget.pruning import measure_savings, truncate_tool_result
        >>> text = "a line of the log" * 1_000
        >>> saved = measure_savings("truncate", text, truncate_tool_result(text, 1_000))
        >>> saved.chars_before, saved.chars_after, saved.saved_percent
        (17000, 1040, 93)
    """
    before, after = checked_text(before, "before"), checked_text(after, "after")
    return Savings(
        checked_text(technique, "technique"),
        1,
        len(before),
        len(after),
        core.estimate_tokens((before,)),
        core.estimate_tokens((after,)),
    )


def total_savings(savings: Iterable[Savings]) -> tuple[Savings, ...]:
    """Add up the savings of each technique, in the order in which techniques come first.

    Example:
        >>> from toolbudget.pruning import measure_savings, total_savings
        >>> both = [measure_savings("cut", "abcd", "ab"), measure_savings("cut", "abcd", "")]
        >>> [(total.technique, total.texts, total.saved_chars) for total in total_savings(both)]
        [('cut', 2, 6)]
    """
    totals: dict[str, Savings] = {}
    for one in savings:
        total = totals.get(one.technique, Savings(one.technique, 0, 0, 0, 0, 0))
        added = (before + more for before, more in zip(total[1:], one[1:], strict=True))
        totals[one.technique] = Savings(one.technique, *added)
    return tuple(totals.values())
