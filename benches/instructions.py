"""Counts the machine instructions of a call for each result or byte, and holds them to bounds.

Unlike seconds they are the same on every run, so a gate on them can be narrow. A child process runs
under ``valgrind --tool=callgrind``, once with few calls and once with more: the difference is what
the calls themselves took. No collection of garbage happens in it.

    python -m benches.instructions            # native core, against the bounds
    python -m benches.instructions --pure     # and the pure core beside it, for the ratio
"""

from __future__ import annotations

import argparse
import gc
import os
import shutil
import subprocess
import sys
import tempfile
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Final, NamedTuple

from benches.bodies import BODIES, BodyWorkload
from benches.counting import at_once, collected, marked
from benches.workloads import WORKLOADS, Workload, turns
from toolbudget import Limits, Session, _core

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from toolbudget._core import CoreName

CHILD: Final = (sys.executable, "-m", "benches.instructions", "--child")
PHASES: Final = ("first", "repeat")
BODY_PHASES: Final = ("first", "scan", "repeat")
# The first pass with all that a session takes from it, hashing too, which a plan puts off.
TAKEN: Final = "taken"
# The first pass of a whole session that keeps everything and records nothing.
SESSION: Final = "session"
# The same in a session that records what it keeps.
RECORDED: Final = "record"
SESSION_WORKLOAD: Final = "200 turns of 5 x 1,000"
# What a turn of an `append_only` session costs grows with the messages before it: by how much is
# the difference between two lengths.
TURN: Final = "turn"
HISTORIES: Final = (1_000, 20_000)
NEW_RESULTS: Final = (1, 5)
TURNS_BEFORE: Final = 60
# By then CPython has specialised what every turn runs, as in any session that lasts.
WARM_UP_TURNS: Final = 30
TURNS: Final = 20
FEW_CALLS: Final = 1
MORE_CALLS: Final = 3
# Below this the digits behind the point count.
FEW_INSTRUCTIONS: Final = 100

# Instructions for each result, or for each byte of a body, on the release build: what was reached,
# and a tenth more. The goals for bytes (AVX2, strict grammar) are 1.5 and 3.0 without hashing. They
# do not count all of a scan: results are compared, put into groups and joined to their calls, too.
BOUNDS: Final[dict[tuple[str, str], float]] = {
    ("one message of 10 x 40,000", "first"): 7_350,
    ("one message of 10 x 40,000", "repeat"): 1_800,
    ("one message of 10 x 40,000", "taken"): 32_000,
    ("one message of 1,000 x 2,000", "first"): 2_370,
    ("one message of 1,000 x 2,000", "repeat"): 420,
    ("one message of 1,000 x 2,000", "taken"): 14_700,
    ("200 turns of 5 x 1,000", "first"): 1_420,
    ("200 turns of 5 x 1,000", "repeat"): 423,
    ("200 turns of 5 x 1,000", "taken"): 4_750,
    ("200 turns of 5 x 1,000", "session"): 2_860,
    ("200 turns of 5 x 1,000", "record"): 4_580,
    ("body of 10 x 4,000", "first"): 4.46,
    ("body of 10 x 4,000", "scan"): 1.58,
    ("body of 10 x 4,000", "repeat"): 0.175,
    ("body of 10 x 400", "first"): 7.25,
    ("body of 10 x 400", "scan"): 4.85,
    ("body of 10 x 400", "repeat"): 0.25,
}
MOST_FOR_A_TURN: Final = 77_500
MOST_FOR_A_MESSAGE: Final = 2.34


class RecordedTurn(NamedTuple):
    """The next turn of a session with records, which appends one, however many results are new."""

    size_chars: int
    limits: Limits
    most: int
    """With what 60 turns before it take in a session with a verified history."""
    most_for_a_result: int


RECORDED_TURNS: Final = {
    "recorded": RecordedTurn(1_000, Limits(), 539_000, 44_600),
    "stored": RecordedTurn(50_000, Limits(max_result_chars=10_000), 278_000, 323_000),
}


@dataclass(frozen=True)
class Measurement:
    """What one phase of a workload takes for each result or byte."""

    workload: str
    phase: str
    native: float
    pure: float | None

    @property
    def bound(self) -> float | None:
        """The most that the native core may take."""
        return BOUNDS.get((self.workload, self.phase))

    @property
    def is_within(self) -> bool:
        """Whether the bound holds."""
        return self.bound is None or self.native <= self.bound

    def __str__(self) -> str:
        """Show it as a line of the table."""
        verdict = "" if self.is_within else "  over the bound"
        digits = 0 if self.native >= FEW_INSTRUCTIONS else 2
        bound = "-" if self.bound is None else f"{self.bound:,}"
        pure = self.pure
        ratio = "" if pure is None else f"{pure:10,.{digits}f} {pure / self.native:6.1f} x"
        native = f"{self.native:9,.{digits}f}"
        return f"{self.workload:32} {self.phase:7} {native} {bound:>7} {ratio}{verdict}"


def main() -> int:
    """Measure every phase of every workload; 1 if any is over its bound."""
    parser = argparse.ArgumentParser(description=__doc__, add_help=True)
    parser.add_argument("--pure", action="store_true", help="measure the pure core too")
    parser.add_argument("--child", nargs=4, help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    if arguments.child:
        core, workload, phase, calls = arguments.child
        if phase == TURN:
            _take_turns(int(workload), int(calls))
        elif phase in {SESSION, RECORDED}:
            _take_first_pass(is_recorded=phase == RECORDED)
        elif phase.endswith(" turn"):
            _take_recorded_turns(
                RECORDED_TURNS[phase.removesuffix(" turn")], int(workload), int(calls)
            )
        else:
            _run("python" if core == "python" else "native", workload, phase, int(calls))
        return 0
    if shutil.which("valgrind") is None:
        parser.error(
            "valgrind is not installed; Debian and others have it in a package of that name"
        )
    # The first child compiles what the others load.
    command = [*CHILD, "native", SESSION_WORKLOAD, SESSION, "1"]
    subprocess.run(command, check=True)  # noqa: S603 - our own child
    _show(f"{'for each result or byte':32} {'phase':7} {'native':>9} {'bound':>7}")
    is_within = True
    for measurement in _measurements(with_pure=arguments.pure):
        _show(str(measurement))
        is_within &= measurement.is_within
    is_within &= _is_turn_within()
    for kind in RECORDED_TURNS:
        is_within &= _is_recorded_turn_within(kind)
    return 0 if is_within else 1


def _is_turn_within() -> bool:
    """Show what the next turn of an ``append_only`` session takes, and hold it to the bounds."""
    shorter, longer = at_once(_for_a_turn, HISTORIES)
    for_a_message = (longer - shorter) / (HISTORIES[1] - HISTORIES[0])
    for_a_turn = shorter - for_a_message * HISTORIES[0]
    _show(f"next turn, append_only: {for_a_turn:,.0f} (at most {MOST_FOR_A_TURN:,})")
    _show(f"and for each message before it: {for_a_message:.2f} (at most {MOST_FOR_A_MESSAGE})")
    return for_a_turn <= MOST_FOR_A_TURN and for_a_message <= MOST_FOR_A_MESSAGE


def _is_recorded_turn_within(kind: str) -> bool:
    """Show what the next turn of a session with records takes, and hold it to the bounds."""
    turn = RECORDED_TURNS[kind]
    fewer, more = at_once(partial(_for_a_recorded_turn, kind), NEW_RESULTS)
    for_a_result = (more - fewer) / (NEW_RESULTS[1] - NEW_RESULTS[0])
    for_a_turn = fewer - for_a_result * NEW_RESULTS[0]
    _show(f"next turn after {TURNS_BEFORE}, {kind}: {for_a_turn:,.0f} (at most {turn.most:,})")
    _show(f"and for each result a turn: {for_a_result:,.0f} (at most {turn.most_for_a_result:,})")
    return for_a_turn <= turn.most and for_a_result <= turn.most_for_a_result


def _show(line: str) -> None:
    sys.stdout.write(f"{line}\n")
    sys.stdout.flush()


def _measurements(*, with_pure: bool) -> Iterator[Measurement]:
    for workload in (*WORKLOADS, *BODIES):
        for phase in BODY_PHASES if isinstance(workload, BodyWorkload) else (*PHASES, TAKEN):
            native, pure = _for_each("native", workload, phase), None
            if with_pure:
                pure = _for_each("python", workload, phase)
            yield Measurement(workload.name, phase, native, pure)
    phases = (SESSION, RECORDED)
    totals = at_once(lambda phase: _marked(SESSION_WORKLOAD, phase, 1), phases)
    for phase, total in zip(phases, totals, strict=True):
        native = total / _workload(SESSION_WORKLOAD).units
        yield Measurement(SESSION_WORKLOAD, phase, native, None)


def _workload(name: str) -> Workload | BodyWorkload:
    return next(item for item in (*WORKLOADS, *BODIES) if item.name == name)


def _for_a_turn(history_messages: int) -> float:
    return _marked(str(history_messages), TURN, TURNS) / TURNS


def _for_a_recorded_turn(kind: str, results: int) -> float:
    return _marked(str(results), f"{kind} turn", TURNS) / TURNS


def _marked(workload: str, phase: str, calls: int) -> int:
    """Give what the native core takes between the marks of a child."""
    [total] = marked([*CHILD, "native", workload, phase, str(calls)])
    return total


def _for_each(core: str, workload: Workload | BodyWorkload, phase: str) -> float:
    """Give the instructions of one call for each result or byte of the workload."""
    counts = (FEW_CALLS, MORE_CALLS)
    few, more = at_once(
        lambda count: collected([*CHILD, core, workload.name, phase, str(count)]), counts
    )
    return (more - few) / (MORE_CALLS - FEW_CALLS) / workload.units


def _run(core: CoreName, workload_name: str, phase: str, calls: int) -> None:
    """Make the calls, in the child process."""
    work: Callable[[], object] = getattr(_workload(workload_name), phase)(_core.load(core))
    gc.disable()
    for _ in range(calls):
        work()


def _take_first_pass(*, is_recorded: bool) -> None:
    """Enforce a conversation in a session that has not met it, in the child process."""
    warm_up = turns(WARM_UP_TURNS, 5, 1_000)
    messages = next(item for item in WORKLOADS if item.name == SESSION_WORKLOAD).messages()
    with tempfile.TemporaryDirectory() as root:
        # As a host that has had other sessions: they share what the process finds out once.
        for length in range(2, len(warm_up), 2):
            _open(root, f"warm-up-{length}", is_recorded=is_recorded).enforce(warm_up[:length])
        session = _open(root, "session", is_recorded=is_recorded)
        gc.collect()
        gc.disable()
        os.getppid()
        output = session.enforce(messages)
        os.getppid()
        if output is not messages:
            raise AssertionError("a result was replaced")


def _open(root: str, name: str, *, is_recorded: bool, limits: Limits | None = None) -> Session:
    """Open a session that waits for no disk."""
    ephemeral = not is_recorded
    return Session.open(root, name, limits=limits, ephemeral=ephemeral, durability="process")


def _take_recorded_turns(kind: RecordedTurn, new_results: int, count: int) -> None:
    """Take turns of a session with records, in the child process; each has new results."""
    every = turns(TURNS_BEFORE + count, new_results, kind.size_chars)
    before = 2 * TURNS_BEFORE
    with tempfile.TemporaryDirectory() as root:
        session = _open(root, "turns", is_recorded=True, limits=kind.limits)
        for length in range(2, before + 1, 2):
            session.enforce(every[:length])
        lists = [every[:length] for length in range(before + 2, len(every) + 1, 2)]
        gc.collect()
        gc.disable()
        os.getppid()
        for messages in lists:
            session.enforce(messages)
        os.getppid()


def _take_turns(history_messages: int, count: int) -> None:
    """Take turns of two new messages each, in the child process; each has one result."""
    every = turns(history_messages // 2 + WARM_UP_TURNS + count, 1, 200)
    # One result is replaced, so that no turn gives the list that it was given.
    every[1]["content"][0]["content"] = "a line of a large result\n" * 10_000
    lists = [every[:length] for length in range(history_messages, len(every), 2)]
    with tempfile.TemporaryDirectory() as root:
        session = Session.open(root, "turns", ephemeral=True, history="append_only")
        output = lists[0]
        for messages in lists[:WARM_UP_TURNS]:
            output = session.enforce(messages)
        gc.collect()
        gc.disable()
        os.getppid()
        for messages in lists[WARM_UP_TURNS:]:
            output = session.enforce(messages)
        os.getppid()
        if len(output) != len(lists[-1]):
            raise AssertionError(f"{len(lists[-1])} messages became {len(output)}")


if __name__ == "__main__":
    sys.exit(main())
