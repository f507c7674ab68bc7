"""Cutting a message list in two: the parts hold together what the whole list holds."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from tests.core.harness import assistant, record, result, tool_use, user
from tests.core.parity import assert_same, outcome
from tests.strategies import message_lists
from toolbudget import _core

if TYPE_CHECKING:
    from types import ModuleType

    from toolbudget._core.pure import Survey

AGENT = {"isSidechain": True, "agentId": "a1"}
SPLIT = [assistant(None), user(result("t1", "x")), assistant(None), user(result("t2", "y"))]


def findings(survey: Survey, start: int = 0) -> list[list[tuple[object, ...]]]:
    """Give what matters of each result, by group, as if the list had begun earlier."""
    return [
        [
            (
                start + one.message_index,
                one.block_index,
                one.tool_use_id,
                one.tool_name,
                one.is_exempt,
                one.parts,
            )
            for one in group.candidates
        ]
        for group in survey.groups
    ]


@given(messages=message_lists(max_messages=16))
@example(messages=SPLIT)
def test_parts_hold_what_the_whole_holds(core: ModuleType, messages: list[Any]) -> None:
    """If no id of one part occurs in the other, groups and tools of results are those of both."""
    outline = core.outline(messages)
    boundary = outline.boundary
    before, behind = messages[:boundary], messages[boundary:]
    ids = set(outline.ids[: outline.ids_before])
    if not ids.isdisjoint(outline.ids[outline.ids_before :]):
        return
    rest = core.outline(behind)
    assert boundary == 0 or rest.first_chain is not None
    assert (set(outline.open_chains) - {rest.first_chain}).isdisjoint(rest.chains)

    def collect(part: list[Any]) -> Survey:
        survey: Survey = core.collect(part, lambda name: name == "Read")
        return survey

    first, second, whole = collect(before), collect(behind), collect(messages)
    assert findings(first) + findings(second, boundary) == findings(whole)
    assert first.skipped + second.skipped == whole.skipped


@given(messages=message_lists(max_messages=16))
def test_outlines_are_the_same(messages: list[Any]) -> None:
    """Both cores cut at the same place and name the same ids."""
    python, native = _core.load("python"), _core.load("native")
    assert_same(outcome(python.outline, messages), outcome(native.outline, messages))


@pytest.mark.parametrize("messages", [7, "text", [7], [None], b"", {"role": "user"}])
def test_what_is_no_list_is_refused_alike(messages: object) -> None:
    """The error is that of collecting."""
    python, native = _core.load("python"), _core.load("native")
    assert_same(outcome(python.outline, messages), outcome(native.outline, messages))


def test_the_boundary_is_before_the_last_answer(core: ModuleType) -> None:
    """Nothing behind it can change what stands before it."""
    outline = core.outline(SPLIT)
    assert (outline.boundary, outline.ids, outline.ids_before) == (2, ["t1", "t2"], 1)
    assert core.outline([]).boundary == 0
    assert core.outline([user(result("t1", "x"))]).boundary == 0


def test_ids_are_those_of_answers_calls_and_results(core: ModuleType) -> None:
    """Of results that are no candidates too; in order of appearance."""
    messages = [
        assistant("m1", tool_use("c1"), tool_use("c2")),
        user(result("c1", "x"), result("c2", 7), {"type": "tool_result"}),
    ]
    assert core.outline(messages).ids == ["m1", "c1", "c2", "c1", "c2"]


def test_a_chain_that_goes_on_keeps_its_group_together(core: ModuleType) -> None:
    """The boundary is where no group is open of a chain that has messages behind it."""
    messages = [
        assistant(None),
        user(result("t1", "x")),
        assistant(None),
        record(user(result("a1", "x")), **AGENT),
        assistant(None),
        record(user(result("a2", "x")), **AGENT),
    ]
    assert core.outline(messages).boundary == 2
    assert core.outline(messages).open_chains == [(False, None)]
    outline = core.outline(messages[:5])
    assert (outline.boundary, outline.open_chains) == (4, [(True, "a1")])
    assert outline.first_chain == (False, None)
    assert core.outline(messages[1:]).first_chain is None
    assert outline.chains == [(False, None), (True, "a1")]


@given(items=st.lists(st.integers(0, 3), max_size=6), others=st.lists(st.integers(0, 3)))
def test_beginnings_are_compared_by_identity(
    core: ModuleType, items: list[int], others: list[int]
) -> None:
    """Equal objects are not the same ones."""
    pool = [{"role": "user"} for _ in range(4)]
    messages, beginning = [pool[item] for item in items], [pool[item] for item in others]
    assert core.begins_with(messages, beginning) is (items[: len(others)] == others)
    copies = [dict(message) for message in messages]
    assert core.begins_with(messages, copies) is (not copies)
