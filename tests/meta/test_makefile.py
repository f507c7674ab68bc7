from __future__ import annotations

import os
import re
import subprocess
from pathlib import Path
from typing import Final

from toolbudget import _core

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


def test_the_suite_runs_on_the_core_it_was_told_to() -> None:
    """Where ``TOOLBUDGET_CORE`` is set, the tests themselves run on that core."""
    assert os.environ.get("TOOLBUDGET_CORE", _core.NAME) == _core.NAME
