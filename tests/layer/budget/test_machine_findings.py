"""What the conversation machine has found, each as plainly as it can be said."""

from __future__ import annotations

import errno
from typing import TYPE_CHECKING, Any, Final

import pytest

from tests.builders import answer, call, is_reference, msg, res, results_in
from tests.faults.opening import open_session
from tests.layer.storage.faulty import FaultyFiles
from toolbudget import Limits

if TYPE_CHECKING:
    from pathlib import Path

    from toolbudget import Session

_LIMITS: Final = Limits(max_message_chars=600, preview_bytes=64)
_LARGE: Final = "x" * 700


def _turn(message_id: str, **texts: str) -> list[dict[str, Any]]:
    calls = (call(name, "Fetch") for name in texts)
    results = (res(name, text) for name, text in texts.items())
    return [answer(*calls, message_id=message_id), msg(*results)]


def _session(root: Path, files: FaultyFiles, session_id: str = "session") -> Session:
    return open_session(root, session_id, files=files.files, limits=_LIMITS, durability="process")


def test_a_result_that_an_earlier_group_holds_too_is_not_withdrawn(root: Path) -> None:
    """B13: a later group follows it, where it stands first; that request was accepted."""
    disk = FaultyFiles()
    disk.fail_method({"create_unnamed", "create_exclusive"}, 28)
    messages = _turn("m1", call_0=_LARGE) + _turn("m2", call_0=_LARGE)
    with _session(root, disk) as session:
        assert session.enforce(messages) == messages
        disk.heal()
        session.withdraw()
        assert session.enforce(messages) == messages


@pytest.mark.parametrize("is_resumed", [False, True])
def test_a_child_never_withdraws_what_its_parent_has_marked_as_seen(
    root: Path, *, is_resumed: bool
) -> None:
    """B13, R7: what `mark_seen` kept stays kept, in a fork and after the fork is resumed."""
    messages = _turn("m1", call_0=_LARGE)
    disk = FaultyFiles()
    with _session(root, disk) as parent:
        parent.mark_seen(messages)
        child = parent.fork("fork")
    if is_resumed:
        child.close()
        child = _session(root, disk, "fork")
    with child:
        child.enforce(messages)
        child.withdraw()
        assert child.enforce(messages) == messages


def test_what_is_marked_as_seen_stays_so_if_it_is_recorded_late(root: Path) -> None:
    """B13, F3: a mark that could not be recorded at once is recorded as a mark later."""
    disk = FaultyFiles()
    messages = _turn("m1", call_0=_LARGE)
    disk.fail_method("open_append", 28)
    with _session(root, disk) as session:
        session.mark_seen(messages)
        disk.heal()
    with _session(root, disk) as session:
        session.enforce(messages)
        session.withdraw()
        assert session.enforce(messages) == messages


def test_what_is_kept_and_recorded_late_with_a_mark_can_be_withdrawn(root: Path) -> None:
    """B13, F3: only what `mark_seen` itself kept is beyond withdrawal."""
    disk = FaultyFiles()
    disk.fail_method("open_append", 28)
    messages = _turn("m1", call_0=_LARGE)
    with _session(root, disk) as session:
        assert session.enforce(messages) == messages
        disk.heal()
        session.mark_seen([*messages, *_turn("m2", call_1="adopted")])
    with _session(root, disk) as session:
        session.enforce(messages)
        session.withdraw()
        assert all(is_reference(one["content"]) for one in results_in(session.enforce(messages)))


def test_no_replacement_is_recorded_before_what_may_still_fail(root: Path) -> None:
    """R2, F2: of a decision that takes several records, none holds what is not sent then."""
    disk = FaultyFiles()
    messages = [msg(res("t0", _LARGE), *(res(f"{n}-{900_000 * 'A'}", "small") for n in range(10)))]

    def fail_after(writes: int) -> None:
        if writes:
            disk.before("write", lambda: fail_after(writes - 1))
        else:
            disk.fail_method("write", errno.ENOSPC, times=1)

    # One for the full text, one for the first record.
    disk.before("write", lambda: fail_after(2))
    with _session(root, disk) as session:
        assert session.enforce(messages) == messages
        assert [failure.stage for failure in session.report.failures] == ["record"]
        assert disk.count("write") == 3
    with _session(root, disk) as session:
        assert session.enforce(messages) == messages


@pytest.mark.parametrize("is_marked", [False, True])
def test_a_withdrawal_after_the_records_were_lost_records_all_of_them(
    root: Path, *, is_marked: bool
) -> None:
    """B13, R6: a file that holds the withdrawal alone would have everything decided anew."""
    messages = _turn("m1", call_0=_LARGE) + _turn("m2", call_1=_LARGE)
    roomy = Limits(max_message_chars=10_000, preview_bytes=64)
    with open_session(root, "s", limits=roomy, durability="process") as session:
        (session.mark_seen if is_marked else session.enforce)(messages)
    refused = messages + _turn("m3", call_2="small")
    session = open_session(root, "s", limits=_LIMITS, durability="process")
    sent = session.enforce(refused)
    assert sent == refused
    session.transcript_path.unlink()
    assert session.withdraw() == 1
    for other in (open_session(root, "s", limits=_LIMITS, durability="process"), session):
        assert other.enforce(messages) == messages
