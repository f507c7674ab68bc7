"""Run the harnesses side by side, each also with the bugs that it must catch, and print a table.

``python -m tests.faults [--scale bounded|soak] [--jobs N] [NAME…]``
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import time
from concurrent.futures import ThreadPoolExecutor, as_completed
from dataclasses import asdict
from typing import TYPE_CHECKING, NamedTuple

from rich.console import Console
from rich.table import Table

from tests.faults.harness import Outcome, Scale
from tests.faults.registry import HARNESSES

if TYPE_CHECKING:
    from collections.abc import Sequence

    from tests.faults.harness import Harness


class _Job(NamedTuple):
    harness: Harness
    bug: str | None


class _Done(NamedTuple):
    job: _Job
    outcome: Outcome
    elapsed_s: float


def main() -> int:
    """Run what the arguments ask for; 1 if a promise broke or a seeded bug went unseen."""
    parser = argparse.ArgumentParser(prog="python -m tests.faults")
    names = f"all, or some of {', '.join(HARNESSES)}"
    parser.add_argument("names", nargs="*", metavar="NAME", help=names)
    scale = "minutes (bounded), or an hour before a release (soak)"
    parser.add_argument(
        "--scale", type=Scale, choices=list(Scale), default=Scale.BOUNDED, help=scale
    )
    jobs = os.cpu_count() or 1
    parser.add_argument(
        "--jobs", type=int, default=jobs, help="processes at a time; default: %(default)s"
    )
    parser.add_argument("--bug", help=argparse.SUPPRESS)
    parser.add_argument("--one", action="store_true", help=argparse.SUPPRESS)
    options = parser.parse_args()
    unknown = set(options.names) - set(HARNESSES)
    if unknown:
        parser.error(
            f"no such harness: {', '.join(sorted(unknown))}; one of {', '.join(HARNESSES)}"
        )
    chosen = [HARNESSES[name] for name in options.names or HARNESSES]
    if options.one:
        outcome = chosen[0].run(options.scale, options.bug)
        sys.stdout.write("\n" + json.dumps(asdict(outcome)) + "\n")
        return 0
    done = _run_all(chosen, options.scale, options.jobs)
    return _report(chosen, done)


def _run_all(chosen: Sequence[Harness], scale: Scale, jobs: int) -> list[_Done]:
    wanted = [_Job(harness, bug) for harness in chosen for bug in (None, *harness.bugs)]
    # The long runs first, so that none is left alone at the end.
    wanted.sort(key=lambda job: job.bug is not None)
    done = []
    with ThreadPoolExecutor(jobs) as pool:
        running = [pool.submit(_run, job, scale) for job in wanted]
        for finished in as_completed(running):
            done.append(finished.result())
            _show_progress(done[-1], len(done), len(wanted))
    return sorted(done, key=lambda one: wanted.index(one.job))


def _show_progress(one: _Done, number: int, total: int) -> None:
    """Say on standard error what is done: the whole may take an hour."""
    what = one.job.harness.name + (f" with bug {one.job.bug!r}" if one.job.bug else "")
    found = f"{one.outcome.tries:,} tries, {len(one.outcome.violations)} violations"
    sys.stderr.write(f"[{number}/{total}] {what}: {found}, {one.elapsed_s:.0f} s\n")


def _run(job: _Job, scale: Scale) -> _Done:
    """Run one harness in a process of its own: it may patch, limit or exhaust it."""
    command = [sys.executable, "-m", "tests.faults", job.harness.name, "--one", "--scale", scale]
    command += [] if job.bug is None else ["--bug", job.bug]
    started_s = time.monotonic()
    finished = subprocess.run(command, capture_output=True, text=True, check=False)
    elapsed_s = time.monotonic() - started_s
    try:
        fields = json.loads(finished.stdout.splitlines()[-1])
    except (IndexError, ValueError):
        tail = finished.stderr.strip().splitlines()[-1:] or ["no output"]
        broken = f"harness ended with {finished.returncode}: {tail[0]}"
        return _Done(job, Outcome(0, (broken,), "broken"), elapsed_s)
    return _Done(job, Outcome(**{**fields, "violations": tuple(fields["violations"])}), elapsed_s)


def _report(chosen: Sequence[Harness], done: Sequence[_Done]) -> int:
    console = Console(width=None if sys.stdout.isatty() else 120)
    table = Table("harness", "promise", box=None, pad_edge=False)
    for heading in ("tries", "violations", "bugs caught", "seconds"):
        table.add_column(heading, justify="right")
    problems: list[str] = []
    for harness in chosen:
        own = [one for one in done if one.job.harness is harness]
        clean = next(one.outcome for one in own if one.job.bug is None)
        caught = [one for one in own if one.job.bug and _is_caught(one.outcome)]
        bugs = f"{len(caught)}/{len(harness.bugs)}"
        counts = (f"{clean.tries:,}", str(len(clean.violations)), bugs)
        if clean.skipped:
            counts = ("skipped", "-", "-")
            console.print(f"SKIPPED {harness.name}: {clean.skipped}", style="bold yellow")
        seconds = f"{sum(one.elapsed_s for one in own):.0f}"
        table.add_row(harness.name, harness.promise, *counts, seconds)
        problems += [f"{harness.name}: {violation}" for violation in clean.violations]
        problems += _unseen(own) if not clean.skipped else []
    console.print(table)
    _print_details(console, done)
    for problem in problems[:50]:
        console.print(f"FAILED {problem}", style="bold red", markup=False, highlight=False)
    verdict = f"{len(problems)} problems" if problems else "no violation, every seeded bug caught"
    console.print(f"faults: {len(chosen)} harnesses, {verdict}")
    return 1 if problems else 0


def _is_caught(outcome: Outcome) -> bool:
    """Tell whether promises broke, and not the harness itself."""
    return bool(outcome.violations) and outcome.detail != "broken"


def _unseen(done: Sequence[_Done]) -> list[str]:
    return [
        f"{one.job.harness.name}: seeded bug not caught: {one.job.bug} {one.outcome.violations[:1]}"
        for one in done
        if one.job.bug is not None and not _is_caught(one.outcome)
    ]


def _print_details(console: Console, done: Sequence[_Done]) -> None:
    for one in done:
        if one.job.bug is None and one.outcome.detail:
            console.print()
            console.print(f"{one.job.harness.name}: {one.outcome.detail}", markup=False)
    console.print()


if __name__ == "__main__":
    sys.exit(main())
