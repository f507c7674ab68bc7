from __future__ import annotations

import contextlib
import errno
import os
import stat
import threading
from typing import TYPE_CHECKING

import pytest

from tests.layer.storage.conftest import unchanged_descriptors
from tests.layer.storage.faulty import FaultyFiles
from toolbudget.storage._files import (
    POSIX,
    Durability,
    open_below,
    open_chain,
)

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    Unprivileged = Callable[[Callable[[], None]], None]
    SetUmask = Callable[[int], None]

pytestmark = pytest.mark.usefixtures("no_leaked_descriptors")


def mode_of(path: Path) -> int:
    """Give the permission bits of what stands under a path."""
    return stat.S_IMODE(path.lstat().st_mode)


def open_and_close(
    faulty: FaultyFiles | None,
    root: Path,
    *names: str,
    durability: Durability = "full",
    sync_existing: bool = False,
) -> None:
    """Make and open a chain, and close it again."""
    files = faulty.files if faulty else POSIX
    handle = open_chain(
        files,
        str(root),
        names,
        create=True,
        durability=durability,
        sync_existing=sync_existing,
    )
    files.close(handle)


def test_missing_directory_is_not_made_unasked(tmp_path: Path) -> None:
    """A reader makes nothing, neither above nor below the root."""
    for root, names in ((tmp_path, ["missing"]), (tmp_path / "missing", [])):
        with pytest.raises(FileNotFoundError):
            open_chain(POSIX, str(root), names, create=False, durability="full")
    assert list(tmp_path.iterdir()) == []


def test_missing_directories_are_made_private(tmp_path: Path) -> None:
    """The root, its missing parents and all below are 0700."""
    open_and_close(None, tmp_path / "a" / "root", "session", "results")
    made = list(tmp_path.rglob("*"))
    assert len(made) == 4
    assert {mode_of(path) for path in made} == {0o700}


def test_no_link_is_followed_below_the_root(tmp_path: Path) -> None:
    """The root may be reached through a link, a directory of the session may not."""
    (tmp_path / "real").mkdir()
    (tmp_path / "elsewhere").mkdir()
    (tmp_path / "root").symlink_to("real")
    (tmp_path / "real" / "session").symlink_to("../elsewhere")
    with pytest.raises(NotADirectoryError):
        open_and_close(None, tmp_path / "root", "session", "results")
    open_and_close(None, tmp_path / "root", "other")
    assert list((tmp_path / "elsewhere").iterdir()) == []
    assert (tmp_path / "real" / "other").is_dir()


@pytest.mark.parametrize(("durability", "syncs"), [("full", 5), ("data", 5), ("process", 0)])
def test_parent_of_each_new_directory_is_synced(
    tmp_path: Path, durability: Durability, syncs: int
) -> None:
    """A new name lasts only when what holds it is synced; so is the name of what held the first."""
    faulty = FaultyFiles()
    names = ("session", "results")
    open_and_close(faulty, tmp_path / "a" / "root", *names, durability=durability)
    assert faulty.count("sync_directory") == syncs
    open_and_close(faulty, tmp_path / "a" / "root", *names, durability=durability)
    assert faulty.count("sync_directory") == syncs


def test_existing_directories_are_synced_when_asked_for(tmp_path: Path) -> None:
    """Who relies on directories made by another, who may have died since, syncs their names."""
    (tmp_path / "root" / "session").mkdir(parents=True)
    faulty = FaultyFiles()
    open_and_close(faulty, tmp_path / "root", "session", sync_existing=True)
    assert faulty.count("sync_directory") == 2
    open_and_close(faulty, tmp_path / "root", "session", sync_existing=True, durability="process")
    assert faulty.count("sync_directory") == 2


def test_parent_that_cannot_be_opened_is_not_synced(tmp_path: Path) -> None:
    """A root below a directory of another user is still of use."""
    faulty = FaultyFiles()
    opened: list[str] = []

    def open_root(path: str) -> int:
        opened.append(path)
        if path == str(tmp_path.parent):
            raise PermissionError(errno.EACCES, "not yours")
        return POSIX.open_root(path)

    faulty.open_root = open_root  # type: ignore[attr-defined]
    open_and_close(faulty, tmp_path, sync_existing=True)
    assert opened == [str(tmp_path), str(tmp_path.parent)]
    assert faulty.count("sync_directory") == 0


def test_directory_made_by_another_meanwhile_is_used(tmp_path: Path) -> None:
    """Who loses the race for a directory uses the winner's, and syncs its name."""
    faulty = FaultyFiles()

    def lose(name: str, *, parent: int) -> None:
        os.mkdir(name, dir_fd=parent)
        raise FileExistsError(errno.EEXIST, "taken")

    faulty.make_directory = lose  # type: ignore[attr-defined]
    open_and_close(faulty, tmp_path, "session")
    assert faulty.count("sync_directory") == 1


def test_directory_not_yet_open_to_its_owner_is_waited_for(tmp_path: Path) -> None:
    """Under umask 0777 a directory is closed until its maker has corrected the mode."""
    faulty = FaultyFiles()
    faulty.fail_method("open_directory", errno.EACCES, times=2)
    open_and_close(faulty, tmp_path, "session")


def test_threads_may_make_one_chain_under_any_umask(
    tmp_path: Path, umask: SetUmask, unprivileged: Unprivileged
) -> None:
    """Whoever makes it, all get it."""
    umask(0o777)
    errors: list[BaseException] = []

    def work(number: int) -> None:
        try:
            open_and_close(None, tmp_path, str(number), "session", durability="process")
        except BaseException as error:  # noqa: BLE001 - asserted below
            errors.append(error)

    def run() -> None:
        for number in range(20):
            threads = [threading.Thread(target=work, args=(number,)) for _ in range(4)]
            for thread in threads:
                thread.start()
            for thread in threads:
                thread.join()

    unprivileged(run)
    assert errors == []


@pytest.mark.parametrize("error", [errno.EIO, errno.EMFILE, errno.EACCES])
def test_failure_at_any_step_leaves_nothing_open(tmp_path: Path, error: int) -> None:
    """Whichever call fails, all handles are closed and a second try succeeds."""
    for number in range(1, 100):
        root = tmp_path / str(number) / "root"
        faulty = FaultyFiles()
        faulty.fail_call(number, error)
        with unchanged_descriptors():
            with contextlib.suppress(OSError):
                open_and_close(faulty, root, "session", "results", sync_existing=True)
            open_and_close(None, root, "session", "results")
        if number > len(faulty.calls):
            return
    pytest.fail("the chain takes more than a hundred calls")


def test_failed_sync_closes_the_directory(parent: int) -> None:
    """A level whose parent cannot be synced is not handed out."""
    faulty = FaultyFiles()
    faulty.fail_method("sync_directory", errno.EIO)
    with pytest.raises(OSError, match="Errno"):
        open_below(faulty.files, "below", parent=parent, create=True, durability="full")
