"""What hosts and other programs leave in a conversation that the API would refuse."""

from __future__ import annotations

import copy
import json
from contextlib import suppress
from typing import TYPE_CHECKING, Any, Final, NamedTuple

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.builders import answer, call, msg, res
from tests.core.harness import canonical
from tests.layer.messages.api_rules import refusals
from tests.layer.messages.conversations import conversations
from tests.strategies import mutated
from toolbudget import InvalidMessageError, PrefixGuard
from toolbudget.messages import (
    add_cache_breakpoint,
    assistant_message_to_message_param,
    create_assistant_message,
    create_user_message,
    held_back_content,
    is_tool_use_request_message,
    is_tool_use_result_message,
    normalize_messages,
    normalize_messages_for_api,
    reorder_messages_in_ui,
    split_chains,
    user_message_to_message_param,
)
from toolbudget.messages.plain import clone
from toolbudget.tokens import token_count_with_estimation

if TYPE_CHECKING:
    from collections.abc import Callable

MARK: Final = {"type": "ephemeral"}
HOUR: Final = {"type": "ephemeral", "ttl": "1h"}
EMPTY_SYSTEMS: Final[tuple[object, ...]] = ("", " \n", None, [], [{"type": "text", "text": " "}])


class NamedBlock(NamedTuple):
    """A block of a host that keeps tuples."""

    type: str
    text: str


class SlotBlock:
    """A block of a host that keeps no dict in its objects."""

    __slots__ = ("_cached", "text", "type")

    def __init__(self, text: str) -> None:
        """Hold a text."""
        self.type = "text"
        self.text = text
        self._cached = 1


def text(words: object, **others: object) -> dict[str, Any]:
    """Make a text block."""
    return {"type": "text", "text": words, **others}


def system(content: object) -> dict[str, Any]:
    """Make a system message inside a conversation."""
    return {"role": "system", "content": content}


def normal(*messages: object) -> list[Any]:
    """Make the messages of a request."""
    return list(normalize_messages_for_api(messages))


@pytest.mark.parametrize("content", EMPTY_SYSTEMS)
def test_a_system_message_of_nothing_is_not_sent(content: object) -> None:
    """M4: no empty text, in a system message neither."""
    assert normal(msg(text("hi")), system(content), answer(text("ok"))) == [
        msg(text("hi")),
        answer(text("ok")),
    ]
    mixed = system([text(""), text("brief")])
    assert normal(msg(text("hi")), mixed) == [msg(text("hi")), system([text("brief")])]


def test_a_system_message_does_not_part_two_answers() -> None:
    """A1: it may stand behind the user's turn only, so answers around it are one message."""
    request = normal(
        msg(text("hi")),
        answer(text("one"), message_id="m1"),
        system("brief"),
        answer(text("two"), message_id="m2"),
        msg(text("and?")),
    )
    assert request == [
        msg(text("hi")),
        answer(text("one"), text("two")),
        msg(text("and?")),
        system("brief"),
    ]


@given(conversations(), st.lists(st.sampled_from(["a", "b", "", [text("c"), text("")]])), st.data())
def test_system_messages_break_no_rule(
    conversation: list[Any], contents: list[Any], data: st.DataObject
) -> None:
    """Wherever they stand: in order, behind the user's turn, and the roles alternate."""
    mixed = list(conversation)
    for content in contents:
        mixed.insert(data.draw(st.integers(0, len(mixed))), system(content))
    request = normal(*mixed)
    assert refusals(request) == []
    assert normal(*request) == request
    given_contents = [one["content"] for one in mixed if one.get("role") == "system"]
    expected = [[text("c")] if isinstance(one, list) else one for one in given_contents if one]
    assert [one["content"] for one in request if one["role"] == "system"] == expected
    roles = [message["role"] for message in request]
    while roles and roles[-1] == "system":
        roles.pop()  # what will stand before these is not known yet
    assert "assistant system" not in " ".join(roles)


def test_a_call_that_was_recorded_twice_is_sent_once() -> None:
    """The API refuses two calls of one id, and a call with two results."""
    twice = answer(call("t", "Bash"), message_id="m")
    request = normal(msg(text("hi")), twice, twice, msg(res("t", "one")), msg(res("t", "two")))
    assert request[1] == answer(call("t", "Bash"))
    assert [block["type"] for block in request[2]["content"]] == ["tool_result", "text", "text"]
    assert request[2]["content"][-1] == text("two")
    other = answer(call("t", "Grep"), message_id="m")
    assert normal(twice, other)[0] == answer(call("t", "Bash"), call("t", "Grep"))


@pytest.mark.parametrize("block", [{"type": "text"}, text(None)])
def test_a_text_block_without_a_text_is_an_empty_one(block: dict[str, Any]) -> None:
    """It holds nothing, and the API refuses it."""
    request = normal(msg(block, text("a")), answer(block))
    assert request == [msg(text("a")), answer(text("(no content)"))]


def test_a_result_without_content_has_no_key_for_it() -> None:
    """``null`` is no content that the API knows; no content at all is."""
    request = normal(answer(call("t", "Bash")), msg(res("t", None)))
    assert request[1] == msg({"type": "tool_result", "tool_use_id": "t"})


@pytest.mark.parametrize(
    "block",
    [
        {"type": "thinking", "thinking": "so", "signature": "c2ln"},
        {"type": "redacted_thinking", "data": "eA=="},
        {"type": "connector_text", "connector_text": "x"},
    ],
)
def test_a_breakpoint_of_the_host_leaves_a_thinking_block(block: dict[str, Any]) -> None:
    """M7: never on a thinking or connector block, whoever put it there; the API refuses it."""
    given_message = answer(text("a"), {**block, "cache_control": MARK})
    param: Any = assistant_message_to_message_param(given_message, enable_prompt_caching=True)
    assert param == answer(text("a"), block)
    assert normal(given_message) == [answer(text("a", cache_control=MARK), block)]
    marked: Any = add_cache_breakpoint([msg(text("q")), given_message])
    assert marked == [msg(text("q", cache_control=MARK)), answer(text("a"), block)]
    assert "cache_control" in given_message["content"][1]


def test_breakpoints_inside_documents_and_hits_count() -> None:
    """M7: never more than four, however deep they stand."""
    parts = [text(str(number), cache_control=MARK) for number in range(6)]
    document = {"type": "document", "source": {"type": "content", "content": parts}}
    hit = {"type": "search_result", "source": "s", "title": "t", "content": parts}
    param = user_message_to_message_param(
        msg(document, hit), add_cache=True, enable_prompt_caching=True
    )
    assert repr(param).count("cache_control") == 4
    assert repr(document).count("cache_control") == 6


@pytest.mark.parametrize(
    "behind",
    [
        answer(
            text("b", cache_control=HOUR), {"type": "thinking", "thinking": "", "signature": "x"}
        ),
        system([text("b", cache_control=HOUR)]),
    ],
    ids=["thinking", "system"],
)
def test_a_breakpoint_outlives_those_behind_it(behind: dict[str, Any]) -> None:
    """A1: the API refuses a breakpoint of one hour behind a shorter one."""
    marked: Any = add_cache_breakpoint([msg(text("a")), behind])
    assert marked == [msg(text("a", cache_control=HOUR)), behind]
    marked[0]["content"][0]["cache_control"].clear()
    assert marked[1] == behind
    marked = add_cache_breakpoint([msg(text("a", cache_control=HOUR)), answer(text("b"))])
    assert marked[1] == answer(text("b", cache_control=MARK))


@pytest.mark.parametrize("block", [SlotBlock("hi"), NamedBlock("text", "hi")])
def test_blocks_of_any_class_become_dicts(block: object) -> None:
    """Objects without a ``__dict__`` too."""
    assert normal(msg(block)) == [msg(text("hi"))]
    param: Any = user_message_to_message_param(msg(block), enable_prompt_caching=True)
    assert param == msg(text("hi"))


@pytest.mark.parametrize(
    ("options", "problem"),
    [
        ({"timestamp": 5}, r"timestamp .*: 5"),
        ({"image_paste_ids": 5}, r"image_paste_ids .*: 5"),
        ({"image_paste_ids": "12"}, r"image_paste_ids .*: '12'"),
    ],
)
def test_an_unusable_option_of_a_record_is_named(options: dict[str, Any], problem: str) -> None:
    """The error names the option and its value."""
    with pytest.raises(InvalidMessageError, match=problem):
        create_user_message("x", **options)


def test_a_usage_is_a_copy_of_what_the_host_holds() -> None:
    """A dict or the object of a client; nothing of it is shared."""

    class Creation:
        def model_dump(self, **_options: object) -> dict[str, object]:
            return {"ephemeral_5m_input_tokens": 2}

    class Usage:
        def model_dump(self, **_options: object) -> dict[str, object]:
            return {"input_tokens": 3, "cache_creation": Creation()}

    expected = {"input_tokens": 3, "cache_creation": {"ephemeral_5m_input_tokens": 2}}
    assert create_assistant_message("x", usage=Usage())["message"]["usage"] == expected
    given_usage: dict[str, Any] = {"cache_creation": {"a": 1}}
    made = create_assistant_message("x", usage=given_usage)
    given_usage["cache_creation"]["a"] = 2
    assert made["message"]["usage"] == {"cache_creation": {"a": 1}}
    with pytest.raises(InvalidMessageError, match=r"usage .*: 'abc'"):
        create_assistant_message("x", usage="abc")


KINDS_WITHOUT_HASH: Final[tuple[object, ...]] = (["text"], {}, [{"type": "text"}])


@pytest.mark.parametrize("kind", KINDS_WITHOUT_HASH, ids=repr)
def test_a_kind_that_is_no_text_is_of_no_kind(kind: object) -> None:
    """B11: a block of such a kind passes through, wherever it stands."""
    block = {"type": kind, "text": "a"}
    asked, stray = msg(text("hi"), block), msg(res("t", [block]))
    param: Any = user_message_to_message_param(asked, add_cache=True, enable_prompt_caching=True)
    assert param == msg(text("hi"), {**block, "cache_control": MARK})
    assert assistant_message_to_message_param(answer(block), enable_prompt_caching=True) == answer(
        block
    )
    assert add_cache_breakpoint([asked]) == [param]
    assert normal(asked) == [asked]
    assert json.dumps(block, separators=(",", ":")) in normal(stray)[0]["content"][1]["text"]


@pytest.mark.parametrize("odd", [10**5_000, {("a", "b"): 1}], ids=["huge", "tuple as key"])
def test_a_stray_part_that_is_no_json_is_refused(odd: object) -> None:
    """B11: what can stand in no request is our error, with its value."""
    with pytest.raises(InvalidMessageError, match="a result without its call"):
        normal(msg(text("hi")), msg(res("t", [{"type": "x", "value": odd}])))


class Ambiguous:
    """Like an array: what it equals is no single answer."""

    def __eq__(self, other: object) -> Any:  # noqa: ANN401
        """Give what has no truth."""
        return self

    def __bool__(self) -> bool:
        """Fail."""
        raise ValueError("ambiguous")

    __hash__ = None  # type: ignore[assignment]


def test_a_value_that_compares_in_its_own_way_passes() -> None:
    """B11: a host's array in a block, or in the place of its kind, ends nothing."""
    odd = {"type": Ambiguous(), "text": "a"}
    twice = answer({**call("t", "Bash"), "input": Ambiguous()}, message_id="m")
    request = normal(msg(text("hi")), twice, twice, msg(odd, res("t", "one")))
    assert [len(message["content"]) for message in request] == [1, 2, 2]
    record = {"type": Ambiguous(), "message": msg(text("hi"))}
    assert token_count_with_estimation([record, msg(text("hi"))]) > 0
    assert PrefixGuard().check([record, msg(odd)]).kind == "first"


def _to_params(messages: list[Any]) -> None:
    for message in messages:
        for to_param in (user_message_to_message_param, assistant_message_to_message_param):
            with suppress(InvalidMessageError):
                to_param(message, add_cache=True, enable_prompt_caching=True)


def _ask_guards(messages: list[Any]) -> None:
    for message in messages:
        is_tool_use_request_message(message)
        is_tool_use_result_message(message)


OF_MESSAGES: Final[tuple[Callable[[list[Any]], object], ...]] = (
    normalize_messages_for_api,
    held_back_content,
    normalize_messages,
    reorder_messages_in_ui,
    split_chains,
    add_cache_breakpoint,
    _to_params,
    _ask_guards,
)


@given(conversation=mutated(conversations()))
def test_whatever_stands_where_is_taken_or_refused(conversation: list[Any]) -> None:
    """B11, F4: no value at any place raises anything but our own error, or is changed."""
    before = copy.deepcopy(conversation)
    for function in OF_MESSAGES:
        with suppress(InvalidMessageError):
            function(conversation)
    assert canonical(conversation) == canonical(before)


@pytest.mark.parametrize("through", ["dict", "list", "both"])
def test_what_holds_itself_is_refused(through: str) -> None:
    """It was copied for ever; what only stands there twice is copied twice."""
    part: Any = {"type": "text", "text": "a", "of": []}
    whole = {"dict": part, "list": part["of"], "both": [{"of": part}]}[through]
    twice = [part["of"], part["of"]]
    assert clone({**part, "twice": twice})["twice"] == [[], []]
    part["of"].append(whole)
    with pytest.raises(InvalidMessageError, match="holds itself"):
        normalize_messages_for_api([{"role": "user", "content": [part]}])
