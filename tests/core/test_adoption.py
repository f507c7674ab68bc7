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
    assistant,
    content_at,
    decided,
    enforce,
    kept,
    plan_options,
    result,
    taken,
    user,
)
from tests.core.text_oracle import replacement

if TYPE_CHECKING:
    from types import ModuleType


def test_a_foreign_record_matches_by_id(core: ModuleType) -> None:
    """At its first application, which binds it to the text (D2)."""
    state = State(unapplied={"t1": RECORDED})
    messages = [user(result("t1", BIG))]
    done = enforce(core, messages, plan_options(core, limit=math.inf), state)
    assert content_at(done.messages, 0) == RECORDED
    assert done.adopted == {identity_of("t1", BIG): RECORDED}
    assert (done.new, done.visible) == ({}, [len(RECORDED)])
    again = enforce(core, messages, plan_options(core, limit=math.inf), state)
    assert content_at(again.messages, 0) == RECORDED
    assert again.adopted == {}


def test_a_foreign_record_is_applied_once(core: ModuleType) -> None:
    """The second text of that id is fresh, in the same call and in later ones (D1, D2)."""
    state = State(unapplied={"t1": RECORDED})
    messages = [user(result("t1", BIG), result("t1", "y" * 1_500))]
    done = enforce(core, messages, plan_options(core), state)
    assert content_at(done.messages, 0) == RECORDED
    assert taken(done) == ["t1"]
    assert content_at(done.messages, 0, 1) == replacement("y" * 1_500, "/s/t1-2.txt", 100)
    later = enforce(core, [user(result("t1", "z" * 1_500))], plan_options(core), state)
    assert (taken(later), later.adopted) == (["t1"], {})


def test_a_duplicate_of_an_adopted_result_follows(core: ModuleType) -> None:
    """The same text again gets the same replacement, in both groups (B4, D2)."""
    answer = user(result("t1", BIG), result("t1", BIG))
    state = State(unapplied={"t1": RECORDED})
    done = enforce(core, [answer, assistant(None), answer], plan_options(core), state)
    shown = [content_at(done.messages, index, block) for index in (0, 2) for block in (0, 1)]
    assert shown == [RECORDED] * 4
    assert len(done.plan.adoptions) == 1


@pytest.mark.parametrize("extra_chars", [-1, 0, 1])
def test_a_foreign_record_is_for_longer_texts_only(core: ModuleType, extra_chars: int) -> None:
    """A text that is not longer than the replacement is not the original (D2)."""
    text = "x" * (len(RECORDED) + extra_chars)
    state = State(unapplied={"t1": RECORDED})
    done = enforce(core, [user(result("t1", text))], plan_options(core), state)
    assert bool(done.adopted) is (extra_chars == 1)
    assert kept(done) == ([] if extra_chars == 1 else ["t1"])


def test_a_foreign_record_waits_for_its_text(core: ModuleType) -> None:
    """What could not be applied to a short text is applied to the first longer one (D2)."""
    state = State(unapplied={"t1": RECORDED})
    messages = [user(result("t1", "short"), result("t1", BIG))]
    done = enforce(core, messages, plan_options(core), state)
    assert content_at(done.messages, 0, 0) == "short"
    assert content_at(done.messages, 0, 1) == RECORDED


@pytest.mark.parametrize("length", [16_384, 16_385])
def test_a_long_foreign_replacement_is_ignored(core: ModuleType, length: int) -> None:
    """More than 16,384 characters are no replacement (D2)."""
    text = "x" * 20_000
    state = State(unapplied={"t1": "r" * length})
    done = enforce(core, [user(result("t1", text))], plan_options(core, limit=math.inf), state)
    assert bool(done.adopted) is (length == 16_384)


def test_our_own_decision_goes_before_a_foreign_one(core: ModuleType) -> None:
    """A text that is decided needs no match by id."""
    state = decided(("t1", BIG, None))
    state.unapplied = {"t1": RECORDED}
    done = enforce(core, [user(result("t1", BIG))], plan_options(core), state)
    assert content_at(done.messages, 0) == BIG
    assert (done.adopted, done.new) == ({}, {})


def test_a_foreign_record_goes_before_exemption_and_rules(core: ModuleType) -> None:
    """It is applied whatever the tool's limit is, and in a resumed session (B3, R3)."""
    messages = [ask("t1", name="Read"), user(result("t1", BIG)), assistant(None)]
    for rule in ("running", "resumed", "seen"):
        state = State(unapplied={"t1": RECORDED})
        done = enforce(core, messages, plan_options(core, rule=rule), state)
        assert content_at(done.messages, 1) == RECORDED
        assert len(done.adopted) == 1


@pytest.mark.parametrize("is_fact", [False, True])
def test_a_reference_is_not_replaced_by_a_foreign_record(
    core: ModuleType,
    is_fact: bool,  # noqa: FBT001
) -> None:
    """A reference is no candidate: a record with its id, and shorter, is not about it (B3, S8)."""
    made = RECORDED * 20
    text = made if is_fact else FRAME + "a" * 900 + "\n</persisted-output>"
    state = State(facts={made}, unapplied={"t1": RECORDED})
    messages = [user(result("t1", text)), assistant(None), user(result("t1", BIG))]
    done = enforce(core, messages, plan_options(core), state)
    assert (content_at(done.messages, 0), content_at(done.messages, 2)) == (text, RECORDED)
    assert done.adopted == {identity_of("t1", BIG): RECORDED}
