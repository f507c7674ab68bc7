"""How a command ends: its exit code, and errors that are told in one line."""

from __future__ import annotations

import os
from typing import Final

import click

from toolbudget.cli.wording import printable

__all__ = [
    "EXIT_DONE",
    "EXIT_FAILED",
    "EXIT_INTERRUPTED",
    "EXIT_USAGE",
    "CommandError",
    "reason_of",
    "with_path",
]

EXIT_DONE: Final = 0
EXIT_FAILED: Final = 1
EXIT_USAGE: Final = 2
EXIT_INTERRUPTED: Final = 130


class CommandError(click.ClickException):
    """Something failed, and the command ends."""

    exit_code = EXIT_FAILED

    def __init__(self, message: str) -> None:
        """Take the message: what, where, why."""
        super().__init__(printable(message))


def reason_of(error: OSError) -> str:
    """Return the operating system's own words for an error."""
    if error.errno is not None:
        return os.strerror(error.errno).lower()
    return str(error) or type(error).__name__


def with_path(path: str, problem: str) -> str:
    """Return a problem together with the file that it is about, named once."""
    return problem if path in problem else f"{path}: {problem}"
