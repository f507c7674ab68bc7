"""Records as the tests append them, and as they stand on a line."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Final

from toolbudget.storage.record_log import RecordLog
from toolbudget.storage.records import ContentReplacementRecord, content_replacement, encode_record

if TYPE_CHECKING:
    from collections.abc import Iterable
    from pathlib import Path

    from toolbudget.storage.records import ParsedRecord

HASH: Final = "0123456789abcdef0123456789abcdef"
ENTRY: Final = ContentReplacementRecord(
    kind="tool-result",
    tool_use_id="toolu_1",
    replacement="<persisted-output>\n…\n</persisted-output>",
    size=60_000,
    hash=HASH,
    file="toolu_1.txt",
    file_digest=HASH,
)
LINE: Final = encode_record(
    content_replacement(
        session_id="s1", timestamp="t", replacements=[ENTRY], frozen=[("toolu_2", 5, HASH)]
    )
).removesuffix(b"\n")
FOREIGN_LINE: Final = json.dumps(
    {
        "type": "content-replacement",
        "sessionId": "s1",
        "replacements": [{"kind": "tool-result", "toolUseId": "toolu_9", "replacement": "short"}],
    }
).encode()
MESSAGE: Final = b'{"type":"user","message":{"role":"user","content":"hi"}}\n'


def record(
    name: str, session_id: str | None = "s1", *, agent_id: str | None = None, text: str = "text"
) -> dict[str, object]:
    """Make a record that replaces the result of that name and keeps another."""
    entry = ContentReplacementRecord("tool-result", name, text, 60_000, HASH, f"{name}.txt", HASH)
    return content_replacement(
        session_id=session_id,
        agent_id=agent_id,
        timestamp="2026-01-01T00:00:00Z",
        replacements=[entry],
        frozen=[(f"{name}-kept", 5, HASH)],
    )


def named(records: Iterable[ParsedRecord]) -> list[str]:
    """The names that were given to :func:`record`."""
    return [parsed.replacements[0].tool_use_id for parsed in records]


def append(log: RecordLog, *names: str) -> None:
    """Append a record of session ``s1`` for each name, as a session does."""
    with log.locked() as locked:
        locked.read_tail()
        for name in names:
            locked.append(record(name), sync=True)


def load(root: Path, session_id: str = "s1", agent_id: str | None = None) -> list[str]:
    """The names that a fresh log of a session finds, also while another holds the lock."""
    log = RecordLog(root, session_id, agent_id=agent_id, durability="process")
    return named(log.load(wait_for_writers=False))
