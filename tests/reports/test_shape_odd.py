from __future__ import annotations

import dataclasses
import math
from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.builders import (
    Block,
    enforce,
    gate,
    is_reference,
    msg,
    res,
    results_in,
    stored_files,
)
from tests.strategies import any_text
from toolbudget import InvalidMessageError, Session

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path


LARGE = 60_000 * "a"
HUGE = 210_000 * "a"


def text_block(text: str, **others: object) -> Block:
    """Make a text block."""
    return {"type": "text", "text": text, **others}


UNKNOWN_KINDS = st.sampled_from(
    ["tool_reference", "search_result", "document", "image", "thinking", "later", "", None, 7]
)


@given(kind=UNKNOWN_KINDS, text=st.sampled_from(["", HUGE]), key=any_text(max_size=5))
def test_a_block_of_another_kind_keeps_its_result_untouched(
    new_root: Callable[[], Path], kind: object, text: str, key: str
) -> None:
    """SHAPE 6, 7: whatever is not text, also a kind nobody knows yet, leaves the result alone."""
    block = res("t1", [text_block(text), {"type": kind, "text": text, key: text}])
    if block["content"][1]["type"] == "text":
        block["content"][1]["type"] = "other"
    with Session.open(new_root(), "session", durability="process") as session:
        messages = [msg(block)]
        assert gate(session, block) is block
        assert session.enforce(messages) is messages


JSON_VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | any_text(max_size=5),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(any_text(max_size=5), inner),
    max_leaves=6,
)
ODD_VALUES = JSON_VALUES | st.sampled_from(
    [b"x", (), {1, 2}, object(), math.nan, int, LARGE.encode(), {1: 2}, [[[]]], ["text"]]
)


@given(
    messages=st.lists(
        st.dictionaries(
            st.sampled_from(["role", "content", "type", "message", "id", "uuid", "isSidechain"]),
            st.sampled_from(["user", "assistant", "system", "tool_result", "progress"])
            | ODD_VALUES
            | st.lists(
                st.dictionaries(
                    st.sampled_from(["type", "tool_use_id", "content", "id", "name", "text"]),
                    st.sampled_from(["tool_result", "tool_use", "text", "t1", "Read"]) | ODD_VALUES,
                )
                | ODD_VALUES,
                max_size=4,
            ),
        ),
        max_size=6,
    )
)
def test_odd_shapes_pass_through(
    new_root: Callable[[], Path], messages: list[dict[str, object]]
) -> None:
    """SHAPE 6, 7, 8: no message or block of any shape raises or changes, and good ones count."""
    with Session.open(new_root(), "session", durability="process") as session:
        assert session.enforce(messages) is messages
        whole = [*messages, msg(res("large", HUGE)), *messages]
        sent = session.enforce(whole)
        assert len(sent) == len(whole)
        for position, message in enumerate(whole):
            is_large = position == len(messages)
            assert is_large or sent[position] is message


@given(block=st.dictionaries(any_text(max_size=5) | st.just("content"), ODD_VALUES), odd=ODD_VALUES)
def test_the_gate_passes_odd_shapes(
    new_root: Callable[[], Path], block: dict[str, object], odd: object
) -> None:
    """SHAPE 6, 7, 8: neither a block of another type nor odd content or ids raise in the gate."""
    with Session.open(new_root(), "session", durability="process") as session:
        untyped: Any = block
        assert session.gate(untyped, tool_name="Fetch") is block
        strange = {"type": "tool_result", **block, "tool_use_id": odd}
        session.gate(strange, tool_name="Fetch")
        strange = res("t1", odd)
        small = session.gate(strange, tool_name="Fetch")
        is_blank = odd is None or odd in ([], ()) or (isinstance(odd, str) and not odd.strip())
        assert (small is strange) is not is_blank


@pytest.mark.parametrize(
    ("messages", "index"),
    [([42], 0), ([msg(), None], 1), ([msg(), "text"], 1), ([msg(), [msg()]], 1), ([b"x"], 0)],
)
def test_an_element_that_is_no_message_is_named(
    session: Session, messages: list[object], index: int
) -> None:
    """SHAPE 8: what cannot be a message list at all is an error that names the element."""
    with pytest.raises(InvalidMessageError, match=rf"\bmessage {index}\b") as caught:
        session.enforce(messages)
    assert isinstance(caught.value, ValueError)


@pytest.mark.parametrize("messages", [None, "text", b"x", 42, {"role": "user"}, iter([])])
def test_what_is_no_sequence_is_refused(session: Session, messages: object) -> None:
    """SHAPE 8: a value that is no sequence at all is refused before anything happens."""
    untyped: Any = messages
    with pytest.raises(InvalidMessageError):
        session.enforce(untyped)


def nested(depth: int) -> object:
    """Make lists in lists."""
    value: object = []
    for _ in range(depth):
        value = [value]
    return value


def test_depth_does_not_crash(session: Session) -> None:
    """SHAPE 7: content that is nested 100,000 levels deep passes, and its neighbour is replaced."""
    deep = nested(100_000)
    block = res("t1", deep)
    messages = [msg(block, res("t2", HUGE), deep)]
    [sent] = enforce(session, messages)
    assert sent["content"][0] is block
    assert is_reference(sent["content"][1]["content"])
    assert gate(session, block) is block


@pytest.mark.parametrize("value", [nested(100_000), math.nan, {1, 2}, b"x"])
def test_a_list_that_json_cannot_hold_is_kept(session: Session, value: object) -> None:
    """SHAPE 9: if the keys beside a text cannot be stored, nothing of the result is replaced."""
    block = res("t1", [text_block(HUGE, meta=value)])
    messages = [msg(block)]
    assert gate(session, block) is block
    assert session.enforce(messages) is messages
    [failure] = session.report.failures
    assert (failure.stage, failure.tool_use_id) == ("store", "t1")
    assert stored_files(session) == {}


@dataclasses.dataclass
class SdkBlock:
    """A block as a provider's package gives it."""

    type: str
    id: str = ""
    name: str = ""
    tool_use_id: str = ""
    content: object = None


@dataclasses.dataclass
class SdkMessage:
    """A message as a provider's package gives it."""

    role: str
    content: list[object]
    id: str | None = None


def test_calls_in_objects_name_the_tool(session: Session) -> None:
    """SHAPE 9: an assistant message may be an object, and its calls decide about exemption."""
    calls = SdkMessage("assistant", [SdkBlock("tool_use", id="t1", name="Read")], id="m1")
    messages = [calls, msg(res("t1", HUGE), res("t2", HUGE))]
    sent = session.enforce(messages)
    assert [is_reference(block["content"]) for block in results_in(sent[1:])] == [False, True]
    assert sent[0] is calls


def test_results_in_objects_pass_through(session: Session) -> None:
    """SHAPE 9: the library never rewrites an object of another package."""
    block = SdkBlock("tool_result", tool_use_id="t1", content=HUGE)
    messages = [SdkMessage("user", [block]), SdkMessage("user", [res("t2", HUGE)]), msg(block)]
    assert session.enforce(messages) is messages
    assert session.report.skipped_by_reason == {"object": 3}
