"""Which harnesses there are, in the order of the table."""

from __future__ import annotations

from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Final, cast

if TYPE_CHECKING:
    from collections.abc import Mapping

    from tests.faults.harness import Harness

__all__ = ["HARNESSES"]

# Each of these modules holds one harness, called HARNESS.
_MODULES: Final = (
    "conversations",
    "crash_states",
    "kills",
    "call_errors",
    "real_limits",
    "power_cuts",
    "races",
    "hostile_names",
    "planted",
    "frames",
    "sizes",
    "panics",
)


def _load() -> Mapping[str, Harness]:
    folder = Path(__file__).parent
    present = [name for name in _MODULES if (folder / f"{name}.py").exists()]
    modules = [import_module(f"tests.faults.{name}") for name in present]
    return {harness.name: harness for harness in (cast("Harness", m.HARNESS) for m in modules)}


HARNESSES: Final = _load()
