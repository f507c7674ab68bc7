"""A session whose core panics at one entry, whichever; what it decided, and how it goes on."""

from __future__ import annotations

import asyncio
import fcntl
import shutil
import threading
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from typing import TYPE_CHECKING, Any, Final

from tests.builders import results_in, text_of
from tests.faults.workload import LIMITS, SESSION_ID, history
from toolbudget import Session
from toolbudget._core import _native
from toolbudget.errors import ToolBudgetError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence
    from pathlib import Path

    from tests.builders import Block
    from toolbudget import ContentReplacementState

__all__ = [
    "_COUNTING",
    "entries_of_conversation",
    "entries_of_turn",
    "tried_conversation",
    "tried_together",
]

# More entries than any conversation here has: so they are only counted.
_COUNTING: Final = 1_000_000
_TURNS: Final = 3
_TASKS: Final = 4
_WAIT_S: Final = 5.0

Sent = list[str]


def entries_of_conversation(root: Path) -> int:
    """Count how often a whole conversation enters the core."""
    with _opened(root) as session:
        return _entries_of(lambda: [step() for step in _steps(session)])


def entries_of_turn(root: Path) -> int:
    """Count how often one turn enters the core."""
    with _opened(root) as session:
        return _entries_of(lambda: session.enforce(history(1)))


def tried_conversation(root: Path, entry: int) -> str | None:
    """Let the core panic at one entry of a conversation, do the step again, and go on."""
    expected = _clean_run(root)
    shutil.rmtree(root)
    problem = None
    with _opened(root) as session:
        _native._panic_after(entry)
        for step, (sent, state_then) in enumerate(expected):
            before = _state_of(session) if step == 0 else expected[step - 1][1]
            problem = problem or _problem_of_step(session, step, sent, (before, state_then))
        is_unused = _native._panic_after(0) > 0
    if is_unused:
        return "nothing panicked"
    return problem or _problem_of_resume(root, expected[-1][0])


def tried_together(root: Path, entry: int, *, in_tasks: bool) -> str | None:
    """Let the core panic in one of several calls that threads or tasks make at the same time."""
    messages = history(1)
    with _opened(root) as session:
        expected = _texts(session.enforce(messages))
    shutil.rmtree(root)
    with _opened(root) as session:
        _native._panic_after(entry)
        together = _in_tasks if in_tasks else _in_threads
        outcomes = together(session, messages)
        is_unused = _native._panic_after(0) > 0
        problem = _problem_of_locks(session)
        if problem is None and _texts(session.enforce(messages)) != expected:
            problem = "sent otherwise afterwards"
    panicked = [outcome for outcome in outcomes if isinstance(outcome, BaseException)]
    if is_unused:
        return "nothing panicked"
    if len(panicked) != 1 or not _is_ours(panicked[0]):
        return f"{len(panicked)} calls of {_TASKS} failed: {panicked[:1]!r:.200}"
    if any(outcome != expected for outcome in outcomes if outcome is not panicked[0]):
        return "another call sent something else"
    return problem


def _opened(root: Path) -> Session:
    return Session.open(root, SESSION_ID, limits=LIMITS, durability="process")


def _steps(session: Session) -> Iterator[Callable[[], Sent]]:
    """Yield what a host does: its gate, its request, a request refused and made again."""
    for turn in range(_TURNS):
        messages = history(turn + 1)
        yield from (partial(_gated, session, block) for block in list(results_in(messages))[-2:])
        yield partial(_enforced, session, messages)
        yield partial(_withdrawn, session)
        yield partial(_enforced, session, messages)


def _gated(session: Session, block: Block) -> Sent:
    return [text_of(session.gate(block, tool_name="Fetch")["content"])]


def _enforced(session: Session, messages: Sequence[Any]) -> Sent:
    return _texts(session.enforce(messages))


def _withdrawn(session: Session) -> Sent:
    session.withdraw()
    return []


def _clean_run(root: Path) -> list[tuple[Sent, ContentReplacementState]]:
    with _opened(root) as session:
        return [(step(), _state_of(session)) for step in _steps(session)]


def _state_of(session: Session) -> ContentReplacementState:
    """Look at the state, which enters the core, as no step of a host: this entry is not counted."""
    entries = _native._panic_after(0)
    try:
        return session.state
    finally:
        _native._panic_after(entries)


def _entries_of(call: Callable[[], object]) -> int:
    _native._panic_after(_COUNTING)
    call()
    return _COUNTING - _native._panic_after(0)


def _texts(messages: Sequence[Any]) -> Sent:
    return [text_of(block["content"]) for block in results_in(messages)]


def _is_ours(error: BaseException) -> bool:
    return type(error) is ToolBudgetError and str(error).startswith("internal error in the native")


def _problem_of_step(
    session: Session,
    step: int,
    expected: Sent,
    states: tuple[ContentReplacementState, ContentReplacementState],
) -> str | None:
    """Take a step; if the core panics, look at what is left, and take it again."""
    call = list(_steps(session))[step]
    try:
        sent = call()
    except BaseException as error:  # noqa: BLE001 - that it is an Exception is what is tested
        if not _is_ours(error):
            return f"step {step}: the host got {type(error).__name__}"
        problem = _problem_of_locks(session)
        if problem is not None:
            return f"step {step}: {problem}"
        if session.state not in states:
            return f"step {step}: half a decision"
        try:
            sent = call()
        except ToolBudgetError as again:
            return f"step {step}: not to be taken again: {again}"
    return None if sent == expected else f"step {step}: sent otherwise"


def _problem_of_locks(session: Session) -> str | None:
    if session.transcript_path.exists():
        with session.transcript_path.open("rb") as file:
            try:
                fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except OSError:
                return "the transcript is still locked"
    # Another thread must be able to use the session; one that hangs must not end the test.
    asking = threading.Thread(target=lambda: session.state, daemon=True)
    asking.start()
    asking.join(_WAIT_S)
    return "the session is still locked" if asking.is_alive() else None


def _problem_of_resume(root: Path, expected: Sent) -> str | None:
    with _opened(root) as session:
        sent = _texts(session.enforce(history(_TURNS)))
    return None if sent == expected else "sent otherwise after resume"


def _in_threads(session: Session, messages: list[Any]) -> list[object]:
    with ThreadPoolExecutor(_TASKS) as pool:
        calls = [pool.submit(session.enforce, messages) for _ in range(_TASKS)]
    return [call.exception() or _texts(call.result()) for call in calls]


def _in_tasks(session: Session, messages: list[Any]) -> list[object]:
    async def enforce() -> object:
        try:
            return _texts(await session.aenforce(messages))
        except Exception as error:  # noqa: BLE001 - whatever it is, the caller looks at it
            return error

    async def gather() -> list[object]:
        return await asyncio.gather(*(enforce() for _ in range(_TASKS)))

    return asyncio.run(gather())
