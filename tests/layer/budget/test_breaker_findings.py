"""Combinations in which what was sent once came back otherwise, each as plainly as can be."""

from __future__ import annotations

import enum
import json
import threading
from typing import TYPE_CHECKING, Any, Final

import pytest

from tests.builders import answer, enforce, is_reference, msg, res, results_in, turn
from toolbudget import (
    ConfigError,
    ContentReplacementState,
    DirectoryStore,
    Limits,
    Session,
    StoreError,
    create_content_replacement_state,
    reconstruct_content_replacement_state,
    reconstruct_for_subagent_resume,
)

if TYPE_CHECKING:
    from pathlib import Path

    from toolbudget import StoredResult

LOW: Final = Limits(max_message_chars=100_000)
HIGH: Final = Limits(max_message_chars=10**9)
LARGE: Final = 150_000 * "x"
HUGE: Final = 210_000 * "x"


def opened(root: Path, session_id: str = "s", **options: Any) -> Session:  # noqa: ANN401
    """Open a session; none of this is about power loss."""
    options.setdefault("limits", LOW)
    return Session.open(root, session_id, durability="process", **options)


@pytest.mark.parametrize("branch", ["fork", "subagent"])
def test_a_branch_takes_no_records_from_a_decision_under_way(root: Path, branch: str) -> None:
    """R6: what another process recorded meanwhile is adopted, whoever reads it first."""
    is_planning, may_go_on = threading.Event(), threading.Event()

    def redact(text: str) -> str:
        is_planning.set()
        may_go_on.wait(10)
        return text

    session, other = opened(root, redact=redact), opened(root, limits=HIGH)
    messages = turn("Fetch", t1=LARGE)
    sent: list[Any] = []
    deciding = threading.Thread(target=lambda: sent.append(enforce(session, messages)))
    deciding.start()
    is_planning.wait(10)
    theirs = enforce(other, messages)
    branching = threading.Thread(target=lambda: getattr(session, branch)("child"))
    branching.start()
    branching.join(0.2)
    may_go_on.set()
    deciding.join()
    branching.join()
    assert sent == [theirs]
    assert enforce(opened(root), messages) == theirs


@pytest.mark.parametrize("is_begun", [False, True])
def test_a_sidecar_and_a_transcript_exclude_each_other(root: Path, *, is_begun: bool) -> None:
    """R6: two processes agree, also if one of them keeps its records apart."""
    if is_begun:
        enforce(opened(root), turn("Fetch", t0="small"))
    theirs: list[Any] = []
    other = opened(root, limits=HIGH)
    messages = turn("Fetch", t1=LARGE)
    inner = DirectoryStore(root / "s" / "tool-results", durability="process")
    deciding = threading.Thread(target=lambda: theirs.append(enforce(other, messages)))

    class Store:
        def put(self, tool_use_id: str, content: Any) -> StoredResult:  # noqa: ANN401
            deciding.start()
            deciding.join(0.3)
            return inner.put(tool_use_id, content)

    session = opened(root, transcript="sidecar", store=Store())
    sent = enforce(session, messages)
    deciding.join()
    assert theirs == [sent]
    assert enforce(opened(root), messages) == sent


@pytest.mark.parametrize("first", [None, "sidecar"])
def test_decisions_count_in_the_order_in_which_they_were_taken(
    root: Path, first: str | None
) -> None:
    """B13: whatever file each was recorded in, the first one after a withdrawal wins."""
    second = "sidecar" if first is None else None
    messages = turn("Fetch", t1=LARGE)
    with opened(root, limits=HIGH, transcript=first) as session:
        enforce(session, messages)
    with opened(root, limits=HIGH, transcript=second) as session:
        enforce(session, messages)
        assert session.withdraw() == 1
    with opened(root, transcript=first) as session:
        sent = enforce(session, messages)
        assert is_reference(next(results_in(sent))["content"])
    more = [*messages, *turn("Fetch", t2="small")]
    for transcript in (None, "sidecar"):
        assert enforce(opened(root, transcript=transcript), more)[: len(sent)] == sent


def test_an_earlier_record_of_another_program_does_not_come_back(root: Path) -> None:
    """R3, D2: of two about one id the last counts, also if the file is read once more."""

    def record(replacement: str) -> str:
        entry = {"kind": "tool-result", "toolUseId": "call_0", "replacement": replacement}
        return json.dumps({"type": "content-replacement", "replacements": [entry]}) + "\n"

    root.mkdir()
    path = root / "s.jsonl"
    path.write_text('{"type":"user"}\n' + record("[old]") + record("[new]"))
    session = opened(root)
    messages = turn("Fetch", call_0=1_000 * "x")
    assert next(results_in(enforce(session, messages)))["content"] == "[new]"
    (root / "copy").write_text(path.read_text() + '{"type":"user"}\n')
    (root / "copy").replace(path)
    messages += turn("Fetch", t9="small")
    enforce(session, messages)
    messages += turn("Fetch", call_0=1_000 * "y")
    assert enforce(session, messages)[-1] == messages[-1]


def test_a_fork_remembers_ids_of_any_recordable_length(root: Path) -> None:
    """R7, F4: no line of its beginning is too long to be read again."""
    session = opened(root)
    ids = [f"{number}-{25_000_000 * 'a'}" for number in range(3)]
    enforce(session, [msg(*(res(name, "small") for name in ids))])
    session.fork("f").close()
    assert opened(root, "f").state == session.state


def test_a_strict_failure_does_not_make_a_session_an_old_one(root: Path) -> None:
    """R3: only a session that had records when it was opened keeps what was answered."""
    inner = DirectoryStore(root / "s" / "tool-results", durability="process")

    class Store:
        def put(self, tool_use_id: str, content: Any) -> StoredResult:  # noqa: ANN401
            if tool_use_id == "b":
                raise StoreError("no")
            return inner.put(tool_use_id, content)

    session = opened(root, strict=True, store=Store())
    session.gate(res("a", HUGE), tool_name="Fetch")
    with pytest.raises(StoreError):
        session.gate(res("b", HUGE), tool_name="Fetch")
    messages = [*turn("Fetch", t1=LARGE), answer()]
    assert is_reference(next(results_in(enforce(session, messages)))["content"])


def test_a_vanished_transcript_is_rewritten_with_all_that_it_said(root: Path) -> None:
    """R7, D2: also where inherited files are, and what no text has met yet."""
    root.mkdir()
    entry = {"kind": "tool-result", "toolUseId": "t9", "replacement": "[stored elsewhere]"}
    line = json.dumps({"type": "content-replacement", "replacements": [entry]})
    (root / "s.jsonl").write_text(f"{line}\n")
    parent = opened(root)
    enforce(parent, turn("Fetch", t1=LARGE))
    fork = parent.fork("f")
    expected = fork.result_path("t1")
    assert expected == parent.result_path("t1")
    fork.transcript_path.unlink()
    enforce(fork, [*turn("Fetch", t1=LARGE), *turn("Fetch", t2="small")])
    again = opened(root, "f")
    assert again.state == fork.state
    assert dict(again.state.unapplied) == {"t9": "[stored elsewhere]"}
    assert again.result_path("t1") == expected


def test_another_programs_record_does_not_say_who_began_a_sub_agent(root: Path) -> None:
    """R7: only a first record of our own closes the gaps."""
    session = opened(root)
    messages = turn("Fetch", t1=LARGE)
    sent = enforce(session, messages)
    line = {"type": "content-replacement", "agentId": "a", "inheritedFrom": "s", "replacements": []}
    folder = session.directory / "subagents"
    folder.mkdir()
    (folder / "agent-a.jsonl").write_text(json.dumps(line) + "\n")
    assert enforce(opened(root, limits=HIGH, agent_id="a", parent=session), messages) == sent
    state = reconstruct_for_subagent_resume(session.state, messages, [line])
    assert set(state.replacements) == {"t1"}


@pytest.mark.parametrize(
    "record", [{"type": "toolbudget-session"}, {}, {"type": "user"}, None, "x"]
)
def test_what_is_no_record_is_none(record: Any) -> None:  # noqa: ANN401
    """R3: a header alone, or a message, makes no conversation one that goes on."""
    messages = [*turn("Fetch", t1=LARGE), answer()]
    state = reconstruct_content_replacement_state(messages, [record])
    assert state == create_content_replacement_state()


def test_an_id_of_an_enumeration_is_its_text(root: Path) -> None:
    """S3: what a subclass of str says of itself takes no part."""

    class Name(str, enum.Enum):  # noqa: UP042 - hosts write it so
        A = "abc"

    messages = turn("Fetch", t1=LARGE)
    with opened(root, Name.A) as session:
        sent = enforce(session, messages)
        assert session.transcript_path.name == "abc.jsonl"
    assert enforce(opened(root, "abc", limits=HIGH), messages) == sent


def test_a_session_is_no_fork_of_itself(root: Path) -> None:
    """R7: an existing id is an error, also before anything is on disk."""
    with pytest.raises(ConfigError, match="exists already"):
        opened(root).fork("s")
    with pytest.raises(ConfigError, match="exists already"):
        opened(root, agent_id="a").subagent("a")


def test_a_parent_is_a_session_or_its_state(root: Path) -> None:
    """Anything else is named before anything is done."""
    with pytest.raises(ConfigError, match=r"parent .argument. must be a session or its state: 'x'"):
        opened(root, agent_id="a", parent="x")
    opened(root, agent_id="a", parent=ContentReplacementState()).close()
