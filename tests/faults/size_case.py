"""Run one case of a hostile size, in this process, which may be ended by it.

``python -m tests.faults.size_case NAME SCALE [BUG]`` prints what it found as JSON.
"""

from __future__ import annotations

import argparse
import json
import sys
import tempfile
from contextlib import nullcontext
from pathlib import Path
from typing import TYPE_CHECKING, Final

from tests.faults.harness import Scale
from tests.faults.size_bugs import SIZE_BUGS, sized_badly
from tests.faults.size_counts import CASES as COUNTS
from tests.faults.size_depth import CASES as DEPTH
from tests.faults.size_memory import CASES as MEMORY

if TYPE_CHECKING:
    from collections.abc import Callable

    from tests.faults.measuring import Found

__all__ = ["CASES"]

CASES: Final[dict[str, Callable[[Path, Scale], Found]]] = {**MEMORY, **COUNTS, **DEPTH}


def _main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("name", choices=CASES)
    parser.add_argument("scale", type=Scale)
    parser.add_argument("--bug", choices=SIZE_BUGS)
    options = parser.parse_args()
    bad = sized_badly(options.bug) if options.bug else nullcontext()
    with bad, tempfile.TemporaryDirectory() as folder:
        found = CASES[options.name](Path(folder) / "root", options.scale)
    sys.stdout.write("\n" + json.dumps(found) + "\n")


if __name__ == "__main__":
    _main()
