from __future__ import annotations

import math
from typing import TYPE_CHECKING

import pytest

from tests.core.group_oracle import identity_of
from tests.core.harness import (
    BIG,
    FRAME,
    RECORDED,
    State,
    ask,
    canonical,
    content_at,
    decided,
    enforce,
    kept,
    never,
    plan_options,
    result,
    taken,
    text_block,
    user,
)
from tests.core.text_oracle import replacement
from tests.strategies import Text

if TYPE_CHECKING:
    from types import ModuleType


# --- decisions are final (B3, B4, B8, D1) ---------------------------------------------------------


def test_a_recorded_replacement_is_put_in_again(core: ModuleType) -> None:
    """Byte for byte, without asking for paths, files or limits (B8)."""
    options = plan_options(
        core, limit=math.inf, preview_bytes=1, expected_path=never, is_stored_as_json=never
    )
    done = enforce(core, [user(result("t1", BIG))], options, decided(("t1", BIG, RECORDED)))
    assert content_at(done.messages, 0) == RECORDED
    assert (done.new, done.visible) == ({}, [len(RECORDED)])


@pytest.mark.parametrize(
    "recorded", ["", "longer than " + BIG, "\x00\ud800</persisted-output>", FRAME + "x" * 20_000]
)
def test_the_recorded_string_is_not_judged(core: ModuleType, recorded: str) -> None:
    """A decision of ours is final, whatever the string: the model has seen it (B8)."""
    done = enforce(
        core, [user(result("t1", BIG))], plan_options(core), decided(("t1", BIG, recorded))
    )
    assert content_at(done.messages, 0) == recorded
    assert done.visible == [len(recorded)]


@pytest.mark.parametrize(
    ("content", "expected"),
    [
        (BIG, RECORDED),
        ([text_block(BIG)], [text_block(RECORDED)]),
        ((text_block(BIG),), [text_block(RECORDED)]),
        ([text_block("x" * 5), text_block("x" * 1_995)], [text_block(RECORDED)]),
        (
            [text_block(BIG, cache_control={"type": "ephemeral"})],
            [text_block(RECORDED, cache_control={"type": "ephemeral"})],
        ),
        (Text(BIG), RECORDED),
    ],
    ids=["string", "list", "tuple", "split", "marked", "subclass"],
)
def test_the_form_follows_the_block_as_given_now(
    core: ModuleType, content: object, expected: object
) -> None:
    """The string is recorded; string or list and the mark are those of the block now (B8)."""
    done = enforce(
        core, [user(result("t1", content))], plan_options(core), decided(("t1", BIG, RECORDED))
    )
    assert canonical(expected) == canonical(content_at(done.messages, 0))


def test_what_was_kept_stays(core: ModuleType) -> None:
    """A kept result is never replaced later, whatever the limit has become (B7, L6)."""
    messages = [user(result("t1", BIG))]
    done = enforce(core, messages, plan_options(core, limit=10), decided(("t1", BIG, None)))
    assert done.messages is messages
    assert (done.new, done.visible, done.over_limit_chars) == ({}, [2_000], 1_990)


def test_the_second_turn_sends_the_same(core: ModuleType) -> None:
    """Earlier results keep their form while later groups grow (reports row 21)."""
    state = State()
    options = plan_options(core, limit=2_500, preview_bytes=100)
    first = [ask("t1", "t2"), user(result("t1", "a" * 2_000), result("t2", "b" * 2_000))]
    one = enforce(core, first, options, state)
    assert len(taken(one)) == 1
    more = [ask("t3", "t4"), user(result("t3", "c" * 2_000), result("t4", "d" * 2_000))]
    two = enforce(core, [*first, *more], options, state)
    assert canonical(list(one.messages)) == canonical(list(two.messages[:2]))
    assert taken(two) == ["t3"]


def test_another_text_under_the_same_id_is_another_result(core: ModuleType) -> None:
    """Reused ids never receive the other text's preview (D1)."""
    other = "y" * 2_000
    messages = [ask("t1"), user(result("t1", BIG)), ask("t1"), user(result("t1", other))]
    done = enforce(core, messages, plan_options(core), decided(("t1", BIG, RECORDED)))
    assert content_at(done.messages, 1) == RECORDED
    assert content_at(done.messages, 3) == replacement(other, "/s/t1-2.txt", 100)
    assert list(done.new) == [identity_of("t1", other)]


def test_the_same_text_under_another_id_is_another_result(core: ModuleType) -> None:
    """A decision is about the id and the text together (D1)."""
    done = enforce(
        core,
        [user(result("t1", BIG), result("t2", BIG))],
        plan_options(core),
        decided(("t1", BIG, RECORDED)),
    )
    assert content_at(done.messages, 0) == RECORDED
    assert taken(done) == ["t2"]


def test_a_cleared_result_is_not_given_the_old_preview(core: ModuleType) -> None:
    """A host or a later stage may have shortened a result: that is another text (D1)."""
    messages = [user(result("t1", "[cleared]"))]
    done = enforce(core, messages, plan_options(core), decided(("t1", BIG, RECORDED)))
    assert done.messages is messages
    assert kept(done) == ["t1"]


# --- exemption and decisions (B3) -----------------------------------------------------------------


def test_a_recorded_replacement_goes_before_exemption(core: ModuleType) -> None:
    """What was replaced stays replaced when its tool's limit has become infinite (B3)."""
    messages = [ask("t1", name="Read"), user(result("t1", BIG))]
    done = enforce(core, messages, plan_options(core), decided(("t1", BIG, RECORDED)))
    assert content_at(done.messages, 1) == RECORDED
    assert done.visible == [len(RECORDED)]


def test_an_exempt_result_is_recorded_as_kept(core: ModuleType) -> None:
    """At first sight, so that it stays what it is when its call has left the list (B3)."""
    state = State()
    call, answer = ask("t1", name="Read"), user(result("t1", BIG))
    done = enforce(core, [call, answer], plan_options(core), state)
    assert (taken(done), kept(done), done.visible) == ([], ["t1"], [0])
    assert dict(done.plan.skipped) == {"exempt": 1}
    alone = enforce(core, [answer], plan_options(core), state)
    assert (alone.new, alone.visible, alone.over_limit_chars) == ({}, [2_000], 1_000)


def test_an_ended_exemption_leaves_it_kept(core: ModuleType) -> None:
    """A limit that becomes finite later changes no decision; the result counts from then on."""
    state = State()
    messages = [ask("t1", name="Read"), user(result("t1", BIG))]
    enforce(core, messages, plan_options(core), state)
    options = plan_options(core, is_exempt_tool=lambda _name: False)
    done = enforce(core, messages, options, state)
    assert (done.new, done.visible) == ({}, [2_000])


def test_a_kept_result_of_a_tool_that_became_exempt_does_not_count(core: ModuleType) -> None:
    """For counting, exemption is asked at every call (B3)."""
    messages = [ask("t1", name="Read"), user(result("t1", BIG))]
    done = enforce(core, messages, plan_options(core), decided(("t1", BIG, None)))
    assert (done.visible, done.over_limit_chars) == ([0], 0)


def test_a_call_behind_its_result_exempts_it(core: ModuleType) -> None:
    """Records reach a transcript out of order (W1)."""
    done = enforce(core, [user(result("t1", BIG)), ask("t1", name="Read")], plan_options(core))
    assert (taken(done), kept(done)) == ([], ["t1"])


# --- references (S8) ------------------------------------------------------------------------------


@pytest.mark.parametrize("tail", ["", "\n", " \x1c\x1f\u2028"])
def test_a_framed_text_is_kept_and_counts(core: ModuleType, tail: str) -> None:
    """Another program's reference is no candidate; it counts with its length (B3, S8)."""
    text = FRAME + "a" * 3_000 + "\n</persisted-output>" + tail
    messages = [user(result("t1", text), result("t2", "b" * 900))]
    done = enforce(core, messages, plan_options(core, limit=3_500))
    assert (taken(done), kept(done)) == (["t2"], ["t1"])
    assert done.visible == [len(text) + len(done.plan.choices[0].replacement)]
    assert dict(done.plan.skipped) == {"reference": 1}


def test_a_larger_framed_text_is_data(core: ModuleType) -> None:
    """A text of more than 16,384 characters is stored like any other, frame or not (S8)."""
    end = "\n</persisted-output>"
    largest = FRAME + "a" * (16_384 - len(FRAME) - len(end)) + end
    messages = [user(result("t1", largest), result("t2", "a".join([FRAME, largest[len(FRAME) :]])))]
    done = enforce(core, messages, plan_options(core))
    assert (taken(done), kept(done)) == (["t2"], ["t1"])


def test_a_text_that_begins_like_a_reference_is_data(core: ModuleType) -> None:
    """A quoted or forged beginning is plain data with a file of its own (reports row 28)."""
    forged = FRAME + "a" * 3_000
    done = enforce(core, [user(result("t1", forged))], plan_options(core))
    assert [choice.replacement for choice in done.plan.choices] == [
        replacement(forged, "/s/t1-2.txt", 100)
    ]


@pytest.mark.parametrize("text", [RECORDED * 90, FRAME + "z" * 40_000])
def test_what_this_session_made_is_a_reference(core: ModuleType, text: str) -> None:
    """A replacement of ours or of a parent is known by its exact text, of any length (S8)."""
    messages = [user(result("t1", text))]
    done = enforce(core, messages, plan_options(core, limit=10), State(facts={text}))
    assert done.messages is messages
    assert (kept(done), done.visible) == (["t1"], [len(text)])
    other = enforce(core, messages, plan_options(core, limit=10), State(facts={text + "."}))
    assert taken(other) == ["t1"]


def test_another_text_of_the_same_length_is_none(core: ModuleType) -> None:
    """Only the exact text is a reference (S8)."""
    messages = [user(result("t1", "a" * 2_000))]
    done = enforce(core, messages, plan_options(core), State(facts={"b" * 2_000}))
    assert taken(done) == ["t1"]


def test_a_reference_in_blocks_is_known(core: ModuleType) -> None:
    """The text of a list is that of its blocks together."""
    text = FRAME + "a" * 3_000 + "\n</persisted-output>"
    content = [text_block(text[:50]), text_block(text[50:])]
    done = enforce(core, [user(result("t1", content))], plan_options(core))
    assert (taken(done), kept(done)) == ([], ["t1"])


def test_what_went_out_may_come_back_in(core: ModuleType) -> None:
    """Enforcing the output of a call changes nothing and counts the same (B10)."""
    state = State()
    messages = [ask("t1", "t2"), user(result("t1", BIG), result("t2", "b" * 800))]
    once = enforce(core, messages, plan_options(core), state)
    twice = enforce(core, once.messages, plan_options(core), state)
    assert once.messages is twice.messages
    assert once.visible == twice.visible
