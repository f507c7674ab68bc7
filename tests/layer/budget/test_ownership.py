from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from tests.builders import (
    enforce,
    files_below,
    read_transcript,
    turn,
)
from toolbudget import (
    Session,
    TranscriptError,
)

if TYPE_CHECKING:
    from pathlib import Path


HUGE = 210_000 * "a"


def test_a_foreign_transcript_is_only_read(root: Path) -> None:
    """R1: a transcript of another program is never written; our records stand beside it."""
    root.mkdir()
    foreign = root / "session.jsonl"
    lines = b'{"type":"user","message":{"role":"user","content":"hi"},"uuid":"u1"}\n{"torn'
    foreign.write_bytes(lines)
    messages = turn("Fetch", t1=HUGE, t2="small")
    with Session.open(root, "session", durability="process") as session:
        assert session.transcript_path == root / "session" / "content-replacements.jsonl"
        assert not session.transcript_path.exists()
        sent = enforce(session, messages)
        header, record = read_transcript(session.transcript_path)
        assert header["sessionId"] == record["sessionId"] == "session"
    assert foreign.read_bytes() == lines
    with Session.open(root, "session", durability="process") as session:
        assert enforce(session, messages) == sent


def test_a_sidecar_on_demand(root: Path) -> None:
    """R1: a host may keep our records apart from the start."""
    messages = turn("Fetch", t1=HUGE)
    with Session.open(root, "session", transcript="sidecar", durability="process") as session:
        assert session.transcript_path == root / "session" / "content-replacements.jsonl"
        sent = enforce(session, messages)
    assert "session.jsonl" not in files_below(root)
    with Session.open(root, "session", durability="process") as session:
        assert enforce(session, messages) == sent


@pytest.mark.parametrize("content", [b"", b"\n\n", b"\0\0\0\n", b" \r\n"])
def test_an_empty_transcript_is_ours(root: Path, content: bytes) -> None:
    """R1: a file that holds nothing is begun with our header."""
    root.mkdir()
    (root / "session.jsonl").write_bytes(content)
    messages = turn("Fetch", t1=HUGE)
    with Session.open(root, "session", durability="process") as session:
        assert session.transcript_path == root / "session.jsonl"
        sent = enforce(session, messages)
    assert (root / "session.jsonl").read_bytes().startswith(content)
    with Session.open(root, "session", durability="process") as session:
        assert enforce(session, messages) == sent


def test_a_program_that_begins_to_write_is_noticed(root: Path) -> None:
    """R1: the owner of the file is checked at each append, not only at opening."""
    with Session.open(root, "session", durability="process") as session:
        root.mkdir()
        foreign = b'{"type":"user"}\n'
        (root / "session.jsonl").write_bytes(foreign)
        messages = turn("Fetch", t1=HUGE)
        sent = enforce(session, messages)
    assert (root / "session.jsonl").read_bytes() == foreign
    with Session.open(root, "session", durability="process") as session:
        assert enforce(session, messages) == sent
        assert session.report.replaced == 0


def test_a_transcript_that_is_no_file(root: Path) -> None:
    """F1: what cannot be read at opening is an error that names the path."""
    (root / "session.jsonl").mkdir(parents=True)
    with pytest.raises(TranscriptError, match=r"session\.jsonl"):
        Session.open(root, "session")
