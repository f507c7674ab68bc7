"""Hostile sizes: large texts, many of everything, JSON deeper than any stack."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from typing import TYPE_CHECKING, Final, NamedTuple

from tests.faults.harness import Harness, Outcome, Scale
from tests.faults.size_bugs import SIZE_BUGS
from tests.faults.size_case import CASES

if TYPE_CHECKING:
    from collections.abc import Iterator

__all__ = ["HARNESS"]

_BOTH: Final = ("native", "python")
# A case runs on both cores if one of them could make a difference to it, and if time allows.
_BOUNDED_CORES: Final[dict[str, tuple[str, ...]]] = {
    "1 GiB of ASCII": _BOTH,
    "1 GiB of Cyrillic": _BOTH,
    "text in two blocks": _BOTH,
    "many results": _BOTH,
    "depth in messages": _BOTH,
}
# The cases that must notice a bug.
_CASES_OF_BUG: Final = {
    "whole-copy": ("1 GiB of ASCII",),
    "recursive": ("depth in messages",),
}
_TIMEOUT_S: Final = {Scale.BOUNDED: 300.0, Scale.SOAK: 3_000.0}


class _Try(NamedTuple):
    case: str
    core: str


def _run(scale: Scale, bug: str | None) -> Outcome:
    if not sys.platform.startswith("linux"):
        return Outcome(0, skipped="memory is measured and limited as on Linux")
    figures: list[str] = []
    violations: list[str] = []
    tries = list(_tries(scale, bug))
    for one in tries:
        problem, measured = _run_case(one, scale, bug)
        figures.append(f"{one.case} ({one.core}) {measured}")
        if problem is not None:
            violations.append(f"{one.case} ({one.core}): {problem}; {measured}")
    return Outcome(len(tries), tuple(violations), "; ".join(figures))


def _tries(scale: Scale, bug: str | None) -> Iterator[_Try]:
    for case in CASES if bug is None else _CASES_OF_BUG[bug]:
        cores = _BOTH if scale is Scale.SOAK else _BOUNDED_CORES.get(case, ("native",))
        yield from (_Try(case, core) for core in cores)


def _run_case(one: _Try, scale: Scale, bug: str | None) -> tuple[str | None, str]:
    """Run a case in a process that it may end, and say what was broken and measured."""
    command = [sys.executable, "-m", "tests.faults.size_case", one.case, scale]
    command += [] if bug is None else ["--bug", bug]
    environment = {**os.environ, "TOOLBUDGET_CORE": one.core}
    try:
        done = subprocess.run(
            command,
            env=environment,
            capture_output=True,
            text=True,
            check=False,
            timeout=_TIMEOUT_S[scale],
        )
    except subprocess.TimeoutExpired:
        return "did not end", f"{_TIMEOUT_S[scale]:.0f} s"
    if done.returncode != 0:
        last = done.stderr.strip().splitlines()[-1:] or ["no output"]
        return f"ended with {done.returncode}: {last[0]}", ""
    problem, figures = json.loads(done.stdout.splitlines()[-1])
    return problem, figures


HARNESS: Final = Harness(
    name="sizes",
    promise="no size or depth takes more memory than said, or ends the host",
    run=_run,
    bugs=SIZE_BUGS,
)
