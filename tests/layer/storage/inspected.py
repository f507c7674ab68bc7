"""Sessions for the checks to look at, and readers of what was found."""

from __future__ import annotations

from typing import TYPE_CHECKING

import xxhash

from toolbudget.storage.inspection import SessionPlace, SessionReport, inspect_session
from toolbudget.storage.record_log import RecordLog
from toolbudget.storage.records import ContentReplacementRecord, content_replacement
from toolbudget.storage.store import DirectoryStore

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

    from toolbudget.storage.inspection import Item

__all__ = ["TEXT", "codes", "framed", "items", "record_of", "report_of", "results_of", "store"]

TEXT = "a line\n" * 500
TEXT_HASH = "0123456789abcdef0123456789abcdef"


def framed(path: Path | str) -> str:
    """Give a replacement as the model is shown it."""
    return (
        f"<persisted-output>\nOutput too large (3.4KB). Full output saved to: {path}\n"
        "\nPreview (first 6 bytes):\na line\n...\n</persisted-output>"
    )


def results_of(root: Path, session_id: str = "s1") -> Path:
    """Give the folder of a session's results."""
    return root / session_id / "tool-results"


def record_of(
    path: Path,
    session_id: str = "s1",
    *,
    name: str | None = None,
    replacement: str | None = None,
    **keys: str,
) -> Mapping[str, object]:
    """Make the record about one stored file, whose bytes are those of ``TEXT``."""
    entry = ContentReplacementRecord(
        kind="tool-result",
        tool_use_id=path.stem,
        replacement=framed(path) if replacement is None else replacement,
        size=len(TEXT),
        hash=TEXT_HASH,
        file=path.name if name is None else name,
        file_digest=xxhash.xxh3_128_hexdigest(TEXT.encode()),
    )
    record = content_replacement(session_id=session_id, timestamp="t", replacements=[entry])
    return record | keys


def store(root: Path, *ids: str, session_id: str = "s1") -> Path:
    """Store and record results as a session does, and give their folder."""
    directory = results_of(root, session_id)
    results = DirectoryStore(directory, durability="process", anchor=root)
    log = RecordLog(root, session_id, durability="process")
    for tool_use_id in ids:
        stored = results.put(tool_use_id, TEXT)
        with log.locked() as locked:
            locked.append(record_of(stored.path, session_id), sync=False)
    return directory


def report_of(root: Path, session_id: str = "s1") -> SessionReport:
    """Check a session on the real file system."""
    return inspect_session(SessionPlace(root, session_id))


def codes(report: SessionReport) -> list[str]:
    """Give the kinds of what was found."""
    return [finding.kind.code for finding in report.findings]


def items(report: SessionReport, code: str) -> list[Item]:
    """Give the places of one kind of finding."""
    return [
        item for finding in report.findings if finding.kind.code == code for item in finding.items
    ]
