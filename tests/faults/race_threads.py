"""Threads that race on one session, through one object or several, and on making branches."""

from __future__ import annotations

import sys
import threading
import traceback
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, contextmanager, nullcontext
from typing import TYPE_CHECKING, Final
from unittest import mock

from tests.builders import gate, res, results_in, text_of
from tests.faults.opening import open_session
from tests.faults.racing import SESSION_ID, Ledger, Subject, limits_of
from toolbudget import ConfigError, Session, TranscriptError
from toolbudget.budget.engine import Engine

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

__all__ = ["race_branches", "race_threads", "unguarded"]

_THREADS: Final = 64
_SESSIONS: Final = 8
_BRANCHES: Final = 12
_DECIDERS: Final = 8
_SWITCH_INTERVAL_S: Final = 1e-5


@contextmanager
def unguarded() -> Iterator[None]:
    """Let the threads of one object decide without its lock: a seeded bug."""
    with mock.patch.object(Engine, "_deciding", return_value=nullcontext()):
        yield


def race_threads(number: int, root: Path) -> list[str]:
    """Let 64 threads decide about everything at once, through one session object or eight."""
    subject = Subject(3, 4)
    ledger = Ledger(subject)
    objects = _SESSIONS if number % 2 else 1
    with ExitStack() as stack:
        sessions = [
            stack.enter_context(
                open_session(root, SESSION_ID, limits=limits_of(index), durability="process")
            )
            for index in range(objects)
        ]

        def decide(index: int) -> list[tuple[int, str]]:
            return _decide(sessions[index % objects], subject, gates_first=index % 3 == 0)

        sent, broken = _run_together(decide, _THREADS)
    for one in sent:
        ledger.note(one)
    broken += ledger.violations(root)
    return [f"{_THREADS} threads on {objects} objects: {one}" for one in broken]


def _decide(session: Session, subject: Subject, *, gates_first: bool) -> list[tuple[int, str]]:
    sent: list[tuple[int, str]] = []
    results, width = subject.results(), subject.results_per_turn
    for turn in range(subject.turns):
        own = results[turn * width : (turn + 1) * width]
        for result in own if gates_first else ():
            gate(session, res(result.tool_use_id, result.text))
        messages = session.enforce(subject.messages(turn + 1))
        sent += enumerate(text_of(block["content"]) for block in results_in(messages))
    return sent


def _run_together(
    action: Callable[[int], list[tuple[int, str]]], threads: int
) -> tuple[list[list[tuple[int, str]]], list[str]]:
    """Run an action in so many threads that begin at once; what raises is a broken promise."""
    barrier = threading.Barrier(threads)
    problems: list[str] = []

    def act(index: int) -> list[tuple[int, str]]:
        barrier.wait(60)
        try:
            return action(index)
        except Exception:  # noqa: BLE001 - told as a violation
            problems.append(traceback.format_exc(limit=-2).strip())
            return []

    with _many_switches(), ThreadPoolExecutor(threads) as pool:
        return list(pool.map(act, range(threads))), problems


@contextmanager
def _many_switches() -> Iterator[None]:
    """Let the interpreter change threads as often as it can."""
    before_s = sys.getswitchinterval()
    sys.setswitchinterval(_SWITCH_INTERVAL_S)
    try:
        yield
    finally:
        sys.setswitchinterval(before_s)


def race_branches(number: int, root: Path) -> list[str]:
    """Make forks and sub-agents while other threads decide: each has what its parent had."""
    subject = Subject(12, 3)
    limits = limits_of(number)
    with open_session(root, SESSION_ID, limits=limits, durability="process") as session:

        def act(index: int) -> list[tuple[int, str]]:
            if index:
                return _decide_each_turn(session, subject)
            problems.extend(_make_branches(session, root, subject))
            return []

        problems: list[str] = []
        sent, broken = _run_together(act, _DECIDERS + 1)
        ledger = Ledger(subject)
        for one in sent:
            ledger.note(one)
        problems += _race_for_one_name(session)
    broken += problems + ledger.violations(root)
    return [f"branches: {one}" for one in broken]


def _decide_each_turn(session: Session, subject: Subject) -> list[tuple[int, str]]:
    sent: list[tuple[int, str]] = []
    for turn in range(1, subject.turns + 1):
        messages = session.enforce(subject.messages(turn))
        sent += enumerate(text_of(block["content"]) for block in results_in(messages))
    return sent


def _make_branches(session: Session, root: Path, subject: Subject) -> Iterator[str]:
    """Yield what is wrong with any of them: at its beginning, as a whole, and when resumed."""
    results, width = subject.results(), subject.results_per_turn
    groups = [
        {result.key for result in results[first : first + width]}
        for first in range(0, len(results), width)
    ]
    for number in range(_BRANCHES):
        name, is_agent = f"branch-{number}", number % 2 == 1
        before = session.state.decisions.items()
        child = session.subagent(name) if is_agent else session.fork(name)
        after = session.state.decisions.items()
        with child:
            own = child.state
        if not before <= own.decisions.items() <= after:
            yield f"{name}: not what its parent had"
        known = {
            (key.tool_use_id, key.fingerprint.size_chars, key.fingerprint.hash)
            for key in own.decisions
        }
        if any(0 < len(known & group) < len(group) for group in groups):
            yield f"{name}: a part of a decision"
        session_id, agent_id = (SESSION_ID, name) if is_agent else (name, None)
        with open_session(root, session_id, agent_id=agent_id, durability="process") as again:
            if again.state != own:
                yield f"{name}: other decisions after resume"


def _race_for_one_name(session: Session) -> list[str]:
    """Let threads begin the same fork: one gets it, the others hear that it exists."""
    made: list[Session] = []

    def fork(_index: int) -> list[tuple[int, str]]:
        try:
            made.append(session.fork("wanted"))
        except (ConfigError, TranscriptError) as error:
            if "exists" not in str(error):
                raise
        return []

    _, problems = _run_together(fork, _DECIDERS)
    for child in made:
        child.close()
    return problems + ([] if len(made) == 1 else [f"{len(made)} forks of one name"])
