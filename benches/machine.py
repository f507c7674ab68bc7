"""What the figures of a run were measured on."""

from __future__ import annotations

import os
import platform
import re
import subprocess
import tempfile
from importlib.metadata import version
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from toolbudget import _core

if TYPE_CHECKING:
    from collections.abc import Mapping

__all__ = ["AVX512", "instruction_set", "machine_rows"]

AVX512: Final = "AVX-512"
# By the flag that Linux shows; the first one counts.
_SETS: Final = {"avx512bw": AVX512, "avx2": "AVX2", "sse2": "SSE2", "asimd": "NEON"}


def machine_rows(results: Mapping[str, Any]) -> list[list[str]]:
    """Give what the report says about machine and versions."""
    busy = ", ".join(f"{load:.1f}" for load in os.getloadavg())
    return [
        ["processor", _processor(results)],
        ["vector instructions", instruction_set()],
        ["cores", str(os.cpu_count())],
        ["load while the report was written (1, 5, 15 minutes)", busy],
        ["kernel", f"{platform.system()} {platform.release()}"],
        ["file system of the temporary folder", _file_system(Path(tempfile.gettempdir()))],
        ["Python", f"{platform.python_implementation()} {platform.python_version()}"],
        ["toolbudget", f"{version('toolbudget')}, {_core.NAME} core, release profile"],
        ["rustc", _first_line("rustc", "--version")],
        *([name, version(name)] for name in ("orjson", "numpy", "xxhash", "pytest-benchmark")),
    ]


def instruction_set() -> str:
    """Name the widest vector instructions of this machine, where the kernel lists them."""
    described = Path("/proc/cpuinfo")
    flags = described.read_text("utf-8").split() if described.exists() else []
    return next((name for flag, name in _SETS.items() if flag in flags), "unknown")


def _processor(results: Mapping[str, Any]) -> str:
    """Give the name that pytest-benchmark found, or the kernel's."""
    known = results.get("machine_info", {}).get("cpu", {}).get("brand_raw")
    described = Path("/proc/cpuinfo")
    if known or not described.exists():
        return known or platform.processor() or "unknown"
    found = re.search(r"^model name\s*: (.+)$", described.read_text("utf-8"), re.MULTILINE)
    return found[1] if found else "unknown"


def _first_line(*command: str) -> str:
    try:
        finished = subprocess.run(command, check=True, capture_output=True, text=True)  # noqa: S603 - ours
    except (OSError, subprocess.CalledProcessError):
        return "unknown"
    return finished.stdout.splitlines()[0]


def _file_system(folder: Path) -> str:
    """Give the type of the file system that holds a folder, where the kernel lists it."""
    mounts = Path("/proc/mounts")
    if not mounts.exists():
        return "unknown"
    found = re.findall(r"^\S+ (\S+) (\S+)", mounts.read_text("utf-8"), re.MULTILINE)
    holding = [(point, kind) for point, kind in found if folder.is_relative_to(point)]
    return max(holding, key=lambda pair: len(pair[0]))[1] if holding else "unknown"
