"""Crashes at every step, with everything that they may leave: recover, go on, recover again."""

from __future__ import annotations

import itertools
import logging
import random
from contextlib import ExitStack, contextmanager
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Final, NamedTuple
from unittest import mock

from tests.faults.bugs import seeded
from tests.faults.crash_ledger import Host
from tests.faults.crash_workloads import LONG, SMALL
from tests.faults.harness import Harness, Outcome, Scale
from tests.faults.model_crashes import durable_image, sampled_images, snapshot
from tests.faults.model_files import Crash, ModelFiles
from toolbudget.budget import lineage, recorder
from toolbudget.storage import _directories, _parallel
from toolbudget.storage.log_file import LogFile

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from tests.faults.crash_ledger import Ledger
    from tests.faults.crash_workloads import Workload

__all__ = ["HARNESS"]

# Temporary names that a crash has left must not be drawn again after it.
_NAMES_PER_LIFE: Final = 1_000


class _Bounds(NamedTuple):
    """How much is tried of each workload.

    Attributes:
        images: Of one crash, at most.
        recoveries: How many of the recoveries are interrupted in their turn.
        images_of_recovery: Of one such interruption, at most.
    """

    images: int
    recoveries: int
    images_of_recovery: int


_BOUNDS: Final = {Scale.BOUNDED: _Bounds(60, 5, 4), Scale.SOAK: _Bounds(250, 25, 8)}
_WORKLOADS: Final = {Scale.BOUNDED: SMALL, Scale.SOAK: SMALL + LONG}


# Steps of the storage that are left out: what another process has written or made is not synced.
_OWN_BUGS: Final[dict[str | None, tuple[object, str]]] = {
    "noadopt": (LogFile, "sync_adopted"),
    "noabove": (_directories, "_sync_parent"),
}


class _Clock:
    """Always the same moment, so that the same crash leaves the same bytes."""

    @staticmethod
    def now(_zone: object) -> datetime:
        """Give that moment."""
        return datetime(2026, 1, 1, tzinfo=UTC)


class _Names:
    """Stands in for the random part of temporary names: another one each time."""

    def __init__(self) -> None:
        self.restart()

    def restart(self, lives_before: int = 0) -> None:
        """Give names that no life of the process before has had."""
        self._numbers = itertools.count(lives_before * _NAMES_PER_LIFE)

    def draw(self, size_bytes: int) -> bytes:
        """Give the next one."""
        return next(self._numbers).to_bytes(size_bytes, "big")


class _Disk(NamedTuple):
    """A disk after a crash, and how it came about."""

    case: str
    files: ModelFiles


class _Search:
    """Goes through the crashes of workloads and counts."""

    def __init__(self, bounds: _Bounds, names: _Names, *, stops_at_first: bool) -> None:
        self.states = 0
        self.crashes = 0
        self.sampled_crashes = 0
        self.recoveries = 0
        self.violations: list[str] = []
        self._bounds = bounds
        self._names = names
        self._stops_at_first = stops_at_first

    @property
    def is_over(self) -> bool:
        """Whether nothing more is to be tried."""
        return self._stops_at_first and bool(self.violations)

    def explore(self, workload: Workload) -> None:
        """Crash a workload at each step, and some of the recoveries from that."""
        chance = random.Random(workload.name)  # noqa: S311 - a seed, so that it can be run again
        seen: set[int] = set()
        chosen: list[tuple[_Disk, Ledger]] = []
        numbers = itertools.count()
        for operation in itertools.count(1):
            files, ledger = self._run_until(workload, operation)
            for disk in self._disks_after(workload, operation, files, chance):
                key = hash((snapshot(disk.files), disk.case[:4], ledger.acknowledged))
                if key in seen:
                    continue
                seen.add(key)
                slot = chance.randrange(next(numbers) + 1)
                if slot < self._bounds.recoveries:
                    chosen[slot : slot + 1] = [
                        (disk._replace(files=disk.files.restarted()), ledger)
                    ]
                self._judge(disk, ledger, lives_before=1)
                if self.is_over:
                    return
            if not files.is_dead:
                break
        for disk, ledger in chosen:
            self._crash_recovery(disk, ledger, chance)

    def _run_until(
        self, workload: Workload, operation: int, *, tears_write: bool = False
    ) -> tuple[ModelFiles, Ledger]:
        files = ModelFiles(has_unnamed=workload.has_unnamed)
        files.crash_at(operation, tears_write=tears_write)
        host = Host(files, workload.begin())
        self._names.restart()
        self._until_crash(lambda: workload.run(host), f"{workload.name}, before any crash", host)
        return files, host.ledger

    def _disks_after(
        self, workload: Workload, operation: int, files: ModelFiles, chance: random.Random
    ) -> Iterator[_Disk]:
        where = f"{workload.name}, operation {operation}"
        yield from self._power_cuts(where, files, self._bounds.images, chance)
        yield _Disk(f"kill: {where}", files.restarted())
        torn, _ = self._run_until(workload, operation, tears_write=True)
        yield _Disk(f"kill: {where}, half written", torn.restarted())

    def _power_cuts(
        self, where: str, files: ModelFiles, number: int, chance: random.Random
    ) -> Iterator[_Disk]:
        images, are_all = sampled_images(files, number, chance)
        self.crashes += 1
        self.sampled_crashes += not are_all
        for index, image in enumerate(images):
            yield _Disk(f"power cut: {where}, image {index}", image)

    def _judge(self, disk: _Disk, ledger: Ledger, *, lives_before: int) -> None:
        """Recover, go on, and recover from both another kill and another power cut."""
        self.states += 1
        self._names.restart(lives_before)
        host = Host(disk.files, ledger.copy())
        is_answered = self.states % 2 == 0
        self._watch(disk.case, host, is_answered=is_answered, goes_on=True)
        for case, files in (
            ("power cut after recovery", durable_image(disk.files)),
            ("kill after recovery", disk.files),
        ):
            again = Host(files, host.ledger.copy())
            self._watch(f"{disk.case}, {case}", again, is_answered=is_answered, goes_on=False)

    def _crash_recovery(self, disk: _Disk, ledger: Ledger, chance: random.Random) -> None:
        """Crash a recovery at each step, with some of what that may leave."""
        self.recoveries += 1
        for operation in itertools.count(1):
            host = Host(disk.files.restarted(), ledger.copy())
            host.files.crash_at(operation)
            self._names.restart(1)
            where = f"{disk.case}, recovery, operation {operation}"
            self._watch(where, host, is_answered=True, goes_on=True)
            if not host.files.is_dead:
                return
            number = self._bounds.images_of_recovery
            for again in self._power_cuts(where, host.files, number, chance):
                self._judge(again, host.ledger, lives_before=2)
                if self.is_over:
                    return
            self._judge(
                _Disk(f"{where}, kill", host.files.restarted()), host.ledger, lives_before=2
            )

    def _watch(self, case: str, host: Host, *, is_answered: bool, goes_on: bool) -> None:
        self._until_crash(
            lambda: host.recover(is_answered=is_answered, goes_on=goes_on), case, host
        )

    def _until_crash(self, action: Callable[[], None], case: str, host: Host) -> None:
        try:
            action()
        except Crash:
            pass
        except Exception as error:  # noqa: BLE001 - whatever it is, a sound disk gives no reason
            host.broken.append(f"raised {error!r}")
        self.violations += [f"{case}: {broken}" for broken in host.broken]


def _run(scale: Scale, bug: str | None) -> Outcome:
    with _same_each_time() as names, _with_bug(bug):
        search = _Search(_BOUNDS[scale], names, stops_at_first=bug is not None)
        for workload in _WORKLOADS[scale]:
            search.explore(workload)
            if search.is_over:
                break
    whole = search.crashes - search.sampled_crashes
    detail = (
        f"{len(_WORKLOADS[scale])} workloads, {search.crashes:,} power cuts, all images of "
        f"{whole:,} of them, seeded samples of the others; {search.recoveries} recoveries crashed "
        "at each step"
    )
    return Outcome(search.states, tuple(search.violations), detail)


@contextmanager
def _with_bug(bug: str | None) -> Iterator[None]:
    if bug not in _OWN_BUGS:
        with seeded(bug, ModelFiles()):
            yield
        return
    owner, function = _OWN_BUGS[bug]
    with mock.patch.object(owner, function, return_value=None):
        yield


@contextmanager
def _same_each_time() -> Iterator[_Names]:
    """Take clock, chance and threads out of the storage, so that a crash can be run again."""
    names = _Names()
    with ExitStack() as stack:
        for module in (recorder, lineage):
            stack.enter_context(mock.patch.object(module, "datetime", _Clock))
        stack.enter_context(mock.patch("toolbudget.storage._aside.os.urandom", names.draw))
        stack.enter_context(mock.patch.object(_parallel, "_MAX_THREADS", 1))
        logger = logging.getLogger("toolbudget")
        stack.enter_context(mock.patch.object(logger, "disabled", new=True))
        yield names


HARNESS: Final = Harness(
    "crash_states",
    "whatever a crash leaves: nothing sent drifts, dangles or is lost",
    _run,
    ("direct", "glue", "late", "nofsync", "nodirsync", "noadopt", "noabove"),
)
