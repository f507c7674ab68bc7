"""The throw-away prototypes that show how fast the machine lets this be, if they are at hand.

They are no part of this tree. ``TOOLBUDGET_PERF_FLOOR`` names a folder with ``dict_proto.c`` and
``json_proto.c``; a C compiler (``CC``, else ``cc``) builds them. They check less than the library
must: a floor to measure the distance to, no rival.
"""

from __future__ import annotations

import functools
import importlib.util
import os
import shlex
import subprocess
import sysconfig
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from types import ModuleType

__all__ = ["VARIABLE", "load", "missing"]

VARIABLE: Final = "TOOLBUDGET_PERF_FLOOR"
_FLAGS: Final = ("-O3", "-w", "-fPIC", "-shared", "-D_GNU_SOURCE")
# Each picks its instructions as it was measured: the one when it is built, the other when it runs.
_ARCHITECTURES: Final = {"dict_proto": "x86-64-v3", "json_proto": "x86-64"}


def missing() -> str | None:
    """Say why there is no floor in this run, if there is none."""
    folder = os.environ.get(VARIABLE)
    if not folder:
        return f"{VARIABLE} names no folder"
    if not (Path(folder) / "dict_proto.c").is_file():
        return f"{VARIABLE} names a folder without the prototypes: {folder!r}"
    if os.uname().machine != "x86_64":
        return "the prototypes are for x86-64"
    return None


@functools.cache
def load(name: str) -> ModuleType | None:
    """Build and import a prototype; ``None`` if there is none."""
    if missing() is not None:
        return None
    folder = Path(tempfile.mkdtemp(prefix="toolbudget-floor-"))
    built = folder / f"{name}.so"
    source = Path(os.environ[VARIABLE]) / f"{name}.c"
    command = [
        *shlex.split(os.environ.get("CC", "cc")),
        *_FLAGS,
        f"-march={_ARCHITECTURES[name]}",
        f"-I{sysconfig.get_paths()['include']}",
        str(source),
        "-o",
        str(built),
    ]
    try:
        subprocess.run(command, check=True)  # noqa: S603 - the compiler of whoever measures
        return _imported(name, built)
    finally:
        built.unlink(missing_ok=True)
        folder.rmdir()


def _imported(name: str, path: Path) -> ModuleType:
    spec = importlib.util.spec_from_file_location(name, path)
    if spec is None or spec.loader is None:
        raise ImportError(f"no extension module: {path}")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module
