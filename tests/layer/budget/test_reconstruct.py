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
    Transcript,
    apply_tool_result_budget,
    create_content_replacement_state,
    enforce_tool_result_budget,
    provision_content_replacement_state,
    reconstruct_content_replacement_state,
)

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
