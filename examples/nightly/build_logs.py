"""What the continuous integration of tidewatch writes: job logs, the failure log, JUnit XML."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from examples.nightly.clock import Clock
from examples.nightly.dice import Dice, fit
from examples.nightly.project import BROKEN_TESTS, FAILURE_REASON, STATIONS, draw_test, traceback_of

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from examples.nightly.project import Station

__all__ = ["failure_log", "job_log", "junit_report"]

_PACKAGES: Final = (
    "attic-pool 4.1.0",
    "gaugeframes 3.3.0",
    "harbor-http 0.27.2",
    "moonphase 2.0.5",
    "pytest 9.2.0",
    "tidaltables 11.4.1",
)
_SKIP_REASONS: Final = (
    "needs a serial port",
    "the gauge simulator is not built on this platform",
    "slow: runs on Sundays",
)
# As often as they occur in a log.
_KINDS: Final = (
    *("PASSED",) * 38,
    *("FAILED",) * 3,
    *("SKIPPED",) * 2,
    *("late",) * 5,
    *("runner",) * 2,
)


def job_log(shard: int, *, max_chars: int, stations: Sequence[Station] = STATIONS) -> str:
    """Write the log of one test job, from the runner's greeting to its clean-up."""
    dice = Dice(f"job {shard}")
    clock = Clock("2026-03-14T02:31:04.118")
    head = [
        f"{clock.stamp(0)} ##[group]Runner quayside-{shard} (linux-arm64, image 2026.03.1)",
        f"{clock.stamp(310)} Nightly #4183 of tidewatch, branch main, commit 5d0c9be41f07",
        f"{clock.stamp(2_204)} ##[endgroup]",
        f"{clock.stamp(45)} $ pip install --require-hashes -r requirements/nightly.txt",
        *(f"{clock.stamp(dice.number(300, 900))}   installed {item}" for item in _PACKAGES),
        f"{clock.stamp(180)} gaugeframes: 3.2.4 -> 3.3.0 since nightly #4181",
        f"{clock.stamp(90)} $ pytest -n 4 --shard {shard}/6 --durations 10",
        f"{clock.stamp(2_900)} collected 2,214 items; this is shard {shard} of 6",
    ]
    end = Clock("2026-03-14T03:20:11.402")
    tail = [
        f"{end.stamp(0)} FAILED, each time with {FAILURE_REASON!r}",
        f"{end.stamp(12)} ##[error]Process completed with exit code 1.",
        f"{end.stamp(1_507)} uploading junit-{shard}.xml, coverage-{shard}.data",
        f"{end.stamp(640)} cleaning up: 3 containers, 1 volume 🧹",
    ]
    return fit(head, _job_lines(dice, clock, stations), tail, max_chars=max_chars)


def _job_lines(dice: Dice, clock: Clock, stations: Sequence[Station]) -> Iterator[str]:
    count = 0
    while True:
        station = dice.pick(stations)
        stamp = clock.stamp(dice.number(40, 12_000))
        kind = dice.pick(_KINDS)
        if kind == "late":
            yield (
                f"{stamp} WARN replay {station.name} ({station.id}): {dice.number(2, 40)} frames "
                f"later than the watermark by {dice.number(1_000, 99_000)} s"
            )
            continue
        if kind == "runner":
            yield (
                f"{stamp} runner: cpu {dice.number(31, 99)} %, memory "
                f"{dice.number(18, 61) / 10} of 7.0 GB, load {dice.number(90, 460) / 100}"
            )
            continue
        count += 1
        name = draw_test(dice, station, is_broken=kind == "FAILED")
        yield f"{stamp} [gw{dice.number(0, 3)}] {count:>4} {kind} {name}{_detail(dice, kind)}"


def _detail(dice: Dice, kind: str) -> str:
    if kind == "FAILED":
        return f" ❌ {FAILURE_REASON} (frame {dice.number(1, 65_535)})"
    if kind == "SKIPPED":
        return f" ({dice.pick(_SKIP_REASONS)})"
    return f" {dice.number(4, 2_900) / 1000:.3f}s"


def failure_log() -> str:
    """Write the failing part of the nightly: the summary first, then one report per test."""
    dice = Dice("failures")
    failures = [(test, station) for test in BROKEN_TESTS for station in STATIONS]
    counts = f"{len(failures)} failed, 2,153 passed, 25 skipped"
    ending = f" {counts} in 3127.44s (0:52:07) "
    lines = [
        "tidewatch nightly #4183: FAILED after 52m 07s (last green: #4181, two nights ago)",
        f"{counts} in 6 shards on linux-arm64; the same on linux-x86_64",
        "",
        f"All failures end in: {FAILURE_REASON}",
        "Suspects: 8f21c6a..5d0c9be (3 commits, 1 of them an update of dependencies)",
        "",
        f"{' FAILURES ':=^78}",
        *(traceback_of(dice, test, station) for test, station in failures),
        f"{' short test summary info ':=^78}",
        *(f"FAILED {test}[{station.id}] - {FAILURE_REASON}" for test, station in failures),
        f"{ending:=^78}",
    ]
    return "\n".join(lines)


def junit_report(*, max_chars: int) -> str:
    """Write the test report that the build keeps as an artifact."""
    head = [
        '<?xml version="1.0" encoding="utf-8"?>',
        '<testsuites name="tidewatch nightly 4183">',
        '<testsuite name="shard-2" hostname="quayside-2" timestamp="2026-03-14T02:31:14Z">',
    ]
    tail = ["</testsuite>", "</testsuites>"]
    return fit(head, _test_cases(Dice("junit")), tail, max_chars=max_chars)


def _test_cases(dice: Dice) -> Iterator[str]:
    while True:
        station = dice.pick(STATIONS)
        is_broken = dice.happens(percent=4)
        file, _, name = draw_test(dice, station, is_broken=is_broken).partition("::")
        module = file.removesuffix(".py").replace("/", ".")
        case = f'<testcase classname="{module}" name="{name}" time="{dice.number(4, 2900) / 1000}"'
        failure = f'<failure message="{FAILURE_REASON}" type="ValueError"/></testcase>'
        yield f"{case}>{failure}" if is_broken else f"{case}/>"
