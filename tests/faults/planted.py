"""Hostile objects in the root: no hang, nothing read or written outside, nothing lost, no drift."""

from __future__ import annotations

import os
import shutil
import tempfile
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Final, NamedTuple
from unittest import mock

from tests.builders import is_reference, read_reference
from tests.faults.bugs import seeded
from tests.faults.harness import Harness, Outcome, Scale
from tests.faults.opening import open_session
from tests.faults.planted_objects import AGENT_ID, OBJECTS, PLACES, POISON, Place, Scene
from tests.faults.swap_race import SWAPPED, can_exchange, swap_problems
from tests.faults.watchdog import HangError, watched
from tests.faults.workload import LIMITS, SESSION_ID, history, results_of_turn, sent_texts
from toolbudget import ToolBudgetError
from toolbudget.storage import _files
from toolbudget.storage._files import POSIX, PosixFileSystem
from toolbudget.storage.inspection import find_sessions, inspect_session

if TYPE_CHECKING:
    from collections.abc import Iterator

    from toolbudget import Session

__all__ = ["HARNESS"]

_TURNS: Final = 2
_SWAP_S: Final = {Scale.BOUNDED: 0.7, Scale.SOAK: 30.0}


class _Case(NamedTuple):
    """What is planted, where, and whether the conversation is under way already."""

    planted: str
    place_name: str
    turns_before: int

    @property
    def place(self) -> Place:
        return PLACES[self.place_name]

    @property
    def takes_records(self) -> bool:
        """Whether the object is as good as what was there, so that records go on in it."""
        if self.place.holds == "records":
            return self.planted == "same bytes"
        return self.place.holds == "folder" and self.planted in {"folder", "full folder"}

    def __str__(self) -> str:
        return f"{self.planted} at {self.place_name} before turn {self.turns_before}"


_CASES: Final = tuple(
    _Case(planted, place, turns)
    for planted in OBJECTS
    for place in PLACES
    for turns in range(_TURNS)
    if planted != "device" or os.geteuid() == 0
)


class _Host:
    """A host that plays one case: what it has sent, and which promises were broken meanwhile."""

    def __init__(self, scene: Scene, case: _Case) -> None:
        """Begin before the first turn."""
        self.problems: list[str] = []
        self.sent: list[str] = []
        self.turns = 0
        self._has_failures = False
        self._scene = scene
        self._case = case

    def play(self) -> None:
        """Send both turns, with the object planted before one of them."""
        try:
            with ExitStack() as stack:
                if not self._case.turns_before:
                    self._plant()
                session = stack.enter_context(self._opened(is_new=True))
                for turn in range(_TURNS):
                    if turn and turn == self._case.turns_before:
                        self._plant()
                    self._send(session)
        except ToolBudgetError as error:
            self._refused(error)

    def resume(self) -> list[str] | None:
        """Open again, as a host does that knows what has failed; ``None`` if that is refused."""
        try:
            with self._opened(is_new=False) as session:
                messages = history(self.turns, is_answered=True)
                if self._has_failures:
                    session.mark_seen(messages)
                return sent_texts(session.enforce(messages))
        except ToolBudgetError as error:
            self._refused(error)
            return None

    @contextmanager
    def _opened(self, *, is_new: bool) -> Iterator[Session]:
        """Open the conversation, or begin it; a sub-agent's within its session."""
        root, place = self._scene.root, self._case.place
        with ExitStack() as stack:
            session = open_session(
                root,
                SESSION_ID,
                agent_id=AGENT_ID if place.is_agent and not is_new else None,
                limits=LIMITS,
                durability="process",
                uses_sidecar=place.uses_sidecar,
            )
            stack.enter_context(session)
            if place.is_agent and is_new:
                session = stack.enter_context(session.subagent(AGENT_ID))
            yield session

    def _plant(self) -> None:
        turn = self._case.turns_before
        likely = results_of_turn(turn)[0].encode() if self._case.place.holds == "result" else b""
        self._scene.plant(self._case.planted, self.path, likely)

    @property
    def path(self) -> Path:
        """Where the object is planted."""
        return self._scene.root / self._case.place.path.format(turn=self._case.turns_before)

    def _send(self, session: Session) -> None:
        before = self.sent
        self.sent = sent_texts(session.enforce(history(self.turns + 1)))
        failures = session.report.failures
        self._has_failures |= bool(failures)
        if self.sent[: len(before)] != before:
            self.problems.append("sent otherwise in a later turn")
        if self.sent[len(before) :] == results_of_turn(self.turns):
            if not failures:
                self.problems.append("everything in full, and no failure is named")
            if self._case.place.holds in {"result", "lock"}:
                self.problems.append(f"everything in full, although it need not be: {failures}")
        self.turns += 1

    def _refused(self, error: ToolBudgetError) -> None:
        is_clear = "transcript" in str(error) or "exists" in str(error)
        if not self._case.place.may_refuse or not is_clear:
            self.problems.append(f"refused: {error}")


def _try(case: _Case, folder: Path) -> list[str]:
    """Play one case, resume beside the object and again without it; return what broke."""
    scene = Scene(folder)
    host = _Host(scene, case)
    host.play()
    problems = host.problems
    problems += _bad_texts(host.sent, scene, range(case.turns_before, host.turns))
    again = host.resume() if host.turns else None
    if again is not None:
        if again != host.sent and not _has_lost_records(case, scene):
            problems.append("another text beside the object")
        problems += _bad_texts(again, scene, range(case.turns_before, host.turns))
    for place in find_sessions(scene.root)[1]:
        inspect_session(place)
    problems += scene.changes_outside()
    scene.restore(host.path)
    if host.turns:
        # Who takes away a file or folder that records could go to takes the records with it.
        if not case.takes_records and host.resume() != host.sent:
            problems.append("another text when the object is gone")
        problems += _bad_texts(host.sent, scene, range(case.turns_before))
    problems += scene.changes_outside()
    return [f"{case}: {problem}" for problem in problems]


def _has_lost_records(case: _Case, scene: Scene) -> bool:
    """Tell whether whoever planted the object has taken all records away with it."""
    is_only_place = case.place_name in {"subagents", "sidecar", "session with sidecar"}
    return scene.has_taken and is_only_place and not case.takes_records


def _bad_texts(sent: list[str], scene: Scene, turns: range) -> Iterator[str]:
    """Yield texts of these turns that are neither the original nor a reference to its bytes."""
    results = scene.root / SESSION_ID / "tool-results"
    for turn in turns:
        for index, original in enumerate(results_of_turn(turn)):
            text = sent[turn * 3 + index]
            if text == original:
                continue
            path = read_reference(text).path if text != POISON and is_reference(text) else None
            if path is None or path.parent != results or path.resolve() != path:
                yield f"turn {turn}: text or path from elsewhere: {text[:120]!r}"
            elif not path.is_file() or path.read_bytes() != original.encode():
                yield f"turn {turn}: reference to other bytes"


@contextmanager
def _folder() -> Iterator[Path]:
    folder = Path(tempfile.mkdtemp(prefix="toolbudget-planted-")).resolve()
    try:
        yield folder
    finally:
        shutil.rmtree(folder)


def _run(scale: Scale, bug: str | None) -> Outcome:
    with _following_links() if bug == "following" else seeded(bug, POSIX):
        broken = [problem for case in _CASES for problem in _try_watched(case)]
        if bug is not None and broken:
            return Outcome(len(_CASES), tuple(broken))
        swaps, replaced = 0, 0
        for place in SWAPPED:
            with _folder() as folder:
                if can_exchange(folder):
                    problems, count = swap_problems(folder, place, _SWAP_S[scale])
                    broken, swaps, replaced = broken + problems, swaps + 1, replaced + count
    detail = f"{len(_CASES)} planted objects; {swaps} swap races, {replaced:,} results replaced"
    return Outcome(len(_CASES) + replaced, tuple(broken), detail)


def _try_watched(case: _Case) -> list[str]:
    with _folder() as folder:
        try:
            with watched():
                return _try(case, folder)
        except HangError as error:
            return [f"{case}: {error}"]
        except Exception as error:  # noqa: BLE001 - nothing may reach the host
            return [f"{case}: raises {error!r}"]


@contextmanager
def _following_links() -> Iterator[None]:
    """Open what a link leads to: a seeded bug."""

    def open_directory(_files_used: PosixFileSystem, name: str, *, parent: int) -> int:
        return os.open(name, _files._DIRECTORY_FLAGS, dir_fd=parent)

    flags = _files._FILE_FLAGS & ~os.O_NOFOLLOW
    with (
        mock.patch.object(PosixFileSystem, "open_directory", open_directory),
        mock.patch.object(_files, "_FILE_FLAGS", flags),
    ):
        yield


HARNESS: Final = Harness(
    name="planted",
    promise="no planted object is followed, waited for, trusted or overwritten",
    run=_run,
    bugs=("following", "trusting"),
)
