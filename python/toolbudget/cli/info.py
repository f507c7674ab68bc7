"""``toolbudget info``: what runs here, and what the file system can do."""

from __future__ import annotations

import json
import os
import platform
import sys
from dataclasses import asdict, dataclass
from importlib.metadata import version
from pathlib import Path
from typing import TYPE_CHECKING

import click

from toolbudget import _core
from toolbudget.budget.outlines import has_outlines
from toolbudget.cli.failure import EXIT_DONE
from toolbudget.cli.wording import printable
from toolbudget.cli.workspace import default_root
from toolbudget.limits.environment import PREVIEW_STYLES
from toolbudget.storage._files import POSIX, close_quietly

if TYPE_CHECKING:
    from toolbudget.storage._files import FileSystem

__all__ = ["Capabilities", "command", "probe"]


@dataclass(frozen=True, slots=True)
class Capabilities:
    """What the file system at a place can do.

    Attributes:
        directory: Where it was tried: the nearest existing directory.
        unnamed_files: Files have no name until they are complete (``O_TMPFILE``), so that a killed
            process leaves nothing over; ``None`` if nothing may be written there.
        file_locks: Processes can share a session (``flock``).
    """

    directory: str
    unnamed_files: bool | None
    file_locks: bool


@click.command("info", short_help="Show version, active core and platform.")
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object.")
def command(*, as_json: bool) -> int:
    """Show what runs here: version, active core, Python, platform and default root.

    \b
    Example:
      toolbudget info --json
    """  # noqa: D301 - click's mark for lines that stay as they are
    capabilities = probe(default_root())
    if as_json:
        click.echo(json.dumps(_as_json(capabilities), indent=2))
        return EXIT_DONE
    facts = {
        "Version": version("toolbudget"),
        "Core": f"{_core.NAME} ({_why_this_core()})",
        "Python": f"{platform.python_version()} ({platform.python_implementation()})",
        "Platform": platform.platform(),
        "Root": default_root(),
        "Files": _describe_files(capabilities),
        "Locks": _describe_locks(capabilities),
        "Tried in": capabilities.directory,
        "Previews": _describe_styles(),
    }
    for label, text in facts.items():
        click.echo(f"{label:<11}{printable(text)}")
    return EXIT_DONE


def probe(root: str, files: FileSystem = POSIX) -> Capabilities:
    """Try out what the file system at a root, or where it would be made, can do; leaves no trace.

    Raises:
        OSError: No directory above the root can be opened.
    """
    path, directory = _open_nearest(Path(root), files)
    try:
        return Capabilities(
            directory=str(path),
            unnamed_files=_has_unnamed_files(directory, files),
            file_locks=_has_locks(directory, files),
        )
    finally:
        close_quietly(files, directory)


def _open_nearest(path: Path, files: FileSystem) -> tuple[Path, int]:
    while True:
        try:
            return path, files.open_root(str(path))
        except FileNotFoundError:
            if path == path.parent:
                raise
            path = path.parent


def _has_unnamed_files(directory: int, files: FileSystem) -> bool | None:
    try:
        close_quietly(files, files.create_unnamed(parent=directory))
    except PermissionError:
        return None
    except OSError:
        return False
    return True


def _has_locks(directory: int, files: FileSystem) -> bool:
    try:
        files.lock(directory, exclusive=False, blocking=False)
        files.unlock(directory)
    except BlockingIOError:
        return True
    except OSError:
        return False
    return True


def _as_json(capabilities: Capabilities) -> dict[str, object]:
    return {
        "version": version("toolbudget"),
        "core": {"name": _core.NAME, "reason": _why_this_core()},
        "python": {
            "version": platform.python_version(),
            "implementation": platform.python_implementation(),
            "executable": sys.executable,
        },
        "platform": platform.platform(),
        "default_root": default_root(),
        "preview_styles": list(_usable_styles()),
        "capabilities": asdict(capabilities),
    }


def _usable_styles() -> tuple[str, ...]:
    return tuple(style for style in PREVIEW_STYLES if style != "outline" or has_outlines())


def _describe_styles() -> str:
    styles = ", ".join(_usable_styles())
    return styles if has_outlines() else f"{styles}; outline needs the extra 'code'"


def _why_this_core() -> str:
    if "TOOLBUDGET_CORE" in os.environ:
        return "TOOLBUDGET_CORE asks for it"
    if _core.NAME == "native":
        return "it is built for this Python"
    try:
        _core.load("native")
    except ImportError as error:
        return f"the native one cannot be imported: {error}"
    return "chosen when it was imported"


def _describe_files(capabilities: Capabilities) -> str:
    return {
        True: "a file has no name until it is complete",
        False: "a file has a temporary name until it is complete",
        None: "nothing can be written",
    }[capabilities.unnamed_files]


def _describe_locks(capabilities: Capabilities) -> str:
    return f"processes {'can' if capabilities.file_locks else 'cannot'} share a session"
