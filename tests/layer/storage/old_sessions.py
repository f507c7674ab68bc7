"""Sessions of some age on disk, and what a clean-up makes of them."""

from __future__ import annotations

import os
import time
from typing import TYPE_CHECKING

from toolbudget import Session
from toolbudget.storage.cleanup import carry_out, plan_cleanup
from toolbudget.storage.inspection import find_sessions, inspect_session

if TYPE_CHECKING:
    from pathlib import Path

TEXT = "a line of output\n" * 5000
DAY_S = 86_400.0


def result(tool_use_id: str = "t1") -> dict[str, object]:
    """Make a result that is over every limit."""
    return {"type": "tool_result", "tool_use_id": tool_use_id, "content": TEXT}


def make(root: Path, name: str, *, days: float = 0, ids: tuple[str, ...] = ("t1",)) -> None:
    """Let a session replace results, and let it have been so many days ago."""
    with Session.open(root, name, durability="process") as session:
        for tool_use_id in ids:
            session.gate(result(tool_use_id), tool_name="Fetch")
    age(root, name, days)


def fork(root: Path, parent: str, child: str, *, days: float = 0) -> None:
    """Fork a session, as if so many days ago."""
    with Session.open(root, parent, durability="process") as session:
        session.fork(child).close()
    age(root, child, days)
    then_s = time.time() - days * DAY_S
    os.utime(root / parent / "session.lock", (then_s, then_s))


def age(root: Path, name: str, days: float) -> None:
    """Let every file of a session be so many days old."""
    then_s = time.time() - days * DAY_S
    for path in [root / f"{name}.jsonl", *(root / name).rglob("*")]:
        if path.is_file():
            os.utime(path, (then_s, then_s))


def files_of(root: Path, name: str) -> list[tuple[Path, bytes]]:
    """Give the transcript and every file of a session."""
    paths = [root / f"{name}.jsonl", *sorted((root / name).rglob("*"))]
    return [(path, path.read_bytes()) for path in paths if path.is_file()]


def names(root: Path) -> list[str]:
    """Give the sessions that are left."""
    return [place.name for place in find_sessions(root)[1]]


def go(root: Path, **limits: float) -> list[str | None]:
    """Plan and carry out, and give what became of each."""
    return [one.problem for one in carry_out(plan_cleanup(root, **limits))]  # type: ignore[arg-type]


def dangling(root: Path) -> list[str]:
    """Give the sessions whose records name a result that is gone."""
    return [
        place.name
        for place in find_sessions(root)[1]
        if any(found.kind.severity == "error" for found in inspect_session(place).findings)
    ]
