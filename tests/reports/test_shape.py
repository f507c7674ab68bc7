from __future__ import annotations

import json
from collections import OrderedDict
from itertools import pairwise
from types import MappingProxyType
from typing import TYPE_CHECKING

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.builders import (
    Block,
    answer,
    call,
    check_reference,
    check_references,
    enforce,
    gate,
    is_reference,
    msg,
    res,
    stored_files,
    text_of,
)
from tests.strategies import any_text
from toolbudget import Limits, Session

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from pathlib import Path


LARGE = 60_000 * "a"
HUGE = 210_000 * "a"
IMAGE = {
    "type": "image",
    "source": {"type": "base64", "media_type": "image/png", "data": 400_000 * "A"},
}
REFERENCE_BLOCK = {"type": "tool_reference", "tool_name": "WebFetch"}


def text_block(text: str, **others: object) -> Block:
    """Make a text block."""
    return {"type": "text", "text": text, **others}


def test_a_one_block_list_is_replaced_like_a_string(root: Path) -> None:
    """SHAPE 5: both forms of one text give the same replacement and the same file."""
    forms: dict[str, object] = {}
    for content in (LARGE, [text_block(LARGE)]):
        with Session.open(root, "session", ephemeral=True, durability="process") as session:
            block = res("t1", content)
            small = gate(session, block)
            check_reference(block, small, session.directory)
            assert stored_files(session) == {"t1.txt": LARGE.encode()}
            forms[type(content).__name__] = small["content"]
    assert forms["list"] == [text_block(text_of(forms["str"]))]


@given(cuts=st.lists(st.integers(0, 60_000), max_size=6), is_over=st.booleans())
def test_how_a_text_is_cut_into_blocks_does_not_matter(
    new_root: Callable[[], Path], cuts: list[int], *, is_over: bool
) -> None:
    """SHAPE 5: the size of a list is that of its text, wherever the block borders are."""
    text = LARGE[: 50_000 + is_over]
    borders = [0, *sorted(min(cut, len(text)) for cut in cuts), len(text)]
    parts = [text[start:end] for start, end in pairwise(borders)]
    block = res("t1", [text_block(part) for part in parts])
    with Session.open(new_root(), "session", durability="process") as session:
        small = gate(session, block)
        if not is_over:
            assert small is block
            return
        check_reference(block, small, session.directory)
        [name] = stored_files(session)
        assert name == ("t1.txt" if len(parts) == 1 else "t1.json")


def test_a_list_in_a_message_counts_like_a_string(session: Session) -> None:
    """SHAPE 5: the limit of a message sees lists too."""
    messages = [msg(res("t1", [text_block(HUGE)]), res("t2", "small"))]
    assert check_references(messages, enforce(session, messages), session.directory) == ["t1"]


def test_several_blocks_are_stored_whole(session: Session) -> None:
    """SHAPE 5: what one text cannot tell is stored as the JSON list, with every key and block."""
    content = [text_block(LARGE, citations=[1, {"a": None}]), text_block("\ud800\0 end")]
    block = res("t1", content)
    check_reference(block, gate(session, block), session.directory)
    [stored] = stored_files(session).values()
    assert json.loads(stored.decode("utf-8", "surrogatepass")) == content


def test_an_image_is_not_measured_by_its_base64(session: Session) -> None:
    """SHAPE 6: a small text beside a large image leaves both as they are."""
    block = res("t1", [text_block(200 * "a"), IMAGE])
    messages = [msg(block, res("t2", 199_900 * "a"))]
    assert gate(session, block) is block
    assert session.enforce(messages) is messages
    assert stored_files(session) == {}


@pytest.mark.parametrize("position", [0, 1])
def test_text_beside_an_image_stays(session: Session, position: int) -> None:
    """SHAPE 6: a result with an image is left whole, however much text is beside it."""
    content = [text_block(HUGE)]
    content.insert(position, IMAGE)
    block = res("t1", content)
    messages = [msg(block)]
    assert gate(session, block) is block
    assert session.enforce(messages) is messages
    assert session.report.skipped_by_reason == {"not_text": 1}
    assert stored_files(session) == {}


def test_a_tool_reference_is_untouched_beside_replaced_results(session: Session) -> None:
    """SHAPE 7: it is neither empty nor replaced when the message around it is rewritten."""
    reference = res("t", [REFERENCE_BLOCK])
    assert gate(session, reference) is reference
    messages = [msg(reference, *(res(f"t{index}", 45_000 * "a") for index in range(5)))]
    [sent] = enforce(session, messages)
    assert sent["content"][0] is reference
    assert check_references(messages, [sent], session.directory) == ["t0"]


def test_a_result_without_content_is_empty(session: Session) -> None:
    """SHAPE 8: a missing ``content`` key is empty content, and the result beside it is replaced."""
    empty = {"type": "tool_result", "tool_use_id": "t1"}
    messages = [msg(empty, res("t2", HUGE))]
    [sent] = enforce(session, messages)
    assert sent["content"][0] is empty
    check_reference(res("t2", HUGE), sent["content"][1], session.directory)
    assert session.report.skipped_by_reason == {"empty": 1}
    assert gate(session, empty, "Write") == {
        **empty,
        "content": "(Write completed with no output)",
    }


JSON_VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | any_text(max_size=5),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(any_text(max_size=5), inner),
    max_leaves=6,
)


@given(
    before=st.dictionaries(any_text(max_size=5), JSON_VALUES, max_size=4),
    after=st.dictionaries(any_text(max_size=5), JSON_VALUES, max_size=4),
    is_error=st.booleans() | st.none(),
    is_list=st.booleans(),
)
def test_only_the_content_changes(
    new_root: Callable[[], Path],
    before: dict[str, object],
    after: dict[str, object],
    *,
    is_error: bool | None,
    is_list: bool,
) -> None:
    """SHAPE 9: every other key of the block stays, with its value and its place."""
    reserved = {"type", "tool_use_id", "content"}
    own = {"type": "tool_result", "tool_use_id": "t1"}
    content = [text_block(HUGE)] if is_list else HUGE
    block: Block = {key: value for key, value in before.items() if key not in reserved}
    block |= {**own, "content": content, "is_error": is_error, "cache_control": {"type": "x"}}
    block |= {key: value for key, value in after.items() if key not in {*reserved, "toolset_name"}}
    block.pop("toolset_name", None)
    for passes_gate in (True, False):
        with Session.open(new_root(), "session", durability="process") as session:
            [sent] = [msg(gate(session, block))] if passes_gate else enforce(session, [msg(block)])
            check_reference(block, sent["content"][0], session.directory)


def test_the_last_cache_control_in_a_list_is_kept(session: Session) -> None:
    """SHAPE 9: a breakpoint inside the content survives on the block that stands for it."""
    blocks = [
        text_block(LARGE, cache_control={"type": "ephemeral", "ttl": "1h"}),
        text_block("b", cache_control={"type": "ephemeral"}),
        text_block("c"),
    ]
    small = gate(session, res("t1", blocks))
    [block] = small["content"]
    assert block["cache_control"] is blocks[1]["cache_control"]
    assert set(block) == {"type", "text", "cache_control"}


def test_cache_control_does_not_make_a_json_file(session: Session) -> None:
    """SHAPE 9: where a breakpoint stands is about the request, so one text stays plain text."""
    content = [text_block(LARGE, cache_control={"type": "ephemeral"})]
    gate(session, res("t1", content))
    assert stored_files(session) == {"t1.txt": LARGE.encode()}


def test_a_tuple_is_a_list_and_becomes_one(session: Session) -> None:
    """SHAPE 5: tuples of messages, blocks and content are read like lists."""
    content = (text_block(LARGE), text_block(HUGE))
    messages = ({"role": "user", "content": (res("t1", content), text_block("hi"))},)
    [sent] = enforce(session, messages)
    assert type(sent["content"]) is list
    assert type(sent["content"][0]["content"]) is list
    assert sent["content"][1] is messages[0]["content"][1]
    assert is_reference(sent["content"][0]["content"])


class Loud(str):
    """A host's own kind of text whose methods lie."""

    __slots__ = ()

    def __len__(self) -> int:
        return 1

    def __getitem__(self, key: object) -> str:
        return "lie"

    def encode(self, *_arguments: object, **_options: object) -> bytes:
        """Lie."""
        return b"lie"


@pytest.mark.parametrize("is_list", [False, True])
def test_a_subclass_of_str_is_text(session: Session, *, is_list: bool) -> None:
    """SHAPE 5: what counts of a text is the characters that it holds."""
    content = [text_block(Loud(LARGE))] if is_list else Loud(LARGE)
    small = gate(session, res("t1", content))
    assert stored_files(session) == {"t1.txt": LARGE.encode()}
    assert f"\n{2_000 * 'a'}\n" in text_of(small["content"])


@pytest.mark.parametrize("make", [OrderedDict, MappingProxyType])
def test_another_kind_of_mapping_is_read_like_a_dict(
    session: Session, make: Callable[[Block], Mapping[str, object]]
) -> None:
    """SHAPE 9: messages, blocks and parts may be any mapping; only changed ones become dicts."""
    other = make(text_block("hi"))
    inner = make(res("t1", [make(text_block(HUGE))], is_error=True))
    messages = [make({"role": "user", "content": [inner, other], "extra": 1})]
    [sent] = enforce(session, messages)
    assert sent["extra"] == 1
    assert sent["content"][1] is other
    assert is_reference(sent["content"][0]["content"])
    assert sent["content"][0]["is_error"] is True


def test_records_are_read_through_their_wrapper(session: Session) -> None:
    """SHAPE 9: a transcript record keeps all it has around the changed content."""
    record = {
        "type": "user",
        "uuid": "u1",
        "message": {"role": "user", "content": [res("t1", HUGE)], "extra": [1]},
        "toolUseResult": {"stdout": HUGE},
        "later": None,
    }
    [sent] = enforce(session, [record])
    assert list(sent) == list(record)
    assert sent["toolUseResult"] is record["toolUseResult"]
    assert sent["message"]["extra"] == [1]
    check_reference(res("t1", HUGE), sent["message"]["content"][0], session.directory)


@pytest.mark.parametrize(
    ("calls", "block"),
    [
        pytest.param(
            [call("t1", "Fetch", caller={"type": "code_execution_20250825", "tool_id": "s1"})],
            res("t1", HUGE),
            id="code-execution",
        ),
        pytest.param(
            [call("t1", "Fetch", caller={"type": "program"})], res("t1", HUGE), id="program"
        ),
        pytest.param([call("t1", "memory")], res("t1", HUGE), id="memory"),
        pytest.param([call("t1", "Fetch")], res("t1", HUGE, toolset_name="server"), id="toolset"),
    ],
)
def test_data_for_code_is_never_replaced(root: Path, calls: list[Block], block: Block) -> None:
    """SHAPE 7: results that are no text for the model are exempt, whatever the limits say."""
    limits = Limits(tools={"Fetch": 10, "memory": 10})
    with Session.open(root, "session", limits=limits, durability="process") as session:
        messages = [answer(*calls), msg(block)]
        assert session.enforce(messages) is messages
        caller = calls[0].get("caller")
        small = session.gate(block, tool_name=calls[0]["name"], caller=caller)
        assert small is block
        assert stored_files(session) == {}


def test_other_blocks_are_shared_with_the_input(session: Session) -> None:
    """SHAPE 7, 9: everything that is not a replaced result is the very object that was given."""
    others: list[object] = [
        text_block("<persisted-output>"),
        IMAGE,
        {"type": "server_tool_use", "id": "s1", "name": "web_search", "input": {}},
        {"type": "web_search_tool_result", "tool_use_id": "s1", "content": [{"e": HUGE}]},
        {"type": "document", "source": {"data": HUGE}},
    ]
    before = answer({"type": "thinking", "thinking": HUGE, "signature": "s"}, call("t1", "Fetch"))
    user = msg(others[0], res("t1", HUGE), *others[1:])
    sent = enforce(session, [before, user, msg(), {"role": "user", "content": HUGE}])
    assert sent[0] is before
    assert [block for block in sent[1]["content"] if block["type"] != "tool_result"] == others
    kept = [block for block in sent[1]["content"] if block["type"] != "tool_result"]
    assert all(kept_block is other for kept_block, other in zip(kept, others, strict=True))
    assert sent[3]["content"] is HUGE
