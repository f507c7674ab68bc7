"""Real limits of disk and process: each strikes a conversation under way and is lifted again."""

from __future__ import annotations

import logging
import os
import shutil
import tempfile
from collections import Counter
from contextlib import ExitStack, contextmanager
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, NamedTuple
from unittest import mock

from tests.builders import is_reference
from tests.faults.bugs import STORAGE_BUGS, seeded
from tests.faults.children import Child
from tests.faults.harness import Harness, Outcome, Scale
from tests.faults.limit_faults import OUTSIDE, PLACE_OPTIONS, ROOT, faults
from tests.faults.loop_disks import shutdown_disk, why_no_disk
from tests.faults.opening import open_session
from tests.faults.system_calls import enter_private_mounts, mounted
from tests.faults.workload import (
    LIMITS,
    SESSION_ID,
    Sent,
    results_of_turn,
    run_turns,
    violations_after,
)
from toolbudget.budget.journal import Journal
from toolbudget.budget.storing import StoreOutcome, store_choices
from toolbudget.errors import ToolBudgetError
from toolbudget.storage._files import POSIX

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from tests.faults.limit_faults import Fault, Need
    from toolbudget import Session

__all__ = ["HARNESS"]

_TURNS: Final = 4
_MENDED_BEFORE: Final = 3
_RESULTS_PER_TURN: Final = 3
# The small one always goes out as it is.
_LARGE_RESULTS: Final = (0, 2)
# Here nothing needs to fail: the session works all the same.
_HARMLESS: Final = frozenset({"own folder", "planted lock"})
_SOAK_KINDS: Final = ("ext4", "xfs", "btrfs")
# On a disk there are more inodes than can be used up for each case.
_ONLY_IN_MEMORY: Final = frozenset({"no inodes"})


class _Case(NamedTuple):
    """A fault at a moment, and the moment at which it is over.

    Attributes:
        fault: What strikes.
        begins_at: Before which turn.
        ends_at: Before which turn it is over; ``None``: only when the process has ended.
        reopens: Whether the host comes back to the session while it lasts.
    """

    fault: Fault
    begins_at: int
    ends_at: int | None
    reopens: bool

    def __str__(self) -> str:
        until = "to the end" if self.ends_at is None else f"to turn {self.ends_at}"
        again = ", opened again" if self.reopens else ""
        return f"{self.fault}, from turn {self.begins_at} {until}{again}"


def _cases() -> Iterator[_Case]:
    for fault in faults():
        for begins_at in fault.begins_at:
            yield _Case(fault, begins_at, None, reopens=False)
            if begins_at and not fault.hides_records:
                yield _Case(fault, begins_at, None, reopens=True)
            if not begins_at and fault.mend is not None:
                yield _Case(fault, begins_at, _MENDED_BEFORE, reopens=False)


class _Counts:
    """What was tried on one disk, and what came of it."""

    def __init__(self, kind: str) -> None:
        self.kind = kind
        self.tried: Counter[str] = Counter()
        self.struck: Counter[str] = Counter()
        self.skipped: Counter[str] = Counter()
        self.violations: list[str] = []

    def add(self, case: _Case, broken: list[str], failures: int) -> None:
        """Count one case."""
        self.tried[case.fault.family] += 1
        self.struck[case.fault.family] += failures > 0
        self.violations += [f"{self.kind}, {case}: {line}" for line in broken]

    def check_teeth(self) -> None:
        """Note kinds of faults by which nothing has failed: they prove nothing."""
        for family in self.tried:
            if not self.struck[family] and family not in _HARMLESS:
                self.violations.append(f"{self.kind}, {family}: nothing has failed")

    def __str__(self) -> str:
        parts = [f"SKIPPED {number} cases: {problem}" for problem, number in self.skipped.items()]
        struck = (f"{family} {self.struck[family]}/{self.tried[family]}" for family in self.tried)
        parts.append(f"cases in which something failed: {', '.join(struck)}")
        return f"{self.kind}: {'; '.join(parts)}"


def _run(scale: Scale, bug: str | None) -> Outcome:
    logging.getLogger("toolbudget").addHandler(logging.NullHandler())
    missing = _missing()
    notes: list[str] = []
    counts: list[_Counts] = []
    with tempfile.TemporaryDirectory(prefix="real-limits-") as folder:
        # Another user is to get as far as the place itself.
        Path(folder).chmod(0o755)
        _warm_up(Path(folder) / "warm")
        counts.append(_try_all("folder" if "mounts" in missing else "tmpfs", folder, missing, bug))
        for kind in _SOAK_KINDS if scale is Scale.SOAK and bug is None else ():
            problem = missing.get("mounts") or why_no_disk(kind, Path(folder))
            if problem is None:
                counts.append(_try_all(kind, folder, missing, bug))
            else:
                notes.append(f"SKIPPED {kind}: {problem}")
    return Outcome(
        sum(one.tried.total() for one in counts),
        tuple(violation for one in counts for violation in one.violations),
        "; ".join([*map(str, counts), *notes]),
    )


def _missing() -> dict[Need, str]:
    """Say what this process may not do, and why."""
    missing: dict[Need, str] = {}
    if os.geteuid() != 0:
        missing["superuser"] = "not the superuser"
    problem = enter_private_mounts()
    if problem is not None:
        missing["mounts"] = problem
    return missing


def _try_all(kind: str, folder: str, missing: dict[Need, str], bug: str | None) -> _Counts:
    """Try every case on disks of one kind; with a seeded bug only until a promise is broken."""
    counts = _Counts(kind)
    for case in _cases():
        if case.fault.needs in missing:
            counts.skipped[missing[case.fault.needs]] += 1
            continue
        if kind in _SOAK_KINDS and case.fault.family in _ONLY_IN_MEMORY:
            continue
        with _place(kind, Path(folder) / f"place-{kind}") as place:
            counts.add(case, *_try(case, place, bug))
        if bug is not None and counts.violations:
            return counts
    if bug is None:
        counts.check_teeth()
    return counts


@contextmanager
def _place(kind: str, path: Path) -> Iterator[Path]:
    """Have a disk for one case, or where nothing can be mounted at least a folder."""
    if kind == "tmpfs":
        with mounted(kind, path, kind, options=PLACE_OPTIONS):
            yield path
    elif kind in _SOAK_KINDS:
        with shutdown_disk(kind, path) as disk:
            yield disk.folder
    else:
        path.mkdir()
        try:
            yield path
        finally:
            shutil.rmtree(path)


def _warm_up(root: Path) -> None:
    """Import what is imported at first use: the host has long been running when a limit strikes."""
    with open_session(root, SESSION_ID, limits=LIMITS) as session:
        for _ in run_turns(session, 0, 1, lambda _sent: None):
            pass


def _try(case: _Case, place: Path, bug: str | None) -> tuple[list[str], int]:
    """Try one case; return what broke, and how many failures were reported."""
    child = Child(partial(_talk, case, place, bug))
    died = child.end()
    said = child.said
    mend = case.fault.mend
    if mend is not None and case.ends_at is None and not case.fault.is_of_process:
        mend(place)
    sent = [Sent(**one) for one in said if "turn" in one]
    broken = [f"the host died: {one['died']}" for one in said if "died" in one]
    if died is not None and not broken:
        broken = [f"the host died of {died}"]
    was_refused = any("refused" in one for one in said)
    if not broken and not was_refused and len(sent) != _TURNS:
        broken = [f"only {len(sent)} turns were sent"]
    broken += [line for one in sent for line in _wrong_reports(case, one)]
    broken += _judge(place, sent)
    return broken, sum(one.failures for one in sent) + was_refused


def _talk(case: _Case, place: Path, bug: str | None, say: Callable[[Any], object]) -> None:
    """Be the host: talk for some turns, whatever happens to the disk."""
    root = place / ROOT
    with _seeded(bug), ExitStack() as opened:
        session: Session | None = None
        for turn in range(_TURNS):
            if turn == case.begins_at:
                case.fault.strike(place)
            if turn == case.ends_at and case.fault.mend is not None:
                case.fault.mend(place)
            if turn == 0 or (turn == case.begins_at and case.reopens):
                opened.close()
                try:
                    session = opened.enter_context(open_session(root, SESSION_ID, limits=LIMITS))
                except ToolBudgetError as error:
                    session = None
                    if turn:
                        # A host that cannot learn what it has sent must not go on.
                        say({"refused": str(error)})
                        return
            _send(session, turn, say)


def _send(session: Session | None, turn: int, say: Callable[[Any], object]) -> None:
    if session is None:
        texts = [text for number in range(turn + 1) for text in results_of_turn(number)]
        say(Sent(turn, texts, 1, 1)._asdict())
        return
    for _ in run_turns(session, turn, turn + 1, lambda sent: say(sent._asdict())):
        pass


def _wrong_reports(case: _Case, sent: Sent) -> Iterator[str]:
    own_texts = sent.texts[-_RESULTS_PER_TURN:]
    is_whole = all(is_reference(own_texts[index]) for index in _LARGE_RESULTS)
    if not is_whole and not sent.failures:
        yield f"turn {sent.turn}: full content, and no failure in the report"
    is_well = sent.turn < case.begins_at or (case.ends_at is not None and sent.turn >= case.ends_at)
    if sent.failures and is_well and not _went_without_session(case, sent):
        yield f"turn {sent.turn}: a failure although nothing is wrong"


def _went_without_session(case: _Case, sent: Sent) -> bool:
    """Tell whether the session could not be opened, so that the host goes on without one."""
    return case.begins_at == 0 and not any(map(is_reference, sent.texts))


def _judge(place: Path, sent: list[Sent]) -> list[str]:
    adopts = any(one.record_failures for one in sent)
    try:
        broken = violations_after(place / ROOT, sent, adopts=adopts)
    except Exception as error:  # noqa: BLE001 - whatever is raised, the host did not live
        return [f"raised {error!r} when all was well again"]
    outside = place / OUTSIDE
    if outside.exists() and any(outside.iterdir()):
        broken.append("a link was followed out of the session's folder")
    return broken


@contextmanager
def _seeded(bug: str | None) -> Iterator[None]:
    """Have a bug for a while: one of the storage, or one in how failures are dealt with."""
    with ExitStack() as stack:
        if bug in STORAGE_BUGS:
            stack.enter_context(seeded(bug, POSIX))
        elif bug is not None:
            stack.enter_context(_SEEDS[bug]())
        yield


def _raising() -> Any:  # noqa: ANN401 - a patch is taken as it comes
    """Let the first failure end the host."""
    begin = Journal.__init__

    def begin_strictly(self: Journal, **options: Any) -> None:  # noqa: ANN401
        begin(self, **{**options, "strict": True})

    return mock.patch.object(Journal, "__init__", begin_strictly)


def _silent() -> Any:  # noqa: ANN401 - a patch is taken as it comes
    """Keep what could not be stored, and say nothing."""

    def store_silently(*arguments: Any) -> StoreOutcome:  # noqa: ANN401
        outcome = store_choices(*arguments)
        outcome.failures.clear()
        return outcome

    return mock.patch("toolbudget.budget.journal.store_choices", store_silently)


def _unrecorded() -> Any:  # noqa: ANN401 - a patch is taken as it comes
    """Hand out references that no record holds."""
    return mock.patch.object(StoreOutcome, "give_up")


_SEEDS: Final[dict[str, Callable[[], Any]]] = {
    "raising": _raising,
    "silent": _silent,
    "unrecorded": _unrecorded,
}


HARNESS: Final = Harness(
    name="real_limits",
    promise="full content or a valid reference, reported, on disks and in processes at their limit",
    run=_run,
    bugs=("direct", *_SEEDS),
)
