"""The peak memory of one work, in a process of its own.

    python -m benches.peak WORK [--traced]

Prints the MiB that the work took at its peak beyond what was there before it: of the whole process,
or with ``--traced`` of Python's own objects; and the seconds that it took.
"""

from __future__ import annotations

import os
import re
import subprocess
import sys
import tempfile
import time
import tracemalloc
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from benches.workloads import WORKLOADS, turns
from toolbudget import Limits, Session

if TYPE_CHECKING:
    from collections.abc import Callable

__all__ = ["LARGE_RESULT_MIB", "LARGE_WORKS", "WORKS", "Peak", "peak_mib", "peak_of"]

MIB: Final = 2**20
STATUS: Final = Path("/proc/self/status")
LARGE_TEXT_MIB: Final = 64
LARGE_RESULT_MIB: Final = 1_024


def _first_turn(root: str, messages: list[Any]) -> Callable[[], object]:
    session = Session.open(root, "peak", ephemeral=True, durability="process")
    return lambda: session.enforce(messages)


def _next_turn(root: str) -> Callable[[], object]:
    messages = turns(10_000, 5, 200)
    session = Session.open(root, "peak", ephemeral=True, durability="process")
    session.enforce(messages[:-2])
    return lambda: session.enforce(messages)


def _storing_bytes(root: str, size_bytes: int) -> Callable[[], object]:
    line = rb"a line of a log that says what was done\n"
    text = line * (size_bytes // len(line) + 1)
    block = b'{"type":"tool_result","tool_use_id":"t1","content":"%s"}' % text
    del text
    body = b'{"messages":[{"role":"user","content":[%s]}]}' % block
    del block
    session = Session.open(root, "peak", durability="process")
    return lambda: session.enforce_json(body)


def _storing(root: str, count: int, size_chars: int) -> Callable[[], object]:
    messages = turns(1, count, size_chars)
    limits = Limits(max_message_chars=1)
    session = Session.open(root, "peak", durability="process", limits=limits)
    return lambda: session.enforce(messages)


WORKS: Final[dict[str, Callable[[str], Callable[[], object]]]] = {
    **{
        f"{workload.name}, first turn": lambda root, workload=workload: _first_turn(  # type: ignore[misc]
            root, workload.messages()
        )
        for workload in WORKLOADS
    },
    "a turn after 20,000 messages": _next_turn,
    "1,000 x 50,000 stored": lambda root: _storing(root, 1_000, 50_000),
    f"one result of {LARGE_TEXT_MIB} MiB stored": lambda root: _storing(
        root, 1, LARGE_TEXT_MIB * MIB
    ),
}

"""What every run of the benches measures."""

LARGE_WORKS: Final[dict[str, Callable[[str], Callable[[], object]]]] = {
    "one result of 1 GiB stored": lambda root: _storing(root, 1, LARGE_RESULT_MIB * MIB),
    "a body with one result of 1 GiB stored": lambda root: _storing_bytes(
        root, LARGE_RESULT_MIB * MIB
    ),
}
"""What needs several GiB."""


class Peak(NamedTuple):
    """What one work took."""

    mib: float
    seconds: float


def peak_mib(work: str, core: str, *, traced: bool) -> float:
    """Measure the memory of a work in a child process."""
    return peak_of(work, core, traced=traced).mib


def peak_of(work: str, core: str, *, traced: bool) -> Peak:
    """Measure a work in a child process."""
    command = [sys.executable, "-m", "benches.peak", work, *(["--traced"] if traced else [])]
    finished = subprocess.run(  # noqa: S603 - our own child
        command,
        check=True,
        capture_output=True,
        text=True,
        env={**os.environ, "TOOLBUDGET_CORE": core},
    )
    mib, seconds = map(float, finished.stdout.split())
    return Peak(mib, seconds)


def main() -> None:
    """Do the work and print its peak; the child's side."""
    with tempfile.TemporaryDirectory() as root:
        work = (WORKS | LARGE_WORKS)[sys.argv[1]](root)
        started_s = time.perf_counter()
        peak_bytes = _traced_peak(work) if "--traced" in sys.argv else _resident_peak(work)
        sys.stdout.write(f"{peak_bytes / MIB} {time.perf_counter() - started_s}\n")


def _traced_peak(work: Callable[[], object]) -> int:
    tracemalloc.start()
    kept = work()
    peak_bytes = tracemalloc.get_traced_memory()[1]
    del kept
    return peak_bytes


def _resident_peak(work: Callable[[], object]) -> int:
    # Makes the high-water mark start anew from what is resident now.
    Path("/proc/self/clear_refs").write_text("5", "ascii")
    before_bytes = _status_bytes("VmHWM")
    kept = work()
    peak_bytes = _status_bytes("VmHWM") - before_bytes
    del kept
    return peak_bytes


def _status_bytes(field: str) -> int:
    found = re.search(rf"^{field}:\s+(\d+) kB$", STATUS.read_text("ascii"), re.MULTILINE)
    if found is None:
        raise RuntimeError(f"no {field} in {STATUS}")
    return int(found[1]) * 1024


if __name__ == "__main__":
    main()
