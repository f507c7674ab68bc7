from __future__ import annotations

import math
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import toolbudget
from tests.builders import answer, call, msg, res, turn
from tests.strategies import message_lists
from toolbudget import (
    ConfigError,
    InvalidMessageError,
    Limits,
    MemoryStore,
    Session,
    Standing,
)
from toolbudget._core.pure.replacement import format_size
from toolbudget.budget.what_if import _label_chars

if TYPE_CHECKING:
    from pathlib import Path

    from toolbudget import CandidateColumns, ContentReplacementState, EnforcementReport

# What `MemoryStore` shows for an id of three characters.
PATH_CHARS = len("memory:/t00.txt")


def enforced(
    messages: list[Any],
    state: ContentReplacementState,
    **options: Any,  # noqa: ANN401  # those of the function
) -> EnforcementReport:
    """Run the budget once; the state holds its decisions afterwards."""
    store = MemoryStore()
    return toolbudget.enforce_tool_result_budget(messages, state, store=store, **options).report


# --- columns --------------------------------------------------------------------------------------


@given(messages=message_lists(max_text_chars=900), limit=st.integers(1, 1_500))
def test_columns_agree_with_the_candidates(messages: list[Any], limit: int) -> None:
    """Fresh, kept and replaced rows are the candidates by message, partitioned (B3, B4)."""
    state = toolbudget.create_content_replacement_state()
    half = messages[: len(messages) // 2]
    enforced(half, state, limit=limit, preview_bytes=20)
    for known in (None, state):
        columns = toolbudget.collect(messages, state=known, exempt_tools={"Read"})
        groups = toolbudget.collect_candidates_by_message(messages, exempt_tools={"Read"})
        candidates = [item for group in groups for item in group]
        partition = toolbudget.partition_by_prior_decision(
            candidates, toolbudget.create_content_replacement_state() if known is None else known
        )
        assert places(columns, Standing.FRESH) == places_of(partition.fresh, known)
        assert places(columns, Standing.KEPT) == places_of(partition.frozen, known)
        # An exempt result keeps its replacement; the candidates by message leave it out.
        replaced = set(places_of(partition.must_reapply, known))
        assert replaced <= set(places(columns, Standing.REPLACED))


def places(columns: CandidateColumns, standing: Standing) -> list[tuple[int, ...]]:
    """Give where the rows of one kind stand, with their sizes."""
    rows = columns.decision == standing
    listed = (columns.message[rows], columns.block[rows], columns.size[rows])
    return list(zip(*(column.tolist() for column in listed), strict=True))


def places_of(candidates: list[Any], state: ContentReplacementState | None) -> list[Any]:
    """Give the same of candidates, without what only facts of the state tell to be references."""
    facts = set() if state is None else set(state.decisions.values())
    return sorted(
        (item.message_index, item.block_index, item.size)
        for item in candidates
        if item.text not in facts
    )


def test_what_is_shown_counts_replacements() -> None:
    """``shown`` is what a real call hands out when nothing is fresh any more."""
    messages = turn("Fetch", t01="a" * 5_000, t02="b" * 900)
    state = toolbudget.create_content_replacement_state()
    report = enforced(messages, state, limit=4_000)
    columns = toolbudget.collect(messages, state=state)
    assert [Standing(number) for number in columns.decision] == [Standing.REPLACED, Standing.KEPT]
    assert columns.shown.sum() == report.chars_after
    assert columns.size.tolist() == [5_000, 900]


def test_a_row_leads_to_its_block() -> None:
    """Message and block lead to the id, the tool's code to its name; no row has an object."""
    messages = [
        answer(call("t01", "Bash")),
        msg({"type": "text"}, res("t01", "x"), res("t02", "y")),
    ]
    columns = toolbudget.collect(messages)
    ids = [
        messages[message]["content"][block]["tool_use_id"]
        for message, block in zip(columns.message, columns.block, strict=True)
    ]
    assert ids == ["t01", "t02"]
    assert columns.tool_names == ("Bash",)
    assert columns.tool.tolist() == [0, -1]
    assert len(columns) == 2
    assert repr(columns) == "CandidateColumns(2 results, 1 groups)"


def test_types_are_fixed_and_arrays_read_only() -> None:
    """Whatever the input, a column has its type, and nobody changes it."""
    state = toolbudget.create_content_replacement_state()
    messages = turn("Fetch", t01="a" * 5_000)
    enforced(messages, state, limit=4_000)
    types = {
        **dict.fromkeys(("group", "message", "block", "tool"), np.int32),
        **dict.fromkeys(("size", "shown"), np.int64),
        "decision": np.int8,
        "is_followed": np.bool_,
    }
    for columns in (toolbudget.collect([]), toolbudget.collect(messages, state=state)):
        for name, expected in types.items():
            column = getattr(columns, name)
            assert column.dtype == expected
            assert not column.flags.writeable


def test_wrong_arguments_are_refused() -> None:
    """What cannot be meant is refused with the argument's name."""
    with pytest.raises(ConfigError, match="exempt_tools"):
        toolbudget.collect([], exempt_tools="Read")
    with pytest.raises(ConfigError, match="state"):
        toolbudget.collect([], state={})  # type: ignore[arg-type]  # the mistake
    with pytest.raises(InvalidMessageError, match="message 0"):
        toolbudget.collect([7])


# --- what if --------------------------------------------------------------------------------------


sizes = st.one_of(
    st.integers(1, 300), st.integers(100, 6_000), st.sampled_from([1_023, 1_024, 2_048, 10_240])
)
groups = st.lists(st.lists(sizes, min_size=1, max_size=6), min_size=1, max_size=3)


def conversation(by_group: list[list[int]], *, first: int = 0) -> list[Any]:
    """Make turns of results of so many letters, with ids of three characters."""
    messages: list[Any] = []
    for number, group in enumerate(by_group, first):
        ids = [f"{chr(ord('a') + number)}{index:02}" for index in range(len(group))]
        messages += turn(
            "Fetch", **{name: "x" * size for name, size in zip(ids, group, strict=True)}
        )
    return messages


@given(
    by_group=groups,
    later=groups,
    limits=st.lists(st.integers(1, 12_000), min_size=1, max_size=4),
    first_limit=st.integers(1, 12_000),
    preview_bytes=st.sampled_from([1, 90, 150, 700, 2_000]),
    accounting=st.sampled_from(["visible", "originals"]),
)
def test_what_if_is_what_a_real_call_does(
    *,
    by_group: list[list[int]],
    later: list[list[int]],
    limits: list[int],
    first_limit: int,
    preview_bytes: int,
    accounting: Any,  # noqa: ANN401  # one of two literals
) -> None:
    """B5, B6: under each limit the numbers are those of a call's report, whatever was decided."""
    state = toolbudget.create_content_replacement_state()
    messages = conversation(by_group)
    enforced(messages, state, limit=first_limit, preview_bytes=150)
    # A message that goes on with the last group holds fresh results beside decided ones.
    messages += conversation(later, first=10)[1:]
    columns = toolbudget.collect(messages, state=state)
    asked = [*limits, limits[0] + 0.5, math.inf]
    options = {"preview_bytes": preview_bytes, "accounting": accounting}
    told = columns.what_if(asked, path_chars=PATH_CHARS, **options)
    for index, limit in enumerate(asked):
        report = enforced(messages, state.clone(), limit=limit, **options)
        assert told.replaced[index] == report.replaced
        assert told.chars_after[index] == report.chars_after
        assert told.over_limit_chars[index] == report.over_limit_chars
        assert (told.groups_left_over[index] > 0) == (report.over_limit_chars > 0)


def test_one_limit_by_hand() -> None:
    """The largest is taken until the group fits; its replacement counts."""
    columns = toolbudget.collect(conversation([[5_000, 900, 4_000], [100]]))
    told = columns.what_if([9_899, 3_000, 99], preview_bytes=100, path_chars=PATH_CHARS)
    large = len(toolbudget.build_replacement("x" * 5_000, "p" * PATH_CHARS, preview_bytes=100))
    next_one = len(toolbudget.build_replacement("x" * 4_000, "p" * PATH_CHARS, preview_bytes=100))
    assert told.replaced[:2].tolist() == [1, 2]
    assert told.chars_after[0] == 5_000 + large
    assert told.chars_after[1] == 1_000 + large + next_one
    assert told.groups_over.tolist() == [1, 1, 2]
    assert told.groups_left_over.tolist() == [0, 0, 2]
    assert told.limits.tolist() == [9_899, 3_000, 99]


def test_paths_may_differ_by_row() -> None:
    """One path length for each row: a longer path leaves more to see."""
    columns = toolbudget.collect(conversation([[5_000, 4_000]]))
    one, other = (
        columns.what_if([100], preview_bytes=100, path_chars=chars)
        for chars in (20, np.array([20, 27]))
    )
    assert other.chars_after - one.chars_after == [7]


def test_nothing_is_asked_of_nothing() -> None:
    """No limits or no rows give empty or zero answers."""
    assert toolbudget.collect(conversation([[9]])).what_if([]).replaced.shape == (0,)
    told = toolbudget.collect([]).what_if(np.array([1, 2.5]))
    assert told.replaced.tolist() == told.groups_over.tolist() == [0, 0]


@pytest.mark.parametrize(
    ("arguments", "name"),
    [
        ({"limits": [0]}, "limits"),
        ({"limits": [math.nan]}, "limits"),
        ({"limits": ["9"]}, "limits"),
        ({"limits": [9], "preview_bytes": 0}, "preview_bytes"),
        ({"limits": [9], "path_chars": -1}, "path_chars"),
        ({"limits": [9], "path_chars": 1.5}, "path_chars"),
        ({"limits": [9], "path_chars": np.array([1, 2, 3])}, "path_chars"),
        ({"limits": [9], "accounting": "none"}, "accounting"),
    ],
)
def test_a_wrong_question_is_refused(arguments: dict[str, Any], name: str) -> None:
    """A limit, size or length that cannot be used is refused by name (L5)."""
    columns = toolbudget.collect(conversation([[9]]))
    with pytest.raises(ConfigError, match=name):
        columns.what_if(**arguments)


@given(
    size=st.one_of(
        st.integers(0, 2_000_000),
        st.integers(0, 1 << 45),
        st.integers(-60, 60).map(lambda step: 1024**2 + step),
        st.integers(1, 10**6).map(lambda number: number * 1024**2 // 10),
    )
)
def test_sizes_are_as_long_as_they_are_written(size: int) -> None:
    """The length of a size's label is that of the label itself."""
    assert _label_chars(np.array([size], np.int64)).tolist() == [len(format_size(size))]


@pytest.mark.parametrize("limit", [2_000, 5_000, 9_000, 14_000, 40_000])
def test_what_if_is_what_a_new_session_does(tmp_path: Path, limit: int) -> None:
    """B2, B3: odd, empty, exempt and unnamed results, objects and side chains are all the same."""
    side = {"type": "user", "isSidechain": True, "agentId": "a1"}
    messages = [
        *conversation([[6_000, 900, 5_000], [3_000, 2_500]]),
        *turn("Read", r01="x" * 30_000),
        msg(
            res("n01", "x" * 4_000), res("n02", [{"type": "image"}]), res("n03", 7), res("n04", "")
        ),
        {**side, "message": msg(res("s01", "x" * 4_500), res("s02", "x" * 4_400))},
        SimpleNamespace(role="user", content=[res("o01", "x" * 4_000)]),
    ]
    columns = toolbudget.collect(messages, exempt_tools={"Read"})
    limits = Limits(max_message_chars=limit, preview_bytes=700)
    with Session.open(tmp_path, "s1", limits=limits, ephemeral=True) as session:
        session.enforce(messages)
        report = session.report
        paths = map(session.result_path, ("a00", "s01"))
        path_chars = next((len(str(path)) for path in paths if path), 0)
    told = columns.what_if([limit], preview_bytes=700, path_chars=path_chars)
    assert told.replaced.tolist() == [report.replaced]
    assert told.chars_after.tolist() == [report.chars_after]
    assert told.over_limit_chars.tolist() == [report.over_limit_chars]
    assert columns.skipped == {"not_text": 2, "empty": 1, "object": 1}
    assert len(columns) + 4 == report.candidates + report.skipped
