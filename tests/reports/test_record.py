from __future__ import annotations

import json
import subprocess
import sys
from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.builders import (
    Message,
    check_references,
    enforce,
    gate,
    is_reference,
    msg,
    read_reference,
    read_transcript,
    res,
    results_in,
    text_of,
    turn,
)
from tests.strategies import any_text
from toolbudget import Session, Transcript

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

HUGE = 210_000 * "a"


def reopen(root: Path, name: str = "session") -> Session:
    """Open a session, or open it again."""
    return Session.open(root, name, durability="process")


def is_replaced(session: Session, tool_use_id: str, content: object) -> bool:
    """Tell whether the session has a replacement for a result."""
    sent = enforce(session, [msg(res(tool_use_id, content))])
    return is_reference(next(results_in(sent))["content"])


@pytest.mark.parametrize("size", [250_000, 5_000_000])
@pytest.mark.parametrize("letter", ["x", "\u4e2d", "\U0001f600", "\0", '"', "\\"])
def test_a_record_stays_small(root: Path, size: int, letter: str) -> None:
    """RECORD 22: the log has the short replacement only; the full text is in the file."""
    text = "x" + size * letter
    with reopen(root) as session:
        assert is_replaced(session, "t", text)
        assert session.transcript_path.stat().st_size < 20_000
        assert (session.directory / "tool-results" / "t.txt").stat().st_size > size


def test_a_log_does_not_grow_without_decisions(session: Session) -> None:
    """RECORD 22: a turn that decides nothing new writes nothing."""
    messages = turn("Fetch", t1=HUGE, t2="small")
    enforce(session, messages)
    before = session.transcript_path.read_bytes()
    for _ in range(3):
        enforce(session, messages)
        gate(session, res("t1", HUGE))
        gate(session, res("t3", "small"))
    assert session.transcript_path.read_bytes() == before


@pytest.mark.parametrize("owner", ["B", "", "Session", "session "])
def test_records_of_other_sessions_are_not_applied(root: Path, owner: str) -> None:
    """RECORD 24: what another session decided about the same id and text says nothing here."""
    with reopen(root, "other") as other:
        gate(other, res("t1", HUGE))
    [_, record] = read_transcript(other.transcript_path)
    transcript = Transcript(root / "session.jsonl", session_id="session", durability="process")
    transcript.append({**record, "sessionId": owner})
    with reopen(root) as session:
        messages = [msg(res("t1", HUGE))]
        sent = enforce(session, messages)
        assert check_references(messages, sent, session.directory) == ["t1"]
        assert session.report.replaced == 1


@pytest.mark.parametrize("entry", [{}, {"agentId": "a1"}])
def test_records_of_other_agents_are_not_applied(root: Path, entry: dict[str, object]) -> None:
    """RECORD 24: a record of a sub-agent is not the session's own, one of the session is."""
    record = {
        "type": "content-replacement",
        "sessionId": "session",
        **entry,
        "replacements": [{"kind": "tool-result", "toolUseId": "t1", "replacement": "short"}],
    }
    root.mkdir()
    (root / "session.jsonl").write_text(json.dumps(record) + "\n")
    with reopen(root) as session:
        sent = enforce(session, [msg(res("t1", "a longer text"))])
        assert (next(results_in(sent))["content"] == "short") is not bool(entry)


def damaged_log(root: Path, damage: Callable[[list[bytes]], bytes]) -> list[Any]:
    """Make a log of three replacements, damage it, and give what was sent before."""
    messages: list[Message] = []
    sent: list[Message] = []
    with reopen(root) as session:
        for index in range(3):
            messages += turn("Fetch", **{f"t{index}": 210_000 * str(index)})
            sent = enforce(session, messages)
    lines = session.transcript_path.read_bytes().splitlines(keepends=True)
    assert len(lines) == 4
    session.transcript_path.write_bytes(damage(lines))
    return [messages, sent]


@pytest.mark.parametrize(
    ("damage", "skipped"),
    [
        pytest.param(lambda lines: b"".join(lines) + b'{"type":"con', 1, id="torn-tail"),
        pytest.param(lambda lines: b"".join(lines) + lines[1][:-20], 1, id="torn-record"),
        pytest.param(
            lambda lines: b"".join([*lines[:2], b'{"type":"con}\n', *lines[2:]]), 1, id="bad-line"
        ),
        pytest.param(lambda lines: b"".join([*lines[:2], b"\xff\n", *lines[2:]]), 1, id="bytes"),
        pytest.param(
            lambda lines: b"".join([*lines[:2], 4_096 * b"\0", *lines[2:]]), None, id="nul-run"
        ),
        pytest.param(lambda lines: b"".join(lines) + 100 * b"\0", None, id="nul-tail"),
        pytest.param(
            lambda lines: b"".join([*lines[:2], b'{"type":"con', *lines[2:]]), 1, id="glued"
        ),
        pytest.param(lambda lines: b"".join([lines[0], lines[1][:-1], *lines[2:]]), 0, id="joined"),
        pytest.param(lambda lines: b"".join(lines)[:-1], 0, id="no-last-line-end"),
        pytest.param(lambda lines: b"\n\n".join(lines) + b" \r\n", 0, id="blank-lines"),
    ],
)
def test_good_records_count_around_bad_lines(
    root: Path,
    caplog: pytest.LogCaptureFixture,
    damage: Callable[[list[bytes]], bytes],
    skipped: int | None,
) -> None:
    """RECORD 25: a torn, bad or glued line costs itself alone; the number skipped is told."""
    messages, sent = damaged_log(root, damage)
    damaged = (root / "session.jsonl").read_bytes()
    with reopen(root) as session:
        assert enforce(session, messages) == sent
        assert session.report.replaced == 0
        more = [*messages, *turn("Fetch", t9=HUGE)]
        latest = enforce(session, more)
    assert (root / "session.jsonl").read_bytes().startswith(damaged)
    transcript = Transcript(root / "session.jsonl")
    assert len(list(transcript.records())) == 4
    told = [record for record in caplog.records if "skipped" in record.message]
    if skipped is not None:
        assert transcript.skipped == skipped
        assert bool(told) is (skipped > 0)
    with reopen(root) as session:
        assert enforce(session, more) == latest


@given(cut=st.integers(0, 3_000), junk=st.binary(max_size=30))
def test_a_torn_tail_never_costs_a_record_before_it(
    new_root: Callable[[], Path], cut: int, junk: bytes
) -> None:
    """RECORD 25: wherever the last line was torn and whatever follows, all before it count."""
    root = new_root()
    messages, sent = damaged_log(
        root,
        lambda lines: b"".join(lines[:3]) + lines[3][: min(cut, len(lines[3]) - 2)] + junk,
    )
    with reopen(root) as session:
        assert enforce(session, messages[:4]) == sent[:4]
        assert session.report.replaced == 0
        latest = enforce(session, messages)
    with reopen(root) as session:
        assert enforce(session, messages) == latest


WRITER = """
import sys, toolbudget
transcript = toolbudget.Transcript(sys.argv[1], session_id="session", durability="process")
for number in range(500):
    size = 8_000 if number % 10 == 0 else 20
    transcript.append({"type": "user", "writer": sys.argv[2], "number": number, "text": size * "x"})
"""


def test_two_processes_never_mix_their_lines(tmp_path: Path) -> None:
    """RECORD 26: of 500 records each, all are whole, and in order for each writer."""
    path = tmp_path / "session.jsonl"
    writers = [
        subprocess.Popen([sys.executable, "-c", WRITER, str(path), name]) for name in ("one", "two")
    ]
    assert [writer.wait(timeout=60) for writer in writers] == [0, 0]
    header, *records = read_transcript(path)
    assert header["type"] == "toolbudget-session"
    assert len(records) == 1_000
    for name in ("one", "two"):
        numbers = [record["number"] for record in records if record["writer"] == name]
        assert numbers == list(range(500))


SHORT = """
import os, resource, signal, sys, toolbudget
signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
session = toolbudget.Session.open(sys.argv[1], "session", store=toolbudget.MemoryStore())
def send(name):
    block = {"type": "tool_result", "tool_use_id": name, "content": 210_000 * name[0]}
    return session.enforce([{"role": "user", "content": [block]}])[0]["content"][0]["content"]
first = send("a")
size = os.stat(session.transcript_path).st_size
limit = resource.getrlimit(resource.RLIMIT_FSIZE)
resource.setrlimit(resource.RLIMIT_FSIZE, (size + 100, limit[1]))
assert send("b") == 210_000 * "b"
assert [failure.stage for failure in session.report.failures] == ["record"]
assert os.stat(session.transcript_path).st_size == size
resource.setrlimit(resource.RLIMIT_FSIZE, limit)
assert send("b") == 210_000 * "b"
assert send("a") == first
print(send("c"))
"""


def test_a_short_append_leaves_no_stub(root: Path) -> None:
    """RECORD 25: a record that does not fit into the file is taken back; the next one is whole."""
    finished = subprocess.run(
        [sys.executable, "-c", SHORT, str(root)], capture_output=True, text=True, check=True
    )
    lines = read_transcript(root / "session.jsonl")
    replaced = [one["toolUseId"] for line in lines for one in line.get("replacements", [])]
    assert replaced == ["a", "c"]
    assert [one[0] for line in lines for one in line.get("frozen", [])] == ["b"]
    with reopen(root) as session:
        sent = enforce(session, [msg(res("b", 210_000 * "b")), msg(res("c", 210_000 * "c"))])
        assert sent[0]["content"][0]["content"] == 210_000 * "b"
        assert sent[1]["content"][0]["content"] == finished.stdout[:-1]


DECIDER = """
import json, sys, toolbudget
session = toolbudget.Session.open(sys.argv[1], "session", durability="process")
sys.stdin.readline()
for number in range(20):
    blocks = [
        {"type": "tool_result", "tool_use_id": f"call_{number}_{index}", "content": 45_000 * "x"}
        for index in range(6)
    ]
    order = blocks if sys.argv[2] == "one" else blocks[::-1]
    sent = session.enforce([{"role": "user", "content": order}])[0]["content"]
    shown = {block["tool_use_id"]: block["content"] for block in sent}
    print(json.dumps(shown, sort_keys=True))
"""


def test_two_processes_agree_on_every_decision(root: Path) -> None:
    """RECORD 26: two that decide about the same results at once hand out the same bytes."""
    processes = [
        subprocess.Popen(
            [sys.executable, "-c", DECIDER, str(root), name],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )
        for name in ("one", "two")
    ]
    for process in processes:
        assert process.stdin is not None
        process.stdin.write("\n")
        process.stdin.flush()
    outputs = [process.communicate(timeout=60)[0] for process in processes]
    assert [process.returncode for process in processes] == [0, 0]
    assert outputs[0] == outputs[1]
    shown = [json.loads(line) for line in outputs[0].splitlines()]
    assert [sum(map(is_reference, contents.values())) for contents in shown] == 20 * [2]


@given(
    tool_use_id=any_text(max_size=20),
    text=any_text(max_size=30),
    session_id=any_text(max_size=20),
)
def test_no_content_can_break_a_line(
    new_root: Callable[[], Path], tool_use_id: str, text: str, session_id: str
) -> None:
    """RECORD 25, 26: line breaks of every kind in ids and texts are escaped; all is ASCII."""
    content = text + "\n\u2028\u2029\x85\r" + 60_000 * "x"
    root = new_root()
    with reopen(root, session_id) as session:
        small = gate(session, res(tool_use_id, content))
    header, record = read_transcript(session.transcript_path)
    assert header["sessionId"] == record["sessionId"] == session_id
    [entry] = record["replacements"]
    assert (entry["toolUseId"], entry["replacement"]) == (tool_use_id, text_of(small["content"]))
    assert entry["file"] == read_reference(small["content"]).path.name
    with reopen(root, session_id) as session:
        assert gate(session, res(tool_use_id, content)) == small
        assert session.report.replaced == 0
