"""Path arithmetic of a store, and which paths may be shown to a model; never reads the disk."""

from __future__ import annotations

import os
import re
from pathlib import Path
from typing import Final

from toolbudget._display import quoted_path
from toolbudget.errors import ConfigError

__all__ = ["absolute_path", "names_below", "path_from_root", "refuse_unshowable"]

_FRAME_TAG: Final = re.compile("</?persisted-output", re.IGNORECASE)


def absolute_path(path: str | os.PathLike[str], what: str = "path") -> Path:
    """Do what :func:`path_from_root` does, without ``..``: those would lead out of the anchor."""
    return Path(os.path.normpath(path_from_root(path, what, kind="folder")))


def path_from_root(path: str | os.PathLike[str], what: str, *, kind: str) -> Path:
    """Return the path from the root, for an argument that errors call ``what``.

    Raises:
        ConfigError: It names no file or folder, or is relative to a folder that is gone.
    """
    try:
        named = os.fspath(path)
    except TypeError:
        named = ""
    if not named or not isinstance(named, str):
        raise ConfigError(f"{what} must name a {kind}: {quoted_path(path)}")
    try:
        return Path(named).absolute()
    except OSError as error:
        problem = "is relative, and the working directory is gone"
        raise ConfigError(f"{what} {problem}: {quoted_path(named)}") from error


def names_below(directory: Path, anchor: Path) -> tuple[str, ...]:
    """Return the names that lead from ``anchor`` down to ``directory``, at least one.

    Raises:
        ConfigError: The anchor is not above the directory.
    """
    if not directory.is_relative_to(anchor) or directory == anchor:
        problem = f"anchor {quoted_path(str(anchor))} is not above directory"
        raise ConfigError(f"{problem}: {quoted_path(str(directory))}")
    return directory.relative_to(anchor).parts


def refuse_unshowable(path: str, what: str) -> None:
    """Let only paths pass that a model sees as they are, in one line and inside the frame.

    Raises:
        ConfigError: The path is not such a one.
    """
    problem = _problem_of(path)
    if problem is not None:
        raise ConfigError(f"{what} {problem}: {quoted_path(path)}")


def _problem_of(path: object) -> str | None:
    if not isinstance(path, str) or not path:
        return "is not a path"
    # splitlines knows all line breaks, also those that only some readers take for one.
    if path.splitlines() != [path]:
        return "has a line break"
    if "\0" in path:
        return "has a NUL character"
    try:
        path.encode()
    except UnicodeEncodeError:
        return "is not UTF-8"
    if _FRAME_TAG.search(path):
        return "contains a tag of the replacement's frame"
    return None
