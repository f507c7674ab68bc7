"""Counts the machine instructions of child processes with ``valgrind --tool=callgrind``.

Unlike seconds they are the same on every run, so a gate on them can be narrow. The children get one
fixed hash seed.
"""

from __future__ import annotations

import os
import re
import subprocess
import tempfile
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import TYPE_CHECKING, Final, TypeVar

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence

__all__ = ["at_once", "collected", "marked"]

_Given = TypeVar("_Given")
_Counted = TypeVar("_Counted")

COLLECTED: Final = re.compile(r"Collected : (\d+)")
TOTALS: Final = re.compile(r"^totals: (\d+)", re.MULTILINE)


def at_once(count: Callable[[_Given], _Counted], given: Iterable[_Given]) -> list[_Counted]:
    """Count with several children at once: another process changes no count."""
    with ThreadPoolExecutor() as pool:
        return list(pool.map(count, given))


def collected(child: Sequence[str]) -> int:
    """Count the instructions of a whole child process."""
    with tempfile.TemporaryDirectory() as folder:
        said = _run(folder, child)
    found = COLLECTED.search(said)
    if found is None:
        raise RuntimeError(f"valgrind reported no count: {said[-500:]}")
    return int(found[1])


def marked(child: Sequence[str], environment: Mapping[str, str] | None = None) -> list[int]:
    """Count what a child does between calls of ``os.getppid``, which nothing else in it calls.

    What is done between the first and the second call is counted, between the third and the fourth,
    and so on.
    """
    marks = ("--zero-before=getppid", "--dump-before=getppid")
    with tempfile.TemporaryDirectory() as folder:
        _run(folder, child, *marks, environment=environment or {})
        dumps = sorted(Path(folder).glob("out.*"), key=lambda path: int(path.suffix[1:]))
        # Each call writes what came before it; the first of a pair, what was made ready.
        texts = [dump.read_text() for dump in dumps[1::2]]
    return [int(total) for text in texts for total in TOTALS.findall(text)]


def _run(
    folder: str, child: Sequence[str], *options: str, environment: Mapping[str, str] | None = None
) -> str:
    """Run a child under valgrind, and give what that says."""
    finished = subprocess.run(  # noqa: S603 - all of it is ours
        [  # noqa: S607 - the tool of whoever measures
            "valgrind",
            "--tool=callgrind",
            f"--callgrind-out-file={folder}/out",
            *options,
            *child,
        ],
        check=True,
        capture_output=True,
        text=True,
        env={**os.environ, "PYTHONHASHSEED": "0", **(environment or {})},
    )
    return finished.stderr
