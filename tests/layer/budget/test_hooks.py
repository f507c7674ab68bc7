from __future__ import annotations

import json
import re
import threading
from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.builders import (
    digest_of,
    enforce,
    gate,
    is_reference,
    msg,
    read_reference,
    read_transcript,
    replacement_of,
    res,
    results_in,
    stored_files,
    text_of,
    turn,
)
from toolbudget import Event, Limits, PrefixGuard, Session, StoreError

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

HUGE = 210_000 * "a"
PRIVATE = "s3cr3t-t0k3n"


def hide(text: str) -> str:
    """Redact the secret."""
    return text.replace(PRIVATE, "***")


def bytes_below(folder: Path) -> bytes:
    """Give the bytes of every file below a folder, with the names."""
    paths = sorted(folder.rglob("*"))
    return b"".join(
        str(path).encode() + (path.read_bytes() if path.is_file() else b"") for path in paths
    )


def test_every_replacement_and_failure_is_told(root: Path) -> None:
    """F2: the callback hears of each replaced result, with its record, and of each failure."""
    events: list[Event] = []

    def listen(event: Event) -> None:
        if event.kind in {"replaced", "failed"}:
            events.append(event)

    with Session.open(root, "session", durability="process", on_event=listen) as session:
        gate(session, res("t1", HUGE))
        enforce(session, turn("Fetch", t2=HUGE, t3=HUGE + "b", t4="small"))
        enforce(session, turn("Fetch", t2=HUGE, t3=HUGE + "b", t4="small"))
        assert [event.kind for event in events] == 3 * ["replaced"]
        assert sorted(str(event.tool_use_id) for event in events) == ["t1", "t2", "t3"]
        for event in events:
            assert event.record is not None
            assert event.record.tool_use_id == event.tool_use_id
            assert event.failure is None
        events.clear()
        bad = res("t5", [{"type": "text", "text": HUGE, "meta": {1, 2}}])
        assert gate(session, bad) is bad
        [event] = events
        assert (event.kind, event.tool_use_id, event.record) == ("failed", "t5", None)
        assert event.failure is not None
        assert isinstance(event.failure.error, StoreError)


def test_a_callback_that_raises_changes_nothing(
    root: Path, caplog: pytest.LogCaptureFixture
) -> None:
    """F2: it comes after the decisions, and what it raises is logged."""

    def listen(event: Event) -> None:
        raise LookupError(event.kind)

    with Session.open(root, "session", durability="process", on_event=listen) as session:
        assert is_reference(gate(session, res("t1", HUGE))["content"])
    assert {record.levelname for record in caplog.records} == {"ERROR"}
    assert "on_event raised for replaced" in caplog.text


def test_each_call_tells_all_that_it_did(root: Path) -> None:
    """What became of the results, in numbers that are those of the report, and last the report."""
    events: list[Event] = []
    with Session.open(root, "session", durability="process", on_event=events.append) as session:
        enforce(session, turn("Fetch", t1=HUGE, t2="small", t3=""))
        first, events[:] = list(events), []
        enforce(session, turn("Fetch", t1=HUGE, t2="small", t3=""))
        report = session.report
    assert [(event.kind, event.count) for event in first] == [
        ("replaced", 1),
        ("stored", 1),
        ("kept", 1),
        ("skipped", 1),
        ("finished", 1),
    ]
    assert first[1].size_bytes == len(HUGE)
    assert first[3].reasons == {"empty": 1}
    assert [event.kind for event in events] == ["reapplied", "kept", "skipped", "finished"]
    assert events[-1].report == report
    assert {event.operation for event in (*first, *events)} == {"enforce"}


@pytest.mark.parametrize("operation", ["gate", "enforce", "enforce_json", "mark_seen", "withdraw"])
def test_the_operation_is_named(root: Path, operation: str) -> None:
    """Each public method that decides tells who it is."""
    events: list[Event] = []
    with Session.open(root, "session", durability="process", on_event=events.append) as session:
        if operation == "gate":
            gate(session, res("t1", HUGE))
        elif operation == "enforce_json":
            session.enforce_json(b"[]")
        elif operation == "withdraw":
            session.withdraw()
        else:
            getattr(session, operation)([])
    assert {event.operation for event in events} == {operation}
    assert events[-1].kind == "finished"


def test_a_broken_prefix_is_told(root: Path) -> None:
    """The guard tells of a finding that is not intact, and of no other."""
    events: list[Event] = []
    guard = PrefixGuard(on_event=events.append)
    findings = [guard.check([{"role": "user", "content": text}]) for text in ("a", "a", "b")]
    assert [(event.kind, event.finding) for event in events] == [("prefix_broken", findings[-1])]
    assert not root.exists()


def test_the_log_has_fields(root: Path, caplog: pytest.LogCaptureFixture) -> None:
    """A handler that writes structured logs finds numbers and ids, and no text of a result."""
    caplog.set_level("DEBUG", "toolbudget")
    with Session.open(root, "session", durability="process") as session:
        enforce(session, turn("Fetch", t1=HUGE))
        gate(session, res("t5", [{"type": "text", "text": HUGE, "meta": {1, 2}}]))
    fields = [getattr(record, "toolbudget", None) for record in caplog.records]
    replaced, failed = [found for found in fields if found is not None]
    assert (replaced["session_id"], replaced["operation"]) == ("session", "enforce")
    assert (replaced["replaced"], replaced["tool_use_ids"]) == (1, ["t1"])
    assert replaced["bytes_stored"] == len(HUGE)
    assert (failed["stage"], failed["tool_use_id"]) == ("store", "t5")
    assert "aaaa" not in caplog.text


def test_a_callback_holds_no_lock(root: Path) -> None:
    """F2: it may use the session, in its own thread and in another one."""
    outputs: list[object] = []

    def listen(event: Event) -> None:
        if event.tool_use_id != "t1":
            return
        outputs.append(gate(session, res("t2", HUGE)))
        thread = threading.Thread(target=lambda: outputs.append(gate(session, res("t3", HUGE))))
        thread.start()
        thread.join(timeout=10)

    with Session.open(root, "session", durability="process", on_event=listen) as session:
        gate(session, res("t1", HUGE))
        assert len(outputs) == 2
        assert session.state.seen_ids == {"t1", "t2", "t3"}


@pytest.mark.parametrize("uses_gate", [True, False])
def test_a_redacted_text_is_all_that_is_kept(
    root: Path, caplog: pytest.LogCaptureFixture, *, uses_gate: bool
) -> None:
    """F5: file, preview, size and record are of the redacted text; identity is of the original."""
    text = PRIVATE + HUGE + PRIVATE
    block = res("t1", [{"type": "text", "text": text}])
    with Session.open(root, "session", durability="process", redact=hide) as session:
        [sent] = [msg(gate(session, block))] if uses_gate else enforce(session, [msg(block)])
        small = sent["content"][0]
        path = str(session.directory / "tool-results" / "t1.txt")
        assert text_of(small["content"]) == replacement_of(hide(text), path)
        assert stored_files(session) == {"t1.txt": hide(text).encode()}
        [_, record] = read_transcript(session.transcript_path)
        [one] = record["replacements"]
        assert (one["size"], one["hash"]) == (len(text), digest_of(text.encode()))
        assert one["fileDigest"] == digest_of(hide(text).encode())
        assert gate(session, block) == small
    with Session.open(root, "session", durability="process") as resumed:
        assert gate(resumed, block) == small
    assert PRIVATE.encode() not in bytes_below(root)
    assert PRIVATE not in caplog.text


def test_each_block_is_redacted_by_itself(root: Path) -> None:
    """F5: the hook sees one text block at a time, once in a call, before the choice."""
    seen: list[str] = []

    def note(text: str) -> str:
        seen.append(text[:3])
        return hide(text)

    content = [{"type": "text", "text": "one" + HUGE}, {"type": "text", "text": "two" + PRIVATE}]
    limits = Limits(max_message_chars=1_000)
    with Session.open(root, "session", durability="process", limits=limits, redact=note) as session:
        sent = enforce(session, turn("Fetch", t1=content, t2="three"))
        assert sorted(seen) == ["one", "thr", "two"]
        seen.clear()
        enforce(session, turn("Fetch", t1=content, t2="three"))
        assert seen == []
    assert is_reference(sent[1]["content"][0]["content"])
    [stored] = stored_files(session).values()
    assert PRIVATE.encode() not in stored
    assert b"two***" in stored


@pytest.mark.parametrize("as_body", [False, True])
def test_a_plan_that_is_made_anew_redacts_nothing_again(root: Path, *, as_body: bool) -> None:
    """F5: where the log brings what somebody else decided, the hook has had its one call."""
    asked: list[str] = []

    def note(text: str) -> str:
        asked.append(text)
        return text

    with (
        Session.open(root, "session", durability="process", redact=note) as session,
        Session.open(root, "session", durability="process") as other,
    ):
        other.enforce(turn("Fetch", t1="decided"))
        messages = turn("Fetch", t2=HUGE, t3=HUGE + "b")
        if as_body:
            messages = json.loads(session.enforce_json(json.dumps(messages).encode()))
        else:
            messages = session.enforce(messages)
        assert all(is_reference(block["content"]) for block in results_in(messages))
    assert sorted(asked) == [HUGE, HUGE + "b"]


def test_lengths_are_those_of_the_redacted_text(root: Path) -> None:
    """F5: the choice reckons with the replacement that the redacted text gives."""
    with Session.open(root, "session", durability="process", redact=lambda _: "gone") as session:
        small = gate(session, res("t1", HUGE))
        reference = read_reference(small["content"])
        assert (reference.size, reference.preview, reference.has_more) == ("4 bytes", "gone", False)


@pytest.mark.parametrize("wrong", [None, b"x", 7])
def test_a_hook_that_gives_no_text_keeps_the_result(root: Path, wrong: Any) -> None:  # noqa: ANN401 - bad on purpose
    """F5: a result that cannot be redacted is passed over and kept; the next one is replaced."""

    def sometimes(text: str) -> str:
        given: str = wrong
        return given if text.startswith("b") else text

    messages = turn("Fetch", t1=230_000 * "b", t2=HUGE)
    with Session.open(root, "session", durability="process", redact=sometimes) as session:
        sent = enforce(session, messages)
        kept = [is_reference(block["content"]) for block in results_in(sent)]
        assert kept == [False, True]
        [failure] = session.report.failures
        assert (failure.stage, failure.tool_use_id) == ("redact", "t1")
        block = res("t3", 60_000 * "b")
        assert gate(session, block) is block
        assert [one.tool_use_id for one in session.report.failures] == ["t3"]
        assert enforce(session, messages) == sent


def test_a_hook_that_raises_keeps_the_result(root: Path, caplog: pytest.LogCaptureFixture) -> None:
    """F5: an exception of the hook is a reported failure, and its text is in no log."""

    def broken(text: str) -> str:
        raise LookupError(len(text))

    with Session.open(root, "session", durability="process", redact=broken) as session:
        messages = turn("Fetch", t1=PRIVATE + HUGE)
        assert session.enforce(messages) is messages
        assert session.report.failures[0].stage == "redact"
        assert stored_files(session) == {}
    assert PRIVATE not in caplog.text
    assert "redact of 't1' failed" in caplog.text


def test_a_strict_session_raises_what_the_hook_raised(root: Path) -> None:
    """F5: a host that asked for it gets the exception itself, and nothing is decided."""

    def broken(text: str) -> str:
        raise LookupError(len(text))

    options: Any = {"durability": "process", "redact": broken, "strict": True}
    with Session.open(root, "session", **options) as session:
        with pytest.raises(LookupError):
            enforce(session, turn("Fetch", t1=HUGE))
        with pytest.raises(LookupError):
            gate(session, res("t1", HUGE))
        assert session.state.decisions == {}


@given(
    parts=st.lists(st.sampled_from([PRIVATE, "x", "\n", "<persisted-output>", "\0"]), max_size=30),
    is_list=st.booleans(),
)
def test_no_secret_leaves_a_replaced_result(
    new_root: Callable[[], Path], parts: list[str], *, is_list: bool
) -> None:
    """F5: wherever the secret stands in a result that is replaced, it stands nowhere else."""
    root = new_root()
    text = "".join(parts) + 60_000 * "y" + "".join(parts)
    blocks = [{"type": "text", "text": part} for part in (text, "end")]
    content: object = blocks if is_list else text
    with Session.open(root, "session", durability="process", redact=hide) as session:
        small = gate(session, res("t1", content))
    assert PRIVATE not in text_of(small["content"])
    assert PRIVATE.encode() not in bytes_below(root)
    assert re.search("Preview", text_of(small["content"]))
