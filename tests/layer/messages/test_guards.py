"""Telling blocks and messages apart."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final, assert_type

import pytest
from anthropic.types import Message, TextBlock, ToolUseBlock, Usage
from hypothesis import given

from tests.builders import answer, call, msg, res
from tests.strategies import odd_values
from toolbudget import messages
from toolbudget.messages import is_tool_use_request_message, is_tool_use_result_message

if TYPE_CHECKING:
    from collections.abc import Callable

KINDS: Final[dict[str, Callable[[object], bool]]] = {
    "text": messages.is_text_block,
    "image": messages.is_image_block,
    "document": messages.is_document_block,
    "search_result": messages.is_search_result_block,
    "thinking": messages.is_thinking_block,
    "redacted_thinking": messages.is_redacted_thinking_block,
    "tool_use": messages.is_tool_use_block,
    "tool_result": messages.is_tool_result_block,
    "server_tool_use": messages.is_server_tool_use_block,
}


@pytest.mark.parametrize("kind", KINDS)
def test_each_guard_knows_its_own_kind_only(kind: str) -> None:
    """Exactly one guard says yes to a block."""
    assert [name for name, guard in KINDS.items() if guard({"type": kind})] == [kind]


def test_sdk_objects_are_told_by_the_same_functions() -> None:
    """Objects of the provider's client count as dicts do."""
    asked = ToolUseBlock(type="tool_use", id="t", name="Bash", input={})
    assert messages.is_tool_use_block(asked)
    assert not messages.is_text_block(asked)
    message = sdk_message(TextBlock(type="text", text="let me see"), asked)
    assert is_tool_use_request_message(message)
    assert is_tool_use_request_message({"type": "assistant", "message": message})
    assert not is_tool_use_request_message(sdk_message(TextBlock(type="text", text="done")))
    assert not is_tool_use_result_message(message)


def sdk_message(*blocks: Any) -> Message:  # noqa: ANN401 - any content block
    """Make an answer as the provider's client gives it."""
    return Message(
        id="msg_1",
        type="message",
        role="assistant",
        model="a-model",
        content=list(blocks),
        stop_reason="end_turn",
        usage=Usage(input_tokens=1, output_tokens=1),
    )


def test_a_type_checker_learns_the_shape() -> None:
    """A guard narrows a block to its ``TypedDict``; the type checker checks this test."""
    blocks: list[messages.ContentBlock] = [
        {"type": "text", "text": "let me see"},
        {"type": "tool_use", "id": "t", "name": "Bash", "input": {}},
    ]
    names: list[str] = []
    for block in blocks:
        if messages.is_tool_use_block(block):
            assert_type(block, messages.ToolUseBlock)
            names.append(block["name"])
        elif messages.is_text_block(block):
            assert_type(block, messages.TextBlock)
            names.append(block["text"])
    assert names == ["let me see", "Bash"]


def test_requests_are_known_by_their_blocks() -> None:
    """Any ``tool_use`` block counts, whatever ``stop_reason`` says."""
    assert is_tool_use_request_message({**answer(call("t", "Bash")), "stop_reason": "end_turn"})
    assert is_tool_use_request_message(answer({"type": "text", "text": "so"}, call("t", "Bash")))
    assert not is_tool_use_request_message({**answer(), "stop_reason": "tool_use"})
    assert not is_tool_use_request_message(msg(call("t", "Bash")))
    assert not is_tool_use_request_message({"role": "assistant", "content": "tool_use"})


def test_results_are_known_by_the_first_block_or_the_structured_copy() -> None:
    """A result that is not first does not count, a set ``toolUseResult`` does."""
    words = {"type": "text", "text": "so"}
    assert is_tool_use_result_message(msg(res("t", "out"), words))
    assert not is_tool_use_result_message(msg(words, res("t", "out")))
    record = {"type": "user", "message": msg(words)}
    assert not is_tool_use_result_message(record)
    assert not is_tool_use_result_message({**record, "toolUseResult": None})
    assert is_tool_use_result_message({**record, "toolUseResult": {"stdout": ""}})
    assert is_tool_use_result_message({**record, "toolUseResult": ""})
    assert not is_tool_use_result_message({"type": "assistant", "message": answer(res("t", "out"))})
    assert not is_tool_use_result_message(msg())


@given(odd_values())
def test_nothing_makes_a_guard_raise(value: object) -> None:
    """What is no message or block is simply none."""
    for holder in (value, {"role": "user", "content": value}, {"type": "user", "message": value}):
        assert not is_tool_use_request_message(holder)
        assert not is_tool_use_result_message(holder)
        assert not messages.is_image_block(holder)
