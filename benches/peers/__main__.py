"""Measures other libraries on the same work, each in an environment that has it.

    python -m benches.peers benches/RESULTS-peers.md [NAME...]

The environments are made in ``build/peers`` from the dependency groups; nothing else is installed
anywhere. A library that cannot be installed or fails is named in the report with the reason.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
import venv
from pathlib import Path
from typing import Final

from benches.peers.registry import PEERS
from benches.peers.report import report

PROJECT: Final = Path(__file__).parents[2]
ENVIRONMENTS: Final = PROJECT / "build" / "peers"
MOST_SECONDS: Final = 900
# Nobody is called home, and nothing is fetched while it is measured.
OFFLINE: Final = {
    "DO_NOT_TRACK": "1",
    "HEADROOM_TELEMETRY": "off",
    "HEADROOM_TELEMETRY_DISABLED": "1",
    "HF_HUB_OFFLINE": "1",
    "LANGSMITH_TRACING": "false",
    "LITELLM_LOCAL_MODEL_COST_MAP": "True",
    "OPENAI_AGENTS_DISABLE_TRACING": "1",
}


class PeerError(Exception):
    """A library could not be installed or measured."""


def main() -> None:
    """Measure the libraries, one after the other, and write the report."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("report", type=Path)
    parser.add_argument("names", nargs="*", default=list(PEERS), metavar="NAME")
    arguments = parser.parse_args()
    outcomes, failures = [], {}
    for name in arguments.names:
        sys.stdout.write(f"{name}\n")
        try:
            outcomes.append(measured(name, environment(PEERS[name].group)))
        except PeerError as error:
            failures[name] = str(error)
            sys.stdout.write(f"  {error}\n")
    arguments.report.write_text(report(outcomes, failures), "utf-8")


def environment(group: str) -> Path:
    """Give the interpreter of a group's environment, made anew if the group has changed."""
    folder = ENVIRONMENTS / group
    python = folder / "bin" / "python"
    stamp = folder / "made"
    project = PROJECT / "pyproject.toml"
    if stamp.exists() and stamp.stat().st_mtime > project.stat().st_mtime:
        return python
    venv.create(folder, with_pip=True, clear=True)
    install = [str(python), "-m", "pip", "install", "--quiet"]
    for arguments in (["pip==26.3"], ["--group", f"{project}:{group}"]):
        command = [*install, *arguments]
        finished = subprocess.run(command, check=False, capture_output=True, text=True)  # noqa: S603 - ours
        if finished.returncode:
            raise PeerError(f"cannot be installed: {last_line(finished.stderr)}")
    stamp.touch()
    return python


def measured(name: str, python: Path) -> dict[str, object]:
    """Run a library in a child process, with a home of its own."""
    with tempfile.TemporaryDirectory() as home:
        variables = {
            **os.environ,
            **OFFLINE,
            "HOME": home,
            "TMPDIR": home,
            "PYTHONPATH": f"{PROJECT / 'python'}{os.pathsep}{PROJECT}",
        }
        command = [str(python), "-m", "benches.peers.measure", name]
        try:
            finished = subprocess.run(  # noqa: S603 - our own child
                command,
                check=False,
                capture_output=True,
                text=True,
                env=variables,
                cwd=home,
                timeout=MOST_SECONDS,
            )
        except subprocess.TimeoutExpired as error:
            raise PeerError(f"not done in {MOST_SECONDS} s") from error
    if finished.returncode:
        raise PeerError(f"failed: {last_line(finished.stderr)}")
    outcome: dict[str, object] = json.loads(finished.stdout)
    return outcome


def last_line(text: str) -> str:
    """Give what an error output ends with."""
    lines = text.strip().splitlines()
    return lines[-1] if lines else "no message"


if __name__ == "__main__":
    main()
