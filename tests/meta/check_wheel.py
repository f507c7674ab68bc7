"""Check a built wheel: its tag, its files, and that it works in an environment of its own.

Run by ``make wheel`` with the folder that holds the wheel.
"""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
import venv
import zipfile
from pathlib import Path
from typing import Final

REQUIRED_FILES: Final = (
    "toolbudget/__init__.py",
    "toolbudget/py.typed",
    "toolbudget/_core/_native.abi3.so",
    "toolbudget/_core/_native.pyi",
    "toolbudget/_core/pure/__init__.py",
)
LICENSE_FILES: Final = ("LICENSE-APACHE", "LICENSE-MIT")
USE_IT: Final = """
from toolbudget import Limits, Session, _core
assert _core.NAME == "native", _core.NAME
with Session.open("sessions", "smoke", limits=Limits(max_result_chars=100)) as session:
    block = {"type": "tool_result", "tool_use_id": "call_1", "content": "line\\n" * 1000}
    replaced = session.gate(block, tool_name="Search")
    path = session.result_path("call_1")
assert len(replaced["content"]) < 5000, replaced
assert path is not None and path.read_text() == block["content"], path
from toolbudget.tools import grep
assert grep("e", path).hits.matches == 1000
from toolbudget.pruning import outline_code, prune_by_relevance
text = "nothing of it\\n" * 20 + "the needles\\n" * 3
assert "lines 1-18 of 23" in prune_by_relevance(text, "needle")
try:
    outline_code("package main", "go")
except ValueError as error:
    assert "toolbudget[code]" in str(error), error
"""


def check_tag(wheel: Path) -> None:
    """Assert that one wheel serves every CPython from 3.11 on."""
    _, _, python_tag, abi_tag, _ = wheel.stem.split("-")
    assert (python_tag, abi_tag) == ("cp311", "abi3"), wheel.name


def check_files(wheel: Path) -> None:
    """Assert that the wheel has what it needs, and nothing that belongs to the source tree only."""
    with zipfile.ZipFile(wheel) as archive:
        names = archive.namelist()
    missing = [name for name in REQUIRED_FILES if name not in names]
    missing += [name for name in LICENSE_FILES if not any(n.endswith(f"/{name}") for n in names)]
    assert missing == []
    tops = {name.split("/")[0] for name in names}
    assert all(top.startswith("toolbudget") for top in tops), tops


def check_use(wheel: Path, folder: Path) -> None:
    """Install the wheel in a new environment and use it, away from the source tree."""
    environment = folder / "environment"
    venv.create(environment, with_pip=True)
    programs = environment / "bin"
    # Neither this environment nor the user's settings may help.
    variables = {"PATH": os.environ["PATH"], "HOME": str(folder), "TOOLBUDGET_CORE": "native"}
    variables |= {n: v for n, v in os.environ.items() if n.startswith(("PIP_", "SSL_", "LANG"))}

    def run(*command: str) -> str:
        finished = subprocess.run(
            [str(programs / command[0]), *command[1:]],
            check=True,
            cwd=folder,
            env=variables,
            stdout=subprocess.PIPE,
            text=True,
        )
        return finished.stdout

    run("python", "-m", "pip", "install", "--quiet", str(wheel.resolve()))
    run("python", "-m", "pip", "check")
    run("python", "-I", "-W", "error", "-c", USE_IT)
    version = wheel.name.split("-")[1]
    for command in (["toolbudget"], ["python", "-m", "toolbudget"]):
        shown = run(*command, "--version")
        assert version in shown, shown


def main() -> None:
    """Check the one wheel in the folder that the command line names."""
    wheels = list(Path(sys.argv[1]).glob("*.whl"))
    assert len(wheels) == 1, wheels
    [wheel] = wheels
    check_tag(wheel)
    check_files(wheel)
    with tempfile.TemporaryDirectory() as folder:
        check_use(wheel, Path(folder))
    sys.stdout.write(f"{wheel.name}: tag, files and use are as they should be\n")


if __name__ == "__main__":
    main()
