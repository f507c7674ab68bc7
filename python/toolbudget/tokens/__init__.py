"""Token counts: the rough estimate from a number of characters."""

from __future__ import annotations

from toolbudget.tokens.estimate import (
    bytes_per_token_for_file_type,
    rough_token_count_estimation,
    rough_token_count_for_chars,
)

__all__ = [
    "bytes_per_token_for_file_type",
    "rough_token_count_estimation",
    "rough_token_count_for_chars",
]
