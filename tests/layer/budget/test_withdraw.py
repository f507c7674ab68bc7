from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from tests.builders import (
    answer,
    enforce,
    is_reference,
    msg,
    read_transcript,
    res,
    results_in,
    turn,
)
from toolbudget import ContentReplacementState, Limits, Session

if TYPE_CHECKING:
    from pathlib import Path

LIMIT = 10_000


def opened(root: Path, **options: Any) -> Session:  # noqa: ANN401 - passed on
    """Open the session with a limit that two of our results exceed."""
    options.setdefault("limits", Limits(max_message_chars=LIMIT))
    return Session.open(root, "session", durability="process", **options)


def replaced_ids(messages: list[dict[str, Any]]) -> set[str]:
    """Give the ids of results that stand as references."""
    blocks = results_in(messages)
    return {block["tool_use_id"] for block in blocks if is_reference(block["content"])}


@pytest.mark.parametrize("ephemeral", [False, True])
def test_what_was_kept_may_be_replaced(tmp_path: Path, *, ephemeral: bool) -> None:
    """B13: after a refused request the last group's kept results are fresh again."""
    session = opened(tmp_path, ephemeral=ephemeral)
    messages = turn("Fetch", t1=9_000 * "a")
    assert enforce(session, messages) == messages
    session.withdraw()
    assert session.state == ContentReplacementState()
    messages[-1]["content"].append(res("t2", 8_000 * "b"))
    assert "t1" in replaced_ids(enforce(session, messages))


def test_only_what_no_later_group_follows(tmp_path: Path) -> None:
    """B13: what an assistant message has answered was accepted, and stays."""
    session = opened(tmp_path)
    answered = [*turn("Fetch", t1=9_000 * "a"), answer()]
    messages = [*answered, *turn("Fetch", t2=9_000 * "b")]
    assert session.withdraw() == 0
    enforce(session, messages)
    assert session.withdraw() == 1
    assert session.withdraw() == 0
    assert session.state.seen_ids == {"t1"}


def test_replaced_results_stay(tmp_path: Path) -> None:
    """B13: a replacement is never taken back."""
    session = opened(tmp_path)
    messages = turn("Fetch", t1=90_000 * "a", t2="small")
    sent = enforce(session, messages)
    session.withdraw()
    assert session.state.seen_ids == {"t1"}
    assert enforce(session, messages) == sent


@pytest.mark.parametrize("reopens", [False, True])
def test_what_mark_seen_kept_stays(tmp_path: Path, *, reopens: bool) -> None:
    """B13: the model has seen an adopted conversation; that is known after reopening too."""
    session = opened(tmp_path)
    messages = turn("Fetch", t1=9_000 * "a")
    session.mark_seen(messages)
    if reopens:
        session = opened(tmp_path)
    messages[-1]["content"].append(res("t2", 500 * "b"))
    assert session.withdraw() == 0
    enforce(session, messages)
    assert session.withdraw() == 1
    assert session.withdraw() == 0
    assert session.state.seen_ids == {"t1"}


def test_it_is_recorded(tmp_path: Path) -> None:
    """B13: the record names what was withdrawn, and reopening follows it."""
    session = opened(tmp_path)
    messages = turn("Fetch", t1=9_000 * "a")
    enforce(session, messages)
    session.withdraw()
    kept, withdrawal = read_transcript(session.transcript_path)[1:]
    assert withdrawal["withdrawn"] == kept["frozen"]
    assert (withdrawal["replacements"], withdrawal["frozen"]) == ([], [])
    assert opened(tmp_path).state == ContentReplacementState()


def test_the_first_decision_after_it_wins(tmp_path: Path) -> None:
    """B13: records count in file order, also over several withdrawals."""
    session = opened(tmp_path)
    messages = turn("Fetch", t1=9_000 * "a")
    for _ in range(3):
        enforce(session, messages)
        session.withdraw()
    smaller = opened(tmp_path, limits=Limits(max_message_chars=5_000))
    sent = enforce(smaller, messages)
    assert replaced_ids(sent) == {"t1"}
    assert enforce(opened(tmp_path), messages) == sent


def test_another_process_learns_of_it(tmp_path: Path) -> None:
    """B13: at its next decision another open session reads the withdrawal first."""
    session, other = opened(tmp_path), opened(tmp_path)
    messages = turn("Fetch", t1=9_000 * "a")
    enforce(session, messages)
    enforce(other, messages)
    session.withdraw()
    more = [*messages[:-1], msg(*messages[-1]["content"], res("t2", 8_000 * "b"))]
    enforce(other, more)
    sent = enforce(session, more)
    assert "t1" in replaced_ids(sent)
    assert enforce(other, more) == sent


def test_nothing_to_withdraw_writes_nothing(tmp_path: Path) -> None:
    """B13: without a kept result there is no record."""
    session = opened(tmp_path)
    session.withdraw()
    enforce(session, [msg({"type": "text", "text": "hello"})])
    session.withdraw()
    assert list(tmp_path.iterdir()) == []


def test_a_withdrawal_that_cannot_be_recorded_does_not_hold(tmp_path: Path) -> None:
    """F3, B13: without the record a resume would keep what this process had replaced."""
    session = opened(tmp_path)
    messages = turn("Fetch", t1=9_000 * "a")
    enforce(session, messages)
    before = session.state
    path = session.transcript_path
    path.rename(path.with_suffix(".away"))
    path.mkdir()
    session.withdraw()
    assert session.state == before
    [failure] = session.report.failures
    assert failure.stage == "record"
