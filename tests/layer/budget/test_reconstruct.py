from __future__ import annotations

from typing import TYPE_CHECKING, Any

from tests.builders import (
    Message,
    answer,
    digest_of,
    read_transcript,
    turn,
)
from toolbudget import (
    ContentReplacementRecord,
    MemoryStore,
    Session,
    Transcript,
    apply_tool_result_budget,
    create_content_replacement_state,
    enforce_tool_result_budget,
    provision_content_replacement_state,
    reconstruct_content_replacement_state,
    reconstruct_for_subagent_resume,
)
from toolbudget._core.pure import Fingerprint, Key

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path


HUGE = 210_000 * "a"


def test_provisioning_a_state() -> None:
    """R8: new, resumed, or none when the feature is off."""
    messages = turn("Fetch", t1="a longer text")
    entry = ContentReplacementRecord(
        kind="tool-result", tool_use_id="t1", replacement="short", size=None, hash=None
    )
    assert provision_content_replacement_state() == create_content_replacement_state()
    assert provision_content_replacement_state(messages, enabled=False) is None
    resumed = provision_content_replacement_state(messages, [entry])
    assert resumed is not None
    assert dict(resumed.replacements) == {"t1": "short"}


def reconstructed_ids(messages: Sequence[Message], records: Sequence[Any]) -> set[str]:
    """Give the ids that a rebuilt state has seen."""
    return set(reconstruct_content_replacement_state(messages, records).seen_ids)


def test_reconstructing_by_the_rule() -> None:
    """R3, R4: with records, what a later answer follows was seen; the last message is open."""
    messages = [*turn("Fetch", t1=HUGE), *turn("Fetch", t2=HUGE)]
    record = {"type": "content-replacement", "replacements": []}
    assert reconstructed_ids(messages, [record]) == {"t1"}
    assert reconstructed_ids([*messages, answer()], [record]) == {"t1", "t2"}
    assert reconstructed_ids(messages, []) == set()


def test_reconstructing_from_records_of_any_form(tmp_path: Path) -> None:
    """R8: records of a transcript, single entries, and records that were loaded as plain JSON."""
    transcript = Transcript(tmp_path / "mine.jsonl", session_id="mine", durability="process")
    state = create_content_replacement_state()
    messages = turn("Fetch", t1=HUGE, t2="small")
    done = enforce_tool_result_budget(messages, state, store=MemoryStore())
    apply_tool_result_budget(
        messages, create_content_replacement_state(), store=MemoryStore(), transcript=transcript
    )
    plain = read_transcript(transcript.path)[1:]
    assert reconstruct_content_replacement_state(messages, transcript.records()) == state
    assert reconstruct_content_replacement_state(messages, plain) == state
    entries = done.newly_replaced
    assert dict(reconstruct_content_replacement_state([], entries).replacements) == dict(
        state.replacements
    )


def test_inherited_replacements_fill_gaps() -> None:
    """R7: a parent's replacements count for ids that occur, unless there is a decision already."""
    parent = create_content_replacement_state()
    enforce_tool_result_budget(
        [*turn("Fetch", t1=HUGE), *turn("Fetch", t2=HUGE)], parent, store=MemoryStore()
    )
    messages = turn("Fetch", t1=HUGE)
    state = reconstruct_content_replacement_state(messages, [], inherited=parent)
    assert dict(state.replacements) == {"t1": parent.replacements["t1"]}
    own = ContentReplacementRecord(
        kind="tool-result",
        tool_use_id="t1",
        replacement="own",
        size=len(HUGE),
        hash=digest_of(HUGE.encode()),
    )
    state = reconstruct_content_replacement_state(messages, [own], inherited=parent)
    assert dict(state.replacements) == {"t1": "own"}


class TestSubagentResume:
    """R7, R8: a sub-agent of a host that owns its transcripts goes on with what it has sent."""

    def test_a_parent_fills_gaps(self) -> None:
        """Without a record of its own, what the parent replaced holds for ids that occur."""
        parent = create_content_replacement_state()
        shared = turn("Fetch", t1=HUGE, t2="small")
        enforce_tool_result_budget([*shared, *turn("Fetch", t3=HUGE)], parent, store=MemoryStore())
        state = reconstruct_for_subagent_resume(parent, shared, [])
        assert dict(state.replacements) == {"t1": parent.replacements["t1"]}
        assert state.seen_ids == {"t1"}

    def test_its_own_records_come_first(self) -> None:
        """A decision of its own, with a fingerprint or not, stands before the parent's."""
        parent = create_content_replacement_state()
        messages = turn("Fetch", t1=HUGE)
        enforce_tool_result_budget(messages, parent, store=MemoryStore())
        for size, text_hash in ((len(HUGE), digest_of(HUGE.encode())), (None, None)):
            own = ContentReplacementRecord("tool-result", "t1", "own", size=size, hash=text_hash)
            state = reconstruct_for_subagent_resume(parent, messages, [own])
            key = Key("t1", Fingerprint(len(HUGE), digest_of(HUGE.encode())))
            assert state.decisions[key] == "own", (size, text_hash)

    def test_another_programs_record_of_its_own_comes_first(self) -> None:
        """D2: of two records that no text has met yet, the sub-agent's own is the one."""
        parent = create_content_replacement_state()
        parent.expect("t1", "the parent's")
        own = ContentReplacementRecord("tool-result", "t1", "its own", size=None, hash=None)
        state = reconstruct_for_subagent_resume(parent, turn("Fetch", t1=HUGE), [own])
        assert dict(state.replacements) == {"t1": "its own"}

    def test_nothing_is_filled_where_the_parent_began_it(self, tmp_path: Path) -> None:
        """With its parent's decisions as first record, what the parent decided later is not its."""
        session = Session.open(tmp_path, "session", durability="process")
        session.enforce(turn("Fetch", t0=HUGE))
        agent = session.subagent("agent")
        session.enforce(turn("Fetch", t1=HUGE))
        records = list(Transcript(agent.transcript_path, durability="process").records())
        messages = [*turn("Fetch", t0=HUGE), *turn("Fetch", t1=HUGE)]
        state = reconstruct_for_subagent_resume(session.state, messages, records)
        assert set(session.state.replacements) == {"t0", "t1"}
        assert set(state.replacements) == {"t0"}
        assert state.replacements["t0"] == session.state.replacements["t0"]

    def test_the_same_state_as_an_opened_sub_agent(self, tmp_path: Path) -> None:
        """The function and ``Session.open(agent_id=, parent=)`` agree."""
        session = Session.open(tmp_path, "session", durability="process")
        messages = [*turn("Fetch", t0=HUGE), *turn("Fetch", t1=HUGE, t2="small"), answer()]
        session.enforce(messages)
        with Session.open(tmp_path, "session", agent_id="lost", parent=session) as opened:
            path = opened.transcript_path
            opened.enforce(messages)
            state = opened.state
        records = Transcript(path, durability="process").records()
        assert reconstruct_for_subagent_resume(session.state, messages, records) == state
