from __future__ import annotations

import copy
import json
import pickle
from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

import toolbudget
from tests.builders import digest_of, msg, res
from tests.strategies import any_text
from toolbudget import (
    ContentReplacementRecord,
    ContentReplacementState,
    MemoryStore,
    TranscriptError,
    clone_content_replacement_state,
    create_content_replacement_state,
    reconstruct_content_replacement_state,
)
from toolbudget import _core as core
from toolbudget._core.pure import Key

if TYPE_CHECKING:
    from collections.abc import Callable

HUGE = 210_000 * "a"
LIMIT = 3_000


def state_after(*contents: tuple[str, str]) -> ContentReplacementState:
    """Enforce one message after the other and give the state."""
    state = create_content_replacement_state()
    store = MemoryStore()
    for tool_use_id, text in contents:
        toolbudget.enforce_tool_result_budget(
            [msg(res(tool_use_id, text))], state, store=store, limit=LIMIT, preview_bytes=10
        )
    return state


TEXTS = st.builds(
    lambda text, size: text + size * "x", any_text(max_size=6), st.sampled_from([0, 5_000])
)
CONTENTS = st.lists(st.tuples(any_text(max_size=6), TEXTS), max_size=6)


def test_a_new_state_is_empty() -> None:
    """D3: nothing is seen or replaced, and two new states are equal."""
    state = create_content_replacement_state()
    assert (state.decisions, state.seen_ids, state.replacements) == ({}, frozenset(), {})
    assert state == create_content_replacement_state() == ContentReplacementState()


def test_a_decision_is_about_an_id_and_a_text() -> None:
    """D1, D3: the key is the id with the fingerprint; the value is the replacement, or nothing."""
    state = state_after(("t1", "small"), ("t1", 5_000 * "x"))
    decisions = {
        (key.tool_use_id, *key.fingerprint): replacement
        for key, replacement in state.decisions.items()
    }
    assert decisions == {
        ("t1", 5, digest_of(b"small")): None,
        ("t1", 5_000, digest_of(5_000 * b"x")): state.replacements["t1"],
    }


def test_the_fingerprint_is_of_the_text_not_its_form() -> None:
    """D1: the same text is the same result as a string and as blocks, surrogates included."""
    text = "a\ud800\U0001f600"
    state = create_content_replacement_state()
    for content in (text, [{"type": "text", "text": text[:1]}, {"type": "text", "text": text[1:]}]):
        toolbudget.enforce_tool_result_budget([msg(res("t1", content))], state, store=MemoryStore())
    [key] = state.decisions
    assert key.fingerprint == (3, digest_of(text.encode("utf-8", "surrogatepass")))


def test_replacements_are_the_latest_by_id() -> None:
    """D3: of several replaced results of one id, the view shows the one decided last."""
    state = state_after(("t1", 5_000 * "x"), ("t1", 6_000 * "y"))
    assert set(state.decisions.values()) >= {state.replacements["t1"]}
    assert "yyyyyyyyyy" in state.replacements["t1"]


@pytest.mark.parametrize("name", ["decisions", "replacements"])
def test_views_are_read_only(name: str) -> None:
    """D3: no view is a way around the state."""
    state = state_after(("t1", 5_000 * "x"))
    view: Any = getattr(state, name)
    with pytest.raises(TypeError):
        view["t1"] = "changed"
    with pytest.raises(AttributeError):
        setattr(state, name, {})
    seen: Any = state.seen_ids
    with pytest.raises(AttributeError):
        seen.add("t2")


@given(contents=CONTENTS)
def test_a_clone_goes_its_own_way(contents: list[tuple[str, str]]) -> None:
    """D3: a clone is equal, and neither sees what the other decides later."""
    state = state_after(*contents)
    for clone in (state.clone(), clone_content_replacement_state(state)):
        assert clone == state
        before = dict(state.decisions)
        toolbudget.enforce_tool_result_budget(
            [msg(res("later", 5_000 * "z"))], clone, store=MemoryStore(), limit=LIMIT
        )
        assert dict(state.decisions) == before
        assert clone != state


@given(contents=CONTENTS)
def test_json_is_the_same_state(contents: list[tuple[str, str]]) -> None:
    """D3: the JSON form is one line of ASCII and gives an equal state, which decides the same."""
    state = state_after(*contents)
    text = state.to_json()
    assert text.isascii()
    assert len(text.splitlines()) == 1
    assert ContentReplacementState.from_json(text.encode()) == state
    loaded = ContentReplacementState.from_json(text)
    assert loaded == state
    assert loaded.decisions == state.decisions
    assert loaded.replacements == state.replacements
    messages = [msg(res(name, content)) for name, content in contents]
    again = toolbudget.enforce_tool_result_budget(
        messages, state.clone(), store=MemoryStore(), limit=LIMIT, preview_bytes=10
    )
    other = toolbudget.enforce_tool_result_budget(
        messages, loaded, store=MemoryStore(), limit=LIMIT, preview_bytes=10
    )
    assert again.messages == other.messages
    assert again.newly_replaced == other.newly_replaced == ()


GOOD = [["t1", 5, 32 * "0", None], ["t2", 5, 32 * "1", "replacement"]]


@pytest.mark.parametrize(
    "document",
    [
        "",
        "null",
        "[]",
        "{}",
        "7",
        "not json",
        '{"version":1}',
        '{"version":2,"decisions":[],"unapplied":{}}',
        '{"version":"1","decisions":[],"unapplied":{}}',
        '{"version":1,"decisions":[["t1"]],"unapplied":{}}',
        '{"version":1,"decisions":[[1,5,"0",null]],"unapplied":{}}',
        '{"version":1,"decisions":[["t1","5","0",null]],"unapplied":{}}',
        '{"version":1,"decisions":[["t1",true,"0",null]],"unapplied":{}}',
        '{"version":1,"decisions":[["t1",5,0,null]],"unapplied":{}}',
        '{"version":1,"decisions":[["t1",5,"0",7]],"unapplied":{}}',
        '{"version":1,"decisions":{},"unapplied":[]}',
        '{"version":1,"decisions":[],"unapplied":{"t1":7}}',
        100_000 * "[",
    ],
)
def test_a_bad_document_is_an_error_of_ours(document: str) -> None:
    """D3, F4: whatever is read instead of a state raises one kind of error."""
    with pytest.raises(TranscriptError):
        ContentReplacementState.from_json(document)


@given(value=st.recursive(st.none() | st.integers() | st.text(max_size=3), st.lists, max_leaves=9))
def test_no_document_raises_anything_else(value: object) -> None:
    """F4: a document is untrusted input."""
    for document in ({"version": 1, "decisions": value, "unapplied": {}}, value):
        try:
            ContentReplacementState.from_json(json.dumps(document))
        except TranscriptError:
            continue


def test_equality_is_by_decisions() -> None:
    """D3: the order in which they were taken does not matter, other types are never equal."""
    first = state_after(("t1", "one"), ("t2", 5_000 * "x"))
    second = state_after(("t2", 5_000 * "x"), ("t1", "one"))
    assert first == second
    assert first != state_after(("t1", "one"))
    assert first != dict(first.decisions)
    with pytest.raises(TypeError):
        hash(first)


@pytest.mark.parametrize("copied", [copy.deepcopy, lambda it: pickle.loads(pickle.dumps(it))])  # noqa: S301 - ours
def test_a_state_can_be_copied_and_pickled(
    copied: Callable[[ContentReplacementState], ContentReplacementState],
) -> None:
    """D3: hosts keep it beside their own state, and it goes on separately."""
    state = state_after(("t1", "one"), ("t2", 5_000 * "x"), ("t1", "other text"))
    other = copied(state)
    assert other == state
    assert other.to_json() == state.to_json()
    other.decide(next(iter(state_after(("t3", "one")).decisions)), None)
    assert other != state


def test_what_may_be_known_is_told_by_id_or_length() -> None:
    """E: a result that was met, or is as long as a replacement, is looked at closely."""
    state = state_after(("t1", "one"), ("t2", 5_000 * "x"))
    [length] = {len(text) for text in state.replacements.values()}
    assert state.may_know("t1", 7)
    assert state.may_know("new", length)
    assert not state.may_know("new", 7)
    state.expect("new", "short")
    assert state.may_know("new", 7)


def test_a_representation_shows_counts_only() -> None:
    """F5: texts may be secret."""
    state = state_after(("t1", "s3cr3t"), ("t2", 5_000 * "s3cr3t"))
    assert repr(state) == "ContentReplacementState(replaced=1, kept=1)"


def foreign(tool_use_id: str, replacement: str) -> ContentReplacementRecord:
    """Make an entry of another program."""
    return ContentReplacementRecord(
        kind="tool-result", tool_use_id=tool_use_id, replacement=replacement, size=None, hash=None
    )


def test_foreign_entries_wait_for_their_text() -> None:
    """D2: until a text meets them they are no decisions, but part of the state and its JSON."""
    state = reconstruct_content_replacement_state([], [foreign("t1", "short")])
    assert state.decisions == {}
    assert dict(state.unapplied) == {"t1": "short"}
    assert state != create_content_replacement_state()
    loaded = ContentReplacementState.from_json(state.to_json())
    assert loaded == state
    messages = [msg(res("t1", "a longer text"))]
    done = toolbudget.enforce_tool_result_budget(messages, loaded, store=MemoryStore())
    assert done.messages == [msg(res("t1", "short"))]
    assert loaded.seen_ids == {"t1"}
    assert loaded.unapplied == {}


def test_entries_of_another_kind_are_not_ours() -> None:
    """R2: a record may hold decisions of other kinds, which say nothing about results here."""
    other = ContentReplacementRecord(
        kind="cleared", tool_use_id="t1", replacement="gone", size=None, hash=None
    )
    state = reconstruct_content_replacement_state([msg(res("t1", "a longer text"))], [other])
    assert state == create_content_replacement_state()


def test_what_was_cleared_is_written_in_a_fixed_order() -> None:
    """D3: a state gives the same text in every process, in whatever order its sets come."""
    state = create_content_replacement_state()
    names = [f"t{number}" for number in range(30)]
    for name in names:
        state.clear(Key(name, core.fingerprint((name,))), f"{name} is cleared")
    cleared = json.loads(state.to_json())["cleared"]
    assert [tool_use_id for tool_use_id, _, _ in cleared] == sorted(names)


def test_what_a_parent_expects_is_inherited_in_its_order() -> None:
    """R7: gaps are filled in the same order in every process."""
    names = [f"t{number}" for number in range(30)]
    parent = reconstruct_content_replacement_state([], [foreign(name, "short") for name in names])
    child = create_content_replacement_state()
    child.fill_gaps(parent, set(names))
    assert list(child.unapplied) == names
