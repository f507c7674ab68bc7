"""Processes that race: what each does with the session, how it starts, and what it tells."""

from __future__ import annotations

import json
import os
import signal
import traceback
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final, Literal, NamedTuple, NoReturn

from tests.builders import answer, call, gate, msg, res, results_in, text_of
from tests.faults.opening import open_session
from tests.faults.racing import SESSION_ID, Ledger, Subject, limits_of
from toolbudget.storage._files import POSIX, PosixFileSystem
from toolbudget.storage.inspection import find_sessions, inspect_session
from toolbudget.storage.record_log import RecordLog

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from pathlib import Path

    from toolbudget import Session
    from toolbudget.storage._filesystem import Durability, FileSystem

__all__ = ["Race", "Role", "Told", "hear", "start"]

Role = Literal["enforce", "late", "gate", "withdraw", "read", "die", "branch"]

_HANGS_AFTER_S: Final = 60
_READER_HANGS_AFTER_S: Final = 30
_READINGS: Final = 15


class Race(NamedTuple):
    """What all processes of a round have in common."""

    root: Path
    subject: Subject
    durability: Durability
    number: int


@dataclass
class Told:
    """What a process says: what it has sent, by the number of the result, and what went wrong."""

    sent: list[tuple[int, str]] = field(default_factory=list)
    problems: list[str] = field(default_factory=list)
    is_killed: bool = False

    def note(self, messages: Sequence[object]) -> None:
        """Note a whole request as sent."""
        texts = (text_of(block["content"]) for block in results_in(messages))
        self.sent += enumerate(texts)


class _Child(NamedTuple):
    process_id: int
    pipe: int
    role: Role


def start(race: Race, role: Role, index: int, *, gate: int, opener: int) -> _Child:
    """Fork a process that waits until every ``opener`` of the gate is closed."""
    mouth, ear = os.pipe()
    process_id = os.fork()
    if process_id == 0:
        os.close(opener)
        os.close(mouth)
        _live(race, role, index, gate, ear)
    os.close(ear)
    return _Child(process_id, mouth, role)


def hear(child: _Child) -> Told:
    """Wait for a process to end, and read what it has said."""
    with os.fdopen(child.pipe, "rb") as pipe:
        said = pipe.read()
    _, status = os.waitpid(child.process_id, 0)
    if said:
        fields = json.loads(said)
        return Told([(number, text) for number, text in fields["sent"]], fields["problems"])
    ended = os.waitstatus_to_exitcode(status)
    problem = "hangs" if ended == -signal.SIGALRM else f"ended with {ended}"
    return Told(problems=[f"{child.role}: {problem}"], is_killed=ended == -signal.SIGKILL)


def _live(race: Race, role: Role, index: int, gate: int, ear: int) -> NoReturn:
    """Be the child; whatever happens, nothing of the parent's is run or flushed."""
    told = Told()
    try:
        signal.alarm(_READER_HANGS_AFTER_S if role == "read" else _HANGS_AFTER_S)
        os.read(gate, 1)
        _ROLES[role](race, index, told)
    except BaseException:  # noqa: BLE001 - told to the parent
        told.problems.append(f"{role}: {traceback.format_exc(limit=-2).strip()}")
    try:
        with os.fdopen(ear, "w") as pipe:
            json.dump({"sent": told.sent, "problems": told.problems}, pipe)
    finally:
        os._exit(0)


def _open(race: Race, index: int, files: FileSystem = POSIX) -> Session:
    limits = limits_of(index + race.number)
    return open_session(
        race.root, SESSION_ID, limits=limits, durability=race.durability, files=files
    )


def _request(race: Race, session: Session, turn: int, told: Told) -> None:
    told.note(session.enforce(race.subject.messages(turn)))
    told.problems += (f"failure: {failure}" for failure in session.report.failures)


def _enforce(race: Race, index: int, told: Told) -> None:
    with _open(race, index) as session:
        for turn in range(1, race.subject.turns + 1):
            _request(race, session, turn, told)


def _come_late(race: Race, index: int, told: Told) -> None:
    """Begin with the whole conversation."""
    with _open(race, index) as session:
        _request(race, session, race.subject.turns, told)


def _gate(race: Race, index: int, told: Told) -> None:
    """Pass every result through the gate first, and keep what the gate gave, as a host does."""
    results, width = race.subject.results(), race.subject.results_per_turn
    messages = race.subject.messages(0)
    with _open(race, index) as session:
        for turn in range(race.subject.turns):
            own = results[turn * width : (turn + 1) * width]
            gated = [gate(session, res(result.tool_use_id, result.text)) for result in own]
            calls = (call(result.tool_use_id, "Fetch") for result in own)
            messages += [answer(*calls, message_id=f"m{turn}"), msg(*gated)]
            told.note(session.enforce(messages))


def _withdraw(race: Race, index: int, told: Told) -> None:
    """Take back what was kept for each request, and send it anew."""
    with _open(race, index) as session:
        for turn in range(1, race.subject.turns + 1):
            _request(race, session, turn, told)
            session.withdraw()
            _request(race, session, turn, told)


def _read(race: Race, _index: int, told: Told) -> None:
    """Read only, without ever waiting for a lock; what records say has been sent, or will be."""
    ledger = Ledger(race.subject)
    for _ in range(_READINGS):
        log = RecordLog(race.root, SESSION_ID)
        for record in log.load(wait_for_writers=False):
            for entry in record.replacements:
                number = ledger.number_of((entry.tool_use_id, entry.size or 0, entry.hash or ""))
                told.sent.append((number, entry.replacement))
        if race.root.is_dir():
            for place in find_sessions(race.root)[1]:
                inspect_session(place)


class _Dying(PosixFileSystem):
    """Kills its process at a moment while it holds the lock of the record file."""

    def __init__(self, moment: str, *, deadly_lock: int) -> None:
        self._moment = moment
        self._deadly_lock = deadly_lock
        self._times_locked = 0
        self._is_locked = False

    def lock(self, handle: int, *, exclusive: bool, blocking: bool = True) -> None:
        super().lock(handle, exclusive=exclusive, blocking=blocking)
        self._is_locked = exclusive
        self._times_locked += exclusive
        if self._is_due("locked"):
            os.kill(os.getpid(), signal.SIGKILL)

    def write(self, handle: int, data: bytes | memoryview) -> int:
        is_record = bytes(data[:1]) in {b"{", b"\n"}
        if is_record and self._is_due("half written"):
            super().write(handle, data[: len(data) // 2])
            os.kill(os.getpid(), signal.SIGKILL)
        return super().write(handle, data)

    def unlock(self, handle: int) -> None:
        if self._is_due("recorded"):
            os.kill(os.getpid(), signal.SIGKILL)
        super().unlock(handle)

    def _is_due(self, moment: str) -> bool:
        is_deadly = self._is_locked and self._times_locked == self._deadly_lock
        return is_deadly and moment == self._moment


def _die(race: Race, index: int, told: Told) -> None:
    moments = ("locked", "half written", "recorded")
    moment = moments[(race.number // 8 + index) % len(moments)]
    files = _Dying(moment, deadly_lock=1 + index // 2 % 2)
    with _open(race, index, files) as session:
        for turn in range(1, race.subject.turns + 1):
            _request(race, session, turn, told)


def _branch(race: Race, index: int, told: Told) -> None:
    """Begin forks and sub-agents between turns: each has exactly what its parent has."""
    with _open(race, index) as session:
        for turn in range(1, race.subject.turns + 1):
            _request(race, session, turn, told)
            name = f"branch-{index}-{turn}"
            before = session.state.decisions.items()
            with session.fork(name) as fork, session.subagent(name) as agent:
                # What another process decided between the two, the second and its parent have.
                is_between = before <= fork.state.decisions.items() <= agent.state.decisions.items()
                if not is_between or agent.state != session.state:
                    told.problems.append(f"{name}: not what its parent had")
                told.note(fork.enforce(race.subject.messages(turn)))
                told.note(agent.enforce(race.subject.messages(turn)))
            with open_session(race.root, name, limits=limits_of(index + 1)) as again:
                told.note(again.enforce(race.subject.messages(turn)))


_ROLES: Final[dict[Role, Callable[[Race, int, Told], None]]] = {
    "enforce": _enforce,
    "late": _come_late,
    "gate": _gate,
    "withdraw": _withdraw,
    "read": _read,
    "die": _die,
    "branch": _branch,
}
