"""Many deciders at once on one session: every process, thread and task must send the same bytes."""

from __future__ import annotations

import fcntl
import os
import shutil
import tempfile
import time
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Final, NamedTuple

from tests.faults import race_roles
from tests.faults.bugs import seeded
from tests.faults.harness import Harness, Outcome, Scale
from tests.faults.race_tasks import race_tasks
from tests.faults.race_threads import race_branches, race_threads, unguarded
from tests.faults.racing import SESSION_ID, Ledger, Subject
from tests.faults.watchdog import HangError, watched
from toolbudget.storage._files import POSIX

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from toolbudget.storage._filesystem import Durability

__all__ = ["HARNESS"]

_SYNCED_EVERY: Final = 10


class _Kind(NamedTuple):
    """Who takes part in a race of processes: the roles, dealt out in turn."""

    roles: tuple[race_roles.Role, ...]
    results_per_turn: int = 4


_KINDS: Final = {
    "limits": _Kind(("enforce",)),
    "one id": _Kind(("enforce",), results_per_turn=1),
    "late": _Kind(("enforce", "late")),
    "gates": _Kind(("gate", "enforce")),
    "withdrawal": _Kind(("withdraw", "enforce", "gate", "enforce")),
    "readers": _Kind(("enforce", "read")),
    "deaths": _Kind(("die", "enforce")),
    "branches": _Kind(("branch", "enforce")),
}


class _Amount(NamedTuple):
    process_rounds: int
    thread_rounds: int
    task_rounds: int
    longest_s: float


_AMOUNTS: Final = {
    Scale.BOUNDED: _Amount(64, 10, 3, 120),
    Scale.SOAK: _Amount(3_000, 200, 60, 450),
}


class _Series(NamedTuple):
    """Rounds of one sort, and how much of the time they may take on a slow machine."""

    name: str
    race: Callable[[int, Path], list[str]]
    rounds: int
    share: float


def _run(scale: Scale, bug: str | None) -> Outcome:
    amount = _AMOUNTS[scale]
    with _seeded(bug):
        # Processes first: a process that has had threads is no warm parent to fork from.
        all_series = [
            _Series("processes", _race_processes, amount.process_rounds, 0.55),
            _Series("threads", race_threads, amount.thread_rounds, 0.15),
            _Series("branches", race_branches, amount.thread_rounds, 0.15),
            _Series("tasks", race_tasks, amount.task_rounds, 0.15),
        ]
        if bug == "unguarded":
            del all_series[0]
        return _run_all(all_series, amount.longest_s, stops_early=bug is not None)


def _run_all(all_series: list[_Series], longest_s: float, *, stops_early: bool) -> Outcome:
    violations: list[str] = []
    counts: dict[str, int] = {}
    for series in all_series:
        deadline_s = time.monotonic() + longest_s * series.share
        for number in range(series.rounds):
            if time.monotonic() > deadline_s or (stops_early and violations):
                break
            counts[series.name] = number + 1
            broken = _run_round(series.race, number)
            violations += (f"{series.name} round {number}: {one}" for one in broken)
    detail = ", ".join(f"{count} rounds of {name}" for name, count in counts.items())
    return Outcome(sum(counts.values()), tuple(violations), detail)


def _run_round(race: Callable[[int, Path], list[str]], number: int) -> list[str]:
    try:
        with _folder() as root, watched():
            return race(number, root)
    except HangError as error:
        return [str(error)]


@contextmanager
def _seeded(bug: str | None) -> Iterator[None]:
    with unguarded() if bug == "unguarded" else seeded(bug, POSIX):
        yield


@contextmanager
def _folder() -> Iterator[Path]:
    folder = Path(tempfile.mkdtemp(prefix="toolbudget-races-"))
    try:
        yield folder / "root"
    finally:
        shutil.rmtree(folder)


def _race_processes(number: int, root: Path) -> list[str]:
    """Let 2 or 8 processes, forked from this one, decide about everything at once."""
    names = list(_KINDS)
    name = names[number % len(names)]
    kind = _KINDS[name]
    processes = 8 if number // len(names) % 2 else 2
    durability: Durability = "full" if number % _SYNCED_EVERY == 1 else "process"
    race = race_roles.Race(root, Subject(3, kind.results_per_turn), durability, number)
    roles = [kind.roles[index % len(kind.roles)] for index in range(processes)]
    ledger = Ledger(race.subject)
    broken: list[str] = []
    torn_lines = roles.count("die")
    for role, told in zip(roles, _run_together(race, roles), strict=True):
        ledger.note(told.sent)
        is_expected_death = role == "die" and told.is_killed
        broken += told.problems if not is_expected_death else []
    broken += ledger.violations(
        root, may_withdraw="withdraw" in roles, torn_lines=torn_lines, durability=durability
    )
    if "read" in roles:
        broken += _read_while_locked(race)
    return [f"{name}, {processes} processes: {one}" for one in broken]


def _run_together(race: race_roles.Race, roles: list[race_roles.Role]) -> list[race_roles.Told]:
    """Start all, let them go at once, and hear what they say."""
    gate, opener = os.pipe()
    started = [
        race_roles.start(race, role, index, gate=gate, opener=opener)
        for index, role in enumerate(roles)
    ]
    os.close(gate)
    os.close(opener)
    return [race_roles.hear(child) for child in started]


def _read_while_locked(race: race_roles.Race) -> list[str]:
    """Hold the lock of the record file: reading only must not wait for it."""
    handle = os.open(race.root / f"{SESSION_ID}.jsonl", os.O_RDONLY)
    try:
        fcntl.flock(handle, fcntl.LOCK_EX)
        [told] = _run_together(race, ["read"])
    finally:
        os.close(handle)
    return told.problems


HARNESS: Final = Harness(
    name="races",
    promise="all deciders of a session send the same bytes; a dead one locks nobody out",
    run=_run,
    bugs=("nolock", "unguarded"),
)
