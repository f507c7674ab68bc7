from __future__ import annotations

from typing import TYPE_CHECKING, Any

from hypothesis import given
from hypothesis import strategies as st

from tests.core import oracle
from tests.core.call_strategy import Call, calls
from tests.core.group_oracle import blocks_of, get, message_of
from tests.core.harness import Done, State, canonical, enforce, options_for
from toolbudget import _core

if TYPE_CHECKING:
    from types import ModuleType


@given(call=calls())
def test_a_call_does_what_the_rules_say(core: ModuleType, call: Call) -> None:
    """Output, decisions and totals of a whole call are those of the rules read one by one."""
    expected = oracle.enforce(call.messages, call.past, call.settings)
    done = enforce(core, call.messages, options_for(core, call.settings), State.of(call.past))
    assert expected.new == done.new
    assert expected.adopted == done.adopted
    assert expected.visible == done.visible
    assert expected.over_limit_chars == done.over_limit_chars
    steps = {(key[0], *key[1]): step for key, step in _steps(done).items()}
    assert expected.step_bytes == steps
    assert canonical(expected.messages) == canonical(list(done.messages))


def _steps(done: Done) -> dict[Any, int]:
    return {choice.key: choice.preview_bytes for choice in done.plan.choices}


def _places(candidates: Any) -> list[tuple[object, ...]]:  # noqa: ANN401  # of either core
    return [
        (item.message_index, item.block_index, item.tool_use_id, item.size, item.is_exempt)
        for item in candidates
    ]


def _everything(done: Done) -> dict[str, object]:
    """Write down all that a plan says, in its order."""
    plan = done.plan
    return {
        "choices": [
            {
                "key": tuple(choice.key),
                "occurrences": _places(choice.occurrences),
                "followers": _places(candidate for candidate, _ in choice.followers),
                "shown": (choice.path, choice.preview_bytes, choice.replacement),
                "text": (choice.size, choice.prepared.parts, choice.prepared.head),
            }
            for choice in plan.choices
        ],
        "kept": [tuple(key) for key in plan.kept],
        "adoptions": [(tuple(item.key), item.replacement) for item in plan.adoptions],
        "changes": [tuple(change) for change in plan.changes],
        "skipped": dict(plan.skipped),
        "numbers": (plan.candidates, plan.chars_before, plan.chars_gained, plan.decides),
        "failures": [(name, type(error), str(error)) for name, error in plan.redaction_failures],
        "totals": [(item.frozen, item.standing, item.fresh, item.gained) for item in plan.totals],
        "messages": canonical(list(done.messages)),
        "visible": done.visible,
    }


@given(call=calls())
def test_both_cores_plan_the_same(call: Call) -> None:
    """Every part of a plan, its order too, is the same from both cores (V5)."""
    python, native = (
        enforce(core, call.messages, options_for(core, call.settings), State.of(call.past))
        for core in (_core.load("python"), _core.load("native"))
    )
    assert _everything(python) == _everything(native)


@given(call=calls())
def test_a_result_is_counted_once(core: ModuleType, call: Call) -> None:
    """Every tool result of a user message is a candidate or skipped, and sizes add up (B11)."""
    done = enforce(core, call.messages, options_for(core, call.settings), State.of(call.past))
    count = 0
    for element in call.messages:
        message = message_of(element)
        is_other = message is not element and get(element, "type") != "user"
        if not is_other and get(message, "role") == "user":
            blocks = blocks_of(get(message, "content"))
            count += sum(get(block, "type") == "tool_result" for block in blocks)
    assert done.plan.candidates + sum(done.plan.skipped.values()) == count


@given(call=calls())
def test_the_next_call_sends_the_same(core: ModuleType, call: Call) -> None:
    """With nothing new, nothing is decided and every byte is the same, under any limit (B8, L6)."""
    state = State.of(call.past)
    call.settings.leaves_fresh = False
    first = enforce(core, call.messages, options_for(core, call.settings), state)
    # A process that knows the decisions only: nothing is left of the texts it has hashed.
    resumed = State(dict(state.decisions), set(state.facts), dict(state.unapplied))
    call.settings.limit, call.settings.preview_bytes, call.settings.redact = 0, 1, None
    call.settings.reader_hint = "another hint"
    again = enforce(core, call.messages, options_for(core, call.settings), resumed)
    assert (again.new, again.adopted) == ({}, {})
    assert canonical(list(first.messages)) == canonical(list(again.messages))


@given(call=calls())
def test_enforcing_twice_is_enforcing_once(core: ModuleType, call: Call) -> None:
    """What a call handed out comes back unchanged when it is given in again (B10)."""
    state = State.of(call.past)
    options = options_for(core, call.settings)
    once = enforce(core, call.messages, options, state)
    twice = enforce(core, once.messages, options, state)
    assert twice.messages is once.messages


@given(call=calls(), data=st.data())
def test_what_was_sent_is_a_prefix_of_what_comes(
    core: ModuleType, call: Call, data: st.DataObject
) -> None:
    """However a conversation goes on, the part that was sent is sent again as it was (B8)."""
    length = data.draw(st.integers(0, len(call.messages)))
    state = State.of(call.past)
    call.settings.leaves_fresh = False
    options = options_for(core, call.settings)
    sent = enforce(core, call.messages[:length], options, state)
    later = enforce(core, call.messages, options, state)
    assert canonical(list(sent.messages)) == canonical(list(later.messages)[:length])
