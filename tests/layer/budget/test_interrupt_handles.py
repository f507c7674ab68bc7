"""Ctrl-C wherever Python looks for it: no descriptor stays open, closing again ends a session."""

from __future__ import annotations

import gc
from itertools import count
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from tests.builders import res
from tests.layer.budget.test_interrupt_points import MESSAGES, Interrupt, opened, require_free
from toolbudget.storage.session_lock import LOCK_NAME

if TYPE_CHECKING:
    from collections.abc import Callable

    from toolbudget import Session

# Python reports what is raised in a finaliser and goes on: there, nothing is interrupted.
pytestmark = pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning")

# Where descriptors are opened, passed on and closed.
_STORAGE = (
    *("_aside", "_batch", "_directories", "_existing", "_files", "_handle", "_holding"),
    *("home", "log_file", "session", "session_lock", "store", "tail", "text_source"),
)


def descriptors() -> set[str]:
    """Name what this process has open; looking takes one more, in each call the same."""
    return {one.name for one in Path("/dev/fd").iterdir()}


def begun(place: Path) -> Session:
    """Open a session that has stored something."""
    session = opened(place)
    session.enforce(MESSAGES)
    return session


def reopen(session: Session) -> None:
    """Open it once more, as a second process would."""
    opened(session.directory.parent).close()


@pytest.mark.parametrize(
    "call",
    [
        lambda session: session.enforce(MESSAGES),
        lambda session: session.gate(res("c", 60_000 * "z\n"), tool_name="Fetch"),
    ],
    ids=["enforce", "gate"],
)
def test_a_decision_leaves_no_descriptor_open(
    tmp_path: Path, call: Callable[[Session], object]
) -> None:
    """Whatever was open at that moment is closed when the traceback has gone."""
    require_closed(lambda nth: opened(tmp_path / str(nth)), call)


@pytest.mark.parametrize(
    "call", [reopen, lambda session: session.read_result("a")], ids=["open", "read"]
)
def test_a_look_leaves_no_descriptor_open(
    tmp_path: Path, call: Callable[[Session], object]
) -> None:
    """The same holds where nothing is decided."""
    begun(tmp_path).close()
    require_closed(lambda _: opened(tmp_path), call)


def require_closed(prepare: Callable[[int], Session], call: Callable[[Session], object]) -> None:
    """Interrupt the call at each point, and see that what it opened is closed."""
    gc.collect()
    before = descriptors()
    for nth in count(1):
        session = prepare(nth)
        with Interrupt(nth, _STORAGE) as interrupt:
            call(session)
        session.close()
        has_hit = interrupt.has_hit
        del session, interrupt
        if descriptors() != before:
            gc.collect()  # what hangs together in a circle goes then
        assert descriptors() == before
        if not has_hit:
            assert nth > 40
            return


def test_closing_once_more_ends_the_session(tmp_path: Path) -> None:
    """S10: a clean-up sees that the session is over, although the traceback is kept."""
    for nth in count(1):
        session = begun(tmp_path / str(nth))
        with Interrupt(nth, ("session", "session_lock", "_directories", "weakref")) as interrupt:
            session.close()
        session.close()
        require_free(session.directory / LOCK_NAME)
        if not interrupt.has_hit:
            assert nth > 4
            return
