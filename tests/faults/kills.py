"""Hosts killed by ``kill -9``: at random moments, and at every single call of the file system."""

from __future__ import annotations

import gc
import random
import shutil
import tempfile
from itertools import count
from pathlib import Path
from typing import TYPE_CHECKING, Final, Literal, NamedTuple, TypeAlias, get_args

from tests.faults.after_death import Conversation
from tests.faults.bugs import seeded
from tests.faults.deadly import DeadlyFiles, Moment
from tests.faults.harness import Harness, Outcome, Scale
from tests.faults.hosts import Victim, branch, talk, talk_and_resume
from tests.layer.storage.faulty import UnsyncedFiles, without_unnamed_files
from toolbudget.storage._files import POSIX, Durability

if TYPE_CHECKING:
    from collections.abc import Iterator

    from tests.faults.hosts import Work
    from toolbudget.storage._files import FileSystem

__all__ = ["HARNESS"]

_KILLS: Final = {Scale.BOUNDED: 320, Scale.SOAK: 10_000}
_SEED: Final = 7
_UNSYNCED: Final = UnsyncedFiles()
_TURNS: Final = 3
_MAX_TURNS: Final = 16
_MAX_HOSTS: Final = 6
_PATIENCE_S: Final = 10.0
_FIRST_SPAN_S: Final = 0.02
_START_S: Final = 0.004
# So that about one host in ten comes to its end: the kills then cover the whole of a run.
_SHORTER: Final = 0.95
_LONGER: Final = 1.006

_Kind: TypeAlias = Literal["one", "two", "branching"]
_KINDS: Final[tuple[_Kind, ...]] = ("one", "one", "two", "branching")


class _RandomKills:
    """Starts hosts and kills each of them at a random moment."""

    def __init__(self) -> None:
        self.kills = 0
        self.hosts = 0
        self.sessions = 0
        self._random = random.Random(_SEED)  # noqa: S311 - the same moments in every run
        self._spans_s: dict[_Kind, float] = dict.fromkeys(get_args(_Kind), _FIRST_SPAN_S)

    def end_a_session(self, root: Path, max_kills: int) -> list[str]:
        """Kill the hosts of one conversation, one after the other; say what is broken then."""
        self.sessions += 1
        durability: Durability = self._random.choice(get_args(Durability))
        # Deaths inside a real sync too; but most need not wait for the disk.
        files = POSIX if self.sessions % 4 == 0 else _UNSYNCED
        conversation = Conversation(root)
        for _ in range(_MAX_HOSTS):
            kind = self._random.choice(_KINDS)
            self._run_hosts(conversation, kind, durability, files)
            broken = conversation.violations()
            case = f"session {self.sessions}, kill {self.kills} ({kind}, {durability})"
            if broken:
                return [f"{case}: {violation}" for violation in broken]
            if self.kills >= max_kills or conversation.turns > _MAX_TURNS:
                break
        return []

    def _run_hosts(
        self, conversation: Conversation, kind: _Kind, durability: Durability, files: FileSystem
    ) -> None:
        root, turns = conversation.root, conversation.turns
        self.hosts += 1
        if kind == "branching":
            name = str(self.hosts)
            works = [branch(root, turns, name, durability=durability, files=files)]
        else:
            one = talk(root, turns, _TURNS, durability=durability, files=files)
            works = [one] * (2 if kind == "two" else 1)
        victims = [Victim(work) for work in works]
        if self._random.random() < 0.9:
            victims[0].wait_for_a_word(_PATIENCE_S)
            longest_s = self._spans_s[kind]
        else:
            longest_s = _START_S
        self._kill(victims, kind, longest_s)
        conversation.hear(*(victim.said for victim in victims))

    def _kill(self, victims: list[Victim], kind: _Kind, longest_s: float) -> None:
        for victim in self._random.sample(victims, len(victims)):
            victim.listen(self._random.uniform(0, longest_s))
            if victim.kill():
                self.kills += 1
                self._spans_s[kind] *= _LONGER
            else:
                self._spans_s[kind] *= _SHORTER


def run(scale: Scale, bug: str | None) -> Outcome:
    """Kill at every call, then at random moments."""
    broken: list[str] = []
    random_kills = _RandomKills()
    kills_at_a_call = 0
    base = Path(tempfile.mkdtemp(prefix="toolbudget-kills-"))
    # What is there before the forks is not looked at again, neither here nor in the children.
    gc.collect()
    gc.freeze()
    try:
        with seeded(bug, POSIX):
            for violations in _kill_at_every_call(base, scale):
                kills_at_a_call += 1
                broken += violations
                if bug and broken:
                    break
            while random_kills.kills < _KILLS[scale] and not broken:
                root = base / "random"
                broken += random_kills.end_a_session(root, _KILLS[scale])
                shutil.rmtree(root, ignore_errors=True)
    finally:
        gc.unfreeze()
        shutil.rmtree(base, ignore_errors=True)
    detail = (
        f"{random_kills.kills:,} random kills in {random_kills.sessions:,} sessions, "
        f"{kills_at_a_call:,} kills at a call"
    )
    return Outcome(random_kills.kills + kills_at_a_call, tuple(broken), detail)


class _Sweep(NamedTuple):
    """One story, told again and again with a death at each of its calls."""

    story: Literal["a turn and a resume", "a fork and a sub-agent"]
    durability: Durability
    moment: Moment
    has_unnamed_files: bool

    def __str__(self) -> str:
        names = "unnamed" if self.has_unnamed_files else "named"
        return f"{self.story}, {self.durability}, {names} files, {self.moment} call"

    def work(self, root: Path, number: int) -> Work:
        """Return what the host does until its N-th call."""
        unsynced = UnsyncedFiles()
        inner = unsynced if self.has_unnamed_files else without_unnamed_files(unsynced).files
        files = DeadlyFiles(inner, number, self.moment).files
        if self.story == "a turn and a resume":
            return talk_and_resume(root, 0, durability=self.durability, files=files)
        return branch(root, 0, "1", durability=self.durability, files=files)


def _sweeps(scale: Scale) -> Iterator[_Sweep]:
    for story in ("a turn and a resume", "a fork and a sub-agent"):
        for moment in get_args(Moment):
            yield _Sweep(story, "full", moment, has_unnamed_files=True)
            if scale is Scale.BOUNDED:
                continue
            yield _Sweep(story, "full", moment, has_unnamed_files=False)
            yield _Sweep(story, "data", moment, has_unnamed_files=True)
            yield _Sweep(story, "process", moment, has_unnamed_files=True)


def _kill_at_every_call(base: Path, scale: Scale) -> Iterator[list[str]]:
    """Yield what each kill broke."""
    for sweep in _sweeps(scale):
        for number in count(1):
            root = base / "every-call"
            conversation = Conversation(root, may_leave_temporary_files=not sweep.has_unnamed_files)
            victim = Victim(sweep.work(root, number))
            has_died = victim.end()
            conversation.hear(victim.said)
            broken = [f"{sweep} {number}: {one}" for one in conversation.violations()]
            shutil.rmtree(root, ignore_errors=True)
            if has_died or broken:
                yield broken
            if not has_died:
                # It came to its end before so many calls.
                break


HARNESS: Final = Harness(
    name="kills",
    promise="a host killed at any moment resumes without loss or drift",
    run=run,
    bugs=("direct", "glue", "late"),
)
