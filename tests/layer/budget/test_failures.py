from __future__ import annotations

import errno
import logging
from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

import toolbudget
from tests.builders import (
    Message,
    answer,
    check_reference,
    check_references,
    enforce,
    files_below,
    gate,
    is_reference,
    msg,
    read_transcript,
    res,
    results_in,
    turn,
)
from toolbudget import (
    ConfigError,
    InvalidMessageError,
    Limits,
    MemoryStore,
    Session,
    StoredResult,
    StoreError,
    ToolBudgetError,
    TranscriptError,
    create_content_replacement_state,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from pathlib import Path

HUGE = 210_000 * "a"


class Shelf:
    """A store of a host's own that fails for chosen ids, or always."""

    def __init__(self, *broken: str, error: Exception | None = None) -> None:
        self.broken = set(broken)
        self.error = error or StoreError(errno.ENOSPC, "no space left on the shelf")
        self.memory = MemoryStore()

    def put(self, tool_use_id: str, content: Any) -> StoredResult:  # noqa: ANN401 - any content
        """Store a result, or fail."""
        if tool_use_id in self.broken:
            raise self.error
        return self.memory.put(tool_use_id, content)


class Batches(Shelf):
    """A store that fails as a whole."""

    def put_many(self, items: Sequence[tuple[str, Any]]) -> list[StoredResult]:
        """Store a batch, or fail."""
        return [self.put(*item) for item in items]


def failures_of(session: Session) -> list[tuple[str, str | None]]:
    """Give stage and id of each failure of the last call."""
    return [(failure.stage, failure.tool_use_id) for failure in session.report.failures]


def block_transcript(session: Session) -> Path:
    """Put a folder into the place of the transcript, so that no record can be appended."""
    path = session.transcript_path
    path.mkdir(parents=True)
    return path


def test_errors_are_of_one_family() -> None:
    """F1: every error is a ``ToolBudgetError``, and the builtin that it resembles."""
    for error, builtin in (
        (ConfigError, ValueError),
        (InvalidMessageError, ValueError),
        (StoreError, OSError),
        (TranscriptError, Exception),
    ):
        assert issubclass(error, ToolBudgetError)
        assert issubclass(error, builtin)
    assert not issubclass(ToolBudgetError, ValueError | OSError)


def test_an_error_says_what_where_and_why(root: Path) -> None:
    """F1: the failure of a store names the result, the place and the system's reason."""
    with Session.open(root, "session", durability="process") as session:
        session.directory.mkdir(parents=True)
        (session.directory / "tool-results").write_text("in the way")
        gate(session, res("t1", HUGE))
        [failure] = session.report.failures
    assert isinstance(failure.error, StoreError)
    assert failure.error.errno == errno.ENOTDIR
    for part in ("t1", str(session.directory / "tool-results"), "Not a directory"):
        assert part in str(failure.error)
    assert str(failure).startswith("store of 't1' failed: ")


@pytest.mark.parametrize(
    "error",
    [
        StoreError(errno.ENOSPC, "no space left on the shelf"),
        OSError(errno.EIO, "input/output error"),
        ValueError("no shelf"),
        ZeroDivisionError(),
    ],
)
@pytest.mark.parametrize("kind", [Shelf, Batches])
def test_whatever_a_store_raises_the_result_stays(
    root: Path, caplog: pytest.LogCaptureFixture, error: Exception, kind: type[Shelf]
) -> None:
    """F2, G6: the request goes out with full content; report, log and host are told."""
    shelf = kind("t1", "t2", error=error)
    with Session.open(root, "session", store=shelf, durability="process") as session:
        block = res("t1", HUGE)
        assert gate(session, block) is block
        assert failures_of(session) == [("store", "t1")]
        assert session.state.decisions == {}
        messages = turn("Fetch", t2=HUGE)
        assert session.enforce(messages) is messages
        assert failures_of(session) == [("store", "t2")]
        assert session.report.over_limit_chars == 10_000
    assert [record.levelno for record in caplog.records] == [logging.WARNING, logging.WARNING]
    assert all(record.name == "toolbudget" for record in caplog.records)


def test_one_failure_is_its_own(root: Path) -> None:
    """F2, B6: of several results only the one that failed stays, and the choice is not repeated."""
    texts = {"t1": 90_000 * "a", "t2": 100_000 * "b", "t3": 80_000 * "c", "t4": 30_000 * "d"}
    messages = turn("Fetch", **texts)
    with Session.open(root, "session", store=Shelf("t2"), durability="process") as session:
        sent = enforce(session, messages)
        contents = [one["content"] for one in results_in(sent)]
        assert list(map(is_reference, contents)) == [True, False, False, False]
        assert session.report.over_limit_chars == sum(map(len, contents)) - 200_000 > 0


@pytest.mark.parametrize("outcome", [None, "/a/path", 7])
@pytest.mark.parametrize("kind", [Shelf, Batches])
def test_a_store_that_gives_nonsense_loses_nothing(
    root: Path, monkeypatch: pytest.MonkeyPatch, kind: type[Shelf], outcome: object
) -> None:
    """F2: what is no ``StoredResult`` is a failure like any other."""
    monkeypatch.setattr(kind, "put", lambda *_: outcome)
    with Session.open(root, "session", store=kind(), durability="process") as session:
        messages = turn("Fetch", t1=HUGE)
        assert session.enforce(messages) is messages
        [failure] = session.report.failures
        assert isinstance(failure.error, StoreError)
        assert "StoredResult" in str(failure.error)


def test_a_batch_that_misses_outcomes_loses_nothing(root: Path) -> None:
    """F2: if it is not told which result an outcome is about, all of the batch stay."""

    class Short(Batches):
        def put_many(self, items: Sequence[tuple[str, Any]]) -> list[StoredResult]:
            return super().put_many(items)[1:]

    with Session.open(root, "session", store=Short(), durability="process") as session:
        messages = turn("Fetch", t1=HUGE, t2=HUGE + "b")
        assert session.enforce(messages) is messages
        assert [one.tool_use_id for one in session.report.failures] == ["t2", "t1"]


def test_a_kept_failure_stays_kept(root: Path) -> None:
    """B9: a result that was sent in full because its store failed is decided: kept."""
    shelf = Shelf("t1")
    messages = turn("Fetch", t1=HUGE)
    with Session.open(root, "session", store=shelf, durability="process") as session:
        assert session.enforce(messages) is messages
        shelf.broken.clear()
        assert session.enforce(messages) is messages
        assert gate(session, res("t1", HUGE))["content"] == HUGE
    with Session.open(root, "session", store=shelf, durability="process") as session:
        assert session.enforce(messages) is messages
    assert shelf.memory.contents == {}


def test_a_strict_session_raises_store_errors(root: Path) -> None:
    """G6, B9: the host that asked for it gets the error, and nothing at all was decided."""
    shelf = Shelf("t2")
    messages = turn("Fetch", t1=HUGE, t2=HUGE + "b")
    with Session.open(root, "session", store=shelf, durability="process", strict=True) as session:
        with pytest.raises(StoreError, match="no space left") as caught:
            session.enforce(messages)
        assert caught.value.errno == errno.ENOSPC
        with pytest.raises(StoreError):
            gate(session, res("t2", HUGE))
        assert session.state == create_content_replacement_state()
        shelf.broken.clear()
        sent = enforce(session, messages)
        assert sum(is_reference(one["content"]) for one in results_in(sent)) == 2
    assert len(read_transcript(session.transcript_path)) == 2


def test_a_strict_session_raises_our_kind_of_error(root: Path) -> None:
    """F1: also what a store of the host's own raises comes as a ``StoreError``, with its cause."""
    cause = ZeroDivisionError("no shelf")
    for kind in (Shelf, Batches):
        shelf = kind("t1", error=cause)
        with Session.open(root, "session", store=shelf, strict=True) as session:
            with pytest.raises(StoreError, match="no shelf") as caught:
                session.enforce(turn("Fetch", t1=HUGE))
            assert caught.value.__cause__ is cause


def test_without_a_record_the_full_content_goes_out(root: Path) -> None:
    """F3: a replacement that no resume could reproduce is not made; the decision to keep holds."""
    messages = turn("Fetch", t1=HUGE, t2="small")
    with Session.open(root, "session", durability="process") as session:
        obstacle = block_transcript(session)
        assert session.enforce(messages) is messages
        [failure] = session.report.failures
        assert (failure.stage, failure.tool_use_id) == ("record", None)
        assert session.report.replaced == 0
        block = res("t3", HUGE)
        assert gate(session, block) is block
        obstacle.rmdir()
        assert session.enforce(messages) is messages
        assert session.report.failures == ()
        check_reference(block, gate(session, block), session.directory)
    with Session.open(root, "session", durability="process") as session:
        assert session.state.seen_ids == {"t1", "t2", "t3"}
        assert enforce(session, [*messages, answer()])[:2] == messages


def test_a_strict_session_raises_record_errors(root: Path) -> None:
    """F3: with ``strict`` the failure of a record raises, and nothing was decided."""
    messages = turn("Fetch", t1=HUGE)
    with Session.open(root, "session", durability="process", strict=True) as session:
        obstacle = block_transcript(session)
        for action in (
            lambda: session.enforce(messages),
            lambda: session.enforce(turn("Fetch", t1="small")),
            lambda: gate(session, res("t1", HUGE)),
            lambda: session.mark_seen(messages),
        ):
            with pytest.raises(TranscriptError, match=r"session\.jsonl"):
                action()
            assert session.state == create_content_replacement_state()
        obstacle.rmdir()
        sent = enforce(session, messages)
        assert check_references(messages, sent, session.directory) == ["t1"]


def test_a_reapplied_replacement_survives_a_broken_transcript(root: Path) -> None:
    """B8, F3: what was decided needs no record, so it goes out as before beside what stays."""
    first = turn("Fetch", t1=HUGE)
    with Session.open(root, "session", durability="process") as session:
        before = enforce(session, first)
        session.transcript_path.unlink()
        block_transcript(session)
        messages = [*first, *turn("Fetch", t2=HUGE)]
        sent = enforce(session, messages)
        assert sent[:2] == before
        assert sent[3] is messages[3]
        assert [one.stage for one in session.report.failures] == ["record"]


def test_nothing_is_lost_when_all_fails(root: Path) -> None:
    """F2: with neither store nor transcript, every request still has everything."""
    with Session.open(root, "session", durability="process") as session:
        root.write_text("in the way")
        messages = []
        for number in range(3):
            messages += turn("Fetch", **{f"t{number}": HUGE})
            assert session.enforce(messages) is messages
    assert root.read_text() == "in the way"


def test_a_vanished_root_is_made_anew(root: Path) -> None:
    """F2, S5: a folder that was removed under a running session is made again."""
    with Session.open(root, "session", durability="process") as session:
        gate(session, res("t1", HUGE))
        for path in sorted(root.rglob("*"), reverse=True):
            path.rmdir() if path.is_dir() else path.unlink()
        root.rmdir()
        block = res("t2", HUGE)
        check_reference(block, gate(session, block), session.directory)
    assert "session/tool-results/t2.txt" in files_below(root)


@pytest.mark.parametrize("call", ["gate", "enforce"])
def test_an_interruption_leaves_no_half_decision(root: Path, call: str) -> None:
    """B9: if something that is no error of ours ends a call, nothing was decided."""
    shelf = Shelf("t1")
    interruption: Any = KeyboardInterrupt()
    shelf.error = interruption
    with Session.open(root, "session", store=shelf, durability="process") as session:
        block = res("t1", HUGE)
        with pytest.raises(KeyboardInterrupt):
            gate(session, block) if call == "gate" else session.enforce([msg(block)])
        assert session.state == create_content_replacement_state()
        shelf.broken.clear()
        assert is_reference(gate(session, block)["content"])


@pytest.mark.parametrize("messages", [[42], [{"role": "user", "content": []}, None], "text"])
def test_an_invalid_list_decides_nothing(session: Session, root: Path, messages: Any) -> None:  # noqa: ANN401 - bad on purpose
    """B11: what cannot be a message list raises before anything is stored or decided."""
    with pytest.raises(InvalidMessageError):
        session.enforce(messages)
    with pytest.raises(InvalidMessageError):
        session.mark_seen(messages)
    if isinstance(messages, list):
        with pytest.raises(InvalidMessageError):
            session.enforce([msg(res("t1", HUGE)), *messages])
    assert files_below(root) == set()
    assert session.state == create_content_replacement_state()


def test_an_invalid_list_is_refused_by_every_function() -> None:
    """B11: the plain functions say the same."""
    state = create_content_replacement_state()
    wrong: Any = [42]
    store = MemoryStore()
    for action in (
        lambda: toolbudget.enforce_tool_result_budget(wrong, state, store=store),
        lambda: toolbudget.apply_tool_result_budget(wrong, state, store=store),
        lambda: toolbudget.collect_candidates_by_message(wrong),
        lambda: toolbudget.reconstruct_content_replacement_state(wrong, []),
    ):
        with pytest.raises(InvalidMessageError, match="message 0"):
            action()


class Weather(MemoryStore):
    """A store that fails while the weather is bad."""

    def __init__(self) -> None:
        super().__init__()
        self.is_bad = False

    def put(self, tool_use_id: str, content: Any) -> StoredResult:  # noqa: ANN401 - any content
        """Store, or fail."""
        if self.is_bad:
            raise StoreError(errno.EIO, "bad weather")
        return super().put(tool_use_id, content)


@given(
    turns=st.lists(
        st.tuples(
            st.sampled_from(["well", "store", "record", "both"]),
            st.lists(st.sampled_from([10, 900, 2_600, 5_000]), max_size=4),
            st.booleans(),
        ),
        max_size=7,
    )
)
def test_no_failure_changes_what_was_sent(
    new_root: Callable[[], Path], turns: list[tuple[str, list[int], bool]]
) -> None:
    """F2, B8, B9: whatever fails and recovers, later requests repeat the earlier ones.

    When all is well again and something more was decided, resuming repeats them, too.
    """
    root = new_root()
    limits = Limits(max_result_chars=2_000, max_message_chars=4_000, preview_bytes=100)
    store = Weather()
    messages: list[Message] = []
    sent: list[Message] = []
    root.mkdir()
    with Session.open(root, "s", limits=limits, store=store, durability="process") as session:
        for number, (trouble, sizes, passes_gate) in enumerate([*turns, ("well", [5], False)]):
            store.is_bad = trouble in {"store", "both"}
            away = root.with_name(f"{root.name}-away")
            if trouble in {"record", "both"}:
                root.rename(away)
                root.write_bytes(b"")
            blocks = [res(f"t{number}_{index}", size * "a") for index, size in enumerate(sizes)]
            if passes_gate:
                blocks = [gate(session, block) for block in blocks]
            messages += [answer(), msg(*blocks)]
            latest = enforce(session, messages)
            assert latest[: len(sent)] == sent
            sent = latest
            if away.exists():
                root.unlink()
                away.rename(root)
    with Session.open(root, "s", limits=limits, store=store, durability="process") as session:
        assert enforce(session, messages) == sent
        assert session.report.replaced == 0
