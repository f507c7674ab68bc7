"""Counts the machine instructions of calls at two sizes, and fails where they grow faster.

    python -m benches.growth            # both cores

Four times the input may take somewhat more than four times the work, as sorting does; a way that
goes through all it has for each new thing takes sixteen times.
"""

from __future__ import annotations

import argparse
import gc
import os
import shutil
import sys
from typing import TYPE_CHECKING, Final

from benches.counting import at_once, marked
from benches.growing import GROWING, Growing

if TYPE_CHECKING:
    from toolbudget._core import CoreName

CHILD: Final = (sys.executable, "-m", "benches.growth", "--child")
TIMES_THE_SIZE: Final = 4
MOST_TIMES_THE_WORK: Final = 5.5
MOST_WHERE_CONSTANT: Final = 1.2
CORES: Final[tuple[CoreName, ...]] = ("native", "python")


def main() -> int:
    """Count every call at both sizes with both cores; 1 if any grows too fast."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--child", type=int, help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    if arguments.child:
        _make_calls(arguments.child)
        return 0
    if shutil.which("valgrind") is None:
        parser.error(
            "valgrind is not installed; Debian and others have it in a package of that name"
        )
    is_linear = True
    for core in CORES:
        sys.stdout.write(f"{f'growth, {core} core':60} {'smaller':>12} {'4 x':>7}\n")
        for row, smaller, times in _grown(core):
            most = MOST_WHERE_CONSTANT if row.is_constant else MOST_TIMES_THE_WORK
            verdict = "" if times <= most else f"  over {most}"
            sys.stdout.write(f"{row.name:60} {smaller:12,} {times:5.2f} x{verdict}\n")
            is_linear &= times <= most
        sys.stdout.flush()
    return 0 if is_linear else 1


def _grown(core: CoreName) -> list[tuple[Growing, int, float]]:
    """Give each call's count at the smaller size, and how often that the larger size takes."""
    environment = {"TOOLBUDGET_CORE": core}
    smaller, larger = at_once(
        lambda times: marked([*CHILD, str(times)], environment), (1, TIMES_THE_SIZE)
    )
    return [(row, few, many / few) for row, few, many in zip(GROWING, smaller, larger, strict=True)]


def _make_calls(times: int) -> None:
    """Make each call once, between two marks, in the child process."""
    for row in GROWING:
        # What happens once, such as imports, is done before, as in any process that lasts.
        row.prepare(row.size // 10)()
        work = row.prepare(row.size * times)
        gc.collect()
        gc.disable()
        os.getppid()
        work()
        os.getppid()
        gc.enable()


if __name__ == "__main__":
    sys.exit(main())
