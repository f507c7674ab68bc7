from __future__ import annotations

import gc
import random
import signal
import threading
from contextlib import contextmanager
from itertools import islice
from typing import TYPE_CHECKING, Any

import pytest

from tests.builders import answer, enforce, is_reference, msg, res, results_in, turn
from toolbudget import Limits, Session, StoredResult, ToolBudgetError
from toolbudget.budget.state import ContentReplacementState
from toolbudget.storage import log_file
from toolbudget.storage.session_lock import SessionLock

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator
    from pathlib import Path

    from toolbudget._core.pure import Key

LIMIT = 20_000


def opened(root: Path, **options: Any) -> Session:  # noqa: ANN401 - passed on
    """Open the session with a limit that a few of our results exceed."""
    options.setdefault("limits", Limits(max_message_chars=LIMIT))
    return Session.open(root, "session", durability="process", **options)


def many() -> list[dict[str, Any]]:
    """Give twelve results, of which most have to be replaced."""
    return [res(f"t{number}", f"{number}:" + (3_000 + number) * "x") for number in range(12)]


@pytest.mark.parametrize("nth", range(1, 13))
def test_an_interrupt_between_record_and_state(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, nth: int
) -> None:
    """B9: what was recorded holds, although Ctrl-C kept this process from taking it over."""
    session = opened(tmp_path)
    decide_all = ContentReplacementState.decide_all

    def up_to_nth(decisions: Iterable[tuple[Key, str | None]]) -> Iterator[tuple[Key, str | None]]:
        yield from islice(decisions, nth - 1)
        raise KeyboardInterrupt

    def interrupted(
        self: ContentReplacementState,
        decisions: Iterable[tuple[Key, str | None]],
        *kept: Iterable[Key],
    ) -> None:
        decide_all(self, up_to_nth(decisions), *kept)

    with monkeypatch.context() as patch:
        patch.setattr(ContentReplacementState, "decide_all", interrupted)
        with pytest.raises(KeyboardInterrupt):
            session.enforce([msg(*many())])
    messages = [msg(*many(), res("u", 9_000 * "y"))]
    assert enforce(session, messages) == enforce(opened(tmp_path), messages)


@pytest.mark.parametrize("nth", range(4))
def test_an_interrupt_while_the_state_changes(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, nth: int
) -> None:
    """B9: also what was taken over by half holds, and is known to be a reference."""
    session = opened(tmp_path)
    note = ContentReplacementState._note
    left = [nth]

    def interrupted(self: ContentReplacementState, tool_use_id: str, replacement: str) -> None:
        if not left[0]:
            raise KeyboardInterrupt
        left[0] -= 1
        note(self, tool_use_id, replacement)

    with monkeypatch.context() as patch:
        patch.setattr(ContentReplacementState, "_note", interrupted)
        with pytest.raises(KeyboardInterrupt):
            session.enforce([msg(*many())])
    sent = enforce(session, [msg(*many())])
    assert sent == enforce(opened(tmp_path), [msg(*many())])
    references = {
        result["content"] for result in results_in(sent) if is_reference(result["content"])
    }
    assert set(session.state.replacements.values()) == references


def test_an_interrupt_gives_the_lock_back(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """B9, R6: whatever Ctrl-C hits, nobody waits for a lock that nobody holds."""

    def interrupted(*_: object, **__: object) -> None:
        raise KeyboardInterrupt

    session = opened(tmp_path)
    for owner, name in ((log_file.LockedFile, "__init__"), (log_file.LockedFile, "owner")):
        with monkeypatch.context() as patch:
            patch.setattr(owner, name, interrupted)
            with pytest.raises(KeyboardInterrupt):
                session.enforce([msg(*many())])
    done: list[list[Any]] = []
    thread = threading.Thread(target=lambda: done.append(session.enforce([msg(*many())])))
    thread.start()
    thread.join(timeout=30)
    assert done
    assert enforce(opened(tmp_path), [msg(*many())]) == done[0]


@contextmanager
def alarm(after_s: float) -> Iterator[None]:
    """Raise ``KeyboardInterrupt`` in the main thread after a while."""

    def interrupt(*_: object) -> None:
        raise KeyboardInterrupt

    before = signal.signal(signal.SIGALRM, interrupt)
    # A collection calls what other libraries have hung up there (hypothesis measures its time):
    # an interrupt in there is theirs, not ours.
    gc.disable()
    signal.setitimer(signal.ITIMER_REAL, after_s)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        gc.enable()
        signal.signal(signal.SIGALRM, before)


# Python reports what is raised in a finaliser and goes on: there, nothing is interrupted.
@pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning")
def test_interrupts_at_random_moments(tmp_path: Path) -> None:
    """B9, F2: after each the session goes on, and reopening gives the same bytes."""
    chance = random.Random(7)  # noqa: S311 - no secret
    for number in range(60):
        root = tmp_path / str(number)
        session = opened(root)
        try:
            with alarm(chance.uniform(0.0001, 0.004)):
                session.enforce([msg(*many())])
        except KeyboardInterrupt:
            pass
        messages = [msg(*many(), res("u", 9_000 * "y"))]
        assert enforce(session, messages) == enforce(opened(root), messages)


class TestUnrecorded:
    """F2, F3: a decision that could not be recorded is recorded as soon as it can be."""

    def sent_in_full(self, root: Path) -> tuple[Session, list[dict[str, Any]]]:
        """Give a session whose append has failed once, and what it has sent."""
        session = opened(root)
        root.mkdir(exist_ok=True)
        (root / "session.jsonl").mkdir()
        messages = [msg(res("a", 30_000 * "x"))]
        assert enforce(session, messages) == messages
        assert [failure.stage for failure in session.report.failures] == ["record"]
        (root / "session.jsonl").rmdir()
        return session, messages

    def test_the_next_call_records_it(self, tmp_path: Path) -> None:
        """A call that decides nothing itself is enough."""
        session, messages = self.sent_in_full(tmp_path)
        history = [*messages, answer()]
        assert enforce(session, history) == history
        assert enforce(opened(tmp_path), history) == history

    def test_closing_records_it(self, tmp_path: Path) -> None:
        """So is the end of the session."""
        session, messages = self.sent_in_full(tmp_path)
        session.close()
        assert enforce(opened(tmp_path), messages) == messages


def test_a_vanished_transcript_is_written_anew(tmp_path: Path) -> None:
    """F2: what this process knows is in the next record, also where its file is."""
    session = opened(tmp_path)
    first = [msg(res("a", 30_000 * "x"))]
    enforce(session, first)
    session.transcript_path.unlink()
    history = [*first, answer(), msg(res("b", 30_000 * "y"))]
    sent = enforce(session, history)
    reopened = opened(tmp_path)
    assert enforce(reopened, history) == sent
    assert reopened.result_path("a") == session.directory / "tool-results" / "a.txt"


def test_an_enormous_id_ends_nothing(tmp_path: Path) -> None:
    """F4: an id that no record can hold stays in full; everything else goes on."""
    session = opened(tmp_path)
    enormous = (64 << 20) * "A"
    kept = [msg(res(enormous, 30_000 * "x"))]
    assert enforce(session, kept) == kept
    [sent] = results_in(enforce(session, [*kept, answer(), msg(res("b", 30_000 * "y"))])[2:])
    assert is_reference(sent["content"])
    assert session.report.failures == ()


def test_many_kept_results_take_several_records(tmp_path: Path) -> None:
    """R2, F4: a list that would make a line too long to be read is recorded in parts."""
    session = opened(tmp_path)
    messages = [msg(*(res(f"{number}-{900_000 * 'A'}", "small") for number in range(10)))]
    enforce(session, messages)
    assert session.report.failures == ()
    assert opened(tmp_path).state == session.state


@pytest.mark.parametrize(
    "stored",
    [
        StoredResult(None, 1, "d"),  # type: ignore[arg-type]
        StoredResult("p", "1", "d"),  # type: ignore[arg-type]
        StoredResult("p", 1, 5),  # type: ignore[arg-type]
        StoredResult("p", 1, "d", "/x\n</persisted-output>"),  # type: ignore[arg-type]
        StoredResult("p", 1, "d", "/\ud800"),  # type: ignore[arg-type]
    ],
    ids=["path", "size", "digest", "closing tag", "surrogate"],
)
def test_an_odd_answer_of_a_store_is_a_failure(tmp_path: Path, stored: StoredResult) -> None:
    """F2, S7: whatever a host's own store answers, the result is kept and the host told."""

    class Odd:
        def put(self, tool_use_id: str, content: object) -> StoredResult:  # noqa: ARG002 - answers always so
            return stored

    session = opened(tmp_path, store=Odd())
    messages = turn("Fetch", t1=30_000 * "x")
    assert enforce(session, messages) == messages
    assert [failure.stage for failure in session.report.failures] == ["store"]
    assert enforce(opened(tmp_path), messages) == messages


def test_a_store_that_calls_the_session_back(tmp_path: Path) -> None:
    """F2: it gets an error instead of waiting for itself for ever."""
    caught: list[ToolBudgetError] = []

    class Reentrant:
        def put(self, tool_use_id: str, content: object) -> StoredResult:  # noqa: ARG002 - fails always
            try:
                session.enforce([])
            except ToolBudgetError as error:
                caught.append(error)
                raise
            raise AssertionError

    session = opened(tmp_path, store=Reentrant())
    messages = turn("Fetch", t1=30_000 * "x")
    assert enforce(session, messages) == messages
    assert len(caught) == 1


def test_redact_is_called_once_although_another_process_wrote(tmp_path: Path) -> None:
    """F5: a plan made anew asks the hook no second time."""
    asked: list[str] = []

    def redact(text: str) -> str:
        asked.append(text[:1])
        return text

    session, other = opened(tmp_path, redact=redact), opened(tmp_path)
    enforce(other, turn("Fetch", t9=30_000 * "z"))
    enforce(session, turn("Fetch", t1=30_000 * "x"))
    assert asked == ["x"]


class TestSessionLock:
    """R6, S10: a session in use can be told from one that is not."""

    def test_it_is_held_from_the_first_decision_to_the_end(self, tmp_path: Path) -> None:
        """Nothing is made for a session without decisions; closing gives the lock back."""
        session = opened(tmp_path / "root")
        assert not (tmp_path / "root").exists()
        enforce(session, turn("Fetch", t1="small"))
        assert self.is_live(session)
        session.close()
        assert not self.is_live(session)

    def test_a_reopened_session_holds_it_at_once(self, tmp_path: Path) -> None:
        """What is on disk is protected as long as anyone has it open."""
        first = opened(tmp_path)
        enforce(first, turn("Fetch", t1="small"))
        second = opened(tmp_path)
        first.close()
        assert self.is_live(second)
        second.close()
        assert not self.is_live(second)

    def test_a_forgotten_session_gives_it_back(self, tmp_path: Path) -> None:
        """A session that nobody has closed does not stay locked for ever."""
        session = opened(tmp_path)
        enforce(session, turn("Fetch", t1="small"))
        directory = session.directory
        del session
        lock = SessionLock(directory.parent, directory.name)
        assert not lock.is_held

    def is_live(self, session: Session) -> bool:
        """Try to lock the session alone, as a clean-up would."""
        import fcntl

        with (session.directory / "session.lock").open("rb") as file:
            try:
                fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError:
                return True
        return False
