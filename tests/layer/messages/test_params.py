"""Messages of a request, and where cache breakpoints stand."""

from __future__ import annotations

import copy
import dataclasses
import datetime as dt
from collections import UserDict
from typing import TYPE_CHECKING, Any, Final

import pytest
from anthropic.types import TextBlock, ThinkingBlock, ToolUseBlock
from hypothesis import given
from hypothesis import strategies as st

from tests.builders import answer, call, msg, res
from tests.layer.messages.api_rules import breakpoints_in
from tests.layer.messages.conversations import blocks_of, conversations, leaves
from tests.layer.messages.test_guards import sdk_message
from tests.strategies import SdkObject
from toolbudget import ConfigError, InvalidMessageError
from toolbudget.messages import (
    add_cache_breakpoint,
    assistant_message_to_message_param,
    create_user_message,
    normalize_messages_for_api,
    user_message_to_message_param,
)

if TYPE_CHECKING:
    from collections.abc import Callable

Block = dict[str, Any]

MARK: Final = {"type": "ephemeral"}
UNMARKABLE: Final[list[Block]] = [
    {"type": "thinking", "thinking": "…", "signature": "c2ln"},
    {"type": "redacted_thinking", "data": "eA=="},
    {"type": "connector_text", "connector_text": "x"},
    {"type": "text", "text": " "},
]


def text(words: str, **others: object) -> Block:
    """Make a text block."""
    return {"type": "text", "text": words, **others}


@pytest.mark.parametrize(
    ("convert", "role"),
    [(user_message_to_message_param, "user"), (assistant_message_to_message_param, "assistant")],
)
class TestBothRoles:
    """What holds for the user's and the assistant's messages."""

    def test_internal_fields_are_gone(self, convert: Callable[..., Any], role: str) -> None:
        """Nothing but role and content is left of a record."""
        message = {"role": role, "content": [text("a")], "id": "m", "usage": {}}
        record = {"type": role, "message": message, "uuid": "u", "toolUseResult": "big"}
        for given_message in (record, message):
            param = convert(given_message, enable_prompt_caching=True)
            assert param == {"role": role, "content": [text("a")]}

    def test_a_text_stays_a_text_without_a_breakpoint(
        self, convert: Callable[..., Any], role: str
    ) -> None:
        """Only a breakpoint needs a block."""
        message = {"role": role, "content": "a"}
        assert convert(message, enable_prompt_caching=True) == message
        param = convert(message, add_cache=True, enable_prompt_caching=True)
        assert param == {"role": role, "content": [text("a", cache_control=MARK)]}
        param = convert(message, add_cache=True, enable_prompt_caching=False)
        assert param == {"role": role, "content": [text("a")]}

    def test_only_the_last_block_is_marked(self, convert: Callable[..., Any], role: str) -> None:
        """A mark of the host's own stays as it is."""
        message = {"role": role, "content": [text("a"), text("b")]}
        param = convert(message, add_cache=True, enable_prompt_caching=True, query_source="sdk")
        assert param["content"] == [text("a"), text("b", cache_control=MARK)]
        long_mark = {"type": "ephemeral", "ttl": "1h"}
        message = {"role": role, "content": [text("a", cache_control=long_mark)]}
        param = convert(message, add_cache=True, enable_prompt_caching=True)
        assert param["content"] == [text("a", cache_control=long_mark)]

    def test_nothing_is_shared(self, convert: Callable[..., Any], role: str) -> None:
        """Whatever is done to the param, the host's objects stay."""
        deep = {"type": "tool_use", "id": "t", "name": "Bash", "input": {"a": [{"b": ["c"]}]}}
        message = {"role": role, "content": [text("a", citations=[{"x": [1]}]), deep]}
        before = copy.deepcopy(message)
        param = convert(message, add_cache=True, enable_prompt_caching=True)
        param["content"][0]["citations"][0]["x"].append(2)
        param["content"][1]["input"]["a"][0]["b"].clear()
        param["content"].clear()
        assert message == before

    def test_never_more_than_four_breakpoints(self, convert: Callable[..., Any], role: str) -> None:
        """The earliest go first, those inside a result counted; the last four stay."""
        blocks = [text(str(number), cache_control=MARK) for number in range(4)]
        inner = {
            "type": "tool_result",
            "tool_use_id": "t",
            "content": [text("r", cache_control=MARK)],
        }
        message = {"role": role, "content": [inner, *blocks, text("last")]}
        param = convert(message, add_cache=True, enable_prompt_caching=True)
        marked = [block["text"] for block in breakpoints_in(param)]
        assert marked == ["1", "2", "3", "last"]

    def test_another_role_is_an_error(self, convert: Callable[..., Any], role: str) -> None:
        """The error says which role was wanted and what came."""
        other = "assistant" if role == "user" else "user"
        with pytest.raises(InvalidMessageError, match=f"not one of role '{role}'.*{other}"):
            convert({"role": other, "content": "x"}, enable_prompt_caching=True)
        with pytest.raises(InvalidMessageError, match="neither text nor a list of blocks: 7"):
            convert({"role": role, "content": 7}, enable_prompt_caching=True)
        with pytest.raises(InvalidMessageError, match="neither text nor a list of blocks: None"):
            convert({"role": role}, enable_prompt_caching=True)
        with pytest.raises(ConfigError, match=r"query_source .*: 7"):
            convert({"role": role, "content": "x"}, enable_prompt_caching=True, query_source=7)


@pytest.mark.parametrize("block", UNMARKABLE, ids=lambda block: block["type"])
def test_blocks_that_may_not_carry_a_breakpoint(block: Block) -> None:
    """Thinking, redacted thinking, connector blocks and empty texts are never marked."""
    message = answer(text("a"), block)
    param = assistant_message_to_message_param(message, add_cache=True, enable_prompt_caching=True)
    assert param == {"role": "assistant", "content": [text("a"), block]}


def test_calls_are_kept() -> None:
    """A ``tool_use`` block stays, and may carry the breakpoint."""
    param: Any = assistant_message_to_message_param(
        answer(call("t", "Bash")), add_cache=True, enable_prompt_caching=True
    )
    assert param["content"] == [call("t", "Bash", cache_control=MARK)]


def test_sdk_objects_become_what_their_client_would_send() -> None:
    """Only what the answer held is sent back: no unset field appears as null."""
    message = sdk_message(
        ThinkingBlock(type="thinking", thinking="so", signature="c2ln"),
        TextBlock(type="text", text="\ud800 let me see"),
        ToolUseBlock(type="tool_use", id="t", name="Bash", input={"a": [1]}),
    )
    param = assistant_message_to_message_param(message, enable_prompt_caching=True)
    assert param["content"] == [
        {"type": "thinking", "thinking": "so", "signature": "c2ln"},
        text("\ud800 let me see"),
        {"type": "tool_use", "id": "t", "name": "Bash", "input": {"a": [1]}},
    ]
    assert normalize_messages_for_api([message, msg(res("t", "x"))])[0] == param


def test_a_list_gets_one_breakpoint_at_its_end() -> None:
    """The last message that may carry one does; without caching none is added."""
    request = [msg(text("a")), answer(text("b")), {"role": "system", "content": "brief"}]
    marked: list[Any] = list(add_cache_breakpoint(request))
    assert marked[1] == answer(text("b", cache_control=MARK))
    assert request[1] == answer(text("b"))
    marked = list(add_cache_breakpoint([msg(text("a")), answer(UNMARKABLE[0])]))
    assert marked == [msg(text("a", cache_control=MARK)), answer(UNMARKABLE[0])]
    assert add_cache_breakpoint(request, enable_prompt_caching=False) == request
    assert add_cache_breakpoint([]) == []
    assert add_cache_breakpoint([create_user_message("a")]) == [msg(text("a", cache_control=MARK))]


@pytest.mark.parametrize("value", [-1, 5, True, 2.0, "4", None])
def test_more_breakpoints_than_the_api_takes_cannot_be_asked_for(value: Any) -> None:  # noqa: ANN401
    """The error names the option and its value."""
    with pytest.raises(ConfigError, match=f"max_breakpoints .*: {value!r}"):
        add_cache_breakpoint([], max_breakpoints=value)


def test_a_list_of_a_request_is_wanted() -> None:
    """A record that is no message has no place in a request."""
    with pytest.raises(InvalidMessageError, match="message 1 is not one of a request"):
        add_cache_breakpoint([msg(text("a")), {"type": "progress"}])


@given(conversations(), st.integers(0, 4))
def test_a_list_never_has_more_breakpoints_than_allowed(
    conversation: list[Any], max_breakpoints: int
) -> None:
    """However many the host had set: the last ones stay, and nothing else changes."""
    request = normalize_messages_for_api(conversation)
    before = copy.deepcopy(request)
    marked = add_cache_breakpoint(request, max_breakpoints=max_breakpoints)
    assert len(list(breakpoints_in(list(marked)))) <= max_breakpoints
    assert leaves(blocks_of(marked)) == leaves(blocks_of(request))
    assert request == before
    last = [block for message in marked for block in message["content"]]
    if last and max_breakpoints and last[-1]["type"] not in {"thinking", "redacted_thinking"}:
        assert last[-1]["cache_control"]


@dataclasses.dataclass
class OwnBlock:
    """A block of a host that keeps its own classes."""

    type: str
    text: str


def test_objects_of_the_hosts_own_become_dicts() -> None:
    """Dataclasses and plain objects are read by their fields; other values are copied."""
    moment = dt.datetime(2026, 1, 2, tzinfo=dt.UTC)
    blocks = [
        OwnBlock("text", "a"),
        SdkObject(type="text", text="b", _hidden=1),
        UserDict(text("c", at=moment)),
    ]
    param = user_message_to_message_param(msg(*blocks), enable_prompt_caching=True)
    assert param["content"] == [text("a"), text("b"), text("c", at=moment)]


def test_a_value_that_cannot_be_shown_is_still_named() -> None:
    """A number of more digits than are printed does not hide our error."""
    with pytest.raises(InvalidMessageError, match="a list of blocks: <int>"):
        user_message_to_message_param(
            {"role": "user", "content": 10**5_000}, enable_prompt_caching=True
        )
