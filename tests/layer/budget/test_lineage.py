from __future__ import annotations

import shutil
from typing import TYPE_CHECKING, Any

import pytest

from tests.builders import (
    answer,
    enforce,
    files_below,
    gate,
    is_reference,
    msg,
    read_reference,
    read_transcript,
    res,
    stored_files,
    turn,
)
from toolbudget import ConfigError, ContentReplacementState, InvalidMessageError, Session

if TYPE_CHECKING:
    from pathlib import Path

HUGE = 210_000 * "a"


def opened(root: Path, session_id: str = "session", **options: Any) -> Session:  # noqa: ANN401 - passed on
    """Open a session without syncs."""
    return Session.open(root, session_id, durability="process", **options)


def branch(session: Session, kind: str, name: str, **options: Any) -> Session:  # noqa: ANN401 - passed on
    """Make a fork or a sub-agent."""
    return session.fork(name, **options) if kind == "fork" else session.subagent(name, **options)


@pytest.fixture(params=["fork", "subagent"])
def kind(request: pytest.FixtureRequest) -> str:
    """Give both ways to branch off."""
    return str(request.param)


@pytest.mark.parametrize("ephemeral", [False, True])
def test_a_shared_prefix_stays_shared(tmp_path: Path, kind: str, *, ephemeral: bool) -> None:
    """R7: a child sends what its parent has sent, byte for byte."""
    session = opened(tmp_path)
    history = turn("Fetch", t1=HUGE, t2="small")
    sent = enforce(session, history)
    child = branch(session, kind, "child", ephemeral=ephemeral)
    assert enforce(child, history) == sent
    assert child.state == session.state
    assert child.report.replaced == 0


@pytest.mark.parametrize("ephemeral", [False, True])
def test_what_follows_is_separate(tmp_path: Path, kind: str, *, ephemeral: bool) -> None:
    """R7: what parent or child decide after the fork does not touch the other."""
    session = opened(tmp_path)
    history = turn("Fetch", t1="small")
    enforce(session, history)
    child = branch(session, kind, "child", ephemeral=ephemeral)
    before = session.state
    enforce(child, [*history, *turn("Fetch", t2=HUGE)])
    assert session.state == before
    after = child.state
    enforce(session, [*history, *turn("Fetch", t3=HUGE)])
    assert child.state == after


def test_a_fork_reopens_with_its_decisions(tmp_path: Path) -> None:
    """R7: the fork's own transcript is enough, also when its parent is gone."""
    session = opened(tmp_path)
    history = turn("Fetch", t1=HUGE, t2="small")
    sent = enforce(session, history)
    session.fork("child").close()
    session.close()
    shutil.rmtree(session.directory)
    session.transcript_path.unlink()
    child = opened(tmp_path, "child")
    assert enforce(child, history) == sent
    assert child.report.replaced == 0


def test_deleting_a_child_leaves_its_parent_whole(tmp_path: Path, kind: str) -> None:
    """R7: what a child stores, and what it inherits, is never its parent's only copy."""
    session = opened(tmp_path)
    history = turn("Fetch", t1=HUGE)
    sent = enforce(session, history)
    child = branch(session, kind, "child")
    enforce(child, history)
    if kind == "fork":
        shutil.rmtree(child.directory, ignore_errors=True)
    child.transcript_path.unlink()
    reopened = opened(tmp_path)
    assert enforce(reopened, history) == sent
    assert stored_files(reopened) == {"t1.txt": HUGE.encode()}


def test_files_go_to_the_right_folder(tmp_path: Path) -> None:
    """R7: a fork stores in its own folder, a sub-agent in its session's."""
    session = opened(tmp_path)
    fork, subagent = session.fork("fork"), session.subagent("agent")
    enforce(fork, turn("Fetch", t1=HUGE))
    enforce(subagent, turn("Fetch", t2=HUGE))
    assert files_below(tmp_path) == {
        "fork.jsonl",
        "fork/tool-results/t1.txt",
        "session/subagents/agent-agent.jsonl",
        "session/tool-results/t2.txt",
    }


def test_the_first_record_says_where_it_came_from(tmp_path: Path) -> None:
    """R7: inherited decisions carry the child's id and ``inheritedFrom``."""
    session = opened(tmp_path)
    enforce(session, turn("Fetch", t1=HUGE, t2="small"))
    [_, fork_record] = read_transcript(session.fork("fork").transcript_path)
    [_, agent_record] = read_transcript(session.subagent("agent").transcript_path)
    [_, parent_record] = read_transcript(session.transcript_path)
    assert (fork_record["sessionId"], fork_record["inheritedFrom"]) == ("fork", "session")
    assert (agent_record["sessionId"], agent_record["agentId"]) == ("session", "agent")
    for record in (fork_record, agent_record):
        assert record["replacements"] == parent_record["replacements"]
        assert record["frozen"] == parent_record["frozen"]


def test_a_grandchild_finds_every_file(tmp_path: Path) -> None:
    """S9: results of all ancestors are found where they were stored, also after reopening."""
    session = opened(tmp_path)
    first = turn("Fetch", t1=HUGE)
    enforce(session, first)
    child = session.fork("child")
    second = [*first, *turn("Fetch", t2=HUGE)]
    enforce(child, second)
    grandchild = child.fork("grandchild")
    third = [*second, *turn("Fetch", t3=HUGE)]
    sent = enforce(grandchild, third)
    for opened_anew in (grandchild, opened(tmp_path, "grandchild")):
        assert enforce(opened_anew, third) == sent
        for name, owner in (("t1", "session"), ("t2", "child"), ("t3", "grandchild")):
            expected = tmp_path / owner / "tool-results" / f"{name}.txt"
            assert opened_anew.result_path(name) == expected
            assert expected.read_text() == HUGE


@pytest.mark.parametrize("makes_parent_use_it", [False, True])
def test_an_existing_session_is_refused(tmp_path: Path, *, makes_parent_use_it: bool) -> None:
    """R7: a fork never takes over a session that is there, whatever there is of it."""
    other = opened(tmp_path, "other")
    messages = turn("Fetch", t1=HUGE if makes_parent_use_it else "small")
    enforce(other, messages)
    before = {path: path.read_bytes() for path in tmp_path.rglob("*") if path.is_file()}
    with pytest.raises(ConfigError, match=r"session_id \(argument\) exists already: 'other'"):
        opened(tmp_path).fork("other")
    assert {path: path.read_bytes() for path in before} == before


def test_an_existing_subagent_is_refused(tmp_path: Path) -> None:
    """R7: the same for a sub-agent, also one that another program has begun."""
    session = opened(tmp_path)
    session.subagent("one")
    folder = session.directory / "subagents"
    (folder / "agent-two.jsonl").write_text('{"type":"user"}\n')
    for agent_id in ("one", "two"):
        with pytest.raises(ConfigError, match=f"agent_id .argument. exists already: '{agent_id}'"):
            session.subagent(agent_id)


def test_another_programs_decisions_are_inherited_unapplied(tmp_path: Path, kind: str) -> None:
    """D2: what no text has met yet is in the child's first record, and is applied there."""
    (tmp_path / "session.jsonl").write_text(
        '{"type":"content-replacement","sessionId":"session","replacements":'
        '[{"kind":"tool-result","toolUseId":"t1","replacement":"[stored elsewhere]"}]}\n'
    )
    child = branch(opened(tmp_path), kind, "child")
    sent = enforce(child, turn("Fetch", t1=HUGE))
    assert sent[-1]["content"][0]["content"] == "[stored elsewhere]"


class TestSubagentResume:
    """R7: a sub-agent is resumed by the session's id and its own, its parent filling gaps."""

    def test_its_own_records_come_first(self, tmp_path: Path) -> None:
        """What the sub-agent decided holds, whatever its parent decided since."""
        session = opened(tmp_path)
        agent = session.subagent("agent")
        messages = turn("Fetch", t1=HUGE)
        sent = enforce(agent, messages)
        agent.close()
        resumed = opened(tmp_path, agent_id="agent", parent=session)
        assert enforce(resumed, messages) == sent

    def test_gaps_are_filled_for_ids_that_occur(self, tmp_path: Path) -> None:
        """Without a first record of the parent's decisions, its live replacements count."""
        session = opened(tmp_path)
        shared = turn("Fetch", t1=HUGE)
        enforce(session, turn("Fetch", t9=HUGE))
        sent = enforce(session, shared)
        resumed = opened(tmp_path, agent_id="agent", parent=session)
        assert enforce(resumed, shared) == sent
        assert set(resumed.state.replacements) == {"t1"}
        again = opened(tmp_path, agent_id="agent", parent=ContentReplacementState())
        assert enforce(again, shared) == sent

    def test_another_programs_record_of_its_own_comes_first(self, tmp_path: Path) -> None:
        """D2: what its own transcript says about an id stands before what its parent expects."""
        line = (
            '{"type":"content-replacement","replacements":'
            '[{"kind":"tool-result","toolUseId":"t1","replacement":"[%s]"}]}\n'
        )
        (tmp_path / "session.jsonl").write_text(line % "of the parent")
        folder = tmp_path / "session" / "subagents"
        folder.mkdir(parents=True)
        (folder / "agent-x.jsonl").write_text(line % "its own")
        agent = opened(tmp_path, agent_id="x", parent=opened(tmp_path))
        sent = enforce(agent, turn("Fetch", t1=HUGE))
        assert sent[-1]["content"][0]["content"] == "[its own]"

    def test_gaps_are_filled_after_a_list_that_is_none(self, tmp_path: Path) -> None:
        """A first call that is refused takes nothing from the next one."""
        session = opened(tmp_path)
        shared = turn("Fetch", t1=HUGE)
        sent = enforce(session, shared)
        resumed = opened(tmp_path, agent_id="agent", parent=session)
        with pytest.raises(InvalidMessageError):
            resumed.enforce([*shared, 5])
        assert enforce(resumed, shared) == sent
        assert resumed.report.replaced == 0

    def test_no_gap_is_filled_where_the_parent_began_it(self, tmp_path: Path) -> None:
        """What the parent decided after the sub-agent began is not its business."""
        session = opened(tmp_path)
        enforce(session, turn("Fetch", t0=HUGE))
        session.subagent("agent").close()
        enforce(session, turn("Fetch", t1=HUGE))
        resumed = opened(tmp_path, agent_id="agent", parent=session)
        enforce(resumed, turn("Fetch", t1="small again"))
        assert set(resumed.state.replacements) == {"t0"}

    def test_a_foreign_subagent_transcript_is_only_read(self, tmp_path: Path) -> None:
        """R1: records of a sub-agent whose file another program owns go to the sidecar."""
        session = opened(tmp_path)
        folder = session.directory / "subagents"
        folder.mkdir(parents=True)
        foreign = folder / "agent-x.jsonl"
        foreign.write_text('{"type":"user","isSidechain":true,"agentId":"x"}\n')
        agent = opened(tmp_path, agent_id="x", parent=session)
        messages = turn("Fetch", t1=HUGE)
        sent = enforce(agent, messages)
        assert foreign.read_text() == '{"type":"user","isSidechain":true,"agentId":"x"}\n'
        assert agent.transcript_path == session.directory / "content-replacements.jsonl"
        resumed = opened(tmp_path, agent_id="x", parent=session)
        assert enforce(resumed, messages) == sent
        assert opened(tmp_path).state == ContentReplacementState()

    def test_a_parent_needs_an_agent(self, tmp_path: Path) -> None:
        """A parent without an agent id is a mistake of the caller."""
        with pytest.raises(ConfigError, match="parent"):
            opened(tmp_path, parent=ContentReplacementState())


def test_a_fork_knows_what_another_process_decided(tmp_path: Path) -> None:
    """R6, R7: the log is read before its decisions are inherited."""
    session, other = opened(tmp_path), opened(tmp_path)
    messages = turn("Fetch", t1=HUGE)
    sent = enforce(other, messages)
    assert enforce(session.fork("child"), messages) == sent


def test_a_gated_result_stays_what_it_is_in_a_fork(tmp_path: Path, kind: str) -> None:
    """G0, R7: the gate's decisions are inherited like any other."""
    session = opened(tmp_path)
    small = gate(session, res("t1", HUGE))
    child = branch(session, kind, "child")
    assert gate(child, res("t1", HUGE)) == small
    messages = [answer(), msg(small)]
    assert enforce(child, messages) == messages
    assert read_reference(small["content"]).path == session.result_path("t1")
    assert is_reference(small["content"])
