"""Message lists as hostile as untrusted hosts, servers and transcripts can make them.

Ids, names and texts come from small pools: what repeats is what breaks.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from hypothesis import strategies as st

from tests.strategies.shapes import Text, odd_values, rarely, shaped
from tests.strategies.texts import result_text

if TYPE_CHECKING:
    from collections.abc import Callable

__all__ = ["message_lists"]

_IDS = (
    "t1",
    "t1",
    "t1",
    "t2",
    "t2",
    "t3",
    "call_0",
    "",
    "../\x00",
    "\ud800",
    "\U0001f600",
    Text("t1"),
)
_NAMES = ("Bash", "Bash", "Read", "memory", "", Text("Read"))
_MESSAGE_IDS = ("m1", "m1", "m2", "m3", "", Text("m1"))
_CALLERS = (
    {"type": "direct"},
    {"type": "code_execution_20250825", "tool_id": "srv"},
    {"type": "program"},
    {"type": 5},
    "code_execution",
    None,
)
_CHAINS: tuple[dict[str, object], ...] = (
    {},
    {},
    {},
    {"isSidechain": False},
    {"isSidechain": True},
    {"isSidechain": True, "agentId": "a1"},
    {"isSidechain": "yes", "agentId": 7},
    {"agentId": "a1"},
)
_CACHE_CONTROLS = ({"type": "ephemeral"}, {"type": "ephemeral", "ttl": "1h"}, None)
_BETWEEN: tuple[dict[str, object], ...] = (
    {},
    {"role": "system", "content": "be brief"},
    {"role": 5, "content": []},
    {"type": "progress", "data": {"message": {"role": "assistant", "id": "m9", "content": []}}},
    {"type": "progress", "message": {"role": "assistant", "id": "m9", "content": []}},
    {"type": "system", "subtype": "info", "content": "x"},
    {"type": "attachment", "attachment": {"type": "file"}},
    {"type": "user", "message": "no message"},
    {"type": "assistant"},
    {"role": "user"},
    {"role": "user", "content": "typed by a person"},
    {"role": "assistant", "content": "an answer without an id"},
)


def _with_optional(
    required: dict[str, st.SearchStrategy[Any]], **optional: st.SearchStrategy[Any]
) -> st.SearchStrategy[dict[str, Any]]:
    return st.fixed_dictionaries(required, optional=optional)


def _text_blocks(texts: st.SearchStrategy[str]) -> st.SearchStrategy[dict[str, Any]]:
    return _with_optional(
        {"type": st.just("text"), "text": rarely(odd_values(), texts)},
        cache_control=st.sampled_from(_CACHE_CONTROLS),
        citations=st.just([]),
    )


def _contents(texts: st.SearchStrategy[str]) -> st.SearchStrategy[object]:
    """Give the content of a result: text, blocks, images, anything."""
    image = {"type": "image", "source": {"type": "base64", "data": "A" * 900}}
    reference = {"type": "tool_reference", "tool_name": "WebFetch"}
    blocks = _text_blocks(texts)
    lists = st.lists(blocks, min_size=1, max_size=3)
    mixed = st.builds(
        lambda block, other: [block, other], blocks, st.sampled_from([image, reference])
    )
    shapes = st.lists(shaped(blocks), min_size=1, max_size=2)
    usual = st.one_of(texts, texts, lists)
    return rarely(st.one_of(texts.map(Text), lists.map(tuple), mixed, shapes), usual)


def _results(texts: st.SearchStrategy[str]) -> st.SearchStrategy[dict[str, Any]]:
    return _with_optional(
        {
            "type": st.just("tool_result"),
            "tool_use_id": rarely(odd_values(), st.sampled_from(_IDS)),
            "content": rarely(odd_values(), _contents(texts)),
        },
        is_error=st.booleans(),
        cache_control=st.sampled_from(_CACHE_CONTROLS),
        toolset_name=rarely(st.just("browser"), st.none()),
    )


def _calls() -> st.SearchStrategy[dict[str, Any]]:
    return _with_optional(
        {
            "type": st.just("tool_use"),
            "id": rarely(odd_values(), st.sampled_from(_IDS)),
            "name": rarely(odd_values(), st.sampled_from(_NAMES)),
        },
        caller=rarely(st.sampled_from(_CALLERS), st.just({"type": "direct"})),
    )


def _message(
    role: str, blocks: st.SearchStrategy[Any], **optional: st.SearchStrategy[Any]
) -> st.SearchStrategy[object]:
    """Give a message, plain or wrapped in a record of some chain, now and then as an object."""
    lists = st.lists(rarely(odd_values(), shaped(blocks)), min_size=1, max_size=5)
    contents = rarely(st.one_of(odd_values(), lists.map(tuple), st.just([])), lists)
    message = _with_optional({"role": st.just(role), "content": contents}, **optional)
    plain = shaped(message)
    wrapped = st.builds(_wrap(role), shaped(message), st.sampled_from(_CHAINS))
    return plain | wrapped


def _wrap(role: str) -> Callable[[object, dict[str, object]], dict[str, object]]:
    return lambda message, chain: {"type": role, **chain, "message": message, "uuid": "u-1"}


@st.composite
def message_lists(
    draw: st.DrawFn, *, max_messages: int = 10, max_text_chars: int = 1_200
) -> list[Any]:
    """Give a list that is a message list by its outer shape, whatever is in it."""
    pool = draw(st.lists(result_text(max_size=max_text_chars), min_size=1, max_size=4))
    texts = st.sampled_from(pool)
    ids = rarely(odd_values(), st.sampled_from(_MESSAGE_IDS))
    element = st.one_of(
        _message("user", _results(texts)),
        _message("user", _results(texts)),
        _message("assistant", _calls(), id=ids),
        st.sampled_from(_BETWEEN),
    )
    return draw(st.lists(element, max_size=max_messages))
