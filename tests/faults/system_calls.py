"""The few calls of Linux that Python has no name for: mounts of our own, and children that end.

Everything is mounted in a namespace of this process alone: when it ends, even by a signal, the
kernel takes all of it away.
"""

from __future__ import annotations

import ctypes
import errno
import os
import signal
import sys
import time
from contextlib import contextmanager
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

__all__ = [
    "BIND",
    "READ_ONLY",
    "REMOUNT",
    "die_with_parent",
    "enter_private_mounts",
    "mount",
    "mounted",
    "sync_file_system",
    "unmount",
]

READ_ONLY: Final = 1
REMOUNT: Final = 32
BIND: Final = 4096
_RECURSIVE: Final = 16384
_PRIVATE: Final = 1 << 18
_NEW_MOUNT_NAMESPACE: Final = 0x20000
_SET_PARENT_DEATH_SIGNAL: Final = 1
_DETACH: Final = 2

_UNMOUNT_PATIENCE_S: Final = 5.0
_UNMOUNT_PAUSE_S: Final = 0.005

_libc: Final = ctypes.CDLL(None, use_errno=True)


def enter_private_mounts() -> str | None:
    """Let this process, and those that it starts, have mounts that nobody else sees.

    Returns:
        Why nothing can be mounted here; ``None`` if it can.
    """
    if sys.platform != "linux":
        return f"no mounts of our own on {sys.platform}"
    try:
        _check(_libc.unshare(_NEW_MOUNT_NAMESPACE), "unshare")
        mount("none", "/", "", flags=_RECURSIVE | _PRIVATE)
    except OSError as error:
        return f"mounting is not allowed: {error}"
    return None


def mount(source: str, target: str | Path, kind: str, *, flags: int = 0, options: str = "") -> None:
    """Mount a file system, or change the mount that is there.

    Raises:
        OSError: The kernel refuses.
    """
    arguments = (source.encode(), os.fsencode(target), kind.encode())
    outcome = _libc.mount(*arguments, ctypes.c_ulong(flags), options.encode())
    _check(outcome, f"mount {kind} at {target}")


def unmount(target: str | Path) -> None:
    """Unmount; waits a little for processes that are just ending.

    Raises:
        OSError: It is still in use, or no mount.
    """
    give_up_s = time.monotonic() + _UNMOUNT_PATIENCE_S
    while True:
        try:
            _check(_libc.umount2(os.fsencode(target), 0), f"unmount {target}")
        except OSError as error:
            if error.errno != errno.EBUSY or time.monotonic() > give_up_s:
                raise
        else:
            return
        time.sleep(_UNMOUNT_PAUSE_S)


@contextmanager
def mounted(
    source: str, target: Path, kind: str, *, flags: int = 0, options: str = ""
) -> Iterator[Path]:
    """Have a file system mounted for a while; at the end it goes, in use or not.

    Raises:
        OSError: The kernel refuses.
    """
    target.mkdir(parents=True, exist_ok=True)
    mount(source, target, kind, flags=flags, options=options)
    try:
        yield target
    finally:
        _libc.umount2(os.fsencode(target), _DETACH)


def sync_file_system(handle: int) -> None:
    """Bring everything of the file system to the disk that an open file is on.

    Raises:
        OSError: That failed.
    """
    _check(_libc.syncfs(handle), "syncfs")


def die_with_parent() -> None:
    """Let this process be killed when the one that forked it ends."""
    _libc.prctl(_SET_PARENT_DEATH_SIGNAL, ctypes.c_ulong(signal.SIGKILL))


def _check(outcome: int, action: str) -> None:
    if outcome:
        number = ctypes.get_errno()
        raise OSError(number, f"{action}: {os.strerror(number)}")
