"""Token counts: estimates of texts and of messages."""

from __future__ import annotations

from toolbudget.tokens.estimate import (
    bytes_per_token_for_file_type,
    estimate_tokens,
    rough_token_count_estimation,
    rough_token_count_for_chars,
)
from toolbudget.tokens.messages import (
    MEDIA_BLOCK_TOKENS,
    estimate_tokens_for_messages,
    rough_token_count_estimation_for_messages,
)

__all__ = [
    "MEDIA_BLOCK_TOKENS",
    "bytes_per_token_for_file_type",
    "estimate_tokens",
    "estimate_tokens_for_messages",
    "rough_token_count_estimation",
    "rough_token_count_estimation_for_messages",
    "rough_token_count_for_chars",
]
