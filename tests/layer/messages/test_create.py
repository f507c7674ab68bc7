"""Making records."""

from __future__ import annotations

import datetime as dt
import json
import uuid
from typing import TYPE_CHECKING

import pytest

from toolbudget import InvalidMessageError
from toolbudget.messages import create_assistant_message, create_user_message
from toolbudget.messages.types import UserRecord

if TYPE_CHECKING:
    from pathlib import Path


def test_a_user_record_has_the_keys_of_recorded_sessions() -> None:
    """Every option has its own key, in the spelling of the transcripts."""
    record = create_user_message(
        "hello",
        is_meta=True,
        is_visible_in_transcript_only=True,
        is_virtual=False,
        is_compact_summary=True,
        summarize_metadata={"messagesSummarized": 4},
        tool_use_result={"stdout": "x"},
        mcp_meta={"_meta": {}},
        uuid="5db3a478-7e8c-4059-92f7-947291cfa43a",
        timestamp="2026-02-21T17:27:19.697Z",
        image_paste_ids=(1, 2),
        source_tool_assistant_uuid="00631b91-0000-4000-8000-000000000000",
        permission_mode="plan",
        origin={"kind": "human"},
    )
    assert record == {
        "type": "user",
        "message": {"role": "user", "content": "hello"},
        "isMeta": True,
        "isVisibleInTranscriptOnly": True,
        "isVirtual": False,
        "isCompactSummary": True,
        "summarizeMetadata": {"messagesSummarized": 4},
        "toolUseResult": {"stdout": "x"},
        "mcpMeta": {"_meta": {}},
        "uuid": "5db3a478-7e8c-4059-92f7-947291cfa43a",
        "timestamp": "2026-02-21T17:27:19.697Z",
        "imagePasteIds": [1, 2],
        "sourceToolAssistantUUID": "00631b91-0000-4000-8000-000000000000",
        "permissionMode": "plan",
        "origin": {"kind": "human"},
    }


def test_what_is_not_given_has_no_key() -> None:
    """A plain message has an id and a time of its own, and nothing else."""
    record = create_user_message([{"type": "text", "text": "a"}])
    assert set(record) == {"type", "message", "uuid", "timestamp"}
    assert uuid.UUID(record["uuid"]).version == 4
    assert record["uuid"] != create_user_message("a")["uuid"]
    moment = dt.datetime.fromisoformat(record["timestamp"])
    assert abs(dt.datetime.now(dt.UTC) - moment) < dt.timedelta(minutes=1)


def test_times_and_ids_may_be_objects() -> None:
    """A time in any zone is written as UTC with milliseconds."""
    zone = dt.timezone(dt.timedelta(hours=2))
    name = uuid.UUID(int=7)
    record = create_user_message(
        "a", timestamp=dt.datetime(2026, 1, 2, 3, 4, 5, 678_901, zone), uuid=name
    )
    assert record["timestamp"] == "2026-01-02T01:04:05.678Z"
    assert record["uuid"] == str(name)
    with pytest.raises(InvalidMessageError, match="time zone"):
        create_user_message("a", timestamp=dt.datetime(2026, 1, 2))  # noqa: DTZ001


def test_the_keys_of_recorded_user_messages_are_known(corpus: Path) -> None:
    """What recorded sessions call the options is what we call them."""
    seen: set[str] = set()
    for source in (corpus / "claude_code").glob("*.jsonl"):
        for line in source.read_bytes().split(b"\n"):
            if b'"type":"user"' in line.replace(b" ", b""):
                seen |= json.loads(line).keys()
    ours = UserRecord.__annotations__.keys()
    assert {
        "isMeta",
        "isVisibleInTranscriptOnly",
        "isCompactSummary",
        "toolUseResult",
        "uuid",
        "timestamp",
        "sourceToolAssistantUUID",
        "permissionMode",
        "origin",
        "parentUuid",
        "isSidechain",
    } <= seen & ours


def test_an_assistant_record() -> None:
    """A text is one block, an empty one the placeholder; blocks are taken as they are."""
    assert create_assistant_message("hi")["message"]["content"] == [{"type": "text", "text": "hi"}]
    placeholder = [{"type": "text", "text": "(no content)"}]
    assert create_assistant_message("")["message"]["content"] == placeholder
    blocks = [{"type": "tool_use", "id": "t", "name": "Bash", "input": {}}]
    record = create_assistant_message(blocks, usage={"output_tokens": 5}, is_virtual=True)
    assert record["message"]["content"] == blocks
    assert record["message"]["usage"] == {"output_tokens": 5}
    assert record["isVirtual"] is True
    assert (record["type"], record["message"]["role"]) == ("assistant", "assistant")
    plain = create_assistant_message("hi")
    assert "isVirtual" not in plain
    assert sum(plain["message"]["usage"].values()) == 0
    assert plain["message"]["id"] != create_assistant_message("hi")["message"]["id"]


@pytest.mark.parametrize("content", [None, 7, {"type": "text"}, b"bytes", ["loose"]])
def test_content_of_another_kind_is_an_error(content: object) -> None:
    """The error shows the value."""
    for create in (create_user_message, create_assistant_message):
        with pytest.raises(InvalidMessageError):
            create(content)  # type: ignore[arg-type]
