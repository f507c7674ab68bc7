"""Peak memory of whole calls, each in a process of its own."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

import pytest

from benches.measuring import Figure
from benches.peak import WORKS, peak_mib

if TYPE_CHECKING:
    from collections.abc import Callable

pytestmark = pytest.mark.skipif(
    sys.platform != "linux", reason="only Linux tells the peak since a moment"
)


@pytest.mark.parametrize("work", WORKS)
def test_peak_memory(work: str, note: Callable[[Figure], None]) -> None:
    """What a call takes beyond what was there before it: resident, and Python's own objects."""
    values = {
        f"{way}, {kind}": peak_mib(work, core, traced=kind == "traced")
        for way, core in (("pure", "python"), ("native", "native"))
        for kind in ("resident", "traced")
    }
    note(Figure(group="peak memory", name=work, values=values, unit="MiB"))
    assert min(values.values()) >= 0
