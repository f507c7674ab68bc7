from __future__ import annotations

import json
from collections import UserDict
from typing import Any

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from tests.layer.messages.conversations import conversations
from tests.strategies import SdkObject, message_lists, mutated, odd_values
from toolbudget.errors import InvalidMessageError
from toolbudget.tokens import (
    estimate_tokens,
    estimate_tokens_for_messages,
    rough_token_count_estimation_for_messages,
)

_IMAGE = {"type": "image", "source": {"type": "base64", "data": "QUFB" * 50_000}}
_DOCUMENT = {"type": "document", "source": {"type": "base64", "data": "QUFB" * 50_000}}
_INPUT = {"command": "ls -la", "名前": [1, 2.5, None, True]}
_COMPACT = '{"command":"ls -la","名前":[1,2.5,null,true]}'


def rough(*blocks: object) -> int:
    """Estimate one user message."""
    return rough_token_count_estimation_for_messages([{"role": "user", "content": list(blocks)}])


def quarter(chars: int) -> int:
    """Divide by four, halves up."""
    return (chars + 2) // 4


@pytest.mark.parametrize(
    ("block", "expected"),
    [
        pytest.param({"type": "text", "text": "x" * 10}, 3, id="text"),
        pytest.param({"type": "thinking", "thinking": "x" * 10, "signature": "s" * 99}, 3, id="t"),
        pytest.param({"type": "redacted_thinking", "data": "x" * 400}, 100, id="redacted"),
        pytest.param(_IMAGE, 2_000, id="image"),
        pytest.param(_DOCUMENT, 2_000, id="document"),
        pytest.param(
            {"type": "tool_use", "id": "t" * 99, "name": "Bash", "input": _INPUT},
            quarter(4 + len(_COMPACT)),
            id="tool_use",
        ),
        pytest.param({"type": "tool_result", "content": "x" * 40}, 10, id="result"),
        pytest.param(
            {"type": "tool_result", "content": [{"type": "text", "text": "x" * 40}, _IMAGE]},
            2_010,
            id="result with an image",
        ),
        pytest.param({"type": "tool_result", "tool_use_id": "t"}, 0, id="result without content"),
        pytest.param({"type": "text"}, quarter(len('{"type":"text"}')), id="text without text"),
        pytest.param({"type": "new", "inside": [_IMAGE]}, 2_000 + 8, id="image in another kind"),
        pytest.param("x" * 40, 10, id="a plain string"),
    ],
)
def test_every_kind_of_block(block: object, expected: int) -> None:
    """T2: blocks are summed; media count as 2,000 each, never by their base64."""
    assert rough(block) == expected
    assert rough(block, block) == 2 * expected


def test_objects_count_like_dicts() -> None:
    """Messages and blocks of SDKs, and other mappings, count the same."""
    call = {"type": "tool_use", "id": "t", "name": "Bash", "input": _INPUT}
    plain = [{"role": "assistant", "content": [call]}]
    expected = rough_token_count_estimation_for_messages(plain)
    objects: list[Any] = [SdkObject(role="assistant", content=[SdkObject(**call)])]
    mappings: list[Any] = [UserDict({"role": "assistant", "content": [UserDict(call)]})]
    assert rough_token_count_estimation_for_messages(objects) == expected
    assert rough_token_count_estimation_for_messages(mappings) == expected


def test_records_count_by_the_message_inside() -> None:
    """A transcript's records count as their messages do; other records count nothing."""
    message = {"role": "user", "content": "x" * 40}
    records = [
        {"type": "user", "uuid": "u" * 99, "message": message, "toolUseResult": "y" * 999},
        {"type": "progress", "message": message},
        {"type": "summary", "summary": "z" * 400},
        {"role": "system", "content": "x" * 40},
    ]
    assert rough_token_count_estimation_for_messages(records) == 20


def test_the_other_estimate_weighs_the_same_pieces() -> None:
    """What is counted is the same for both; only how differs."""
    message = {"role": "user", "content": [{"type": "text", "text": "日本語"}, _IMAGE]}
    assert estimate_tokens_for_messages([message]) == estimate_tokens("日本語") + 2_000


def test_no_sequence_is_refused() -> None:
    """What cannot be a message list is an error that names it."""
    with pytest.raises(InvalidMessageError, match="message 0"):
        estimate_tokens_for_messages([7])


@given(kind=odd_values(), where=st.sampled_from(["input", "content"]))
@example(kind=["string", "null"], where="input")  # a JSON schema says so
def test_a_kind_of_any_value_hides_no_text(kind: object, where: str) -> None:
    """T2: what is no media counts by its text, whatever its type is."""
    value = {"properties": {"name": {"type": kind, "description": "x" * 40_000}}}
    block: dict[str, Any] = {"type": "tool_use", "name": "x", "input": value}
    if where == "content":
        block = {"type": "tool_result", "content": [value]}
    assert 10_000 <= rough(block) < 10_500


@given(message_lists() | mutated(conversations()))
def test_odd_shapes_pass(messages: list[object]) -> None:
    """Odd but legal content never raises."""
    assert rough_token_count_estimation_for_messages(messages) >= 0
    assert estimate_tokens_for_messages(messages) >= 0


def test_endless_content_passes() -> None:
    """Content that contains itself, or nests too deep for JSON, is estimated as one block."""
    endless: dict[str, object] = {"type": "new"}
    endless["self"] = endless
    deep: list[object] = []
    for _ in range(100_000):
        deep = [deep]
    assert rough(endless) == rough({"type": "tool_use", "name": "x", "input": deep}) == 2_000
    with pytest.raises(ValueError, match="Circular"):
        json.dumps(endless)
