"""What is estimated of a content: the texts that the model reads, and a fixed count for media."""

from __future__ import annotations

from typing import Any

import pytest
from anthropic.types import TextBlock, ToolUseBlock
from hypothesis import given

from tests.strategies import message_lists
from toolbudget.tokens import (
    estimate_tokens_for_messages,
    token_count_from_last_api_response,
    token_count_with_estimation,
)
from toolbudget.tokens._content import block_tokens, content_tokens

X = "x" * 400
IMAGE = {"type": "image", "source": {"type": "base64", "data": "A" * 100_000}}
DOCUMENT = {"type": "document", "source": {"type": "base64", "data": "A" * 100_000}}


@pytest.mark.parametrize(
    "block",
    [
        {"type": "text", "text": X},
        {"type": "thinking", "thinking": X, "signature": "s" * 4000},
        {"type": "redacted_thinking", "data": X},
        {"type": "tool_result", "tool_use_id": "t" * 400, "content": X},
        {"type": "tool_result", "tool_use_id": "t", "content": [{"type": "text", "text": X}]},
        TextBlock(type="text", text=X),
        X,
    ],
    ids=repr,
)
def test_a_block_counts_as_the_text_that_is_read(block: object) -> None:
    """Signatures and ids are none of it; objects of the SDK count as dicts do."""
    assert block_tokens(block) == content_tokens(X)
    assert content_tokens([block, block]) == 2 * content_tokens(X)


@pytest.mark.parametrize("content", [None, 7, [], "", [None]])
def test_what_is_no_content_counts_nothing(content: object) -> None:
    """Odd content never raises."""
    assert content_tokens(content) <= 2


def test_media_count_a_fixed_number() -> None:
    """Never by their base64, however deep they are."""
    fetched = {"type": "web_fetch_tool_result", "content": {"content": DOCUMENT}}
    assert content_tokens([IMAGE, DOCUMENT]) == 4_000
    assert content_tokens([{"type": "tool_result", "content": [IMAGE]}]) == 2_000
    assert 2_000 < block_tokens(fetched) < 2_100


def test_a_call_counts_by_its_name_and_input() -> None:
    """Keys and values of the input are text that the model wrote."""
    small: Any = {"type": "tool_use", "id": "t", "name": "Write", "input": {"path": "a"}}
    large = small | {"input": {"path": "a", "text": X}}
    assert block_tokens(large) - block_tokens(small) >= content_tokens(X)
    as_object = ToolUseBlock(type="tool_use", id="t", name="Write", input=large["input"])
    assert block_tokens(as_object) == block_tokens(large)


def test_a_block_of_an_unknown_kind_counts_by_all_that_is_in_it() -> None:
    """A server's own block is text for the model."""
    block = {"type": "web_search_tool_result", "content": [{"title": X, "url": "https://a"}]}
    assert block_tokens(block) > content_tokens(X)


def test_depth_and_numbers_have_no_bound() -> None:
    """Untrusted JSON neither ends the recursion nor the host."""
    deep: Any = {"number": 10**5_000}
    for _ in range(50_000):
        deep = [deep]
    assert block_tokens({"type": "tool_use", "name": "t", "input": deep}) > 0


@given(messages=message_lists())
def test_without_usage_it_is_the_estimate_of_the_messages(messages: list[object]) -> None:
    """Two ways to one number, as long as nothing was reported and there is one chain."""
    chain_keys = {"isSidechain", "agentId"}
    plain = [one for one in messages if isinstance(one, dict) and not chain_keys & one.keys()]
    if not token_count_from_last_api_response(plain):
        assert token_count_with_estimation(plain) == estimate_tokens_for_messages(plain)


@given(messages=message_lists())
def test_every_list_of_messages_has_a_count(messages: list[object]) -> None:
    """Whatever is in the messages, the estimate is a number of at least 0."""
    assert token_count_with_estimation(messages) >= 0
