from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from tests.core.harness import (
    BIG,
    FRAME,
    ask,
    assistant,
    enforce,
    kept,
    plan_options,
    record,
    result,
    taken,
    text_block,
    tool_use,
    user,
)
from tests.strategies import SdkObject

if TYPE_CHECKING:
    from types import ModuleType


def conversation() -> list[Any]:
    """Make two groups, one answered and one not, each over the limit."""
    return [ask("t1"), user(result("t1", BIG)), ask("t2"), user(result("t2", "y" * 2_000))]


@pytest.mark.parametrize(
    ("rule", "replaced", "kept_ids"),
    [("running", ["t1", "t2"], []), ("resumed", ["t2"], ["t1"]), ("seen", [], ["t1", "t2"])],
)
def test_the_rule_for_what_nothing_decides(
    core: ModuleType, rule: str, replaced: list[str], kept_ids: list[str]
) -> None:
    """Fresh; or kept if a later group follows; or kept wherever it stands (R3)."""
    done = enforce(core, conversation(), plan_options(core, rule=rule))
    assert (taken(done), kept(done)) == (replaced, kept_ids)


@pytest.mark.parametrize(
    ("behind", "is_followed"),
    [
        (assistant("m2", text_block("done")), True),
        (assistant(None), True),
        (SdkObject(role="assistant", id="m3", content=[]), True),
        (assistant("m1", text_block("more of the same answer")), False),
        ({"role": "user", "content": "go on"}, False),
        (user(result("t2", "y")), False),
        ({"role": "system", "content": "x"}, False),
        ({"type": "progress", "message": assistant("m9")}, False),
        (record(assistant("m9"), isSidechain=True), False),
        ({}, False),
    ],
    ids=range(10),
)
def test_only_a_later_group_says_that_it_was_sent(
    core: ModuleType,
    behind: object,
    is_followed: bool,  # noqa: FBT001
) -> None:
    """It takes an assistant message that starts a later group, of the same chain (R3)."""
    messages = [ask("t1", message_id="m1"), user(result("t1", BIG)), behind]
    done = enforce(core, messages, plan_options(core, rule="resumed"))
    assert taken(done) == ([] if is_followed else ["t1"])


def test_a_whole_group_is_followed(core: ModuleType) -> None:
    """Results of records that were streamed in between are followed by what ends their group."""
    messages = [
        assistant("m1", tool_use("t1")),
        user(result("t1", BIG)),
        assistant("m1", tool_use("t2")),
        user(result("t2", "y" * 2_000)),
        assistant("m2"),
    ]
    done = enforce(core, messages, plan_options(core, rule="resumed"))
    assert (taken(done), kept(done)) == ([], ["t1", "t2"])


def test_kept_by_rule_counts_as_frozen(core: ModuleType) -> None:
    """What was seen takes its room; a copy in a later group follows it (B4, R3)."""
    messages = [*conversation(), user(result("t1", BIG))]
    done = enforce(core, messages, plan_options(core, rule="resumed"))
    assert (taken(done), kept(done)) == (["t2"], ["t1"])
    assert done.visible == [2_000, 2_000 + len(done.plan.choices[0].replacement)]


def test_seen_keeps_references_and_exempt_results_too(core: ModuleType) -> None:
    """Every undecided text result is recorded, the last message's too (R3)."""
    framed = FRAME + "\n</persisted-output>"
    calls = assistant("m1", tool_use("a", "Read"), tool_use("b"), tool_use("c"))
    answers = user(result("a", BIG), result("b", framed), result("c", BIG), result("d", ""))
    done = enforce(core, [calls, answers], plan_options(core, rule="seen", limit=1))
    assert (taken(done), kept(done)) == ([], ["a", "b", "c"])


def test_fresh_ones_can_be_left_alone(core: ModuleType) -> None:
    """With ``leaves_fresh`` only what the rule settles is decided; nothing is chosen."""
    options = plan_options(core, rule="resumed", leaves_fresh=True)
    done = enforce(core, conversation(), options)
    assert (taken(done), kept(done)) == ([], ["t1"])
    assert done.visible == [2_000, 2_000]
