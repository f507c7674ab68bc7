"""The order in which a display shows calls, hooks and results."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.builders import answer, call, msg, res
from tests.layer.messages.conversations import conversations
from tests.strategies import message_lists
from toolbudget import InvalidMessageError
from toolbudget.messages import reorder_messages_in_ui

Record = dict[str, Any]


def attachment(event: str, name: str) -> Record:
    """Make a hook's record as newer transcripts have it."""
    inner = {"type": "hook_success", "hookEvent": event, "toolUseID": name, "hookName": event}
    return {"type": "attachment", "attachment": inner}


def progress(event: str, name: str) -> Record:
    """Make a hook's record as older transcripts have it."""
    data = {"type": "hook_progress", "hookEvent": event, "hookName": f"{event}:Bash"}
    return {"type": "progress", "data": data, "toolUseID": name, "parentToolUseID": name}


def test_what_belongs_to_a_call_stands_together() -> None:
    """Request, pre-hooks, result, post-hooks, for each call in the order of the calls."""
    a, b = answer(call("a", "Bash")), answer(call("b", "Bash"))
    of_a, of_b = msg(res("a", "x")), msg(res("b", "y"))
    before_a, after_a = attachment("PreToolUse", "a"), attachment("PostToolUse", "a")
    before_b, after_b = progress("PreToolUse", "b"), progress("PostToolUse", "b")
    recorded = [a, b, before_b, before_a, of_b, after_b, of_a, after_a]
    assert reorder_messages_in_ui(recorded) == [
        *(a, before_a, of_a, after_a),
        *(b, before_b, of_b, after_b),
    ]


def test_orphans_and_everything_else_keep_their_place() -> None:
    """What belongs to no request is not moved, other hooks and progress neither."""
    others = [
        msg(res("gone", "x")),
        attachment("PostToolUse", "gone"),
        attachment("SessionStart", "a"),
        {"type": "progress", "toolUseID": "a", "data": {"type": "bash_progress"}},
        {"type": "system", "subtype": "api_error"},
        {"role": "user", "content": "hello"},
    ]
    request, result = answer(call("a", "Bash")), msg(res("a", "x"))
    assert reorder_messages_in_ui([*others, request, *others, result, *others]) == [
        *others,
        request,
        result,
        *others,
        *others,
    ]


def test_an_id_that_is_used_again_belongs_to_the_nearest_request() -> None:
    """Servers that number their calls anew each turn do not mix the turns."""
    one, two = answer(call("call_0", "A")), answer(call("call_0", "B"))
    of_one, of_two = msg(res("call_0", "1")), msg(res("call_0", "2"))
    hello = {"role": "user", "content": "hello"}
    assert reorder_messages_in_ui([one, hello, of_one, two, hello, of_two]) == [
        *(one, of_one, hello),
        *(two, of_two, hello),
    ]


def test_calls_of_one_record() -> None:
    """A request of several calls is followed by each call's records; a joint result by all."""
    both = answer(call("a", "Bash"), call("b", "Bash"))
    before_a, before_b = attachment("PreToolUse", "a"), attachment("PreToolUse", "b")
    after_a, after_b = attachment("PostToolUse", "a"), attachment("PostToolUse", "b")
    of_a, of_b = msg(res("a", "x")), msg(res("b", "y"))
    apart = reorder_messages_in_ui([both, of_b, of_a, after_b, after_a, before_b, before_a])
    assert apart == [both, before_a, of_a, after_a, before_b, of_b, after_b]
    joint = msg(res("b", "y"), res("a", "x"))
    together = reorder_messages_in_ui([both, joint, after_b, after_a, before_b, before_a])
    assert together == [both, before_a, before_b, joint, after_a, after_b]


def test_requests_that_are_being_streamed_come_last() -> None:
    """They stand behind everything, with the hooks that have run for them."""
    streaming = answer(call("s", "Bash"))
    hook, hello = attachment("PreToolUse", "s"), {"role": "user", "content": "hello"}
    assert reorder_messages_in_ui([hook, hello], [streaming]) == [hello, streaming, hook]


def test_chains_are_not_mixed() -> None:
    """A sub-agent's result does not move to the main chain's call of the same id."""
    request = answer(call("call_0", "A"))
    hello = {"role": "user", "content": "hello"}
    side = {"type": "user", "message": msg(res("call_0", "x")), "isSidechain": True}
    assert reorder_messages_in_ui([request, hello, side]) == [request, hello, side]


def test_what_is_no_message_is_an_error() -> None:
    """The error names the index, counted through both lists, and the value."""
    with pytest.raises(InvalidMessageError, match=r"message 1 .*: 42"):
        reorder_messages_in_ui([msg()], [42])
    with pytest.raises(InvalidMessageError, match="not int"):
        reorder_messages_in_ui([], 42)  # type: ignore[arg-type]


HOOKS = st.builds(
    lambda make, event, name: make(event, name),
    st.sampled_from([attachment, progress]),
    st.sampled_from(["PreToolUse", "PostToolUse", "Stop"]),
    st.sampled_from(["t0", "t1", "t2", "t3"]),
)


@given(conversations(), st.lists(HOOKS, max_size=6), st.randoms(use_true_random=False))
def test_nothing_is_lost_and_twice_is_once(
    conversation: list[Record],
    hooks: list[Record],
    random: Any,  # noqa: ANN401 - hypothesis' own
) -> None:
    """Every object is there once; a second call finds nothing to do; requests keep their order."""
    elements = [*conversation, *hooks]
    random.shuffle(elements)
    ordered = reorder_messages_in_ui(elements)
    assert sorted(map(id, ordered)) == sorted(map(id, elements))
    assert list(map(id, reorder_messages_in_ui(ordered))) == list(map(id, ordered))


@given(message_lists())
def test_odd_messages_pass(messages: list[Any]) -> None:
    """Whatever stands where a text or block should, everything is still there."""
    assert sorted(map(id, reorder_messages_in_ui(messages))) == sorted(map(id, messages))
