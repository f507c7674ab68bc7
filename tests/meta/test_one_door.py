"""Only ``storage/_files.py`` touches the disk, so that faults can be put in at one place."""

from __future__ import annotations

import ast
from pathlib import Path
from typing import TYPE_CHECKING, Final

import pytest

import toolbudget

if TYPE_CHECKING:
    from collections.abc import Iterator

PACKAGE: Final = Path(toolbudget.__file__).parent
DOOR: Final = PACKAGE / "storage" / "_files.py"
# It lies below the storage, and reads one file that the user names, before there is any session.
LIMITS_FILE: Final = PACKAGE / "limits" / "file.py"
# Opens what the door asks it to, in a way that no interrupt can lose.
HANDLES: Final = PACKAGE / "storage" / "_handle.py"
MODULES: Final = sorted(set(PACKAGE.rglob("*.py")) - {DOOR, HANDLES, LIMITS_FILE})
# What of `os` reaches no file: names, environment, processes and their pipes.
HARMLESS_OS: Final = {
    "P_PID",
    "PathLike",
    "WEXITED",
    "WNOHANG",
    "WNOWAIT",
    "close",
    "dup2",
    "environ",
    "fsdecode",
    "fsencode",
    "fspath",
    "getpid",
    "killpg",
    "path",
    "pipe",
    "register_at_fork",
    "strerror",
    "urandom",
    "waitid",
}
HARMLESS_OS_PATH: Final = {
    "abspath",
    "basename",
    "dirname",
    "isabs",
    "join",
    "normpath",
    "sep",
    "split",
}
# Methods that only a path has and that reach the disk.
PATH_METHODS: Final = {
    "chmod",
    "cwd",
    "expanduser",
    "glob",
    "home",
    "is_dir",
    "is_file",
    "is_symlink",
    "iterdir",
    "lstat",
    "mkdir",
    "open",
    "read_bytes",
    "read_text",
    "rename",
    "rglob",
    "rmdir",
    "samefile",
    "symlink_to",
    "touch",
    "unlink",
    "write_bytes",
    "write_text",
}
# Owners of methods of these names that are no path: the door itself, and our own classes.
HARMLESS_OWNERS: Final = {"POSIX", "Session", "_files", "files"}


def disk_accesses(module: Path) -> Iterator[str]:
    """Yield every place of ``module`` that reaches the disk by itself."""
    for node in ast.walk(ast.parse(module.read_text("utf-8"))):
        match node:
            case ast.Call(func=ast.Name(id="open")):
                yield f"{node.lineno}: open"
            case ast.Attribute(value=ast.Name(id="os"), attr=name) if name not in HARMLESS_OS:
                yield f"{node.lineno}: os.{name}"
            case ast.Attribute(
                value=ast.Attribute(value=ast.Name(id="os"), attr="path"), attr=name
            ) if name not in HARMLESS_OS_PATH:
                yield f"{node.lineno}: os.path.{name}"
            case ast.Call(func=ast.Attribute(value=owner, attr=name)) if name in PATH_METHODS:
                if not _is_harmless(owner):
                    yield f"{node.lineno}: .{name}()"
            case _:
                pass


def _is_harmless(owner: ast.expr) -> bool:
    match owner:
        case ast.Name(id=name) | ast.Attribute(attr=name):
            return name in HARMLESS_OWNERS
        case _:
            return False


@pytest.mark.parametrize(
    "module", MODULES, ids=[path.relative_to(PACKAGE).as_posix() for path in MODULES]
)
def test_no_other_module_touches_the_disk(module: Path) -> None:
    """A module calls a ``FileSystem``, never the operating system's file functions."""
    assert list(disk_accesses(module)) == []
