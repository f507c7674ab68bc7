"""The two modes of the history: what is reused, what is noticed, what is let go of (V3)."""

from __future__ import annotations

import copy
import gc
import json
import weakref
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from typing import TYPE_CHECKING, Any, ClassVar
from unittest import mock

import pytest

from tests.builders import answer, call, is_reference, msg, res, turn
from tests.core.harness import record
from toolbudget import ConfigError, InvalidMessageError, Limits, MemoryStore, Session, StoreError
from toolbudget import _core as core
from toolbudget._core.pure import past
from toolbudget.budget.history import History
from toolbudget.storage.records import parse_line

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from tests.builders import Message
    from toolbudget.budget.history import HistoryMode

LARGE = "a line\n" * 300
LIMITS = Limits(max_message_chars=1_000)
MODES: tuple[HistoryMode, ...] = ("verified", "append_only")


def open_session(root: Path, history: HistoryMode, **options: Any) -> Session:  # noqa: ANN401
    """Open a session whose groups may have 1,000 characters."""
    options = {"limits": LIMITS, "ephemeral": True, **options}
    return Session.open(root, "session", history=history, **options)


class Watched(dict[str, Any]):
    """A message that tells when it is looked at."""

    seen: ClassVar[set[int]] = set()

    def get(self, name: str, default: Any = None) -> Any:  # noqa: ANN401 - as that of dict
        """Note it."""
        self.seen.add(id(self))
        return super().get(name, default)


def conversation(
    turns: int, first: int = 0, kind: Callable[[Message], Message] = dict
) -> list[Message]:
    """Make turns of one call each; every third result is too large."""
    messages: list[Message] = []
    for number in range(first, first + turns):
        text = LARGE if number % 3 == 0 else "small"
        messages.append(kind(answer(call(f"t{number}", "Fetch"), message_id=f"m{number}")))
        messages.append(kind(msg(res(f"t{number}", text))))
    return messages


def planned(work: Callable[[], object]) -> int:
    """Count the watched messages that are looked at while something is done."""
    Watched.seen.clear()
    work()
    return len(Watched.seen)


def warm(
    root: Path,
    history: HistoryMode = "append_only",
    kind: Callable[[Message], Message] = dict,
) -> tuple[Session, list[Message]]:
    """Give a session that has taken three turns after a history."""
    session, messages = open_session(root, history), conversation(20, kind=kind)
    for _ in range(3):
        session.enforce(messages)
        messages = messages + conversation(1, len(messages) // 2, kind)
    session.enforce(messages)
    return session, messages


# --- settings -------------------------------------------------------------------------------------


@pytest.mark.parametrize("value", ["append-only", "", None, True, ["verified"]])
def test_an_unknown_mode_is_refused(root: Path, value: Any) -> None:  # noqa: ANN401
    """The error names the argument, the choices and the value."""
    with pytest.raises(
        ConfigError, match=r"history \(argument\).*'verified' or 'append_only'"
    ) as why:
        Session.open(root, "session", history=value)
    assert repr(value) in str(why.value)
    assert not root.exists()


@pytest.mark.parametrize("history", MODES)
def test_children_have_the_mode_of_their_parent(root: Path, history: HistoryMode) -> None:
    """Forks and sub-agents inherit the mode, and have a history of their own."""
    session = open_session(root, history)
    messages = conversation(9, kind=Watched)
    expected = [list(session.enforce(messages)) for _ in range(3)][-1]
    for child in (session.fork("other"), session.subagent("a1")):
        looked_at = [planned(lambda: child.enforce(messages)) for _ in range(4)]  # noqa: B023
        assert looked_at[0] == len(messages)
        assert looked_at[3] == (len(messages) if history == "verified" else 2)
        assert child.enforce(messages) == expected


# --- what a turn looks at -------------------------------------------------------------------------


def test_a_turn_looks_at_what_is_new(root: Path) -> None:
    """Beside the new messages it is the turn before, which was open until now."""
    session, messages = warm(root, kind=Watched)
    messages = messages + conversation(1, len(messages) // 2, Watched)
    assert planned(lambda: session.enforce(messages)) == 4
    assert session.report.candidates == len(messages) // 2


def test_the_default_looks_at_everything(root: Path) -> None:
    """No message is passed over."""
    session, messages = warm(root, "verified", Watched)
    assert planned(lambda: session.enforce(messages)) == len(messages)


@pytest.mark.parametrize("history", MODES)
def test_an_empty_list_is_a_request_without_results(root: Path, history: HistoryMode) -> None:
    """The report and what can be taken back are about it; what was decided stays."""
    session, messages = warm(root, history)
    state = session.state
    empty: list[Message] = []
    assert session.enforce(empty) is empty
    report = session.report
    assert (report.groups, report.candidates, report.skipped, report.chars_before) == (0, 0, 0, 0)
    assert report.message_limit == session.limits.max_message_chars
    assert session.withdraw() == 0
    assert session.state == state
    assert session.enforce(messages)[:4] == session.enforce(messages[:4])


def test_an_empty_list_in_between_costs_the_next_turn_nothing(root: Path) -> None:
    """What is known about the conversation is not lost by it."""
    session, messages = warm(root, kind=Watched)
    session.enforce([])
    assert planned(lambda: session.enforce(messages)) == 2


def test_a_report_is_about_the_turn_after_which_it_is_asked_for(root: Path) -> None:
    """Turns that other threads take meanwhile are not in it, though the past has grown."""
    session, messages = warm(root)
    expected = session.report
    longer = [messages + conversation(more, len(messages) // 2) for more in range(1, 4)]

    def take_turns() -> None:
        for more, whole in enumerate(longer, 1):
            session.enforce(whole)
            assert session.report.candidates == expected.candidates + more

    with ThreadPoolExecutor(1) as pool:
        session.enforce(messages)
        pool.submit(take_turns).result()
    assert replace(session.report, elapsed_s=expected.elapsed_s) == expected


class Listed(list[Any]):
    """A list of the host's own."""


EDITS: dict[str, Callable[[list[Message]], list[Message]]] = {
    "swapped": lambda old: [old[1], old[0], *old[2:]],
    "removed": lambda old: old[:4] + old[5:],
    "inserted": lambda old: [*old[:3], msg(), *old[3:]],
    "an equal copy": lambda old: [*old[:5], copy.deepcopy(old[5]), *old[6:]],
    "truncated": lambda old: old[:6],
    "compacted": lambda old: [{"role": "user", "content": "summary"}, *old[10:]],
    "another sequence": Listed,
    "an old result again": lambda old: [*old, msg(res("t0", LARGE))],
    "a late call": lambda old: [*old, answer(call("t1", "Read"))],
    "an old answer goes on": lambda old: [*old, answer(message_id="m1")],
}


@pytest.mark.parametrize("edit", EDITS.values(), ids=EDITS)
def test_what_is_not_appended_only_is_noticed(
    root: Path, edit: Callable[[list[Message]], list[Message]]
) -> None:
    """It costs a full pass, gives what the default gives, and is no error."""
    session, messages = warm(root, kind=Watched)
    edited = edit(messages)
    edited[:] = [one if type(one) is Watched else Watched(one) for one in edited]
    output: list[Any] = []
    looked_at = planned(lambda: output.extend(session.enforce(edited)))
    assert looked_at >= len(edited)
    with mock.patch.object(session._engine, "_history", History("verified")):
        assert session.enforce(edited) == output


def test_a_tuple_is_as_good_as_a_list(root: Path) -> None:
    """A host may keep its messages in a tuple."""
    session, messages = warm(root, kind=Watched)
    assert planned(lambda: session.enforce(tuple(messages))) <= 4
    assert session.enforce(tuple(messages)) == session.enforce(messages)


def test_records_of_many_chains_are_passed_over(root: Path) -> None:
    """A sub-agent that never got an answer does not keep the others open."""
    session = open_session(root, "append_only")
    left = [
        record(message, isSidechain=True, agentId="a1") for message in turn("Fetch", left=LARGE)
    ]
    messages = list(map(Watched, [*left, *conversation(20)]))
    expected = [session.enforce(messages) for _ in range(3)][-1]
    assert planned(lambda: session.enforce(messages)) == 2
    assert session.enforce(messages) == expected
    # It goes on after all: its group is looked at again, as a whole.
    messages.append(Watched(record(msg(res("later", LARGE)), isSidechain=True, agentId="a1")))
    assert planned(lambda: session.enforce(messages)) >= len(messages)
    assert session.report.groups == 21


def test_an_invalid_message_is_named_by_its_place(root: Path) -> None:
    """The number is that of the whole list, and the session goes on."""
    session, messages = warm(root)
    before = list(session.enforce(messages))
    bad: list[Any] = [*messages, 7]
    with pytest.raises(InvalidMessageError, match=f"message {len(messages)} "):
        session.enforce(bad)
    assert session.enforce(messages) == before


def test_a_strict_failure_leaves_nothing_half_done(root: Path) -> None:
    """What could not be stored is decided by the next turn, as if there had been none before."""

    class Store(MemoryStore):
        is_broken = False

        def put_many(self, items: Any) -> Any:  # noqa: ANN401
            return (
                [StoreError("broken")] * len(items) if self.is_broken else super().put_many(items)
            )

    store = Store()
    session = open_session(root, "append_only", store=store, strict=True)
    messages = conversation(6)
    for _ in range(3):
        session.enforce(messages)
    messages += [answer(call("new", "Fetch")), msg(res("new", LARGE))]
    store.is_broken = True
    with pytest.raises(StoreError):
        session.enforce(messages)
    store.is_broken = False
    assert is_reference(session.enforce(messages)[-1]["content"][0]["content"])
    assert session.report.candidates == 7


@pytest.mark.parametrize(
    ("target", "name"),
    [
        (core, "plan_rest"),
        (core, "plan"),
        (core, "rewrite_again"),
        (past, "outline"),
        (past, "plan"),
        (past, "rewrite_again"),
    ],
)
@pytest.mark.parametrize("call_number", [1, 2])
def test_an_interruption_drops_the_past(
    root: Path, target: object, name: str, call_number: int
) -> None:
    """Whatever ends a turn in its middle, the next one gives what a full pass gives."""
    session, messages = warm(root)
    messages = messages + conversation(2, len(messages) // 2)
    calls = 0

    def interrupted(*arguments: Any) -> Any:  # noqa: ANN401
        nonlocal calls
        calls += 1
        if calls == call_number:
            raise KeyboardInterrupt
        return original(*arguments)

    original = getattr(target, name)
    with mock.patch.object(target, name, interrupted):
        for _ in range(2):
            try:
                session.enforce(messages)
            except KeyboardInterrupt:
                break
    output, report = session.enforce(messages), session.report
    with mock.patch.object(session._engine, "_history", History("verified")):
        assert session.enforce(messages) == output
    assert (session.report.candidates, session.report.frozen) == (report.candidates, report.frozen)


def test_an_interrupted_hook_drops_the_past(root: Path) -> None:
    """What had ended is a part of the past by then, and the turn was not."""
    is_interrupted = False

    def redact(text: str) -> str:
        if is_interrupted:
            raise KeyboardInterrupt
        return text.replace("a line", "a word")

    session, messages = open_session(root, "append_only", redact=redact), conversation(6)
    for _ in range(3):
        session.enforce(messages)
    messages += conversation(1, 6)
    is_interrupted = True
    with pytest.raises(KeyboardInterrupt):
        session.enforce(messages)
    is_interrupted = False
    output, report = session.enforce(messages), session.report
    assert is_reference(output[-1]["content"][0]["content"])
    assert (report.candidates, report.replaced, report.reapplied) == (7, 1, 2)


@pytest.mark.parametrize("history", MODES)
def test_a_turn_that_adopts_a_reference_counts_the_past_too(
    root: Path, history: HistoryMode
) -> None:
    """B12: the report is about every message, also where the past ends with this turn."""
    session, messages = warm(root, history)
    following = len(messages) // 2
    entry = {"kind": "tool-result", "toolUseId": f"t{following}", "replacement": "theirs"}
    line = {"type": "content-replacement", "replacements": [entry]}
    session.adopt_records(parse_line(json.dumps(line).encode()).records)
    asked = answer(call(f"t{following}", "Fetch"), message_id="m")
    messages = [*messages, asked, msg(res(f"t{following}", 60 * "a"))]
    for _ in range(2):
        assert session.enforce(messages)[-1]["content"][0]["content"] == "theirs"
        assert session.report.candidates == len(messages) // 2


def test_bytes_and_objects_may_be_sent_in_turn(root: Path) -> None:
    """A body between two lists changes nothing about either."""
    session, messages = warm(root, kind=Watched)
    expected = list(session.enforce(messages))
    body = session.enforce_json(json.dumps({"messages": messages}).encode())
    assert json.loads(body)["messages"] == expected
    assert planned(lambda: session.enforce(messages)) <= 4
    assert session.enforce(messages) == expected


# --- the promise ----------------------------------------------------------------------------------


@pytest.mark.parametrize("history", MODES)
def test_only_the_default_survives_an_old_edit_in_place(root: Path, history: HistoryMode) -> None:
    """What the host has promised not to do goes unnoticed until the next full pass."""
    session, messages = warm(root, history)
    messages[3]["content"][0]["content"] = "edited in place"
    output = session.enforce(messages)
    assert output[3]["content"][0]["content"] == "edited in place"
    messages[1]["content"][0]["content"] = "edited in place too"
    output = session.enforce(messages)
    is_noticed = output[1]["content"][0]["content"] == "edited in place too"
    assert is_noticed is (history == "verified")
    session.trim()
    assert session.enforce(messages)[1]["content"][0]["content"] == "edited in place too"


@pytest.mark.parametrize("history", MODES)
def test_an_edit_of_the_last_answer_and_behind_is_noticed(root: Path, history: HistoryMode) -> None:
    """Results may be added to the last message, and the last answer may still grow."""
    session, messages = warm(root, history)
    messages[-1]["content"].append(res("added", LARGE))
    messages[-2]["content"].append(call("added", "Fetch"))
    output = session.enforce(messages)
    assert is_reference(output[-1]["content"][1]["content"])
    messages[-1]["content"][1]["content"] = "smaller"
    assert session.enforce(messages)[-1] == messages[-1]


# --- replaced messages ----------------------------------------------------------------------------


def in_list(text: str) -> list[dict[str, Any]]:
    """Make content of one text block with a mark."""
    return [{"type": "text", "text": text, "cache_control": {"type": "ephemeral"}}]


@pytest.mark.parametrize("history", MODES)
@pytest.mark.parametrize("is_record", [False, True])
def test_a_replaced_message_is_the_same_object_in_every_turn(
    root: Path, history: HistoryMode, *, is_record: bool
) -> None:
    """So that a host can tell by identity what has changed."""
    session = open_session(root, history)
    messages: list[Any] = [*turn("Fetch", t1=LARGE, t2="kept"), *turn("Fetch", t3=in_list(LARGE))]
    messages = [record(one) for one in messages] if is_record else messages
    first = session.enforce(messages)
    for number in range(4):
        messages = [*messages, *conversation(1, number)]
        again = session.enforce(messages)
        assert again is not messages
        assert all(one is other for one, other in zip(first, again, strict=False))
        assert [one is other for one, other in zip(messages, again, strict=True)][:4] == [
            *(True, False, True, False)
        ]


def test_a_copy_of_a_message_stands_beside_it(root: Path) -> None:
    """One message in two places has two outputs, each the same one in every turn."""
    session = open_session(root, "verified")
    large = msg(res("t1", LARGE))
    messages = [answer(call("t1", "Fetch")), large, answer(), large]
    first = session.enforce(messages)
    again = session.enforce(list(messages))
    assert first[1] is not first[3]
    assert (again[1] is first[1], again[3] is first[3]) == (True, True)


SPOILERS: dict[str, Callable[[Message], object]] = {
    "text": lambda one: one["content"][0].update(content="spoilt"),
    "inner text": lambda one: one["content"][1]["content"][0].update(text="spoilt"),
    "mark": lambda one: one["content"][1]["content"][0].pop("cache_control"),
    "block's key": lambda one: one["content"][0].update(more=1),
    "order of keys": lambda one: one["content"][0].update(type=one["content"][0].pop("type")),
    "a block more": lambda one: one["content"].append({"type": "text", "text": "more"}),
    "a block less": lambda one: one["content"].pop(),
    "another list": lambda one: one.update(content=[]),
    "role": lambda one: one.update(role="assistant"),
    "a key more": lambda one: one.update(more=1),
    "all of it": lambda one: one.clear(),
}


@pytest.mark.parametrize("spoil", SPOILERS.values(), ids=SPOILERS)
@pytest.mark.parametrize("is_record", [False, True])
def test_a_spoilt_output_is_made_anew(
    root: Path, spoil: Callable[[Message], object], *, is_record: bool
) -> None:
    """What a host does to our copy does not reach the next request."""
    session = open_session(root, "verified")
    large: Any = msg(res("t1", LARGE), res("t2", in_list(LARGE)), res("t3", "kept"))
    large = record(large) if is_record else large
    messages = [answer(call("t1", "Fetch"), call("t2", "Fetch")), large]
    first = session.enforce(messages)[1]
    expected = copy.deepcopy(first)
    spoil(first["message"] if is_record else first)
    again = session.enforce(messages)[1]
    assert again == expected
    assert list(again) == list(expected)
    assert again is not first
    assert session.enforce(messages)[1] is again


# --- letting go -----------------------------------------------------------------------------------


def held(things: list[Any]) -> list[bool]:
    """Tell of each object whether anything but the list refers to it."""
    gc.collect()
    marks = []
    for thing in things:
        others = [one for one in gc.get_referrers(thing) if one is not things]
        marks.append(any(type(one) in {list, tuple, dict} for one in others))
    return marks


@pytest.mark.parametrize("history", MODES)
def test_trim_lets_go_of_messages_and_outputs(root: Path, history: HistoryMode) -> None:
    """Afterwards the session refers to no message and to nothing that it has made of one."""
    session, messages = warm(root, history)
    output = session.enforce(messages)
    things: list[Any] = [*messages, *(one for one in output if one not in messages)]
    del messages, output
    assert all(held(things))
    session.trim()
    assert not any(held(things))


@pytest.mark.parametrize("history", MODES)
def test_trim_costs_a_full_pass_and_changes_nothing(root: Path, history: HistoryMode) -> None:
    """Output, report and decisions are as before, and the turns after it are cheap again."""
    session, messages = warm(root, history, Watched)
    before, state, report = session.enforce(messages), session.state, session.report
    session.trim()
    assert planned(lambda: session.enforce(messages)) == len(messages)
    assert session.enforce(messages) == before
    assert (session.state, session.report.candidates) == (state, report.candidates)
    looked_at = planned(lambda: session.enforce(messages))
    assert looked_at == (len(messages) if history == "verified" else 2)


@pytest.mark.parametrize("history", MODES)
def test_what_was_kept_can_be_taken_back_after_trim(root: Path, history: HistoryMode) -> None:
    """The last request may be refused after the host has let go of it."""
    session = open_session(root, history)
    messages = [*conversation(3, 1), *turn("Fetch", last1="x" * 400, last2="y" * 400)]
    for _ in range(3):
        session.enforce(messages)
    session.trim()
    assert session.withdraw() == 2
    assert session.withdraw() == 0


@pytest.mark.parametrize("history", MODES)
def test_taking_back_is_about_the_last_request(root: Path, history: HistoryMode) -> None:
    """Whatever of it was looked at, results that were answered stay kept."""
    session, messages = warm(root, history)
    messages = messages + turn("Fetch", last1="x" * 400, last2="y" * 400)
    assert session.enforce(messages) != messages
    assert session.withdraw() == 2


@pytest.mark.parametrize("history", MODES)
def test_a_session_that_its_messages_refer_to_is_collected(
    root: Path, history: HistoryMode
) -> None:
    """What it keeps of a conversation does not keep itself alive."""
    session, messages = warm(root, history)
    messages = [{**message, "session": session} for message in messages]
    output = session.enforce(messages)
    for _ in range(3):
        messages = messages + conversation(1, len(messages) // 2)
        output = session.enforce(messages)
    is_left = weakref.ref(session)
    del session, messages, output
    gc.collect()
    assert is_left() is None


def test_trim_of_a_new_or_closed_session_does_nothing(root: Path) -> None:
    """There is nothing to let go of."""
    session = open_session(root, "append_only")
    session.trim()
    session.close()
    session.trim()
