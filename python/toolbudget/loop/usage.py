"""Adding up what responses say they used."""

from __future__ import annotations

import operator
from dataclasses import astuple, dataclass

from toolbudget.tokens._records import read_usage

__all__ = ["TokenUsage"]


@dataclass(frozen=True, slots=True)
class TokenUsage:
    """Tokens of a number of responses, by the usage that each reported.

    Attributes:
        responses: How many there were.
        input_tokens: Input that was neither read from a cache nor written to one.
        cache_creation_tokens: Input that was written to the cache.
        cache_read_tokens: Input that was read from the cache.
        output_tokens: What the model wrote.

    Example:
        >>> from toolbudget.loop import TokenUsage
        >>> TokenUsage().plus({"input_tokens": 20, "output_tokens": 5}).output_tokens
        5
    """

    responses: int = 0
    input_tokens: int = 0
    cache_creation_tokens: int = 0
    cache_read_tokens: int = 0
    output_tokens: int = 0

    def plus(self, usage: object) -> TokenUsage:
        """Add a response by its usage, a mapping or a client's object; ``None`` if it has none."""
        return self + TokenUsage(1, *read_usage(usage))

    def __add__(self, other: TokenUsage) -> TokenUsage:
        """Add up two of them."""
        return TokenUsage(*map(operator.add, astuple(self), astuple(other)))
