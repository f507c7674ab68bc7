"""What a token count must survive: depth, absurd numbers, content that changes meanwhile."""

from __future__ import annotations

import asyncio
from fractions import Fraction
from typing import Any

import pytest
from hypothesis import given

from tests.layer.messages.conversations import conversations
from tests.strategies import mutated
from toolbudget import ConfigError, ContextWindow, acount_tokens, count_tokens
from toolbudget.tokens import (
    ContextMeter,
    bytes_per_token_for_file_type,
    read_window_count,
    rough_token_count_estimation,
    rough_token_count_estimation_for_messages,
    rough_token_count_for_chars,
    token_count_with_estimation,
)


def nested_results(levels: int) -> dict[str, Any]:
    """Make a user message whose result holds a result, and so on."""
    block: dict[str, Any] = {"type": "text", "text": "x" * 40}
    for _ in range(levels):
        block = {"type": "tool_result", "tool_use_id": "t", "content": [block]}
    return {"role": "user", "content": [block]}


@pytest.mark.parametrize("levels", [1, 50])
def test_nested_results_count_by_their_text(levels: int) -> None:
    """T2: the sum over blocks, however they are nested."""
    assert rough_token_count_estimation_for_messages([nested_results(levels)]) == 10


def test_results_that_are_nested_without_end_count_something() -> None:
    """F4: no depth of untrusted content ends the host; it counts as a block without text does."""
    deep = nested_results(100_000)
    endless: dict[str, Any] = {"type": "tool_result", "tool_use_id": "t"}
    endless["content"] = [endless]
    for message in (deep, {"role": "user", "content": [endless]}):
        assert token_count_with_estimation([message]) == 2_000
        meter = ContextMeter()
        meter.add(message)
        assert meter.count.tokens == 2_000
    while deep:  # so deep a dict cannot be freed at once
        content = deep.pop("content", [])
        deep = content[0] if isinstance(content, list) and content else {}


@pytest.mark.parametrize("number", [10**5_000, -(10**5_000)], ids=["huge", "negative"])
def test_a_number_that_is_too_long_to_print_hides_no_text(number: int) -> None:
    """T2: the text beside it counts, and the number by about its length."""
    given = {"number": number, "text": "x" * 40_000}
    message = {"role": "assistant", "content": [{"type": "tool_use", "name": "x", "input": given}]}
    assert 11_000 < rough_token_count_estimation_for_messages([message]) < 11_500


@pytest.mark.parametrize("value", [10**400, Fraction(10**400)], ids=["int", "fraction"])
def test_a_number_beyond_every_float_is_named(value: Any) -> None:  # noqa: ANN401
    """T6, T5: a clear error instead of an ``OverflowError``."""
    with pytest.raises(ConfigError, match=r"^near \(argument\) must be a finite number"):
        ContextWindow(near=value)
    with pytest.raises(ConfigError, match=r"^timeout_s \(argument\) must be a finite number"):
        count_tokens(None, [], model="m", timeout_s=value)


@pytest.mark.parametrize("value", [None, 5, ["a"], b"abcd"], ids=repr)
def test_only_a_text_is_estimated(value: Any) -> None:  # noqa: ANN401
    """T2: ``len`` of something else is no number of characters."""
    with pytest.raises(ConfigError, match=r"^text \(argument\) must be a str: "):
        rough_token_count_estimation(value)
    with pytest.raises(ConfigError, match=r"^extension \(argument\) must be a str: "):
        bytes_per_token_for_file_type(value)


@pytest.mark.parametrize("value", [-1, 2.0, True, "4"], ids=repr)
def test_a_number_of_characters_is_a_whole_one(value: Any) -> None:  # noqa: ANN401
    """A text has no fewer than 0."""
    with pytest.raises(ConfigError, match=r"^count_chars \(argument\) must be "):
        rough_token_count_for_chars(value)


class _SlowClient:
    """A client whose answer tells the length of the text, and takes a while."""

    def __init__(self) -> None:
        self.messages = self
        self.may_answer = asyncio.Event()

    async def count_tokens(self, **arguments: Any) -> dict[str, int]:  # noqa: ANN401
        """Wait until the test says so."""
        await self.may_answer.wait()
        return {"input_tokens": len(arguments["messages"][0]["content"])}


def test_content_that_changes_meanwhile_is_not_kept_under_the_old_one() -> None:
    """T5: results are cached by content: a later call with the first content is asked anew."""

    async def run() -> list[tuple[int, bool]]:
        client = _SlowClient()
        messages = [{"role": "user", "content": "hi"}]
        task = asyncio.create_task(acount_tokens(client, messages, model="m"))
        await asyncio.sleep(0)
        messages[0]["content"] = "x" * 1_000
        client.may_answer.set()
        await task
        again = [{"role": "user", "content": "hi"}]
        counts = [await acount_tokens(client, again, model="m") for _ in range(2)]
        return [(count.tokens, count.from_cache) for count in counts]

    assert asyncio.run(run()) == [(2, False), (2, True)]


@given(messages=mutated(conversations()))
def test_function_and_meter_agree_whatever_stands_where(messages: list[Any]) -> None:
    """B11: no value at any place ends a count, and both read it alike."""
    meter = ContextMeter()
    for end, message in enumerate(messages, start=1):
        meter.add(message)
        assert meter.count == read_window_count(messages[:end])
