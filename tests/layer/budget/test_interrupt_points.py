"""Ctrl-C wherever Python looks for it: nobody waits for a lock afterwards, nothing changes."""

from __future__ import annotations

import dis
import fcntl
import inspect
import sys
from functools import cache
from itertools import count
from typing import TYPE_CHECKING, Any, Self, TypeVar

import pytest

from tests.builders import enforce, is_reference, msg, res, results_in
from toolbudget import Limits, Session, Transcript

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path
    from types import CodeType, FrameType

# Python reports what is raised in a finaliser and goes on: there, nothing is interrupted.
pytestmark = pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning")

MESSAGES = [msg(res("a", 9_000 * "x"), res("b", 3_000 * "y"))]
# Where the lock is held, taken and given back; storing has points of its own, which cost time only.
_NAMES = (
    *("contextlib", "_directories", "_handle", "_holding", "log_file", "_locked_file"),
    *("record_log", "recorder", "journal", "_mutex", "exclusive"),
)


_Subject = TypeVar("_Subject")


class Interrupt:
    """Raises ``KeyboardInterrupt`` once, at the n-th of the points at which Python would.

    Those are the beginning of a Python function and the end of a built-in one; going on in a
    generator only to end it is none, although a profiler sees it as a call.
    """

    def __init__(self, nth: int, names: tuple[str, ...] = _NAMES) -> None:
        """Name the point, counted in files that end with one of the names."""
        self.has_hit = False
        # Kept with its traceback, and so with all frames, as an interactive interpreter does.
        self.error: BaseException | None = None
        self._left = nth
        self._names = names

    def __enter__(self) -> Self:
        sys.setprofile(self._watch)
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, _: object
    ) -> bool:
        sys.setprofile(None)
        self.error = error
        return kind is KeyboardInterrupt

    def _watch(self, frame: FrameType, event: str, _argument: object) -> None:
        if event not in {"call", "c_return"} or self.has_hit:
            return
        if not frame.f_code.co_filename.removesuffix(".py").endswith(self._names):
            return
        if event == "call" and frame.f_code.co_flags & inspect.CO_GENERATOR and _is_begun(frame):
            return
        self._left -= 1
        if not self._left:
            self.has_hit = True
            sys.setprofile(None)
            raise KeyboardInterrupt


def _is_begun(frame: FrameType) -> bool:
    return frame.f_lasti > _beginning_of(frame.f_code)


@cache
def _beginning_of(code: CodeType) -> int:
    return next(one.offset for one in dis.get_instructions(code) if one.opname == "RESUME")


def interrupted(
    root: Path, prepare: Callable[[Path], _Subject], call: Callable[[_Subject], Any]
) -> Iterator[tuple[_Subject, Path]]:
    """Make the call once for each point, interrupted there; yield on what, and in which folder."""
    kept = []
    for nth in count(1):
        place = root / str(nth)
        place.mkdir()
        subject = prepare(place)
        interrupt = Interrupt(nth)
        with interrupt:
            call(subject)
        kept.append(interrupt.error)
        require_free(place / "s.jsonl")
        yield subject, place
        if not interrupt.has_hit:
            assert nth > 40
            return


def require_free(path: Path) -> None:
    """Fail if somebody holds the lock of a file; waiting for it would last for ever."""
    if not path.exists():
        return
    with path.open("rb") as file:
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)


def opened(place: Path) -> Session:
    """Open a session in which one of the results is too large."""
    return Session.open(place, "s", durability="process", limits=Limits(max_message_chars=10_000))


def test_a_decision(tmp_path: Path) -> None:
    """B9, R6: the session goes on, and a restart gives the same bytes."""
    for session, place in interrupted(tmp_path, opened, lambda it: it.enforce(MESSAGES)):
        sent = enforce(session, MESSAGES)
        assert [is_reference(result["content"]) for result in results_in(sent)] == [True, False]
        assert enforce(opened(place), MESSAGES) == sent


def test_a_withdrawal(tmp_path: Path) -> None:
    """B8: what was kept is taken back whole or not at all."""
    small = [msg(res("b", 3_000 * "y"))]

    def prepare(place: Path) -> Session:
        session = opened(place)
        assert enforce(session, small) == small
        return session

    for session, place in interrupted(tmp_path, prepare, lambda it: it.withdraw()):
        sent = enforce(session, MESSAGES)
        assert enforce(opened(place), MESSAGES) == sent


def test_a_record_in_a_transcript(tmp_path: Path) -> None:
    """R1: it is there or it is not, and the next one can be written."""
    record = {"type": "content-replacement", "sessionId": "s", "replacements": []}

    def prepare(place: Path) -> Transcript:
        return Transcript(place / "s.jsonl")

    for transcript, _ in interrupted(tmp_path, prepare, lambda it: it.append(record)):
        transcript.append(record)
        assert len(list(transcript.records())) in {1, 2}
