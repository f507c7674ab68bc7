"""Disks in memory with a real file system on them, whose power can be cut.

The image has no name and the loop device lets go of it with its last user, so nothing is left over
however this process ends. The kernel's block layer stays on: what is lost is what the file system
had not yet written to the disk.
"""

from __future__ import annotations

import fcntl
import os
import shutil
import struct
import subprocess
from contextlib import ExitStack, contextmanager
from typing import TYPE_CHECKING, Final

from tests.faults.system_calls import mount, mounted, unmount

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from contextlib import AbstractContextManager
    from pathlib import Path
    from typing import Protocol, TypeAlias

    class Disk(Protocol):
        """A mounted file system whose power can be cut."""

        @property
        def folder(self) -> Path:
            """Where it is mounted."""

        def cut_power(self) -> None:
            """Lose, from this moment on, all that has not reached the disk."""

        def come_back(self) -> None:
            """Mount again what is left, when no process uses the disk any more."""

    MakeDisk: TypeAlias = Callable[[str, Path], AbstractContextManager[Disk]]


__all__ = ["Disk", "MakeDisk", "shutdown_disk", "snapshot_disk", "why_no_disk"]

_MEBIBYTE: Final = 1 << 20
_IMAGE_BYTES: Final = {"ext4": 128 * _MEBIBYTE, "xfs": 320 * _MEBIBYTE, "btrfs": 256 * _MEBIBYTE}
_RESERVE_BYTES: Final = 1024 * _MEBIBYTE

_LOOP_GET_FREE: Final = 0x4C82
_LOOP_CONFIGURE: Final = 0x4C0A
_LOOP_FLAGS_OFFSET: Final = 8 + 52
_LOOP_CONFIG_BYTES: Final = 304
_LET_GO_BY_ITSELF: Final = 4
_LOOP_TRIES: Final = 16

# EXT4_IOC_SHUTDOWN, which is XFS_IOC_GOINGDOWN: _IOR('X', 125, __u32)
_SHUTDOWN: Final = 2 << 30 | 4 << 16 | ord("X") << 8 | 125
_NO_LOG_FLUSH: Final = struct.pack("I", 2)
_CLONE_FILE: Final = 0x40049409


def why_no_disk(kind: str, place: Path, make: MakeDisk | None = None) -> str | None:
    """Say why there is no such disk on this machine; ``None`` if there is.

    Args:
        kind: The file system.
        place: A folder to try it in.
        make: How it is made, if not by :func:`shutdown_disk`.
    """
    needed = [kind, "xfs"] if make is snapshot_disk else [kind]
    missing = [f"mkfs.{one}" for one in needed if _formatter(one) is None]
    if missing:
        return f"not installed: {', '.join(missing)}"
    try:
        with (make or shutdown_disk)(kind, place):
            return None
    except OSError as error:
        return str(error)


@contextmanager
def shutdown_disk(kind: str, place: Path) -> Iterator[Disk]:
    """Have a disk whose file system can be told to stop: ext4 or XFS.

    Raises:
        OSError: It cannot be made here.
    """
    with ExitStack() as cleanup:
        image = _unnamed_image(_IMAGE_BYTES[kind], cleanup)
        _format(kind, image)
        device = _attach(image, cleanup)
        folder = cleanup.enter_context(mounted(device, place / kind, kind))
        yield _ShutdownDisk(kind, device, folder)


class _ShutdownDisk:
    """The file system itself forgets what it has not written, as it does when power fails."""

    def __init__(self, kind: str, device: str, folder: Path) -> None:
        self._kind = kind
        self._device = device
        self.folder = folder

    def cut_power(self) -> None:
        with _opened(self.folder, os.O_RDONLY) as handle:
            fcntl.ioctl(handle, _SHUTDOWN, _NO_LOG_FLUSH)

    def come_back(self) -> None:
        unmount(self.folder)
        mount(self._device, self.folder, self._kind)


@contextmanager
def snapshot_disk(kind: str, place: Path) -> Iterator[Disk]:
    """Have a disk of any kind: its image lies on XFS, where a file can be copied in one moment.

    Raises:
        OSError: It cannot be made here.
    """
    with ExitStack() as cleanup:
        below = _unnamed_image(_IMAGE_BYTES[kind] + _RESERVE_BYTES, cleanup)
        _format("xfs", below)
        store = cleanup.enter_context(mounted(_attach(below, cleanup), place / "store", "xfs"))
        disk = _SnapshotDisk(kind, store, place / kind)
        cleanup.callback(disk.end)
        disk.begin()
        yield disk


class _SnapshotDisk:
    """What the disk holds at one moment is copied, and the copy goes on in its place."""

    def __init__(self, kind: str, store: Path, folder: Path) -> None:
        self._kind = kind
        self._store = store
        self._copies = 0
        self._image = -1
        self._in_use = ExitStack()
        self.folder = folder

    def begin(self) -> None:
        """Format the first image and mount it."""
        with _opened(self._path(0), os.O_RDWR | os.O_CREAT) as image:
            os.ftruncate(image, _IMAGE_BYTES[self._kind])
            _format(self._kind, image)
        self._mount()

    def end(self) -> None:
        """Give everything back."""
        self._in_use.close()

    def cut_power(self) -> None:
        self._copies += 1
        with _opened(self._path(self._copies), os.O_RDWR | os.O_CREAT) as copy:
            fcntl.ioctl(copy, _CLONE_FILE, self._image)

    def come_back(self) -> None:
        unmount(self.folder)
        self._in_use.close()
        self._path(self._copies - 1).unlink()
        self._mount()

    def _mount(self) -> None:
        self._image = self._in_use.enter_context(_opened(self._path(self._copies), os.O_RDWR))
        device = _attach(self._image, self._in_use)
        self._in_use.enter_context(mounted(device, self.folder, self._kind))

    def _path(self, number: int) -> Path:
        return self._store / str(number)


def _unnamed_image(size_bytes: int, cleanup: ExitStack) -> int:
    image = os.memfd_create("disk", 0)
    cleanup.callback(os.close, image)
    os.ftruncate(image, size_bytes)
    return image


@contextmanager
def _opened(path: Path, flags: int) -> Iterator[int]:
    handle = os.open(path, flags, 0o600)
    try:
        yield handle
    finally:
        os.close(handle)


def _formatter(kind: str) -> str | None:
    # The superuser's folders are not always searched, not even for the superuser.
    return shutil.which(f"mkfs.{kind}", path=f"{os.environ.get('PATH', '')}:/usr/sbin:/sbin")


def _format(kind: str, image: int) -> None:
    """Make a file system on an open image.

    Raises:
        OSError: The program for it says no.
    """
    command = [_formatter(kind) or f"mkfs.{kind}", "-q", f"/proc/self/fd/{image}"]
    done = subprocess.run(command, pass_fds=[image], capture_output=True, text=True, check=False)
    if done.returncode:
        raise OSError(f"mkfs.{kind}: {done.stderr.strip()}")


def _attach(image: int, cleanup: ExitStack) -> str:
    """Make an image the content of a loop device, which is held open as long as it is needed.

    Raises:
        OSError: There is no free device, or none may be had.
    """
    settings = bytearray(_LOOP_CONFIG_BYTES)
    struct.pack_into("I", settings, 0, image)
    struct.pack_into("I", settings, _LOOP_FLAGS_OFFSET, _LET_GO_BY_ITSELF)
    control = os.open("/dev/loop-control", os.O_RDWR)
    try:
        for _ in range(_LOOP_TRIES):
            path = f"/dev/loop{fcntl.ioctl(control, _LOOP_GET_FREE)}"
            device = os.open(path, os.O_RDWR)
            try:
                fcntl.ioctl(device, _LOOP_CONFIGURE, bytes(settings))
            except OSError:
                # Another process was faster.
                os.close(device)
                continue
            cleanup.callback(os.close, device)
            return path
    finally:
        os.close(control)
    raise OSError("no loop device can be had")
