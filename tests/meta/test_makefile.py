from __future__ import annotations

import re
import subprocess
from pathlib import Path
from typing import Final

PROJECT: Final = Path(__file__).parents[2]
# Conditions of other targets, no commands.
INTERNAL: Final = {"require-arm", "require-cargo", "require-python"}


def test_help_lists_every_command() -> None:
    """Whoever types ``make`` sees each target with a sentence about it."""
    makefile = (PROJECT / "Makefile").read_text("utf-8")
    commands = set(re.findall(r"^\.PHONY: (\S+)$", makefile, re.MULTILINE)) - INTERNAL
    shown = subprocess.run(
        ["make", "help"],  # noqa: S607  # the user's own make
        check=True,
        capture_output=True,
        text=True,
        cwd=PROJECT,
    )
    listed = set(re.findall(r"^  (\S+) +\w", shown.stdout, re.MULTILINE))
    assert commands == listed
