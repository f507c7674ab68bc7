"""One conversation whose hosts die one after the other, and what must hold after each death."""

from __future__ import annotations

import fcntl
import json
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from tests.builders import is_reference
from tests.faults.opening import open_session
from tests.faults.workload import (
    LIMITS,
    SESSION_ID,
    Sent,
    history,
    sent_texts,
    violations_after,
)
from toolbudget import Limits

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence
    from pathlib import Path

    from toolbudget import Session

__all__ = [
    "Conversation",
    "held_locks",
    "leftovers",
    "missing_records",
    "records_in",
    "resume_violations",
]

# By these each result of the workload would look different, were it decided anew.
_OTHER_LIMITS: Final = Limits(max_message_chars=100_000, preview_bytes=50)


class _Branch(NamedTuple):
    """A fork or sub-agent that was begun, or was about to be: what it must send again."""

    name: str
    turns: int
    texts: list[str]


class Conversation:
    """The oracle of one root: what has been sent, and what its files held, before a death."""

    def __init__(self, root: Path, *, may_leave_temporary_files: bool = False) -> None:
        """Begin before anything was sent."""
        self.root = root
        self._may_leave_temporary_files = may_leave_temporary_files
        self._sent: list[Sent] = []
        self._errors: list[str] = []
        self._branches: dict[str, _Branch] = {}
        self._logs: dict[Path, bytes] = {}

    @property
    def turns(self) -> int:
        """How many turns have certainly been sent."""
        return self._sent[-1].turn + 1 if self._sent else 0

    def hear(self, *hosts: Sequence[Any]) -> None:
        """Take note of what hosts that ran at the same time have said."""
        for said in hosts:
            main = self._sent[-1] if self._sent else None
            for word in said:
                if "died" in word:
                    self._errors.append(f"exception in the host: {word['died']}")
                if "begins" in word and main is not None:
                    self._note_branch(word["begins"], main)
                if "sent" not in word:
                    continue
                sent = Sent(*word["sent"])
                if word["name"]:
                    self._note_branch(word["name"], sent)
                else:
                    main = sent
                    self._sent.append(sent)
        self._sent.sort(key=lambda sent: len(sent.texts))

    def violations(self) -> list[str]:
        """Say which promises are broken now that its hosts are dead, and go on by two turns."""
        broken = [*self._errors, *self._lost_bytes(), *self._missing_records()]
        broken += held_locks(self.root)
        if not self._may_leave_temporary_files:
            broken += leftovers(self.root)
        broken += self._drift_under_other_limits()
        broken += violations_after(self.root, self._sent, durability="process")
        turns = self.turns + 2
        with self._open() as session:
            for branch in self._branches.values():
                broken += self._branch_violations(session, branch)
            self._sent = [Sent(turns - 1, sent_texts(session.enforce(history(turns))), 0)]
        self._branches.clear()
        # What was appended behind a torn line stands on a line of its own.
        broken += self._missing_records()
        self._logs = _logs(self.root)
        return broken

    def _note_branch(self, name: str, sent: Sent) -> None:
        self._branches[name] = _Branch(name, sent.turn + 1, sent.texts)

    def _lost_bytes(self) -> Iterator[str]:
        """Whatever stood in a log before the host was started still stands there."""
        now = _logs(self.root)
        for path, before in self._logs.items():
            if not now.get(path, b"").startswith(before):
                yield f"{path.name}: bytes lost or changed"

    def _missing_records(self) -> list[str]:
        broken = missing_records(self.root, self._sent[-1].texts if self._sent else [])
        for branch in self._branches.values():
            missing = missing_records(self.root, branch.texts)
            broken += [f"{branch.name}: {violation}" for violation in missing]
        return broken

    def _open(self) -> Session:
        return open_session(self.root, SESSION_ID, limits=LIMITS, durability="process")

    def _drift_under_other_limits(self) -> list[str]:
        if not self._sent:
            return []
        expected = self._sent[-1].texts
        with open_session(
            self.root, SESSION_ID, limits=_OTHER_LIMITS, durability="process"
        ) as session:
            if _resent(session, self.turns) == expected:
                return []
        return ["resumed with other limits: drift"]

    def _branch_violations(self, session: Session, branch: _Branch) -> list[str]:
        """There is all of a fork or sub-agent, or nothing that keeps it from being begun."""
        is_fork = branch.name.startswith("fork")
        folder = self.root if is_fork else self.root / SESSION_ID / "subagents"
        if not (folder / f"{'' if is_fork else 'agent-'}{branch.name}.jsonl").exists():
            (session.fork if is_fork else session.subagent)(branch.name).close()

        def resume() -> Session:
            if is_fork:
                return open_session(self.root, branch.name, limits=LIMITS, durability="process")
            return open_session(
                self.root,
                SESSION_ID,
                agent_id=branch.name,
                parent=session,
                limits=LIMITS,
                durability="process",
            )

        broken = resume_violations(resume, branch.turns, branch.texts)
        return [f"{branch.name}: {violation}" for violation in broken]


def resume_violations(resume: Callable[[], Session], turns: int, expected: list[str]) -> list[str]:
    """Resume twice, going on for a turn in between; what was sent must be sent again."""
    broken = []
    for time in ("first", "second"):
        with resume() as session:
            if _resent(session, turns)[: len(expected)] != expected:
                broken.append(f"{time} time resumed: drift")
            turns += 1
            expected = sent_texts(session.enforce(history(turns)))
    return broken


def _resent(session: Session, turns: int) -> list[str]:
    return sent_texts(session.enforce(history(turns, is_answered=True)))


def held_locks(root: Path) -> list[str]:
    """Name the files below a folder that someone has locked."""
    return [f"{path.name}: lock left" for path in root.rglob("*") if _is_locked(path)]


def leftovers(root: Path) -> list[str]:
    """Name the temporary files below a folder."""
    return [f"{path.name}: temporary file left" for path in root.rglob(".tmp-*")]


def _is_locked(path: Path) -> bool:
    if not path.is_file():
        return False
    with path.open("rb") as file:
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            return True
    return False


def _logs(root: Path) -> dict[Path, bytes]:
    return {path: path.read_bytes() for path in root.rglob("*.jsonl")}


def missing_records(root: Path, texts: Sequence[str]) -> list[str]:
    """Name the references among sent texts that no record below a folder holds."""
    recorded = {
        entry["replacement"]
        for path in root.rglob("*.jsonl")
        for record in records_in(path)
        for entry in record.get("replacements", ())
    }
    return [
        f"result {number}: its record is lost"
        for number, text in enumerate(texts)
        if is_reference(text) and text not in recorded
    ]


def records_in(path: Path) -> Iterator[dict[str, Any]]:
    """Read the records of a file, by nothing of the library; lines that are not whole are none."""
    lines = path.read_bytes().split(b"\n") if path.exists() else []
    for line in lines:
        try:
            record = json.loads(line)
        except ValueError:
            continue
        if record["type"] == "content-replacement":
            yield record
