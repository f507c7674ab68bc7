"""Every call of the write path fails once, for ever, or half, for each plausible reason."""

from __future__ import annotations

import errno
import gc
import logging
import shutil
import tempfile
from collections import Counter
from itertools import cycle
from pathlib import Path
from typing import TYPE_CHECKING, Final, NamedTuple

from tests.faults.after_death import (
    held_locks,
    leftovers,
    missing_records,
    records_in,
    resume_violations,
)
from tests.faults.bugs import seeded
from tests.faults.erring import ErringFiles, Fault
from tests.faults.error_bugs import OWN_BUGS, own_bug
from tests.faults.error_stories import ENDINGS, STORIES, Host
from tests.faults.harness import Harness, Outcome, Scale
from tests.faults.opening import open_session
from tests.faults.workload import LIMITS, SESSION_ID, history, sent_texts, violations_after
from tests.layer.storage.faulty import UnsyncedFiles, without_unnamed_files

if TYPE_CHECKING:
    from collections.abc import Iterator

    from tests.faults.error_stories import Begun, Ending
    from toolbudget import Session
    from toolbudget.storage._files import FileSystem

__all__ = ["HARNESS"]

# Every so many cases of all; a number that keeps no kind of fault and no ending out.
_STRIDES: Final = {Scale.BOUNDED: 17, Scale.SOAK: 1}
_FILES: Final = UnsyncedFiles()

_MAKE: Final = "EACCES EROFS ENOSPC EDQUOT EMFILE EIO"
_OPEN: Final = "EACCES EMFILE ENOMEM ESTALE EIO"
_MAKE_DIRECTORY: Final = "EACCES EROFS ENOSPC EDQUOT EMLINK EIO"
_LINK: Final = "EPERM EACCES EMLINK EROFS ENOSPC EIO ESTALE"
_SYNC: Final = "EIO ENOSPC EDQUOT EROFS"
_ERRORS: Final = {
    "open_root": _OPEN,
    "make_root": _MAKE_DIRECTORY,
    "open_directory": _OPEN,
    "make_directory": _MAKE_DIRECTORY,
    "create_unnamed": _MAKE,
    "create_exclusive": _MAKE,
    "open_file": _OPEN,
    "open_append": f"{_MAKE} ENOMEM ESTALE",
    "link_unnamed": _LINK,
    "link": _LINK,
    "unlink": "EROFS EACCES EIO",
    "write": "ENOSPC EDQUOT EFBIG EIO EINTR",
    "read": "EIO ESTALE EINTR",
    "truncate": "EIO EROFS",
    "status": "EIO ESTALE",
    "sync": _SYNC,
    "sync_data": _SYNC,
    "sync_directory": _SYNC,
    "lock": "ENOLCK EIO EINTR",
    "unlock": "EIO ENOLCK",
    "close": "EIO ENOSPC EDQUOT",
}
_MAY_FAIL_AFTERWARDS: Final = frozenset(
    {
        "make_root",
        "make_directory",
        "link_unnamed",
        "link",
        "unlink",
        "write",
        "sync",
        "sync_directory",
        "unlock",
    }
)


class _Case(NamedTuple):
    story: str
    has_unnamed_files: bool
    fault: Fault | None
    ending: Ending

    def __str__(self) -> str:
        names = "unnamed" if self.has_unnamed_files else "named"
        return f"{self.story}, {names} files, {self.fault}, host {self.ending}"

    @property
    def is_rare(self) -> bool:
        """Whether there are so few of its sort that none is left out."""
        return self.fault is None or self.fault.kind == "torn"

    @property
    def may_leave_temporary_files(self) -> bool:
        """Whether the disk never lets a name go."""
        fault = self.fault
        if fault is None:
            return False
        return fault.kind == "dead" or (fault.methods == ("unlink",) and fault.kind == "sticky")


def run(scale: Scale, bug: str | None) -> Outcome:
    """Tell every story with every fault, or with some of each sort."""
    tries = Counter[str]()
    broken: list[str] = []
    base = Path(tempfile.mkdtemp(prefix="toolbudget-call-errors-"))
    logging.disable(logging.CRITICAL)
    gc.collect()
    gc.freeze()
    try:
        shared_bug, special_bug = (None, bug) if bug in OWN_BUGS else (bug, None)
        with seeded(shared_bug, _FILES), own_bug(special_bug):
            for number, case in enumerate(_cases(base)):
                if number % _STRIDES[scale] and not case.is_rare:
                    continue
                tries[case.story] += 1
                broken += [f"{case}: {one}" for one in _try(base / "case", case)[1]]
                if bug and broken:
                    break
    finally:
        gc.unfreeze()
        logging.disable(logging.NOTSET)
        shutil.rmtree(base, ignore_errors=True)
    detail = ", ".join(f"{story} {count:,}" for story, count in tries.items())
    return Outcome(tries.total(), tuple(broken), detail)


def _cases(base: Path) -> Iterator[_Case]:
    endings = cycle(ENDINGS)
    for story in STORIES:
        for has_unnamed_files in (True, False):
            clean = _Case(story, has_unnamed_files, None, "closes")
            yield clean
            for fault in _faults(_try(base / "clean", clean)[0]):
                yield _Case(story, has_unnamed_files, fault, next(endings))


def _faults(calls: Counter[str]) -> Iterator[Fault]:
    """Yield every fault at every call of a story, by how often it makes which call."""
    # Backwards by name, which brings the writes first.
    for method, count in sorted(calls.items(), reverse=True):
        for number in range(1, count + 1):
            yield from _faults_of_call(method, number)
    for number in range(1, calls.total() + 1):
        for error in (errno.EIO, errno.EROFS):
            yield Fault((), number, error, "dead")


def _faults_of_call(method: str, number: int) -> Iterator[Fault]:
    for name in _ERRORS.get(method, "EIO").split():
        error = getattr(errno, name)
        yield Fault((method,), number, error, "once")
        if error != errno.EINTR:
            yield Fault((method,), number, error, "sticky")
    if method in _MAY_FAIL_AFTERWARDS:
        yield Fault((method,), number, errno.EIO, "after")
    if method in {"write", "sync", "sync_data", "sync_directory"}:
        yield Fault((method,), number, errno.EIO, "stuck")
    if method == "write":
        yield Fault((method,), number, errno.EIO, "short")
        yield Fault((method,), number, errno.EIO, "nothing")
        yield Fault((method,), number, errno.ENOSPC, "short then error")
        yield Fault((method,), number, errno.ENOSPC, "torn")


def _try(root: Path, case: _Case) -> tuple[Counter[str], list[str]]:
    """Tell a story; return which calls it makes, and what is broken when the disk is well again."""
    unnamed = case.has_unnamed_files
    inner: FileSystem = _FILES if unnamed else without_unnamed_files(_FILES).files
    files = ErringFiles(inner)
    descriptors = _count_descriptors()
    host = Host(root, files, case.fault)
    STORIES[case.story](host)
    calls, has_fired = Counter(files.calls), files.has_fired
    host.end(case.ending)
    broken = [*host.broken, *files.repeated_syncs, *held_locks(root)]
    if case.fault is not None and not has_fired:
        broken.append("the fault was not met")
    if _count_descriptors() != descriptors:
        broken.append("descriptors left open")
    if not case.may_leave_temporary_files:
        broken += leftovers(root)
    broken += _violations_of_the_session(root, host)
    for begun in host.begun:
        broken += _violations_of_a_branch(root, begun)
    shutil.rmtree(root, ignore_errors=True)
    return calls, broken


def _violations_of_the_session(root: Path, host: Host) -> list[str]:
    # A session whose files hold no record at all takes everything for fresh, so a host that has
    # been told of that adopts what it has sent.
    has_failed = any(sent.record_failures for sent in host.sent)
    adopts = has_failed and not any(records_in(root / f"{SESSION_ID}.jsonl"))
    broken = violations_after(root, host.sent, durability="process", adopts=adopts)
    with open_session(root, SESSION_ID, limits=LIMITS, durability="process") as session:
        texts = sent_texts(session.enforce(history(len(host.sent) + 2)))
    # What came after a torn line too.
    return broken + missing_records(root, texts)


def _violations_of_a_branch(root: Path, begun: Begun) -> list[str]:
    """There is all of a fork or sub-agent, or nothing that keeps it from being begun."""
    with open_session(root, SESSION_ID, limits=LIMITS, durability="process") as session:
        is_fork = begun.name == "fork"
        folder = root if is_fork else root / SESSION_ID / "subagents"
        if not (folder / ("fork.jsonl" if is_fork else "agent-agent.jsonl")).exists():
            (session.fork if is_fork else session.subagent)(begun.name).close()

        def resume() -> Session:
            if is_fork:
                return open_session(root, "fork", limits=LIMITS, durability="process")
            return open_session(
                root,
                SESSION_ID,
                agent_id="agent",
                parent=session,
                limits=LIMITS,
                durability="process",
            )

        broken = resume_violations(resume, begun.turns, begun.texts)
    return [f"{begun.name}: {violation}" for violation in broken]


def _count_descriptors() -> int:
    return len(list(Path("/dev/fd").iterdir()))


HARNESS: Final = Harness(
    name="call_errors",
    promise="whatever call fails, nothing is lost, kept silent or sent otherwise later",
    run=run,
    bugs=("ambiguous", "direct", "glue", *OWN_BUGS),
)
