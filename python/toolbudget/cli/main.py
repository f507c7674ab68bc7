"""The command ``toolbudget``: choosing a command, and how each way of failing ends."""

from __future__ import annotations

import errno
import os
import sys
from difflib import get_close_matches
from importlib import import_module
from typing import TYPE_CHECKING, Final

import click

from toolbudget.cli.failure import (
    EXIT_DONE,
    EXIT_FAILED,
    EXIT_INTERRUPTED,
    EXIT_USAGE,
    CommandError,
)
from toolbudget.errors import ConfigError, ToolBudgetError

if TYPE_CHECKING:
    from collections.abc import Sequence

__all__ = ["main"]

_COMMANDS: Final = (
    "apply",
    "config",
    "context",
    "diff",
    "doctor",
    "gc",
    "info",
    "report",
    "sessions",
    "show",
)


class _Commands(click.Group):
    """Loads a command when it is asked for, so that each starts as quickly as it can."""

    def list_commands(self, ctx: click.Context) -> list[str]:  # noqa: ARG002 - as the base
        return list(_COMMANDS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:  # noqa: ARG002
        if cmd_name not in _COMMANDS:
            return None
        command: click.Command = import_module(f"toolbudget.cli.{cmd_name}").command
        return command

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        try:
            return super().resolve_command(ctx, args)
        except click.UsageError as error:
            # The base knows only of commands that are loaded, and older ones suggest nothing.
            close = get_close_matches(args[0], _COMMANDS)
            if not close:
                raise
            suggestion = " or ".join(map(repr, close))
            raise click.UsageError(f"{error.message} Did you mean {suggestion}?", ctx) from None


@click.command(cls=_Commands, context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(package_name="toolbudget", message="%(prog)s %(version)s")
def _program() -> None:
    """Keep large tool results from flooding the context of an LLM agent.

    Each oversized result is stored in full on disk; the messages keep a short preview with the
    path. What was decided about a result is recorded and never changes again.

    Exit codes: 0 done, 1 something failed, 2 wrong usage.
    """


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command line and return its exit code.

    Args:
        arguments: The words behind the command's name; ``None`` takes those of the process.
    """
    try:
        # The first import that chooses a core, and so the first that may fail.
        from toolbudget.storage._files import open_closed_streams

        open_closed_streams()
        _never_fail_to_print()
        return _run(arguments)
    except (KeyboardInterrupt, click.Abort):
        return EXIT_INTERRUPTED
    except click.ClickException as error:
        error.show()
        return error.exit_code
    except (ToolBudgetError, ImportError, OSError) as error:
        # Whoever reads our output has seen enough.
        if isinstance(error, OSError) and error.errno == errno.EPIPE:
            return EXIT_FAILED
        CommandError(_told(error)).show()
        return EXIT_USAGE if _is_wrong_usage(error) else EXIT_FAILED


def _is_wrong_usage(error: Exception) -> bool:
    """Whether the words of the call are the mistake; a path where nothing is yet is none."""
    if not isinstance(error, ConfigError):
        return False
    # It cannot be imported here if the error is that there is no core.
    places = sys.modules.get("toolbudget.storage._session_places")
    return places is None or not isinstance(error, places.NothingThereError)


def _told(error: Exception) -> str:
    """Return an error in one line; of the operating system, its words without numbers."""
    if isinstance(error, OSError) and not isinstance(error, ToolBudgetError) and error.errno:
        about = "" if error.filename is None else f": {os.fsdecode(error.filename)!r}"
        return f"{os.strerror(error.errno)}{about}"
    return str(error)


def _run(arguments: Sequence[str] | None) -> int:
    words = None if arguments is None else list(arguments)
    result = _program.main(words, prog_name="toolbudget", standalone_mode=False)
    return result if isinstance(result, int) else EXIT_DONE


def _never_fail_to_print() -> None:
    """Show what a terminal's encoding lacks as an escape instead of failing."""
    for stream in (sys.stdout, sys.stderr):
        reconfigure = getattr(stream, "reconfigure", None)
        if reconfigure is not None:
            reconfigure(errors="backslashreplace")
