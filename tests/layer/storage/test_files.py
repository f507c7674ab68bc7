from __future__ import annotations

import errno
import fcntl
import os
import socket
import stat
from typing import TYPE_CHECKING, Any

import pytest

from tests.layer.storage.faulty import FaultyFiles
from toolbudget.storage import _files
from toolbudget.storage._files import POSIX, open_chain, write_all

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    Unprivileged = Callable[[Callable[[], None]], None]
    SetUmask = Callable[[int], None]

ALL_UMASKS = [0o000, 0o022, 0o077, 0o177, 0o777]
HARMLESS_UMASKS = [0o000, 0o022, 0o027, 0o077]

pytestmark = pytest.mark.usefixtures("no_leaked_descriptors")


def mode_of(path: Path) -> int:
    """Give the permission bits of what stands under a path."""
    return stat.S_IMODE(path.lstat().st_mode)


class TestModes:
    """Directories are 0700 and files 0600 from the moment they exist."""

    @pytest.mark.parametrize("mask", ALL_UMASKS)
    def test_modes_hold_under_any_umask(
        self, tmp_path: Path, parent: int, umask: SetUmask, unprivileged: Unprivileged, mask: int
    ) -> None:
        """The umask can neither open nor close what is made."""

        def make() -> None:
            umask(mask)
            POSIX.make_directory("directory", parent=parent)
            POSIX.make_root(str(tmp_path / "root"))
            POSIX.close(POSIX.create_exclusive("exclusive", parent=parent))
            POSIX.close(POSIX.open_append("append", parent=parent, create=True))
            unnamed = POSIX.create_unnamed(parent=parent)
            POSIX.link_unnamed(unnamed, "unnamed", parent=parent)
            POSIX.close(unnamed)

        unprivileged(make)
        modes = {path.name: mode_of(path) for path in tmp_path.iterdir()}
        assert modes == {
            "directory": 0o700,
            "root": 0o700,
            "exclusive": 0o600,
            "append": 0o600,
            "unnamed": 0o600,
        }

    @pytest.mark.parametrize("mask", HARMLESS_UMASKS)
    def test_nothing_is_made_more_open_first(
        self, parent: int, umask: SetUmask, monkeypatch: pytest.MonkeyPatch, mask: int
    ) -> None:
        """The mode is right at creation: no later change is needed, so no moment exists before."""

        def never(*_arguments: object, **_options: object) -> None:
            pytest.fail("a mode was changed after creation")

        umask(mask)
        monkeypatch.setattr(os, "chmod", never)
        monkeypatch.setattr(os, "fchmod", never)
        POSIX.make_directory("directory", parent=parent)
        for handle in (
            POSIX.create_exclusive("exclusive", parent=parent),
            POSIX.open_append("append", parent=parent, create=True),
            POSIX.create_unnamed(parent=parent),
        ):
            assert POSIX.status(handle).mode == 0o600
            POSIX.close(handle)

    def test_permissions_count_in_these_tests(
        self, tmp_path: Path, parent: int, unprivileged: Unprivileged
    ) -> None:
        """The tests above would notice a directory closed to its owner, also when run by root."""
        (tmp_path / "closed").mkdir(0)

        def open_closed() -> None:
            POSIX.close(POSIX.open_directory("closed", parent=parent))

        with pytest.raises(PermissionError):
            unprivileged(open_closed)

    def test_modes_of_what_was_there_are_left_alone(
        self, tmp_path: Path, parent: int, umask: SetUmask
    ) -> None:
        """Directories and files that others made keep their modes."""
        umask(0)
        (tmp_path / "session").mkdir(0o755)
        (tmp_path / "log").touch(0o644)
        POSIX.close(POSIX.open_append("log", parent=parent, create=True))
        chain = ["session", "results"]
        POSIX.close(open_chain(POSIX, str(tmp_path), chain, create=True, durability="full"))
        assert mode_of(tmp_path / "log") == 0o644
        assert mode_of(tmp_path / "session") == 0o755
        assert mode_of(tmp_path / "session" / "results") == 0o700

    def test_mode_that_cannot_be_corrected_leaves_nothing(
        self, tmp_path: Path, parent: int, umask: SetUmask, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        """A directory or file that stays closed to its owner is removed again."""

        def refuse(*_arguments: object, **_options: object) -> None:
            raise PermissionError(errno.EPERM, "refused")

        umask(0o777)
        monkeypatch.setattr(os, "chmod", refuse)
        monkeypatch.setattr(os, "fchmod", refuse)
        for attempt in (
            lambda: POSIX.make_directory("directory", parent=parent),
            lambda: POSIX.create_exclusive("exclusive", parent=parent),
            lambda: POSIX.open_append("append", parent=parent, create=True),
            lambda: POSIX.create_unnamed(parent=parent),
        ):
            with pytest.raises(PermissionError):
                attempt()
        assert list(tmp_path.iterdir()) == []


class TestLinks:
    """No symbolic link is followed, no name is overwritten, no FIFO is waited for."""

    def test_symbolic_links_are_not_followed(self, tmp_path: Path, parent: int) -> None:
        """A link planted under a name is an error, whether its target exists or not."""
        (tmp_path / "victim").write_bytes(b"victim")
        (tmp_path / "target").mkdir()
        (tmp_path / "file").symlink_to("victim")
        (tmp_path / "dangling").symlink_to("made")
        (tmp_path / "directory").symlink_to("target")
        for attempt in (
            lambda: POSIX.open_file("file", parent=parent),
            lambda: POSIX.open_file("dangling", parent=parent),
            lambda: POSIX.open_append("file", parent=parent, create=True),
            lambda: POSIX.open_append("dangling", parent=parent, create=True),
            lambda: POSIX.create_exclusive("dangling", parent=parent),
            lambda: POSIX.open_directory("directory", parent=parent),
            lambda: POSIX.make_directory("directory", parent=parent),
        ):
            with pytest.raises(OSError, match="Errno"):
                attempt()
        assert (tmp_path / "victim").read_bytes() == b"victim"
        assert not (tmp_path / "made").exists()

    @pytest.mark.parametrize("taken", ["file", "link", "directory", "fifo"])
    def test_link_never_overwrites(self, tmp_path: Path, parent: int, taken: str) -> None:
        """A taken name stays what it is, whatever it is."""
        target = tmp_path / "name"
        match taken:
            case "file":
                target.write_bytes(b"old")
            case "link":
                target.symlink_to("nowhere")
            case "directory":
                target.mkdir()
            case _:
                os.mkfifo(target)
        before = target.lstat()
        handle = POSIX.create_unnamed(parent=parent)
        with pytest.raises(FileExistsError):
            POSIX.link_unnamed(handle, "name", parent=parent)
        POSIX.close(handle)
        POSIX.close(POSIX.create_exclusive("source", parent=parent))
        with pytest.raises(FileExistsError):
            POSIX.link("source", "name", source_parent=parent, parent=parent)
        assert target.lstat() == before

    def test_link_does_not_follow_its_source(self, tmp_path: Path, parent: int) -> None:
        """A source swapped for a symbolic link gives its target no second name."""
        (tmp_path / "victim").write_bytes(b"victim")
        (tmp_path / "source").symlink_to("victim")
        POSIX.link("source", "name", source_parent=parent, parent=parent)
        assert (tmp_path / "name").is_symlink()
        assert (tmp_path / "victim").stat().st_nlink == 1

    def test_opening_a_fifo_does_not_wait(self, tmp_path: Path, parent: int) -> None:
        """A FIFO without another end is opened at once and told from a file."""
        os.mkfifo(tmp_path / "fifo")
        handle = POSIX.open_file("fifo", parent=parent)
        assert not POSIX.status(handle).is_regular
        POSIX.close(handle)

    def test_opening_a_socket_is_an_error(
        self, tmp_path: Path, parent: int, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        """A socket under the name is not a file and cannot be opened."""
        monkeypatch.chdir(tmp_path)
        with socket.socket(socket.AF_UNIX) as planted:
            planted.bind("socket")
            with pytest.raises(OSError, match="Errno"):
                POSIX.open_file("socket", parent=parent)

    def test_unnamed_file_leaves_nothing(self, tmp_path: Path, parent: int) -> None:
        """A file that never got a name is gone with its handle."""
        handle = POSIX.create_unnamed(parent=parent)
        write_all(POSIX, handle, b"text")
        POSIX.close(handle)
        assert list(tmp_path.iterdir()) == []


class TestAppending:
    """A log is made when missing, and otherwise opened as it is."""

    def test_appends_go_to_the_end(self, tmp_path: Path, parent: int) -> None:
        """Two handles never write over each other."""
        first = POSIX.open_append("log", parent=parent, create=True)
        second = POSIX.open_append("log", parent=parent, create=False)
        for handle, line in ((first, b"one\n"), (second, b"two\n"), (first, b"three\n")):
            write_all(POSIX, handle, line)
        assert POSIX.read(second, 100, offset=4) == b"two\nthree\n"
        POSIX.truncate(first, 4)
        assert (tmp_path / "log").read_bytes() == b"one\n"
        POSIX.close(first)
        POSIX.close(second)

    def test_missing_file_is_not_made_unasked(self, tmp_path: Path, parent: int) -> None:
        """A reader makes nothing."""
        with pytest.raises(FileNotFoundError):
            POSIX.open_append("log", parent=parent, create=False)
        assert list(tmp_path.iterdir()) == []

    def test_file_made_by_another_meanwhile_is_opened(
        self, tmp_path: Path, parent: int, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        """Who loses the race for a new file opens the winner's, and does not change its mode."""
        create = _files._create_private_file

        def lose(name: str, flags: int, *, parent: int) -> int:
            (tmp_path / name).touch(0o640)
            return create(name, flags, parent=parent)

        monkeypatch.setattr(_files, "_create_private_file", lose)
        handle = POSIX.open_append("log", parent=parent, create=True)
        assert POSIX.status(handle).mode & 0o777 == mode_of(tmp_path / "log")
        POSIX.close(handle)

    def test_file_that_keeps_vanishing_is_an_error(
        self, parent: int, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        """A name that is taken and missing by turns does not keep the caller for ever."""

        def taken(*_arguments: object, **_options: object) -> int:
            raise FileExistsError(errno.EEXIST, "taken")

        monkeypatch.setattr(_files, "_create_private_file", taken)
        with pytest.raises(FileExistsError, match="appearing"):
            POSIX.open_append("log", parent=parent, create=True)


class TestLocks:
    """Locks hold between open files, and end with them."""

    def test_exclusive_lock_keeps_others_out(self, parent: int) -> None:
        """A second handle of the same process is refused until the lock is given back."""
        first = POSIX.open_append("log", parent=parent, create=True)
        second = POSIX.open_append("log", parent=parent, create=False)
        POSIX.lock(first, exclusive=True)
        with pytest.raises(BlockingIOError):
            POSIX.lock(second, exclusive=True, blocking=False)
        POSIX.unlock(first)
        POSIX.lock(second, exclusive=True, blocking=False)
        POSIX.close(second)
        POSIX.lock(first, exclusive=True, blocking=False)
        POSIX.close(first)

    def test_shared_locks_go_together(self, parent: int) -> None:
        """Readers share, and keep a writer out."""
        first = POSIX.open_append("log", parent=parent, create=True)
        second = POSIX.open_append("log", parent=parent, create=False)
        POSIX.lock(first, exclusive=False)
        POSIX.lock(second, exclusive=False, blocking=False)
        with pytest.raises(BlockingIOError):
            POSIX.lock(second, exclusive=True, blocking=False)
        POSIX.close(first)
        POSIX.close(second)

    def test_closing_another_handle_keeps_the_lock(self, parent: int) -> None:
        """Unlike with lockf, opening and closing the file elsewhere does not drop a lock."""
        first = POSIX.open_append("log", parent=parent, create=True)
        POSIX.lock(first, exclusive=True)
        POSIX.close(POSIX.open_file("log", parent=parent))
        other = POSIX.open_append("log", parent=parent, create=False)
        with pytest.raises(BlockingIOError):
            POSIX.lock(other, exclusive=True, blocking=False)
        POSIX.close(other)
        POSIX.close(first)


class TestSyncing:
    """What a platform lacks is done in the next best way, or not at all; failures are told."""

    def test_directory_without_sync_is_no_failure(
        self, parent: int, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        """A file system that has no sync for directories can still be stored on."""
        monkeypatch.setattr(os, "fsync", raising(errno.EINVAL))
        POSIX.sync_directory(parent)

    def test_failed_sync_of_a_directory_is_told(
        self, parent: int, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        """Any other error of the sync reaches the caller."""
        monkeypatch.setattr(os, "fsync", raising(errno.EIO))
        with pytest.raises(OSError, match="Errno"):
            POSIX.sync_directory(parent)

    def test_full_sync_is_used_where_the_platform_has_it(
        self, parent: int, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        """On macOS plain fsync is not enough, for files, data and directories alike."""
        commands: list[int] = []
        monkeypatch.setattr(_files, "_F_FULLFSYNC", 51)
        monkeypatch.setattr(fcntl, "fcntl", lambda _handle, command: commands.append(command))
        POSIX.sync(parent)
        POSIX.sync_data(parent)
        POSIX.sync_directory(parent)
        assert commands == [51, 51, 51]

    def test_full_sync_falls_back_where_the_volume_lacks_it(
        self, parent: int, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        """A network volume without the command is synced by fsync; a real failure is told."""
        monkeypatch.setattr(_files, "_F_FULLFSYNC", 51)
        monkeypatch.setattr(fcntl, "fcntl", raising(errno.ENOTSUP))
        POSIX.sync(parent)
        monkeypatch.setattr(fcntl, "fcntl", raising(errno.EIO))
        with pytest.raises(OSError, match="Errno"):
            POSIX.sync(parent)


class TestOtherPlatforms:
    """Where Linux's flags are missing, the next best way is taken."""

    def test_no_unnamed_files_without_the_flag(
        self, parent: int, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        """The caller learns that it must use a name."""
        monkeypatch.setattr(_files, "_O_TMPFILE", 0)
        with pytest.raises(OSError, match="not supported") as caught:
            POSIX.create_unnamed(parent=parent)
        assert caught.value.errno == errno.EOPNOTSUPP

    def test_directory_mode_without_path_handles(
        self, parent: int, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        """Without O_PATH the mode is set by the name, and not through a link."""
        changes: list[tuple[Any, ...]] = []
        monkeypatch.setattr(_files, "_O_PATH", 0)
        monkeypatch.setattr(
            os, "chmod", lambda *path_and_mode, **options: changes.append((*path_and_mode, options))
        )
        POSIX.make_directory("directory", parent=parent)
        assert changes == [("directory", 0o700, {"dir_fd": parent, "follow_symlinks": False})]


class TestWriteAll:
    """Everything is written, or an error raised."""

    @pytest.mark.parametrize("data", [b"", b"abcdefg", memoryview(b"abcdefg")])
    def test_short_writes_are_continued(
        self, tmp_path: Path, parent: int, data: bytes | memoryview
    ) -> None:
        """However little each write takes, all bytes arrive in order."""
        faulty = FaultyFiles()
        faulty.write_at_most(2)
        handle = POSIX.create_exclusive("file", parent=parent)
        write_all(faulty.files, handle, data)
        POSIX.close(handle)
        assert (tmp_path / "file").read_bytes() == bytes(data)

    def test_write_that_takes_nothing_is_an_error(self, parent: int) -> None:
        """A device that takes nothing does not keep the caller for ever."""
        faulty = FaultyFiles()
        faulty.write_at_most(0)
        handle = POSIX.create_exclusive("file", parent=parent)
        with pytest.raises(OSError, match="no bytes"):
            write_all(faulty.files, handle, b"text")
        POSIX.close(handle)


def test_names_lists_a_directory(tmp_path: Path, parent: int) -> None:
    """Every name is given, and asking twice gives the same."""
    for name in ("a", "b", ".c"):
        (tmp_path / name).touch()
    assert sorted(POSIX.names(parent)) == [".c", "a", "b"]
    assert sorted(POSIX.names(parent)) == [".c", "a", "b"]


def test_status_tells_files_from_directories(tmp_path: Path, parent: int) -> None:
    """Size, kind, identity and time are those of the file behind the handle."""
    (tmp_path / "file").write_bytes(b"12345")
    handle = POSIX.open_file("file", parent=parent)
    status, expected = POSIX.status(handle), (tmp_path / "file").stat()
    POSIX.close(handle)
    assert (status.size_bytes, status.is_regular, status.is_directory) == (5, True, False)
    assert (status.device, status.inode) == (expected.st_dev, expected.st_ino)
    assert status.modified_s == expected.st_mtime
    assert POSIX.status(parent).is_directory


def raising(error: int) -> Callable[..., None]:
    """Give a function that fails as the operating system does."""

    def fail(*_arguments: object, **_options: object) -> None:
        raise OSError(error, os.strerror(error))

    return fail


class TestClosedHandles:
    """A handle that was closed is nobody's number any more: it reaches no file opened later."""

    def test_a_later_file_keeps_its_lock(self, tmp_path: Path, parent: int) -> None:
        """An interrupted release begins again, when another thread may have the number."""
        (tmp_path / "a").touch()
        closed = POSIX.open_directory(".", parent=parent)
        POSIX.close(closed)
        later = os.open(tmp_path / "a", os.O_RDONLY)
        other = os.open(tmp_path / "a", os.O_RDONLY)
        try:
            assert later == closed, "the system gives the lowest free number"
            fcntl.flock(later, fcntl.LOCK_EX)
            POSIX.unlock(closed)
            POSIX.close(closed)
            with pytest.raises(BlockingIOError):
                fcntl.flock(other, fcntl.LOCK_EX | fcntl.LOCK_NB)
        finally:
            os.close(later)
            os.close(other)
