"""The document about the command tells the truth of today."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from pathlib import Path
from typing import Any, Final

from toolbudget.cli.main import _COMMANDS
from toolbudget.storage._findings import KINDS

PROJECT: Final = Path(__file__).parents[2]
DOCUMENT: Final = (PROJECT / "docs" / "command-line.md").read_text("utf-8")
SESSION: Final = PROJECT / "examples" / "session.jsonl"


def words_of(heading: str) -> set[str]:
    """Give what is written as code in one section."""
    section = DOCUMENT.split(f"\n## {heading}\n")[1].split("\n## ")[0]
    section = re.sub(r"```.*?```", "", section, flags=re.DOTALL)
    return set(re.findall(r"`([^`]+)`", section))


def run(*arguments: str) -> Any:  # noqa: ANN401 - any JSON
    """Give the report that a command prints for machines."""
    command = [sys.executable, "-m", "toolbudget", *arguments, "--json"]
    return json.loads(subprocess.run(command, check=False, capture_output=True).stdout)


def test_each_command_stands_in_the_table() -> None:
    """No command is missing, and none is named that does not exist."""
    rows = re.findall(r"^\| `([a-z]+)", DOCUMENT.split("\n## ")[0], re.MULTILINE)
    assert sorted(rows) == sorted(_COMMANDS)


def test_each_finding_of_the_doctor_stands_in_the_table() -> None:
    """Codes, severities and words are those of the program."""
    rows = re.findall(
        r"^\| `([a-z-]+)` \| (error|warning|note) \| (.+) \|$", DOCUMENT, re.MULTILINE
    )
    assert rows == [(kind.code, kind.severity, kind.one) for kind in KINDS.values()]


def test_each_key_for_machines_is_named(tmp_path: Path) -> None:
    """Whatever a command prints with ``--json`` stands in its section."""
    root, out = tmp_path / "root", tmp_path / "out.jsonl"
    applied = run("apply", str(SESSION), "--root", str(root), "--out", str(out))
    assert set(applied) <= words_of("apply")
    compared = run("diff", str(SESSION), str(out))
    assert {*compared, *compared["a"]} <= words_of("diff")
    shown = run("context", str(SESSION))
    assert {*shown, *shown["turns"][0], *shown["tools"][0]} <= words_of("context")
    next(root.glob("*/tool-results/*")).unlink()
    checked = run("doctor", str(root))
    finding = checked["sessions"][0]["findings"][0]
    named = {*checked, *checked["counts"], *checked["sessions"][0], *finding, *finding["items"][0]}
    assert named <= words_of("doctor")
    results = run("show", str(next(root.glob("*.jsonl"))))
    assert {*results, *results["results"][0]} <= words_of("show")
    listed = run("sessions", str(root))
    assert {*listed, *listed["sessions"][0]} <= words_of("sessions")
    planned = run("gc", str(root), "--max-bytes", "1")
    assert {*planned, *planned["kept"]} <= words_of("gc")
    summed = run("report", str(SESSION))
    rows = [summed[name][0] for name in ("tools", "sizes", "largest", "limits")]

    assert {key for part in (summed, *rows, summed["prefix"]) for key in part} <= words_of("report")
    set_to = run("config")
    assert {*set_to, *set_to["settings"]["unit"], *set_to["tools"]["Bash"]} <= words_of("config")
    told = run("info")
    assert {*told, *told["core"], *told["capabilities"]} - {"directory"} <= words_of("info")
