from __future__ import annotations

import copy
import json
import shutil
import subprocess
import sys
from dataclasses import dataclass
from typing import TYPE_CHECKING

import pytest
from hypothesis import given
from hypothesis import strategies as st

import toolbudget
from tests.builders import (
    Message,
    answer,
    call,
    check_references,
    enforce,
    gate,
    is_reference,
    msg,
    read_transcript,
    res,
    results_in,
    stored_files,
    turn,
)
from toolbudget import DirectoryStore, Limits, PrefixGuard, Session, Transcript

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from pathlib import Path

HUGE = 210_000 * "a"


def wire_bytes(messages: Sequence[object]) -> bytes:
    """Write messages as a request body would hold them."""
    return json.dumps(messages).encode()


def six_large_results(prefix: str = "u") -> list[Message]:
    """Make a turn of 270,000 characters."""
    return turn("Fetch", **{f"{prefix}{index}": f"{index}" + 44_999 * "b" for index in range(6)})


@pytest.mark.parametrize("has_answer", [True, False])
def test_what_was_sent_is_never_cut_again(session: Session, *, has_answer: bool) -> None:
    """STABLE 21: later pressure replaces new results only; the earlier message stays as it was."""
    first = [msg(res("t1", 40_000 * "a"), res("t2", 40_000 * "a"))]
    before = enforce(session, first)
    later = six_large_results()
    second = [*first, *(later if has_answer else later[1:])]
    after = enforce(session, second)
    assert after[0] is before[0] is first[0]
    assert check_references(second, after, session.directory) == (
        ["u0", "u1"] if has_answer else ["u0", "u1", "u2", "u3"]
    )


def test_a_replacement_is_never_changed_either(session: Session) -> None:
    """STABLE 21: what was replaced under pressure keeps its bytes when there is none."""
    first = [*turn("Fetch", t1=HUGE)]
    before = enforce(session, first)
    after = enforce(session, [*first, *turn("Fetch", t2="small")])
    assert wire_bytes(after[:2]) == wire_bytes(before)
    assert session.report.reapplied == 1


def test_a_session_resumes_with_the_same_bytes(root: Path) -> None:
    """STABLE 23: a session that is opened again from its records sends what was sent before."""
    messages = [*turn("Fetch", t1=HUGE, t2="small"), *six_large_results()]
    with Session.open(root, "session", durability="process") as session:
        before = enforce(session, messages)
    with Session.open(root, "session", durability="process") as session:
        after = enforce(session, copy.deepcopy(messages))
        assert wire_bytes(after) == wire_bytes(before)
        assert session.report.replaced == 0
        assert session.report.bytes_stored == 0


def test_a_state_rebuilt_from_the_log_sends_the_same_bytes(session: Session) -> None:
    """STABLE 23: so does a host that rebuilds the state itself with the plain functions."""
    messages = [*turn("Fetch", t1=HUGE, t2="small"), *six_large_results()]
    before = enforce(session, messages)
    records = Transcript(session.transcript_path).records()
    state = toolbudget.reconstruct_content_replacement_state(messages, records)
    store = DirectoryStore(session.directory / "tool-results", durability="process")
    done = toolbudget.enforce_tool_result_budget(messages, state, store=store)
    assert wire_bytes(done.messages) == wire_bytes(before)
    assert done.newly_replaced == ()
    assert state == session.state


def test_nothing_of_the_environment_takes_part(root: Path, session: Session) -> None:
    """STABLE 23: another process with another hash seed, locale and time zone sends the same."""
    messages = [*turn("Fetch", **{f"t{index}": 45_000 * "c" for index in range(7)})]
    code = (
        "import json, sys, toolbudget\n"
        "session = toolbudget.Session.open(sys.argv[1], 'session', durability='process')\n"
        "print(json.dumps(session.enforce(json.loads(sys.stdin.read()))))\n"
    )
    sent = []
    for seed, locale, zone in (("1", "C", "UTC"), ("2", "tr_TR.UTF-8", "Asia/Tokyo")):
        finished = subprocess.run(
            [sys.executable, "-c", code, str(root)],
            input=json.dumps(messages),
            capture_output=True,
            text=True,
            check=True,
            env={"PYTHONHASHSEED": seed, "LC_ALL": locale, "TZ": zone},
        )
        sent.append(json.loads(finished.stdout))
        shutil.rmtree(root)
    assert sent[0] == sent[1]
    assert enforce(session, messages) == sent[0]


def test_a_moved_root_changes_no_byte(root: Path) -> None:
    """STABLE 23: the replacement is recorded whole, so it keeps its path when folders are moved."""
    messages = turn("Fetch", t1=HUGE)
    with Session.open(root, "session", durability="process") as session:
        before = enforce(session, messages)
    moved = root.rename(root.with_name("moved"))
    with Session.open(moved, "session", durability="process") as session:
        assert wire_bytes(enforce(session, messages)) == wire_bytes(before)
        more = [*messages, *turn("Fetch", t2=HUGE)]
        assert check_references(more[2:], enforce(session, more)[2:], session.directory) == ["t2"]


def test_vanished_files_do_not_change_what_is_sent(session: Session) -> None:
    """STABLE 23: a recorded replacement needs no file, and a fresh store makes the folder anew."""
    messages = [*turn("Fetch", t1=HUGE)]
    before = enforce(session, messages)
    shutil.rmtree(session.directory)
    more = [*messages, *turn("Fetch", t2=HUGE)]
    after = enforce(session, more)
    assert wire_bytes(after[:2]) == wire_bytes(before)
    assert set(stored_files(session)) == {"t2.txt"}


def test_text_elsewhere_is_never_rewritten(session: Session) -> None:
    """STABLE 71: a replaced text that stands elsewhere in the conversation stays there."""
    quote = {"type": "text", "text": HUGE}
    messages = [
        {"role": "user", "content": HUGE},
        answer(quote, call("t1", "Fetch")),
        msg(res("t1", HUGE), quote),
        {"role": "system", "content": HUGE},
    ]
    sent = enforce(session, messages)
    assert check_references(messages[2:3], sent[2:3], session.directory) == ["t1"]
    assert sent[2]["content"][1] is quote
    assert [sent[index] is messages[index] for index in (0, 1, 3)] == [True, True, True]


def test_a_small_history_is_returned_itself(session: Session) -> None:
    """STABLE 76: the value to send is what comes back; where nothing changes it is the input."""
    messages = [*turn("Fetch", t1="small")]
    assert session.enforce(messages) is messages


def test_gate_and_budget_agree(session: Session) -> None:
    """STABLE 21: a result that the gate replaced is the same reference in every later request."""
    block = res("t1", 60_000 * "a")
    small = gate(session, block)
    kept, raw = [*turn("Fetch"), msg(small)], [*turn("Fetch"), msg(block)]
    assert session.enforce(kept) is kept
    assert wire_bytes(enforce(session, raw)) == wire_bytes(kept)
    assert wire_bytes([gate(session, block)]) == wire_bytes([small])


def test_the_budget_binds_the_gate(session: Session) -> None:
    """STABLE 21: a result that was sent in full stays in full when a replay passes the gate."""
    block = res("t1", 60_000 * "a")
    messages = [*turn("Fetch"), msg(block)]
    assert session.enforce(messages) is messages
    assert gate(session, block) is block


SIZES = st.sampled_from([0, 1, 300, 900, 2_400, 2_600, 5_000, 9_000])
LIMITS = st.builds(
    Limits,
    max_result_chars=st.integers(500, 6_000),
    max_message_chars=st.integers(1_000, 12_000),
    preview_bytes=st.integers(1, 2_000),
    accounting=st.sampled_from(["visible", "originals"]),
    tools=st.sampled_from([{}, {"Read": 1_000}, {"Fetch": float("inf")}]),
)


@dataclass
class Turn:
    """One step of a conversation: results, and what the host does around them."""

    tool_name: str
    sizes: list[int]
    limits: Limits
    passes_gate: bool
    is_list: bool
    has_answer: bool
    reopens: bool
    loses_files: bool
    is_same_text: bool
    identities: list[int]


TURNS = st.lists(
    st.builds(
        Turn,
        tool_name=st.sampled_from(["Fetch", "Read", "Bash"]),
        sizes=st.lists(SIZES, max_size=5),
        limits=LIMITS,
        passes_gate=st.booleans(),
        is_list=st.booleans(),
        has_answer=st.booleans(),
        reopens=st.booleans(),
        loses_files=st.booleans(),
        is_same_text=st.booleans(),
        identities=st.lists(st.integers(0, 3), min_size=5, max_size=5),
    ),
    min_size=1,
    max_size=6,
)


def contents_of(step: Turn, number: int) -> list[tuple[str, object]]:
    """Give the ids and contents of a step; ids come again, with the same text or another."""
    contents = []
    for size, identity in zip(step.sizes, step.identities, strict=False):
        text = (("same" if step.is_same_text else f"{number}") + size * "x")[:size]
        content: object = [{"type": "text", "text": text}] if step.is_list else text
        contents.append((f"call_{identity}", content))
    return contents


@given(turns=TURNS)
def test_a_conversation_never_changes_what_was_sent(
    new_root: Callable[[], Path], turns: list[Turn]
) -> None:
    """STABLE 21, 23: whatever happens between two requests, what the first held stays the same.

    Limits, tools and accounting change, the session is opened again, files vanish, ids come again.
    """
    root = new_root()
    history: list[Message] = []
    sent: list[Message] = []
    session = Session.open(root, "session", durability="process")
    for number, step in enumerate(turns):
        if step.loses_files:
            shutil.rmtree(session.directory, ignore_errors=True)
        if step.reopens:
            session.close()
            session = Session.open(root, "session", limits=step.limits, durability="process")
        contents = contents_of(step, number)
        if step.has_answer:
            history.append(answer(*(call(name, step.tool_name) for name, _ in contents)))
        blocks = [res(name, content) for name, content in contents]
        if step.passes_gate:
            blocks = [gate(session, block, step.tool_name) for block in blocks]
        history.append(msg(*blocks))
        frozen = copy.deepcopy(history)
        latest = enforce(session, history)
        assert history == frozen
        assert wire_bytes(latest[: len(sent)]) == wire_bytes(sent)
        assert [block["tool_use_id"] for block in results_in(latest)] == [
            block["tool_use_id"] for block in results_in(history)
        ]
        again = enforce(session, latest)
        assert wire_bytes(again) == wire_bytes(latest)
        sent = copy.deepcopy(latest)
    session.close()
    with Session.open(root, "session", durability="process") as resumed:
        assert wire_bytes(enforce(resumed, history)) == wire_bytes(sent)
    if resumed.transcript_path.exists():
        read_transcript(resumed.transcript_path)


@given(turns=TURNS)
def test_enforcing_twice_is_enforcing_once(new_root: Callable[[], Path], turns: list[Turn]) -> None:
    """STABLE 23: what was handed out is its own result, also for a host that keeps only that."""
    kept: list[Message] = []
    limits = Limits(max_result_chars=2_000, max_message_chars=4_000, preview_bytes=300)
    with Session.open(new_root(), "session", limits=limits, durability="process") as session:
        for number, step in enumerate(turns):
            contents = contents_of(step, number)
            kept.append(answer(*(call(name, step.tool_name) for name, _ in contents)))
            kept.append(msg(*(res(name, content) for name, content in contents)))
            before = wire_bytes(kept[:-2])
            kept = enforce(session, kept)
            assert wire_bytes(kept[:-2]) == before
            assert wire_bytes(enforce(session, kept)) == wire_bytes(kept)


def test_other_limits_leave_decisions_alone(root: Path) -> None:
    """STABLE 21: neither smaller nor larger limits touch what was decided."""
    messages = [*turn("Fetch", t1=HUGE, t2=40_000 * "b")]
    with Session.open(root, "session", durability="process") as session:
        before = enforce(session, messages)
    for limits in (
        Limits(max_result_chars=10, max_message_chars=10),
        Limits(max_message_chars=10**9, tools={"Fetch": float("inf")}),
        Limits(preview_bytes=1, reader_hint="Use my_read", accounting="originals"),
    ):
        with Session.open(root, "session", limits=limits, durability="process") as session:
            assert wire_bytes(enforce(session, messages)) == wire_bytes(before)
    assert is_reference(next(results_in(before))["content"])


def test_whose_change_a_cache_miss_is(session: Session) -> None:
    """STABLE 70: what this library sent is shown to be byte-equal; the rest is the host's."""
    guard = PrefixGuard()
    history = [{"role": "user", "content": "look at skills: a, b"}, *turn("Fetch", t1=HUGE)]
    assert guard.check(session.enforce(history), given=history).kind == "first"
    history = [*history, *turn("Fetch", t2=HUGE)]
    assert guard.check(session.enforce(history), given=history).is_intact
    rebuilt = [{"role": "user", "content": "look at skills: b, a"}, *history[1:]]
    finding = guard.check(session.enforce(rebuilt), given=rebuilt)
    assert not finding.is_intact
    assert (finding.message_index, finding.changed_by) == (0, "host")


def test_a_library_that_drifts_is_named(session: Session) -> None:
    """STABLE 70: if what is sent changes although the host's messages did not, that is ours."""
    guard = PrefixGuard()
    history = turn("Fetch", t1=HUGE)
    sent = enforce(session, history)
    guard.check(sent, given=history)
    drifted = json.loads(json.dumps(sent).replace("Preview (first", "Preview (the first"))
    finding = guard.check(drifted, given=history)
    assert (finding.message_index, finding.block_index, finding.changed_by) == (1, 0, "library")
