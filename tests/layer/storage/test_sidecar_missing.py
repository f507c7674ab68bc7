"""That a session has no sidecar is told in one call, and never where the long way finds one."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

import pytest

from toolbudget.storage._files import POSIX, PosixFileSystem, is_surely_missing
from toolbudget.storage.log_file import LogFile

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

SIDECAR: Final = "s1/content-replacements.jsonl"


def nothing(_root: Path) -> None:
    """Leave the root empty."""


def empty_folder(root: Path) -> None:
    """Make the session's folder."""
    (root / "s1").mkdir()


def file_instead_of_folder(root: Path) -> None:
    """Put a file where the folder would be."""
    (root / "s1").touch()


def dangling_folder(root: Path) -> None:
    """Put a link to nothing where the folder would be."""
    (root / "s1").symlink_to("nowhere")


def looping_folder(root: Path) -> None:
    """Put a link to itself where the folder would be."""
    (root / "s1").symlink_to("s1")


def linked_folder(root: Path) -> None:
    """Put a link to another folder there, which has the file."""
    (root / "other").mkdir()
    (root / "other" / "content-replacements.jsonl").touch()
    (root / "s1").symlink_to("other")


def linked_empty_folder(root: Path) -> None:
    """Put a link to another folder there, without the file."""
    (root / "other").mkdir()
    (root / "s1").symlink_to("other")


def sidecar(root: Path) -> None:
    """Make the file."""
    empty_folder(root)
    (root / SIDECAR).touch()


def dangling_sidecar(root: Path) -> None:
    """Put a link to nothing where the file would be."""
    empty_folder(root)
    (root / SIDECAR).symlink_to("nowhere")


def sidecar_of_another_kind(root: Path) -> None:
    """Put a folder where the file would be."""
    (root / SIDECAR).mkdir(parents=True)


@pytest.mark.parametrize(
    ("make", "is_missing"),
    [
        (nothing, True),
        (empty_folder, True),
        (dangling_folder, True),
        (linked_empty_folder, True),
        (file_instead_of_folder, False),
        (looping_folder, False),
        (linked_folder, False),
        (sidecar, False),
        (dangling_sidecar, False),
        (sidecar_of_another_kind, False),
    ],
)
def test_what_is_surely_missing_is_not_found_by_the_long_way(
    tmp_path: Path, make: Callable[[Path], None], *, is_missing: bool
) -> None:
    """The short way says that nothing is there only where opening one by one finds nothing."""
    make(tmp_path)
    root = POSIX.open_root(str(tmp_path))
    try:
        assert is_surely_missing(POSIX, SIDECAR, parent=root) is is_missing
    finally:
        POSIX.close(root)
    if is_missing:
        path = tmp_path / SIDECAR
        log_file = LogFile(path, anchor=tmp_path, durability="process", files=POSIX)
        assert log_file.identity() is None


def test_another_file_system_is_asked_the_long_way(tmp_path: Path) -> None:
    """One that a host brings sees every call that the protocol promises."""

    class Watched(PosixFileSystem):
        """A file system of its own."""

    root = POSIX.open_root(str(tmp_path))
    try:
        assert not is_surely_missing(Watched(), SIDECAR, parent=root)
    finally:
        POSIX.close(root)
