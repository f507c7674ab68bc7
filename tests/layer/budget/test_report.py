from __future__ import annotations

import copy
import dataclasses
import json
import pickle
from types import SimpleNamespace
from typing import TYPE_CHECKING, Final

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.builders import (
    Message,
    answer,
    call,
    enforce,
    gate,
    is_reference,
    msg,
    res,
    results_in,
    text_of,
    turn,
)
from toolbudget import EnforcementReport, Event, Limits, MemoryStore, Session, collect

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

HUGE = 210_000 * "a"


def chars(messages: list[Message]) -> int:
    """Sum the characters of all text results."""
    return sum(len(text_of(block["content"])) for block in results_in(messages))


def test_the_first_report_is_empty(session: Session) -> None:
    """SPEC 15: before any call there is a report of nothing."""
    assert session.report == EnforcementReport()
    assert session.report.failures == ()
    with pytest.raises(dataclasses.FrozenInstanceError):
        session.report.replaced = 1  # type: ignore[misc]


class TestLimitOfTheCall:
    """Which aggregate limit counted, and where it is from."""

    MESSAGES: Final = (msg(res("t1", "a" * 9_000), res("t2", "b" * 100)),)

    def both(self, session: Session) -> list[tuple[float | None, bool]]:
        """Enforce a list and the same as a body, twice each, and tell the limits."""
        told = []
        body = json.dumps({"messages": self.MESSAGES}).encode()
        for run in (
            lambda: session.enforce(list(self.MESSAGES)),
            lambda: session.enforce_json(body),
        ):
            for _ in range(2):
                run()
                report = session.report
                told.append((report.message_limit, report.is_limit_overridden))
        return told

    def test_of_the_limits(self, tmp_path: Path) -> None:
        """Without a provider it is that of the limits."""
        limits = Limits(max_message_chars=5_000)
        with Session.open(tmp_path, "s1", limits=limits, durability="process") as session:
            assert self.both(session) == [(5_000, False)] * 4

    def test_of_a_provider_as_it_is_now(self, tmp_path: Path) -> None:
        """What it gives counts from the next call on, also where it is the same number."""
        flags: dict[str, object] = {}
        limits = Limits(max_message_chars=5_000, overrides=flags)
        with Session.open(tmp_path, "s1", limits=limits, durability="process") as session:
            assert self.both(session) == [(5_000, False)] * 4
            flags["message"] = 5_000
            assert self.both(session) == [(5_000, True)] * 4
            flags["message"] = 7_000
            assert self.both(session) == [(7_000, True)] * 4
            flags["message"] = -1
            assert self.both(session) == [(5_000, False)] * 4

    def test_where_it_takes_no_part(self, session: Session) -> None:
        """Neither the gate nor what only keeps has one."""
        gate(session, res("t9", HUGE))
        assert session.report.message_limit is None
        session.mark_seen(list(self.MESSAGES))
        assert session.report.message_limit is None
        session.mark_seen_json(json.dumps({"messages": self.MESSAGES}).encode())
        assert session.report.message_limit is None


def test_the_numbers_of_one_enforcement(session: Session) -> None:
    """SPEC 15: every field says what its name says."""
    reference = "<persisted-output>\nsaved\n</persisted-output>"
    messages = [
        answer(call("r1", "Read")),
        msg(res("t1", HUGE), res("t2", "small"), res("r1", "read"), res("x1", reference)),
        answer(),
        msg(res("t3", ""), res("t4", [{"type": "image"}]), res("t5", "five")),
        answer(),
        msg({"type": "tool_result", "content": "no id"}),
    ]
    sent = enforce(session, messages)
    report = session.report
    shorter = len(sent[1]["content"][0]["content"])
    assert (report.groups, report.candidates) == (2, 3)
    assert (report.replaced, report.reapplied, report.frozen) == (1, 0, 2)
    assert report.skipped_by_reason == {
        "exempt": 1,
        "reference": 1,
        "empty": 1,
        "not_text": 1,
        "malformed": 1,
    }
    assert report.skipped == 5
    whole = len("smallreadfive") + len(reference)
    assert (report.chars_before, report.chars_after) == (len(HUGE) + whole, shorter + whole)
    assert report.bytes_stored == len(HUGE)
    assert [one.tool_use_id for one in report.newly_replaced] == ["t1"]
    assert report.elapsed_s > 0
    enforce(session, messages)
    again = session.report
    assert (again.replaced, again.reapplied, again.frozen) == (0, 1, 2)
    assert (again.candidates, again.skipped) == (report.candidates, report.skipped)
    assert (again.chars_before, again.chars_after) == (report.chars_before, report.chars_after)
    assert (again.bytes_stored, again.newly_replaced) == (0, ())


def test_the_numbers_of_a_gate(session: Session) -> None:
    """SPEC 15: a gate reports the one result that it replaced."""
    small = gate(session, res("t1", 60_000 * "\u00e9"))
    report = session.report
    assert (report.candidates, report.replaced) == (1, 1)
    assert (report.chars_before, report.chars_after) == (60_000, len(small["content"]))
    assert report.bytes_stored == 120_000


def test_characters_and_bytes_are_told_apart(session: Session) -> None:
    """SPEC 15: sizes are characters, stored sizes are bytes."""
    enforce(session, turn("Fetch", t1=210_000 * "\U0001f600"))
    assert session.report.chars_before == 210_000
    assert session.report.bytes_stored == 840_000


def test_the_excess_is_summed(root: Path) -> None:
    """B6, B7: what cannot be brought under the limit is reported, over all messages of the call."""
    limits = Limits(max_message_chars=50)
    with Session.open(root, "session", limits=limits, store=MemoryStore()) as session:
        messages = [*turn("Fetch", t1=70 * "a"), *turn("Fetch", t2=40 * "b", t3=40 * "c")]
        messages += turn("Fetch", t4=50 * "d")
        assert session.enforce(messages) is messages
        assert session.report.over_limit_chars == 20 + 30


RESULTS = st.lists(
    st.tuples(
        st.sampled_from(["t1", "t2", "t3", "t4", "r1"]),
        st.sampled_from([0, 5, 900, 2_300, 5_000]),
        st.sampled_from("ab"),
    ),
    max_size=8,
)


@given(groups=st.lists(RESULTS, max_size=4), limit=st.integers(100, 9_000))
def test_the_numbers_add_up(
    new_root: Callable[[], Path], groups: list[list[tuple[str, int, str]]], limit: int
) -> None:
    """SPEC 15: candidates are replaced, reapplied or frozen, and the characters are those sent."""
    messages: list[Message] = [answer(call("r1", "Read"))]
    for results in groups:
        messages.append(msg(*(res(name, size * letter) for name, size, letter in results)))
        messages.append(answer())
    limits = Limits(max_message_chars=limit, preview_bytes=100)
    with Session.open(new_root(), "session", limits=limits, store=MemoryStore()) as session:
        for is_first in (True, False):
            sent = enforce(session, messages)
            report = session.report
            assert report.candidates == report.replaced + report.reapplied + report.frozen
            total = len(list(results_in(messages)))
            assert report.candidates + report.skipped == total
            assert report.skipped == sum(report.skipped_by_reason.values())
            assert (report.chars_before, report.chars_after) == (chars(messages), chars(sent))
            references = [one for one in results_in(sent) if is_reference(one["content"])]
            assert report.replaced + report.reapplied == len(references)
            assert is_first or report.replaced == 0
            assert len(report.newly_replaced) <= report.replaced
            assert report.failures == ()
            stored = session._engine.store
            assert isinstance(stored, MemoryStore)
            if is_first:
                assert report.bytes_stored == sum(map(len, stored.contents.values()))


REASONS: Final = ["not_text", "empty", "malformed", "object", "exempt", "reference"]
SKIPPED: Final[dict[str, list[Message]]] = {
    "not_text": [answer(), msg(res("i1", [{"type": "image"}]))],
    "empty": [answer(), msg(res("e1", ""))],
    "malformed": [answer(), msg({"type": "tool_result", "content": "no id"})],
    "object": [answer(), msg(SimpleNamespace(type="tool_result", tool_use_id="o1", content="o"))],
    "exempt": turn("Read", r1="read"),
    "reference": [answer(), msg(res("x1", "<persisted-output>\nsaved\n</persisted-output>"))],
    "": [answer(), msg(res("t1", "text"))],
}


@given(turns=st.lists(st.lists(st.sampled_from(sorted(SKIPPED)), min_size=1), min_size=1))
def test_reasons_stand_in_one_order(new_root: Callable[[], Path], turns: list[list[str]]) -> None:
    """Neither the core nor what it has kept of earlier turns makes a difference."""
    with Session.open(new_root(), "session", store=MemoryStore(), history="append_only") as session:
        messages: list[Message] = []
        given: set[str] = set()
        for names in turns:
            given.update(filter(None, names))
            messages += [one for name in names for one in SKIPPED[name]]
            enforce(session, messages)
            reasons = list(session.report.skipped_by_reason)
            assert reasons == [reason for reason in REASONS if reason in given]


@given(names=st.lists(st.sampled_from(sorted(SKIPPED))), is_huge=st.booleans())
def test_what_a_host_is_told_can_be_copied_sent_and_written(
    new_root: Callable[[], Path], names: list[str], *, is_huge: bool
) -> None:
    """To a queue between processes, say, or into a log; and nobody changes the one that is kept."""
    messages = [one for name in names for one in SKIPPED[name]]
    events: list[Event] = []
    with Session.open(
        new_root(), "session", store=MemoryStore(), on_event=events.append
    ) as session:
        enforce(session, [*messages, answer(), msg(res("h1", HUGE if is_huge else "text"))])
        report = session.report
    everything: list[EnforcementReport | Event] = [EnforcementReport(), report, *events]
    for told in everything:
        assert copy.deepcopy(told) == told
        assert pickle.loads(pickle.dumps(told)) == told  # noqa: S301 - our own bytes
        json.dumps(dataclasses.asdict(told))
    counts = report.skipped_by_reason
    assert isinstance(counts, dict)
    for change in (counts.clear, counts.popitem, lambda: counts.update(empty=0)):
        with pytest.raises(TypeError, match="cannot be changed"):
            change()
    columns = copy.deepcopy(collect(messages))
    assert columns.skipped == collect(messages).skipped
