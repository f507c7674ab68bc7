"""Clearing results and cutting out messages, as a session records and replays it."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any, Literal

import pytest

from tests.builders import answer, call, enforce, msg, read_transcript, res, results_in, text_of
from toolbudget import ContentReplacementState, Limits, Session, StoreError, Transcript
from toolbudget.budget.context_edits import ContextEdit, span_digest
from toolbudget.pipeline import OldResult, Pipeline
from toolbudget.storage.inspection import find_sessions, inspect_session

if TYPE_CHECKING:
    from pathlib import Path

TEXT = "line of output\n" * 80
OLD = OldResult("t1", TEXT)
HISTORY = [
    {"role": "user", "content": "go"},
    answer(call("t1", "Bash"), message_id="m1"),
    msg(res("t1", TEXT)),
    answer(call("t2", "Bash"), message_id="m2"),
    msg(res("t2", "more " * 300)),
]


def opened(root: Path, **options: Any) -> Session:  # noqa: ANN401 - passed on
    """Open the session."""
    return Session.open(root, "session", durability="process", **options)


def shown(messages: list[Any], tool_use_id: str = "t1") -> str:
    """Give the text of one result."""
    return {block["tool_use_id"]: text_of(block["content"]) for block in results_in(messages)}[
        tool_use_id
    ]


def cut_of(messages: list[Any], text: str = "gone") -> ContextEdit:
    """Make an edit that cuts out the first round."""
    return ContextEdit(
        kind="snip",
        start=1,
        count=2,
        digest=span_digest(messages[1:3]),
        messages=({"role": "user", "content": text},),
    )


@pytest.mark.parametrize("history", ["verified", "append_only"])
@pytest.mark.parametrize("ephemeral", [False, True])
def test_every_way_of_asking_gives_the_cleared_text(
    tmp_path: Path, history: Literal["verified", "append_only"], *, ephemeral: bool
) -> None:
    """Lists, bodies and the gate, in both modes, whatever was known of the turn before."""
    session = opened(tmp_path, history=history, ephemeral=ephemeral)
    body = json.dumps({"messages": HISTORY}).encode()
    for _ in range(2):
        assert shown(enforce(session, HISTORY)) == TEXT
        assert session.enforce_json(body) == body
    cleared = session.clear_results([OLD]).texts[0]
    for _ in range(2):
        assert shown(enforce(session, HISTORY)) == cleared
        assert shown(json.loads(session.enforce_json(body))["messages"]) == cleared
    assert session.gate(HISTORY[2]["content"][0], tool_name="Bash")["content"] == cleared
    assert shown(enforce(session, HISTORY), "t2") == "more " * 300


def test_another_process_adopts_it(tmp_path: Path) -> None:
    """Two open sessions on one record agree; whoever is second clears nothing again."""
    first, second = opened(tmp_path), opened(tmp_path)
    enforce(first, HISTORY)
    enforce(second, HISTORY)
    cleared = first.clear_results([OLD]).texts[0]
    first.record_edit(cut_of(HISTORY))
    enforce(second, [*HISTORY, *[answer(call("t3", "Bash")), msg(res("t3", "new"))]])
    assert shown(enforce(second, HISTORY)) == cleared
    assert second.clear_results([OldResult("t1", cleared)]).texts == {}
    assert second.context_edits == first.context_edits


def test_all_of_it_is_recorded_again_if_the_file_is_gone(tmp_path: Path) -> None:
    """A later resume finds what this process knew."""
    session = opened(tmp_path)
    enforce(session, HISTORY)
    cleared = session.clear_results([OLD]).texts[0]
    session.store_results([OldResult("t2", "more " * 300)])
    session.record_edit(cut_of(HISTORY), snapshot={"seen": 1})
    session.transcript_path.unlink()
    enforce(session, [*HISTORY, answer(call("t3", "Bash")), msg(res("t3", "new"))])
    resumed = opened(tmp_path)
    assert resumed.state == session.state
    assert resumed.context_edits == session.context_edits
    assert resumed.collapse_snapshot == {"seen": 1}
    assert shown(enforce(resumed, HISTORY)) == cleared
    assert resumed.result_path("t2") == session.result_path("t2") is not None
    _, [place] = find_sessions(tmp_path)
    assert inspect_session(place).findings == ()


def test_records_of_a_foreign_transcript_go_to_the_sidecar(tmp_path: Path) -> None:
    """Edits too, and the other program's file stays what it is."""
    foreign = b'{"type":"user","message":{"role":"user","content":"go"}}\n'
    (tmp_path / "session.jsonl").write_bytes(foreign)
    session = opened(tmp_path)
    enforce(session, HISTORY)
    cleared = session.clear_results([OLD]).texts[0]
    session.record_edit(cut_of(HISTORY))
    assert (tmp_path / "session.jsonl").read_bytes() == foreign
    resumed = opened(tmp_path)
    assert shown(enforce(resumed, HISTORY)) == cleared
    assert Pipeline([], session=resumed).run(HISTORY).messages[1]["content"] == "gone"


def test_what_another_version_writes_is_passed_over(tmp_path: Path) -> None:
    """Unknown kinds and malformed edits cost themselves alone, in a state and in a check."""
    session = opened(tmp_path)
    enforce(session, HISTORY)
    session.record_edit(cut_of(HISTORY))
    [*_, last] = read_transcript(session.transcript_path)
    [edit] = last["edits"]
    odd = [
        {**edit, "kind": "fold-2"},
        {**edit, "start": -1},
        {**edit, "count": 0},
        {**edit, "messages": [5]},
        {**edit, "digest": None},
        "snip",
        None,
    ]
    entry = {"kind": "erased", "toolUseId": "t1", "replacement": "x", "size": 5, "hash": "0" * 32}
    with session:
        state = session.state
    transcript = Transcript(session.transcript_path, durability="process")
    record = {**last, "replacements": [entry], "edits": odd}
    transcript.append(record)
    transcript.append({**record, "edits": "none"})
    resumed = opened(tmp_path)
    assert resumed.context_edits == session.context_edits
    assert resumed.state == state
    _, [place] = find_sessions(tmp_path)
    assert inspect_session(place).findings == ()


def test_a_state_is_a_value_with_its_cleared_results(tmp_path: Path) -> None:
    """Clones, JSON and equality know them; the first text stays."""
    session = opened(tmp_path)
    before = session.state
    session.clear_results([OLD])
    state = session.state
    assert state != before
    assert state.clone() == state
    assert ContentReplacementState.from_json(state.to_json()) == state
    [key] = state.decisions
    again = state.clone()
    again.clear(key, "other")
    assert again == state


def test_strict_raises_before_anything_is_cleared(tmp_path: Path) -> None:
    """A failure reaches the host that asked for it."""
    session = opened(tmp_path, strict=True)
    session.directory.mkdir(mode=0o700)
    (session.directory / "tool-results").write_text("in the way")
    with pytest.raises(StoreError):
        session.clear_results([OLD])
    assert session.state.decisions == {}


def test_references_that_name_no_file_stay(tmp_path: Path) -> None:
    """Another program's reference is cleared only if its path is kept."""
    session = opened(tmp_path)
    filler = "\nPreview (first 2KB):\n" + "x" * 400 + "\n</persisted-output>"
    named = "<persisted-output>\nOutput too large (9KB). Full output saved to: /there/t1.txt\n"
    nameless = "<persisted-output>\nOutput was moved away\n"
    results = [OldResult("a", named + filler), OldResult("b", nameless + filler)]
    cleared = session.clear_results(results).texts
    assert cleared.keys() == {0}
    assert "Full output saved to: /there/t1.txt\n" in cleared[0]
    assert not (session.directory / "tool-results").exists()


def test_results_of_every_kind_are_stored(tmp_path: Path) -> None:
    """What leaves the history with images in it can be read too; nothing is nothing to store."""
    session = opened(tmp_path, limits=Limits(max_result_chars=100))
    image = {"type": "image", "source": {"type": "base64", "data": "aGk="}}
    blocks = [image, {"type": "text", "text": "shown"}]
    paths = session.store_results(
        [
            OldResult("t1", "ok"),
            OldResult("t2", blocks),
            OldResult("t3", " "),
            OldResult("t4", None),
        ]
    )
    assert paths.keys() == {"t1", "t2"}
    picture = session.result_path("t2")
    assert picture is not None
    assert json.loads(picture.read_text()) == blocks
    assert session.store_results([OldResult("t1", "ok")]) == {"t1": paths["t1"]}
