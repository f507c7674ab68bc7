"""Token counts: estimated, as responses report them, and as the provider counts them.

Example:
    >>> from toolbudget.tokens import estimate_tokens
    >>> estimate_tokens("")
    0
"""

from __future__ import annotations

from toolbudget.tokens._steps import CountStep, StepFailure, TokenCount
from toolbudget.tokens.counting import acount_tokens, count_tokens
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
from toolbudget.tokens.meter import ContextMeter
from toolbudget.tokens.usage import (
    WindowCount,
    message_token_count_from_last_api_response,
    read_window_count,
    token_count_from_last_api_response,
    token_count_from_usage,
    token_count_with_estimation,
)
from toolbudget.tokens.window import ContextWindow, WindowCheck, WindowState

__all__ = [
    "MEDIA_BLOCK_TOKENS",
    "ContextMeter",
    "ContextWindow",
    "CountStep",
    "StepFailure",
    "TokenCount",
    "WindowCheck",
    "WindowCount",
    "WindowState",
    "acount_tokens",
    "bytes_per_token_for_file_type",
    "count_tokens",
    "estimate_tokens",
    "estimate_tokens_for_messages",
    "message_token_count_from_last_api_response",
    "read_window_count",
    "rough_token_count_estimation",
    "rough_token_count_estimation_for_messages",
    "rough_token_count_for_chars",
    "token_count_from_last_api_response",
    "token_count_from_usage",
    "token_count_with_estimation",
]
