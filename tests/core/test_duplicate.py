from __future__ import annotations

from typing import TYPE_CHECKING

from tests.core.harness import (
    BIG,
    ask,
    content_at,
    enforce,
    kept,
    plan_options,
    record,
    result,
    taken,
    user,
)
from tests.core.text_oracle import replacement

if TYPE_CHECKING:
    from types import ModuleType


def test_a_duplicate_in_the_group_is_taken_with_the_first(core: ModuleType) -> None:
    """One decision, one preview, both counted (B4)."""
    messages = [ask("t1"), user(result("t1", BIG), result("t2", "b")), user(result("t1", BIG))]
    done = enforce(core, messages, plan_options(core))
    expected = replacement(BIG, "/s/t1-2.txt", 100)
    assert [content_at(done.messages, 1), content_at(done.messages, 2)] == [expected] * 2
    assert (len(done.plan.choices), kept(done)) == (1, ["t2"])
    assert done.visible == [2 * len(expected) + 1]


def test_a_duplicate_in_the_group_is_kept_with_the_first(core: ModuleType) -> None:
    """Both count before the choice: together they may exceed the limit (B4)."""
    messages = [user(result("t1", "a" * 500), result("t1", "a" * 500))]
    within = enforce(core, messages, plan_options(core, limit=1_000))
    assert (taken(within), kept(within), within.visible) == ([], ["t1"], [1_000])
    over = enforce(core, messages, plan_options(core, limit=999))
    assert taken(over) == ["t1"]


def test_duplicates_are_chosen_by_the_size_of_one(core: ModuleType) -> None:
    """The order is by the result's own size, not by what its copies come to (B6)."""
    messages = [user(result("t1", "a" * 700), result("t2", "b" * 900), result("t1", "a" * 700))]
    assert taken(enforce(core, messages, plan_options(core, limit=2_000))) == ["t2"]


def test_a_duplicate_in_a_later_group_follows_the_first(core: ModuleType) -> None:
    """Replaced in one group, it is replaced in the next, though that one is small (B4)."""
    answer = user(result("t1", BIG))
    messages = [ask("t1"), answer, ask("t2"), user(result("t2", "b" * 300)), answer]
    done = enforce(core, messages, plan_options(core))
    expected = replacement(BIG, "/s/t1-2.txt", 100)
    assert [content_at(done.messages, 1), content_at(done.messages, 4)] == [expected] * 2
    assert (taken(done), kept(done)) == (["t1"], ["t2"])
    assert done.visible == [len(expected), 300 + len(expected)]


def test_a_kept_duplicate_is_kept_in_a_later_group(core: ModuleType) -> None:
    """Kept in one group, it is frozen in the next one, even if that is over the limit (B4)."""
    messages = [
        ask("t1"),
        user(result("t1", "a" * 900)),
        ask("t2"),
        user(result("t1", "a" * 900), result("t2", "b" * 800)),
    ]
    done = enforce(core, messages, plan_options(core))
    assert (taken(done), kept(done)) == (["t2"], ["t1"])
    assert done.visible == [900, 900 + len(done.plan.choices[0].replacement)]


def test_a_duplicate_in_another_chain_follows_too(core: ModuleType) -> None:
    """A decision is about id and text, wherever the result stands (B4, D1)."""
    answer = user(result("t1", BIG))
    messages = [record(answer), record(answer, isSidechain=True)]
    done = enforce(core, messages, plan_options(core))
    assert len(done.plan.choices) == 1
    assert content_at(done.messages, 0) == content_at(done.messages, 1) != BIG


def test_equal_texts_under_two_ids_are_no_duplicates(core: ModuleType) -> None:
    """Each has its own file and its own preview (reports row 3)."""
    done = enforce(core, [user(result("t1", BIG), result("t2", BIG))], plan_options(core))
    assert taken(done) == ["t1", "t2"]
    same_id = enforce(core, [user(result("t1", BIG), result("t1", "y" + BIG))], plan_options(core))
    shown = [content_at(same_id.messages, 0, 0), content_at(same_id.messages, 0, 1)]
    assert shown == [
        replacement(BIG, "/s/t1-2.txt", 100),
        replacement("y" + BIG, "/s/t1-2.txt", 100),
    ]
