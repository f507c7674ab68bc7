"""Counting the context from what responses report."""

from __future__ import annotations

import math
import sys
from dataclasses import dataclass, field
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest
from anthropic.types import Message as SdkMessage
from anthropic.types import Usage as SdkUsage
from hypothesis import given
from hypothesis import strategies as st

from tests.layer.tokens.usage_oracle import (
    context_tokens,
    last_usage,
    read_records,
    sum_of,
    tokens_of,
)
from toolbudget import InvalidMessageError
from toolbudget.tokens import (
    ContextMeter,
    message_token_count_from_last_api_response,
    read_window_count,
    token_count_from_last_api_response,
    token_count_from_usage,
    token_count_with_estimation,
)

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

Record = dict[str, Any]

USED = {"input_tokens": 1000, "output_tokens": 10}


def said(
    message_id: str | None, usage: object = None, *, content: object = (), **keys: object
) -> Record:
    """Make an assistant's record."""
    message: Record = {"role": "assistant", "content": list(content) if content == () else content}
    if message_id is not None:
        message["id"] = message_id
    if usage is not None:
        message["usage"] = usage
    return {"type": "assistant", "message": message, **keys}


def result(chars: int, **keys: object) -> Record:
    """Make a user's record with one result of so many characters."""
    block = {"type": "tool_result", "tool_use_id": "t", "content": "x" * chars}
    return {"type": "user", "message": {"role": "user", "content": [block]}, **keys}


def metered(messages: Sequence[object]) -> int:
    """Count with the meter."""
    meter = ContextMeter()
    for message in messages:
        meter.add(message)
    return meter.count.tokens


@pytest.mark.parametrize(
    ("usage", "expected"),
    [
        (None, 0),
        ({}, 0),
        ({"input_tokens": 1, "output_tokens": 2}, 3),
        (
            {
                "input_tokens": 1,
                "cache_creation_input_tokens": 20,
                "cache_read_input_tokens": 300,
                "output_tokens": 4000,
            },
            4321,
        ),
        ({"input_tokens": None, "cache_read_input_tokens": None, "output_tokens": 7}, 7),
        (
            {
                "input_tokens": 5,
                "cache_creation": {"ephemeral_5m_input_tokens": 9},
                "iterations": [{"input_tokens": 5}],
                "server_tool_use": {"web_search_requests": 3},
                "total_tokens": 99,
            },
            5,
        ),
        ({"input_tokens": "12", "output_tokens": True, "cache_read_input_tokens": [1]}, 0),
        ({"input_tokens": -5, "output_tokens": 6}, 6),
        ({"input_tokens": math.nan, "output_tokens": math.inf}, 0),
        ({"input_tokens": 12.0, "output_tokens": 1.5}, 12),
        ({"input_tokens": np.int64(3)}, 3),
        (SdkUsage(input_tokens=1, output_tokens=2, cache_read_input_tokens=None), 3),
        (SdkUsage(input_tokens=1, output_tokens=2, cache_creation_input_tokens=4), 7),
        (SdkUsage.model_construct(output_tokens=2), 2),
        (SimpleNamespace(output_tokens=2), 2),
    ],
)
def test_a_usage_is_the_sum_of_its_four_counts(usage: object, expected: int) -> None:
    """T1: missing, null and odd fields count 0, other fields are not added."""
    assert token_count_from_usage(usage) == expected


@pytest.mark.parametrize("usage", ["12", b"bytes", 13, 1.5, [1], (1,)])
def test_what_cannot_be_a_usage_is_an_error(usage: object) -> None:
    """A count passed in place of the usage must not look like an empty context."""
    with pytest.raises(InvalidMessageError, match=f"not {type(usage).__name__}"):
        token_count_from_usage(usage)


def test_results_between_the_records_of_a_response_are_counted() -> None:
    """T3: the anchor is the first record of the response, so both results are behind it."""
    stream = [
        {"type": "user", "message": {"role": "user", "content": "x" * 4000}},
        said("m1", USED),
        result(400),
        said("m1", USED),
        {"type": "progress", "data": "x" * 4000},
        result(800),
    ]
    assert token_count_with_estimation(stream) == 1010 + tokens_of(400) + tokens_of(800)
    assert metered(stream) == token_count_with_estimation(stream)


def test_a_growing_usage_counts_once_by_its_last_record() -> None:
    """T4: the records of one streamed response report more and more; only the last counts."""
    stream = [
        said("m1", {"input_tokens": 1000, "output_tokens": 1}),
        result(400),
        said("m1", {"input_tokens": 1000, "output_tokens": 90}),
        result(400),
    ]
    assert token_count_with_estimation(stream) == 1090 + 2 * tokens_of(400)
    assert token_count_from_last_api_response(stream) == 1090
    assert message_token_count_from_last_api_response(stream) == 90


def test_another_response_ends_the_way_back() -> None:
    """Records of the same id behind another response are another response's."""
    stream = [said("m1", USED), result(400), said("m2", USED), said("m1", USED), result(40)]
    assert token_count_with_estimation(stream) == 1010 + tokens_of(40)


def test_messages_that_have_no_id_do_not_end_the_way_back() -> None:
    """An assistant's message without an id stands between two records of one response."""
    stream = [said("m1", USED), result(400), said(None), result(80), said("m1", USED), result(40)]
    assert token_count_with_estimation(stream) == 1010 + sum(map(tokens_of, (400, 80, 40)))
    assert metered(stream) == token_count_with_estimation(stream)


def test_an_id_of_a_user_message_ends_nothing() -> None:
    """Some hosts number their own messages."""
    own = result(400)
    own["message"]["id"] = "own"
    expected = 1010 + tokens_of(400)
    assert token_count_with_estimation([said("m1", USED), own, said("m1", USED)]) == expected


@pytest.mark.parametrize("nothing", [{"input_tokens": 0, "output_tokens": 0}, {}, "odd", [1], 7])
def test_a_usage_of_nothing_is_none(nothing: object) -> None:
    """An answer that the host made up (an error, say) reports zeros; the one before counts."""
    stream = [said("m1", USED), result(400), said("m2", nothing, content="x" * 40)]
    assert token_count_with_estimation(stream) == 1010 + tokens_of(400) + tokens_of(40)
    assert metered(stream) == token_count_with_estimation(stream)
    assert token_count_from_last_api_response(stream) == 1010


def test_without_usage_everything_is_estimated() -> None:
    """T3: API messages carry none."""
    messages = [
        {"role": "user", "content": "x" * 400},
        {"role": "assistant", "content": [{"type": "text", "text": "x" * 40}]},
    ]
    count = read_window_count(messages)
    assert (count.reported_tokens, count.estimated_tokens) == (0, tokens_of(400) + tokens_of(40))
    assert token_count_from_last_api_response(messages) == 0
    assert message_token_count_from_last_api_response(messages) == 0


def test_nothing_is_no_error() -> None:
    """A conversation begins empty."""
    assert token_count_with_estimation([]) == 0
    assert ContextMeter().count.tokens == 0


def test_sdk_objects_count_as_dicts_do() -> None:
    """What the client returned may be in the list as it is."""
    response = SdkMessage(
        id="m1",
        content=[],
        model="m",
        role="assistant",
        type="message",
        usage=SdkUsage(input_tokens=1000, output_tokens=10),
    )
    messages: list[object] = [response, {"role": "user", "content": "x" * 400}]
    assert token_count_with_estimation(messages) == 1010 + tokens_of(400)
    assert metered(messages) == 1010 + tokens_of(400)


def test_a_system_message_in_the_list_counts() -> None:
    """It may stand between the messages, and the model reads it."""
    messages = [
        {"role": "assistant", "content": "", "usage": USED},
        {"role": "system", "content": "x" * 400},
    ]
    assert token_count_with_estimation(messages) == 1010 + tokens_of(400)
    assert metered(messages) == 1010 + tokens_of(400)


def test_only_the_main_chain_counts() -> None:
    """A sub-agent has a context of its own, and its records stop no way back."""
    side = {"isSidechain": True, "agentId": "a"}
    stream = [
        said("m1", USED),
        result(400),
        said("s1", {"input_tokens": 9, "output_tokens": 9}, **side),
        result(4000, **side),
        said("m1", USED),
        said("s1", {"input_tokens": 9, "output_tokens": 9}, **side),
    ]
    assert token_count_with_estimation(stream) == 1010 + tokens_of(400)
    assert metered(stream) == 1010 + tokens_of(400)


def test_a_transcript_of_a_sub_agent_counts_its_own_chain() -> None:
    """Where there is no main chain, the context is that of the last message."""
    first = {"isSidechain": True, "agentId": "a"}
    second = {"isSidechain": True, "agentId": "b"}
    stream = [said("m1", USED, **first), said("m2", USED, **second), result(400, **second)]
    assert token_count_with_estimation(stream) == 1010 + tokens_of(400)
    assert metered(stream) == 1010 + tokens_of(400)
    assert metered([*stream, result(40, **first)]) == 1010 + tokens_of(40)


def test_what_was_compacted_is_out_of_the_context() -> None:
    """The usage before the boundary is that of a context which is gone."""
    boundary = {"type": "system", "subtype": "compact_boundary", "content": "compacted"}
    stream = [said("m1", USED), result(400), boundary, result(40)]
    assert token_count_with_estimation(stream) == tokens_of(40)
    assert metered(stream) == tokens_of(40)


@pytest.mark.parametrize("odd", [None, 7, "text", b"x", [1]])
def test_what_cannot_be_a_message_is_named(odd: object) -> None:
    """The index of the element is told."""
    with pytest.raises(InvalidMessageError, match="message 1 "):
        token_count_with_estimation([result(4), odd])
    with pytest.raises(InvalidMessageError, match="must be a list"):
        token_count_with_estimation("text")


@dataclass
class Talk:
    """An object with a role and a content, as some hosts have them."""

    role: str
    content: object
    usage: object = field(default_factory=dict)


def test_other_objects_count_too() -> None:
    """Any object with a role and content is a message."""
    messages = [Talk("assistant", "", USED), Talk("user", "x" * 400)]
    assert token_count_with_estimation(messages) == 1010 + tokens_of(400)


CONTENTS = st.integers(0, 40).map(lambda chars: "x" * chars)
USAGES = st.none() | st.builds(
    lambda read, out: {"input_tokens": read, "output_tokens": out, "cache_read_input_tokens": None},
    st.integers(0, 3) | st.none(),
    st.integers(0, 3) | st.none(),
)
CHAINS = st.sampled_from([{}, {}, {"isSidechain": True, "agentId": "a"}])
STREAMS = st.lists(
    st.builds(
        lambda name, usage, content, chain: said(name, usage, content=content, **chain),
        st.sampled_from(["m1", "m2", None]),
        USAGES,
        CONTENTS,
        CHAINS,
    )
    | st.builds(lambda chars, chain: result(chars, **chain), st.integers(0, 40), CHAINS)
    | st.sampled_from([{"type": "progress"}, {"type": "system", "subtype": "compact_boundary"}]),
    max_size=12,
)


@given(stream=STREAMS)
def test_every_stream_counts_as_the_rules_say(stream: list[Record]) -> None:
    """Function and meter agree with a brute-force reading of SPEC 8."""
    stream = [{"type": "user", "message": {"role": "user", "content": ""}}, *stream]
    expected = context_tokens(stream)
    assert token_count_with_estimation(stream) == expected
    assert metered(stream) == expected
    assert token_count_from_last_api_response(stream) == sum_of(last_usage(stream))


def test_every_turn_of_every_recorded_session(corpus: Path) -> None:
    """At each point of each transcript, the count is that of the brute-force reading."""
    paths = sorted(corpus.glob("claude_code/*.jsonl")) + sorted(corpus.glob("trajectories/*.jsonl"))
    assert paths
    for path in paths:
        records = list(read_records(path))
        step = max(len(records) // 40, 1)
        meter = ContextMeter()
        for end, record in enumerate(records, start=1):
            meter.add(record)
            if end % step and end != len(records):
                continue
            head = records[:end]
            expected = context_tokens(head)
            assert meter.count.tokens == expected, (path.name, end)
            assert token_count_with_estimation(head) == expected, (path.name, end)
            assert token_count_from_last_api_response(head) == sum_of(last_usage(head))
            written = last_usage(head).get("output_tokens") or 0
            assert message_token_count_from_last_api_response(head) == written


@pytest.mark.parametrize("with_usage", [True, False])
def test_the_time_of_a_count_is_linear(*, with_usage: bool) -> None:
    """Ten times the records take ten times the calls; benches/bench_context.py has the seconds."""
    usage = USED if with_usage else None

    def calls(answers: int) -> int:
        stream: list[Record] = []
        for number in range(answers):
            name = f"m{number}"
            stream += (said(name, usage), result(40), said(name, usage), result(40))
        expected = 1010 + 2 * tokens_of(40) if with_usage else 2 * answers * tokens_of(40)
        events: list[str] = []
        sys.setprofile(lambda _frame, event, _argument: events.append(event))
        try:
            counted = token_count_with_estimation(stream)
        finally:
            sys.setprofile(None)
        assert counted == expected
        return len(events)

    # Whatever is done once in a process, such as an import, is done by now.
    calls(1)
    assert calls(3_000) <= 10 * calls(300)
