"""Messages of other wire formats take as much room as their texts do."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

import pytest

from tests.builders import answer, call, msg, res
from toolbudget.tokens import (
    MEDIA_BLOCK_TOKENS,
    ContextMeter,
    estimate_tokens,
    estimate_tokens_for_messages,
    rough_token_count_estimation_for_messages,
    token_count_with_estimation,
)

if TYPE_CHECKING:
    from collections.abc import Callable

TEXT: Final = "".join(f"line {number} of the output\n" for number in range(200))
ARGUMENTS: Final = '{"path": "src/parser.py", "lines": [1, 2, 3, 4, 5, 6, 7, 8, 9, 10]}'
RESULTS: Final[dict[str, Any]] = {
    "openai chat": {"role": "tool", "tool_call_id": "c1", "content": TEXT},
    "openai chat, parts": {
        "role": "tool",
        "tool_call_id": "c1",
        "content": [{"type": "text", "text": TEXT}],
    },
    "openai, old": {"role": "function", "name": "read", "content": TEXT},
    "openai responses": {"type": "function_call_output", "call_id": "c1", "output": TEXT},
    "openai responses, parts": {
        "type": "function_call_output",
        "call_id": "c1",
        "output": [{"type": "input_text", "text": TEXT}],
    },
    "gemini": {
        "role": "user",
        "parts": [{"functionResponse": {"name": "read", "response": {"output": TEXT}}}],
    },
    "bedrock": {
        "role": "user",
        "content": [{"toolResult": {"toolUseId": "c1", "content": [{"text": TEXT}]}}],
    },
    "instructions": {"role": "developer", "content": TEXT},
}
CALLS: Final[dict[str, Any]] = {
    "openai chat": {
        "role": "assistant",
        "content": None,
        "tool_calls": [
            {"id": "c1", "type": "function", "function": {"name": "r", "arguments": ARGUMENTS}}
        ],
    },
    "openai, old": {
        "role": "assistant",
        "content": None,
        "function_call": {"name": "r", "arguments": ARGUMENTS},
    },
    "openai responses": {
        "type": "function_call",
        "call_id": "c1",
        "name": "r",
        "arguments": ARGUMENTS,
    },
    "gemini": {"role": "model", "parts": [{"functionCall": {"name": "r", "args": {"p": TEXT}}}]},
}
COUNTERS: Final = [
    estimate_tokens_for_messages,
    token_count_with_estimation,
    rough_token_count_estimation_for_messages,
]


@pytest.mark.parametrize("count", COUNTERS)
@pytest.mark.parametrize("name", RESULTS)
def test_the_text_of_a_result_counts(name: str, count: Callable[[list[Any]], int]) -> None:
    """As much as it does in the format of our own; JSON writes line breaks in another way."""
    here = count([msg(res("c1", TEXT))])
    least = here * 0.95 if name in {"gemini", "bedrock"} else here
    assert least <= count([RESULTS[name]]) <= here * 1.25 + 30


@pytest.mark.parametrize("count", COUNTERS[:2])
@pytest.mark.parametrize("name", CALLS)
def test_calls_count(name: str, count: Callable[[list[Any]], int]) -> None:
    """What the model wrote stays in the context."""
    least = estimate_tokens(TEXT) * 0.95 if name == "gemini" else estimate_tokens(ARGUMENTS)
    assert least <= count([CALLS[name]]) <= least * 1.3 + 30


def test_behind_a_usage() -> None:
    """A result that came after the last response is estimated; the meter counts the same."""
    usage = {"input_tokens": 900, "output_tokens": 20}
    messages = [{**CALLS["openai chat"], "usage": usage}, RESULTS["openai chat"]]
    meter = ContextMeter()
    for message in messages:
        meter.add(message)
    assert token_count_with_estimation(messages) == 920 + estimate_tokens(TEXT)
    assert meter.count.tokens == 920 + estimate_tokens(TEXT)


@pytest.mark.parametrize(
    "part",
    [
        {"type": "image_url", "image_url": {"url": "data:image/png;base64," + "A" * 90_000}},
        {"type": "input_image", "image_url": "data:image/png;base64," + "A" * 90_000},
        {"inlineData": {"mimeType": "image/png", "data": "A" * 90_000}},
    ],
)
def test_media_count_as_media(part: dict[str, Any]) -> None:
    """Whatever the format, never by their base64 (T2)."""
    for message in ({"role": "user", "content": [part]}, {"role": "user", "parts": [part]}):
        assert estimate_tokens_for_messages([message]) == MEDIA_BLOCK_TOKENS


def test_what_is_of_no_conversation_counts_nothing() -> None:
    """Records of a transcript that wrap no message of it, whatever else they hold."""
    records = [
        {"type": "progress", "content": TEXT},
        {"type": "attachment", "attachment": {"content": TEXT}},
        {"type": "tool_call_output", "output": TEXT},
        {"type": "file-history-snapshot", "message": {"role": "tool", "content": TEXT}},
    ]
    assert estimate_tokens_for_messages(records) == token_count_with_estimation(records) == 0


def test_messages_of_our_own_count_as_before() -> None:
    """There is nothing beside their content."""
    messages = [answer(call("t1", "Read")), msg(res("t1", TEXT))]
    assert estimate_tokens_for_messages(messages[1:]) == estimate_tokens(TEXT)
    assert estimate_tokens_for_messages(messages) == token_count_with_estimation(messages)
