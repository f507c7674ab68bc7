from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.core import oracle
from tests.core.group_oracle import find_groups
from tests.core.harness import (
    Block,
    Done,
    State,
    ask,
    assistant,
    enforce,
    is_json,
    options_for,
    path_for,
    plan_options,
    result,
    sized,
    taken,
    text_block,
    tool_use,
    user,
)
from tests.core.oracle import Past, Settings
from tests.core.text_oracle import replacement

if TYPE_CHECKING:
    from types import ModuleType


def length_of(size_bytes: int, preview_bytes: int, tool_use_id: str = "t0") -> int:
    """Give the length of the replacement of a text of one line, by the rules."""
    return len(replacement("x" * size_bytes, path_for(tool_use_id, False), preview_bytes))  # noqa: FBT003


def run(core: ModuleType, messages: list[Any], limit: float, **changes: object) -> Done:
    """Enforce with a new state."""
    return enforce(core, messages, plan_options(core, limit=limit, **changes))


# --- B5, B6: the plain way ------------------------------------------------------------------------


def test_a_group_at_the_limit_stays(core: ModuleType) -> None:
    """Equal is within: nothing is replaced, everything is kept (B5)."""
    messages = sized(400, 600)
    done = run(core, messages, 1_000)
    assert (taken(done), len(done.plan.kept), done.visible) == ([], 2, [1_000])
    assert done.messages is messages


def test_one_character_more_is_over(core: ModuleType) -> None:
    """Over the limit the largest one goes, and the decision holds for all of the group (B6)."""
    done = run(core, sized(400, 601), 1_000)
    assert taken(done) == ["t1"]
    assert [key.tool_use_id for key in done.plan.kept] == ["t0"]
    assert done.visible == [400 + length_of(601, 100)]


def test_the_largest_go_first(core: ModuleType) -> None:
    """The order is by size, and it ends as soon as the group fits (B6)."""
    done = run(core, sized(2_000, 5_000, 1_000, 4_000), 3_600)
    assert taken(done) == ["t1", "t3"]


def test_equal_sizes_go_in_order_of_appearance(core: ModuleType) -> None:
    """Ties have one order, so that every run sends the same bytes (B6)."""
    done = run(core, sized(45_000, 45_000, 45_000, 45_000, 45_000, 45_000), 200_000)
    assert taken(done) == ["t0", "t1"]
    ordered = run(core, sized(5_000, 5_001, 5_000, 5_001), 600)
    assert taken(ordered) == ["t1", "t3", "t0", "t2"]


def test_order_is_by_characters_not_bytes(core: ModuleType) -> None:
    """Sizes are code points: a text with more bytes is not larger (0)."""
    messages = [ask("t0", "t1"), user(result("t0", "日" * 600), result("t1", "x" * 700))]
    assert taken(run(core, messages, 1_200)) == ["t1"]


def test_previews_count(core: ModuleType) -> None:
    """What stands in the place of a result counts, so that the limit bounds what is seen (B6)."""
    shown = length_of(600, 100)
    within = run(core, sized(600, 600), 600 + shown)
    assert (taken(within), within.visible) == (["t0"], [600 + shown])
    over = run(core, sized(600, 600), 600 + shown - 1)
    assert (taken(over), over.visible) == (["t0", "t1"], [2 * shown])


def test_a_fraction_of_a_limit(core: ModuleType) -> None:
    """A limit need not be whole."""
    assert taken(run(core, sized(500, 500), 999.5)) == ["t0"]
    assert taken(run(core, sized(500, 500), 1_000.5)) == []


def test_an_infinite_limit_replaces_nothing(core: ModuleType) -> None:
    """Infinite is off; the results are decided all the same."""
    done = run(core, sized(10**6, 10**6), math.inf)
    assert (taken(done), len(done.plan.kept), done.over_limit_chars) == ([], 2, 0)


def test_each_group_is_judged_alone(core: ModuleType) -> None:
    """What other groups hold never counts (B5)."""
    one = [assistant("m1"), user(result("a", "a" * 900))]
    other = [assistant("m2"), user(result("b", "b" * 900))]
    assert taken(run(core, [*one, *other], 1_000)) == []
    joined = [assistant("m1"), user(result("a", "a" * 900)), user(result("b", "b" * 900))]
    assert len(taken(run(core, joined, 1_000))) == 2


def test_the_path_is_that_of_the_plain_name(core: ModuleType) -> None:
    """The expected path is shown; content that is stored as JSON has that file's (S1, B6)."""
    blocks = [text_block("x" * 900), text_block("y" * 900)]
    messages = [user(result("t0", "x" * 1_800), result("t1", blocks))]
    done = run(core, messages, 0)
    assert [choice.path for choice in done.plan.choices] == ["/s/t0-2.txt", "/s/t1-2.json"]
    assert all(choice.path in choice.replacement for choice in done.plan.choices)


def test_a_structured_result_is_previewed_from_its_text(core: ModuleType) -> None:
    """The texts of all blocks are joined with nothing between, tags over a seam too (P3, P5)."""
    blocks = [text_block("one<persis"), text_block("ted-output>two" + "x" * 900)]
    done = run(core, [user(result("t0", blocks))], 300, preview_bytes=40)
    expected = replacement("one<persisted-output>two" + "x" * 900, "/s/t0-2.json", 40)
    assert [choice.replacement for choice in done.plan.choices] == [expected]
    assert "one&lt;persisted-output>two" in expected


# --- G7 -------------------------------------------------------------------------------------------


@pytest.mark.parametrize("accounting", ["visible", "originals"])
def test_what_gains_nothing_is_passed_over(core: ModuleType, accounting: str) -> None:
    """A replacement as long as the text, or longer, is not made; the next one is tried (G7)."""
    longest = length_of(2_000, 0)
    messages = sized(longest, 100, 20)
    done = run(core, messages, 10, preview_bytes=1, accounting=accounting)
    assert taken(done) == []
    assert done.messages is messages
    assert done.over_limit_chars == longest + 120 - 10


def test_one_character_of_gain_is_enough(core: ModuleType) -> None:
    """A replacement that is one character shorter is made (G7)."""
    # The size label has as many characters for both sizes.
    size = length_of(999, 0)
    assert length_of(size, 0) == length_of(size + 1, 0) == size
    assert taken(run(core, sized(size), 10, preview_bytes=1)) == []
    assert taken(run(core, sized(size + 1), 10, preview_bytes=1)) == ["t0"]


def test_characters_decide_about_gain(core: ModuleType) -> None:
    """The gain is in characters: fewer characters of more bytes are no reason to replace (G7)."""
    messages = [user(result("t0", "日" * 90))]
    assert taken(run(core, messages, 10)) == []


@pytest.mark.parametrize("accounting", ["visible", "originals"])
def test_a_smaller_one_may_gain_where_a_larger_does_not(core: ModuleType, accounting: str) -> None:
    """Paths differ in length: passing one over does not end the choice (B6, G7)."""
    paths = {"t0": "/s/" + "deep/" * 200, "t1": "/s/t1.txt"}
    options = plan_options(
        core, limit=1_600, accounting=accounting, expected_path=lambda name, _is_json: paths[name]
    )
    done = enforce(core, sized(1_000, 900), options)
    assert taken(done) == ["t1"]


def test_a_gain_may_come_with_a_smaller_preview(core: ModuleType) -> None:
    """What was passed over at one step is tried again at the next (B6)."""
    size = length_of(900, 800) - 10
    done = run(core, sized(size, size), size + length_of(size, 400), preview_bytes=800)
    assert taken(done) == ["t0"]
    assert done.plan.choices[0].preview_bytes == 400


# --- shrinking ------------------------------------------------------------------------------------

STEPS_BYTES = [1_000, 500, 250, 100, 0]


@pytest.mark.parametrize("step", range(5))
@pytest.mark.parametrize("room_chars", [0, 7])
def test_the_first_step_that_fits_holds(core: ModuleType, step: int, room_chars: int) -> None:
    """Previews shrink to 50, 25, 10 and 0 per cent, no further than needed (B6)."""
    limit = length_of(10_000, STEPS_BYTES[step]) + room_chars
    done = run(core, sized(10_000), limit, preview_bytes=1_000)
    assert [choice.preview_bytes for choice in done.plan.choices] == [STEPS_BYTES[step]]
    assert done.visible == [limit - room_chars]
    assert done.over_limit_chars == 0


@pytest.mark.parametrize("step", range(4))
def test_one_character_less_needs_the_next_step(core: ModuleType, step: int) -> None:
    """The bound of a step is exact."""
    limit = length_of(10_000, STEPS_BYTES[step]) - 1
    done = run(core, sized(10_000), limit, preview_bytes=1_000)
    assert [choice.preview_bytes for choice in done.plan.choices] == [STEPS_BYTES[step + 1]]


def test_if_none_fits_the_last_one_holds(core: ModuleType) -> None:
    """Without any preview, and the report says by how much the group is still over (B6)."""
    smallest = length_of(10_000, 0)
    done = run(core, sized(10_000), smallest - 25, preview_bytes=1_000)
    assert [choice.preview_bytes for choice in done.plan.choices] == [0]
    assert "Preview" not in done.plan.choices[0].replacement
    assert done.over_limit_chars == 25


def test_shares_are_rounded_down(core: ModuleType) -> None:
    """50, 25 and 10 per cent of 999 bytes are 499, 249 and 99."""
    for step_bytes in (499, 249, 99):
        limit = length_of(10_000, step_bytes)
        done = run(core, sized(10_000), limit, preview_bytes=999)
        assert [choice.preview_bytes for choice in done.plan.choices] == [step_bytes]


def test_the_choice_is_made_anew_at_each_step(core: ModuleType) -> None:
    """With smaller previews fewer results may have to go: the others stay whole (B6)."""
    sizes = (1_000, 1_000, 1_000)
    full, half = length_of(1_000, 800), length_of(1_000, 400)
    limit = 1_000 + 2 * half
    assert limit < 3 * full < 3_000
    done = run(core, sized(*sizes), limit, preview_bytes=800)
    assert taken(done) == ["t0", "t1"]
    assert done.visible == [limit]


def test_one_step_holds_for_the_whole_group(core: ModuleType) -> None:
    """All that are chosen in a group have the same size of preview (B6)."""
    limit = 3 * length_of(5_000, 250) + 10
    done = run(core, sized(5_000, 6_000, 7_000), limit, preview_bytes=1_000)
    assert [choice.preview_bytes for choice in done.plan.choices] == [250, 250, 250]


def test_each_group_has_its_own_step(core: ModuleType) -> None:
    """A group that fits at once is not made smaller for another one."""
    one = [assistant("m1"), user(result("t0", "a" * 9_000), result("t1", "b" * 9_000))]
    other = [assistant("m2"), user(result("t2", "c" * 9_000))]
    limit = length_of(9_000, 1_000)
    done = run(core, [*one, *other], limit, preview_bytes=1_000)
    steps = {choice.key.tool_use_id: choice.preview_bytes for choice in done.plan.choices}
    assert steps == {"t0": 250, "t1": 250, "t2": 1_000}


def test_the_next_turn_has_the_full_preview_again(core: ModuleType) -> None:
    """The step holds for this group and turn; later results of the group start anew (B6)."""
    state = State()
    messages = sized(10_000)
    limit = length_of(10_000, 500) + length_of(10_000, 1_000)
    tight = plan_options(core, limit=length_of(10_000, 500), preview_bytes=1_000)
    assert enforce(core, messages, tight, state).plan.choices[0].preview_bytes == 500
    messages.append(user(result("t1", "z" * 10_000)))
    done = enforce(core, messages, plan_options(core, limit=limit, preview_bytes=1_000), state)
    assert [choice.preview_bytes for choice in done.plan.choices] == [1_000]
    assert done.visible == [limit]


# --- B7: frozen ones over the limit ---------------------------------------------------------------


def after(core: ModuleType, first: list[Any], more: Block, limit: float, **changes: Any) -> Done:  # noqa: ANN401
    """Enforce a list under no limit, then the same with more results in its last group."""
    state = State()
    enforce(core, first, plan_options(core, limit=math.inf), state)
    return enforce(core, [*first, more], plan_options(core, limit=limit, **changes), state)


def test_frozen_ones_over_the_limit_are_accepted(core: ModuleType) -> None:
    """What the model has seen is never changed; only the first step is tried (B6, B7)."""
    done = after(core, sized(2_000), user(result("t9", "z" * 9_000)), 1_999, preview_bytes=1_000)
    assert taken(done) == ["t9"]
    assert [choice.preview_bytes for choice in done.plan.choices] == [1_000]
    assert done.over_limit_chars == 1 + len(done.plan.choices[0].replacement)


def test_frozen_ones_at_the_limit_leave_every_step(core: ModuleType) -> None:
    """Equal is not over: previews shrink, and the last step holds (B6)."""
    done = after(core, sized(2_000), user(result("t9", "z" * 9_000)), 2_000, preview_bytes=1_000)
    assert [choice.preview_bytes for choice in done.plan.choices] == [0]


def test_nothing_fresh_is_no_failure(core: ModuleType) -> None:
    """A group of frozen ones alone is over by what it is over (B7)."""
    done = after(core, sized(2_000), user(), 1_500)
    assert (taken(done), done.over_limit_chars) == ([], 500)


def test_standing_replacements_count_with_the_frozen_ones(core: ModuleType) -> None:
    """If both together are over the limit, only the first step is tried (B6)."""
    state = State()
    first = sized(5_000, 700)
    before = enforce(core, first, plan_options(core, limit=1_500), state)
    standing = len(before.plan.choices[0].replacement)
    more = user(result("t9", "z" * 9_000))
    options = plan_options(core, limit=700 + standing - 1, preview_bytes=1_000)
    done = enforce(core, [*first, more], options, state)
    assert [choice.preview_bytes for choice in done.plan.choices] == [1_000]
    assert done.visible == [700 + standing + len(done.plan.choices[0].replacement)]


def test_exempt_results_do_not_count(core: ModuleType) -> None:
    """However large, they take no room from the others (B3)."""
    calls = assistant("m1", tool_use("a", "Read"), tool_use("b", "Bash"))
    messages = [calls, user(result("a", "a" * 10**6), result("b", "b" * 900))]
    done = run(core, messages, 900)
    assert (taken(done), done.visible, done.over_limit_chars) == ([], [900], 0)


def test_over_limit_is_summed_over_the_groups(core: ModuleType) -> None:
    """Groups over the limit add up; room in another one is no help (B6)."""
    state = State()
    messages = [
        assistant("m1"),
        user(result("a", "a" * 1_300)),
        assistant("m2"),
        user(result("b", "b" * 10)),
        assistant("m3"),
        user(result("c", "c" * 1_040)),
    ]
    enforce(core, messages, plan_options(core, limit=math.inf), state)
    done = enforce(core, messages, plan_options(core, limit=1_000), state)
    assert done.over_limit_chars == 300 + 40


# --- all together ---------------------------------------------------------------------------------


@st.composite
def tight_groups(draw: st.DrawFn) -> tuple[list[Any], Settings, Past]:
    """Give one group whose limit lies between its smallest and its full form."""
    size = st.sampled_from([90, 160, 170, 300, 500, 501, 900, 1_500, 3_000])
    sizes = draw(st.lists(size, min_size=1, max_size=7))
    letters = draw(st.lists(st.sampled_from(["a", "é", "line\n", "b"]), min_size=7, max_size=7))
    texts = [(letters[index] * size)[:size] for index, size in enumerate(sizes)]
    ids = [f"t{draw(st.integers(0, 5))}" for _ in sizes]
    messages: list[Any] = [user(*map(result, ids, texts))]
    past = Past()
    [group] = find_groups(messages, lambda _name: False)
    for item in group.results[: draw(st.integers(0, 1))]:
        past.decisions[item.identity] = draw(st.sampled_from([None, "[gone]"]))
    preview_bytes = draw(st.sampled_from([10, 99, 400, 1_000]))
    least = sum(min(size, length_of(size, 0)) for size in sizes)
    limit = draw(st.integers(max(0, least - 30), max(least, sum(sizes))))
    settings = Settings(
        limit=limit,
        preview_bytes=preview_bytes,
        accounting=draw(st.sampled_from(["visible", "visible", "visible", "originals"])),
        expected_path=path_for,
        is_stored_as_json=is_json,
        is_exempt_tool=lambda _name: False,
    )
    return messages, settings, past


@given(case=tight_groups())
def test_a_choice_is_what_the_rules_say(
    core: ModuleType, case: tuple[list[Any], Settings, Past]
) -> None:
    """Under limits at which every step matters, the choice is that of the rules."""
    messages, settings, past = case
    expected = oracle.enforce(messages, past, settings)
    done = enforce(core, messages, options_for(core, settings), State.of(past))
    assert expected.new == done.new
    assert expected.visible == done.visible
    assert expected.over_limit_chars == done.over_limit_chars
    assert expected.messages == list(done.messages)
