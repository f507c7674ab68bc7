from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import pytest

from tests.builders import (
    digest_of,
    enforce,
    gate,
    is_reference,
    msg,
    read_transcript,
    res,
    turn,
)
from toolbudget import ContentReplacementState, Limits, Session

if TYPE_CHECKING:
    from pathlib import Path


HUGE = 210_000 * "a"


def reopen(root: Path, **options: Any) -> Session:  # noqa: ANN401 - passed on
    """Open the session, or open it again."""
    return Session.open(root, "session", durability="process", **options)


def fingerprint(text: str) -> list[object]:
    """Say D1's fingerprint a second time."""
    return [len(text), digest_of(text.encode("utf-8", "surrogatepass"))]


def foreign_record(*entries: dict[str, object], **others: object) -> bytes:
    """Make a record as another program writes it: without fingerprints and checksum."""
    record = {"type": "content-replacement", **others, "replacements": entries}
    return json.dumps(record).encode() + b"\n"


def entry(tool_use_id: str, replacement: str) -> dict[str, object]:
    """Make one entry of such a record."""
    return {"kind": "tool-result", "toolUseId": tool_use_id, "replacement": replacement}


def test_adopting_follows_foreign_records(root: Path) -> None:
    """R3, D2: results that another program has replaced follow its record, not the mark."""
    root.mkdir()
    (root / "session.jsonl").write_bytes(foreign_record(entry("t1", "their reference")))
    messages = turn("Fetch", t1=HUGE, t2=HUGE)
    with reopen(root) as session:
        session.mark_seen(messages)
        [_, sent] = enforce(session, messages)
        assert sent["content"][0]["content"] == "their reference"
        assert sent["content"][1]["content"] == HUGE


@pytest.mark.parametrize("uses_gate", [True, False])
def test_foreign_records_match_by_id_once(root: Path, *, uses_gate: bool) -> None:
    """D2: at their first application they are bound to the text, from then on D1 holds."""
    root.mkdir()
    foreign = foreign_record(entry("t1", "their reference"), sessionId="session")
    (root / "session.jsonl").write_bytes(foreign)
    block = res("t1", "a text that is longer than that")
    other = res("t1", "another text, also longer than that")
    with reopen(root) as session:
        if uses_gate:
            assert gate(session, block)["content"] == "their reference"
            assert gate(session, other) is other
        else:
            [sent] = enforce(session, [msg(block, other)])
            contents = [one["content"] for one in sent["content"]]
            assert contents == ["their reference", other["content"]]
        assert (root / "session.jsonl").read_bytes() == foreign
    with reopen(root) as session:
        assert gate(session, other) is other
        assert gate(session, block)["content"] == "their reference"
    [_, record, *_] = read_transcript(root / "session" / "content-replacements.jsonl")
    [recorded] = record["replacements"]
    assert [recorded["size"], recorded["hash"]] == fingerprint(block["content"])


@pytest.mark.parametrize(
    ("replacement", "text"),
    [
        pytest.param("as long", "as long", id="as-long"),
        pytest.param("longer than the text", "text", id="longer"),
        pytest.param(16_385 * "r", HUGE, id="too-long-for-a-reference"),
    ],
)
def test_foreign_records_that_gain_nothing_are_not_applied(
    root: Path, replacement: str, text: str
) -> None:
    """D2: nor are replacements that are too long to be references."""
    root.mkdir()
    (root / "session.jsonl").write_bytes(foreign_record(entry("t1", replacement)))
    block = res("t1", text)
    with reopen(root, limits=Limits(tools={"Fetch": 10**9}, max_message_chars=10**9)) as session:
        assert gate(session, block) is block
        messages = [msg(block)]
        assert session.enforce(messages) is messages


def test_the_last_foreign_record_counts(root: Path) -> None:
    """R3: for two records of one id without fingerprints, it is the later one."""
    root.mkdir()
    (root / "session.jsonl").write_bytes(
        foreign_record(entry("t1", "first")) + foreign_record(entry("t1", "second"))
    )
    with reopen(root) as session:
        assert gate(session, res("t1", "a longer text"))["content"] == "second"


def test_fingerprints_of_foreign_records_mean_nothing(root: Path) -> None:
    """D2: a record without checksum is matched by id alone, whatever else it says."""
    root.mkdir()
    one = {**entry("t1", "short"), "size": 5, "hash": 32 * "0", "file": "../../x"}
    (root / "session.jsonl").write_bytes(foreign_record(one, frozen=[["t2", *fingerprint(HUGE)]]))
    with reopen(root) as session:
        assert gate(session, res("t1", "a longer text"))["content"] == "short"
        assert session.result_path("t1") is None
        assert is_reference(gate(session, res("t2", HUGE))["content"])


def test_a_reference_is_not_taken_for_the_original(tmp_path: Path) -> None:
    """D2, S8: a text that is a reference never gets what was recorded for its id alone."""
    reference = f"<persisted-output>\n{900 * 'x'}\n</persisted-output>"
    entry = {"kind": "tool-result", "toolUseId": "t1", "replacement": "[gone]"}
    record = {"type": "content-replacement", "sessionId": "session", "replacements": [entry]}
    (tmp_path / "session.jsonl").write_text(json.dumps(record) + "\n")
    session = reopen(tmp_path)
    block = res("t1", reference)
    assert session.gate(block, tool_name="Fetch") is block
    assert session.enforce([msg(block)]) == [msg(block)]


def test_a_long_foreign_replacement_never_waits() -> None:
    """D2: a replacement of more than 16,384 characters is no other program's, in a state too."""
    unapplied = {"t1": 16_384 * "r", "t2": 16_385 * "r"}
    text = json.dumps({"version": 1, "decisions": [], "unapplied": unapplied})
    assert list(ContentReplacementState.from_json(text).unapplied) == ["t1"]
