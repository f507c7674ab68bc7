"""Small transcripts, made record by record, and what comes of applying the budget to them."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any, NamedTuple, TypeAlias

__all__ = [
    "Ran",
    "Record",
    "assistant",
    "content_of",
    "other_record",
    "to_lines",
    "user",
    "write",
]

Record: TypeAlias = dict[str, Any]


class Ran(NamedTuple):
    """What came of a command."""

    code: int
    out: str
    err: str

    @property
    def report(self) -> dict[str, Any]:
        """The report that ``--json`` printed."""
        report: dict[str, Any] = json.loads(self.out)
        return report

    @property
    def output(self) -> bytes:
        """The bytes of the output that the report names."""
        return Path(self.report["output"]).read_bytes()

    @property
    def records(self) -> list[Record]:
        """The lines of that output, decoded."""
        return [json.loads(line) for line in self.output.splitlines()]


def assistant(message_id: str, *blocks: Record, **keys: object) -> Record:
    """Make an assistant's record."""
    message = {"role": "assistant", "id": message_id, "content": list(blocks)}
    return {"type": "assistant", "message": message, **keys}


def user(*blocks: object, **keys: object) -> Record:
    """Make a user's record."""
    return {"type": "user", "message": {"role": "user", "content": list(blocks)}, **keys}


def other_record(tool_use_id: str, replacement: str, **keys: object) -> Record:
    """Make the record of another program that replaced a result."""
    entry = {"kind": "tool-result", "toolUseId": tool_use_id, "replacement": replacement}
    return {"type": "content-replacement", "sessionId": "s1", "replacements": [entry], **keys}


def content_of(record: Record, block_index: int = 0) -> object:
    """Give the content of one block of a record."""
    content: object = record["message"]["content"][block_index]["content"]
    return content


def to_lines(*records: object) -> bytes:
    """Write records as JSON lines."""
    return b"".join(json.dumps(record).encode() + b"\n" for record in records)


def write(path: Path, data: bytes) -> Path:
    """Write a file and return where."""
    path.write_bytes(data)
    return path
