"""What a call costs this process: memory at its peak, and time."""

from __future__ import annotations

import resource
import time
from pathlib import Path
from typing import TYPE_CHECKING, Final, Generic, NamedTuple, TypeVar

if TYPE_CHECKING:
    from collections.abc import Callable

__all__ = ["MIB", "Cost", "Found", "limit_memory", "measured"]

MIB: Final = 1 << 20

_Result = TypeVar("_Result")


class Cost(NamedTuple, Generic[_Result]):
    """What a call gave, and what it took beyond what was there before."""

    result: _Result
    peak_mib: float
    elapsed_s: float

    @property
    def figures(self) -> str:
        """The numbers in words."""
        return f"+{self.peak_mib:.0f} MiB, {self.elapsed_s:.1f} s"


class Found(NamedTuple):
    """What one case found.

    Attributes:
        problem: What is broken; ``None`` if nothing is.
        figures: What was measured.
    """

    problem: str | None
    figures: str = ""


def measured(call: Callable[[], _Result]) -> Cost[_Result]:
    """Call a function and measure it, on Linux."""
    Path("/proc/self/clear_refs").write_text("5")  # the peak begins anew
    before_mib = _status_mib("VmRSS")
    started_s = time.perf_counter()
    result = call()
    elapsed_s = time.perf_counter() - started_s
    return Cost(result, _status_mib("VmHWM") - before_mib, elapsed_s)


def limit_memory(more_mib: int) -> None:
    """Let this process take only so much more address space."""
    limit_bytes = int((_status_mib("VmSize") + more_mib) * MIB)
    resource.setrlimit(resource.RLIMIT_AS, (limit_bytes, limit_bytes))


def _status_mib(name: str) -> float:
    lines = Path("/proc/self/status").read_text(encoding="ascii").splitlines()
    fields = dict(line.split(":", 1) for line in lines)
    return int(fields[name].split()[0]) / 1024
