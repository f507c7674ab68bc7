"""Columns say in numbers what surveys and plans say in objects."""

from __future__ import annotations

import gc
import sys
import tracemalloc
from array import array
from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import assume, given

from tests.core.call_strategy import Call, calls
from tests.core.harness import (
    FRAME,
    State,
    ask,
    assistant,
    plan_options,
    record,
    result,
    tool_use,
    user,
)
from tests.core.parity import assert_same, outcome
from tests.strategies import message_lists, odd_values
from toolbudget import _core
from toolbudget._core.pure import Standing

if TYPE_CHECKING:
    from types import ModuleType

    from toolbudget._core.pure import Columns, Survey

python = _core.load("python")
native = _core.load("native")


def ints(typecode: str, data: bytes) -> list[int]:
    """Read a column."""
    return list(array(typecode, data))


def standings(columns: Columns) -> list[Standing]:
    """Read what holds about each row."""
    return [Standing(number) for number in columns.standing]


@given(call=calls())
def test_both_cores_give_the_same_columns(call: Call) -> None:
    """Every column, name and count is what the reference gives, whatever is known (V5)."""
    state = State.of(call.past)
    for known in (None, state.known(python)):
        expected = outcome(python.columns, call.messages, known, "Read".__eq__)
        assert_same(expected, outcome(native.columns, call.messages, known, "Read".__eq__))


@given(call=calls())
def test_rows_are_those_of_a_survey(core: ModuleType, call: Call) -> None:
    """Groups, places, sizes, names and what was passed over are those that ``collect`` finds."""
    columns = core.columns(call.messages, None, "Read".__eq__)
    survey = core.collect(call.messages, "Read".__eq__)
    names = [columns.tool_names[code] if code >= 0 else None for code in ints("i", columns.tool)]
    rows = zip(
        ints("i", columns.group),
        ints("i", columns.message),
        ints("i", columns.block),
        ints("q", columns.size),
        names,
        strict=True,
    )
    expected = [
        (number, item.message_index, item.block_index, item.size, item.tool_name)
        for number, group in enumerate(survey.groups)
        for item in group.candidates
    ]
    assert list(rows) == sorted(expected, key=lambda row: row[1:3])
    assert list(columns.is_followed) == [group.is_followed for group in survey.groups]
    assert columns.skipped == survey.skipped
    assert list(columns.tool_names) == list(
        dict.fromkeys(name for name in names if name is not None)
    )


@given(call=calls())
def test_standings_are_those_of_a_plan(core: ModuleType, call: Call) -> None:
    """What is reapplied, adopted, exempt, a reference or kept is what a plan makes of it (B3)."""
    state = State.of(call.past)
    options = plan_options(core, leaves_fresh=True)
    # The same text under the same id has one decision, be it an exempt tool's in one place only.
    # A plan decides it where it meets it first; columns say of each place what holds there.
    assume(not has_key_of_two_kinds(core.collect(call.messages, options.is_exempt_tool)))
    plan = core.plan(call.messages, state.known(core), options)
    columns = core.columns(call.messages, state.known(core), options.is_exempt_tool)
    places = list(zip(ints("i", columns.message), ints("i", columns.block), strict=True))
    rows = ints("i", columns.replaced)
    changed = {places[row]: size for row, size in zip(rows, lengths(columns), strict=True)}
    assert changed == {(item[0], item[1]): len(item[2]) for item in plan.changes}
    found = standings(columns)
    assert [row for row, item in enumerate(found) if item is Standing.REPLACED] == sorted(rows)
    assert found.count(Standing.EXEMPT) == plan.skipped["exempt"]
    assert found.count(Standing.REFERENCE) == plan.skipped["reference"]
    for number, totals in enumerate(plan.totals):
        kept, fresh = (
            sum_of(columns, number, standing) for standing in (Standing.KEPT, Standing.FRESH)
        )
        assert kept + fresh == totals.frozen + totals.fresh
        # What a plan keeps of one group holds in a later one; columns say what held before.
        if not plan.kept:
            assert (kept, fresh) == (totals.frozen, totals.fresh)


def has_key_of_two_kinds(survey: Survey) -> bool:
    """Tell whether a text stands under one id both as an exempt result and as another one."""
    kinds: dict[tuple[str, str], set[bool]] = {}
    for group in survey.groups:
        for item in group.candidates:
            key = (item.tool_use_id, item.text)
            kinds.setdefault(key, set()).add(item.is_exempt)
    return any(len(found) == 2 for found in kinds.values())


def lengths(columns: Columns) -> list[int]:
    """Read the lengths of the replacements."""
    return ints("q", columns.replacement_size)


def sum_of(columns: Columns, group: int, standing: Standing) -> int:
    """Add up the sizes of one group's rows of one kind."""
    rows = zip(ints("i", columns.group), ints("q", columns.size), columns.standing, strict=True)
    return sum(size for number, size, kind in rows if (number, kind) == (group, standing))


# --- by hand --------------------------------------------------------------------------------------


def test_one_list_by_hand(core: ModuleType) -> None:
    """Every kind of result has its number; a name counts wherever its call stands."""
    calls_made = [tool_use("a", "Bash"), tool_use("b", "Read"), tool_use("c", "memory")]
    caller = {"type": "code_execution_20250825"}
    messages = [
        assistant("m1", *calls_made, tool_use("d", "Bash", caller=caller)),
        user(result("late", "12"), result("a", "123"), result("b", "1234"), result("c", "1")),
        user(result("d", "1"), result("a", FRAME + "</persisted-output>"), result("x", "")),
        assistant("m2", tool_use("late", "Grep")),
        user(result("x", "7"), result("y", "7", toolset_name="browser")),
    ]
    columns = core.columns(messages, None, "Read".__eq__)
    assert ints("i", columns.group) == [0, 0, 0, 0, 0, 0, 1, 1]
    assert ints("i", columns.message) == [1, 1, 1, 1, 2, 2, 4, 4]
    assert ints("i", columns.block) == [0, 1, 2, 3, 0, 1, 0, 1]
    assert columns.tool_names == ("Grep", "Bash", "Read", "memory")
    assert ints("i", columns.tool) == [0, 1, 2, 3, 1, 1, -1, -1]
    assert [item.name for item in standings(columns)] == [
        *("FRESH", "FRESH", "EXEMPT", "EXEMPT"),
        *("EXEMPT", "REFERENCE", "FRESH", "EXEMPT"),
    ]
    assert list(columns.is_followed) == [True, False]
    assert columns.skipped == {"empty": 1}


def test_nothing_gives_empty_columns(core: ModuleType) -> None:
    """A list without results has no rows, and every column is there."""
    columns = core.columns([], None, "Read".__eq__)
    assert set(columns[:9]) == {b""}
    assert (columns.tool_names, columns.skipped) == ((), {})


def test_the_last_call_before_a_result_names_it(core: ModuleType) -> None:
    """Of several calls with one id the nearest before counts, else the first after, per chain."""
    side = {"isSidechain": True}
    messages = [
        user(result("a", "1")),
        ask("a", name="One"),
        user(result("a", "2")),
        record(ask("a", name="Side"), **side),
        ask("a", name="Two"),
        user(result("a", "3")),
        record(user(result("a", "4")), **side),
    ]
    columns = core.columns(messages, None, "Read".__eq__)
    names = [columns.tool_names[code] for code in ints("i", columns.tool)]
    assert names == ["One", "One", "Two", "Side"]


def test_a_foreign_replacement_goes_to_the_first_group(core: ModuleType) -> None:
    """D2: groups are judged in order; a later row of an earlier group is before an earlier row."""
    side = {"isSidechain": True, "agentId": "a1"}
    messages = [
        user(result("z", "opens the first group")),
        record(user(result("a", "side " * 9)), **side),
        user(result("a", "main " * 9), result("a", "main " * 9), result("a", "short")),
    ]
    known = State(unapplied={"a": "by another program"}).known(core)
    columns = core.columns(messages, known, "Read".__eq__)
    assert [item.name for item in standings(columns)] == [
        *("FRESH", "FRESH", "REPLACED", "REPLACED", "FRESH"),
    ]
    assert lengths(columns) == [18, 18]


@given(messages=message_lists(), odd=odd_values())
def test_odd_elements_are_refused_alike(messages: list[Any], odd: object) -> None:
    """Both cores refuse the same lists, with the same words (B11)."""
    for given_list in ([*messages, odd], odd):
        expected = outcome(python.columns, given_list, None, "Read".__eq__)
        assert_same(expected, outcome(native.columns, given_list, None, "Read".__eq__))


def test_what_the_host_raises_comes_through(core: ModuleType) -> None:
    """An error of the exemption callback is raised as it is."""
    with pytest.raises(ZeroDivisionError):
        core.columns([ask("a"), user(result("a", "1"))], None, lambda _name: 1 // 0)


def test_a_row_has_no_object() -> None:
    """The native core makes the columns and nothing else, and holds no result afterwards (V4)."""
    names = [f"t{number}" for number in range(2_000)]
    messages = [ask(*names), user(*(result(name, f"text of {name}") for name in names))]
    references = sys.getrefcount(names[7])
    native.columns(messages, None, "Read".__eq__)
    gc.collect()
    tracemalloc.start()
    try:
        columns = native.columns(messages, None, "Read".__eq__)
        _, peak_bytes = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    references_after = sys.getrefcount(names[7])
    # Four columns of 4 bytes, one of 8, one of 1; the rest is there once for the whole call.
    assert sum(map(len, columns[:9])) == 25 * len(names) + 1
    assert peak_bytes < 25 * len(names) + 4_000
    assert references_after == references
