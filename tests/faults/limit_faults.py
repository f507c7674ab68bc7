"""Real ways in which a disk or a process comes to its limits, each with the way back.

All of them work below a place that is a small file system in memory of its own; the sessions are in
``place / "root"``.
"""

from __future__ import annotations

import contextlib
import errno
import fcntl
import os
import resource
import socket
import stat
import struct
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Final, Literal

from tests.faults.system_calls import BIND, READ_ONLY, REMOUNT, mount, unmount
from tests.faults.workload import SESSION_ID

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

__all__ = ["OUTSIDE", "PLACE_OPTIONS", "ROOT", "Fault", "Need", "faults"]

Need = Literal["nothing", "superuser", "mounts"]

ROOT: Final = "root"
OUTSIDE: Final = "outside"
PLACE_OPTIONS: Final = "size=1m,nr_inodes=96,mode=755"

_SESSION: Final = f"{ROOT}/{SESSION_ID}"
_RESULTS: Final = f"{_SESSION}/tool-results"
_TRANSCRIPT: Final = f"{ROOT}/{SESSION_ID}.jsonl"
_LOCK: Final = f"{_SESSION}/session.lock"
_TARGETS: Final = (ROOT, _SESSION, _RESULTS, _TRANSCRIPT)

_PAGE_BYTES: Final = 4096
_LARGEST_CHUNK_BYTES: Final = 1 << 26
_NOBODY: Final = 65_534
_GET_FLAGS: Final = 0x80086601
_SET_FLAGS: Final = 0x40086602
_FLAGS: Final = {"immutable": 0x10, "append-only": 0x20}
_DEVICE_OF_NULL: Final = os.makedev(1, 3)

_FREE_PAGES: Final = range(20)
_FREE_INODES: Final = range(14)
_FREE_HANDLES: Final = range(10)
# Fine where a record is torn, coarse where a full text is.
_FILE_SIZES_BYTES: Final = (*range(0, 4_000, 199), *range(4_000, 8_001, 777))


@dataclass(frozen=True)
class Fault:
    """Something that strikes the process in which it is called, or the disk for all.

    Attributes:
        family: What kind of fault it is.
        name: Which one of these.
        strike: Brings it about.
        mend: Makes it well again; ``None`` if the process cannot.
        is_of_process: Another process never had it.
        begins_at: Before which turns it may strike.
        needs: What this process must be allowed to do for it.
        hides_records: A host that opens the session meanwhile finds none, as in a new one.
    """

    family: str
    name: str
    strike: Callable[[Path], object]
    mend: Callable[[Path], object] | None = None
    is_of_process: bool = False
    begins_at: tuple[int, ...] = (0, 1)
    needs: Need = "nothing"
    hides_records: bool = False

    def __str__(self) -> str:
        """Name it as in a list of cases."""
        return f"{self.family}, {self.name}"


def faults() -> Iterator[Fault]:
    """Yield all of them."""
    on_own_disk = partial(Fault, needs="mounts")
    for pages in _FREE_PAGES:
        strike = partial(_fill, pages)
        yield on_own_disk("full disk", f"{pages} pages left", strike, _remove_filler)
    for inodes in _FREE_INODES:
        strike = partial(_use_up_inodes, inodes)
        yield on_own_disk("no inodes", f"{inodes} left", strike, _give_inodes_back)
    for target in _TARGETS:
        begins_at = (0, 1) if target == ROOT else (1,)
        strike, mend = partial(_make_read_only, target), partial(_make_writable, target)
        yield on_own_disk("read-only mount", target, strike, mend, begins_at=begins_at)
    yield from _flag_faults()
    yield from _planted_faults()
    yield from _user_faults()
    yield from _process_limits()


def _flag_faults() -> Iterator[Fault]:
    for flag in _FLAGS:
        for target in _TARGETS:
            yield Fault(
                "chattr",
                f"{flag} {target}",
                partial(_set_flag, target, _FLAGS[flag]),
                partial(_set_flag, target, 0),
                begins_at=(1,),
                needs="mounts",
            )


def _planted_faults() -> Iterator[Fault]:
    kinds = {
        ROOT: ("file", "dangling link", "FIFO"),
        _SESSION: ("file", "link", "FIFO"),
        _RESULTS: ("file", "link", "dangling link", "FIFO", "device", "socket"),
        _TRANSCRIPT: ("directory", "link", "dangling link", "FIFO", "device", "socket"),
        _LOCK: ("directory", "link", "FIFO", "device"),
    }
    for target, planted in kinds.items():
        for kind in planted:
            strike, mend = partial(_plant, target, kind), partial(_uproot, target)
            # A lock that cannot be had takes nothing from the session.
            family = "planted" if target != _LOCK else "planted lock"
            yield Fault(
                family,
                f"{target} is a {kind}",
                strike,
                mend,
                needs="superuser" if kind == "device" else "nothing",
                hides_records=target == ROOT,
            )


def _user_faults() -> Iterator[Fault]:
    become = partial(Fault, is_of_process=True, needs="superuser")
    yield become("another user", "no rights at all", _become_nobody, begins_at=(0, 1, 2))
    yield become("another user", "may read", _become_reader, begins_at=(0, 1, 2))
    yield become("own folder", "from the beginning", _become_owner, begins_at=(0,))
    yield become("own folder", "taken over", _become_owner, begins_at=(1,))
    for target in _TARGETS:
        for mode in (0o000, 0o400, 0o500):
            strike, mend = partial(_lose_rights, target, mode), partial(_regain_rights, target)
            name = f"{target} is {mode:04o}"
            yield Fault("rights lost", name, strike, mend, begins_at=(1,), needs="superuser")


def _process_limits() -> Iterator[Fault]:
    for size_bytes in _FILE_SIZES_BYTES:
        yield Fault(
            "RLIMIT_FSIZE",
            f"{size_bytes} bytes",
            partial(_limit, resource.RLIMIT_FSIZE, size_bytes),
            partial(_lift, resource.RLIMIT_FSIZE),
            is_of_process=True,
        )
    for handles in _FREE_HANDLES:
        yield Fault(
            "RLIMIT_NOFILE",
            f"{handles} left",
            partial(_limit_handles, handles),
            partial(_lift, resource.RLIMIT_NOFILE),
            is_of_process=True,
        )


def _fill(pages_left: int, place: Path) -> None:
    """Take all the room there is, and give some pages back."""
    handle = os.open(place / "filler", os.O_CREAT | os.O_WRONLY, 0o600)
    try:
        size_bytes, chunk_bytes = 0, _LARGEST_CHUNK_BYTES
        while chunk_bytes >= _PAGE_BYTES:
            try:
                os.posix_fallocate(handle, size_bytes, chunk_bytes)
            except OSError as error:
                if error.errno != errno.ENOSPC:
                    raise
                chunk_bytes //= 2
            else:
                size_bytes += chunk_bytes
        os.ftruncate(handle, max(size_bytes - pages_left * _PAGE_BYTES, 0))
    finally:
        os.close(handle)


def _remove_filler(place: Path) -> None:
    (place / "filler").unlink()


def _use_up_inodes(inodes_left: int, place: Path) -> None:
    folder = place / "fillers"
    folder.mkdir()
    for number in range(os.statvfs(place).f_favail - inodes_left):
        (folder / str(number)).touch()


def _give_inodes_back(place: Path) -> None:
    for filler in (place / "fillers").iterdir():
        filler.unlink()


def _make_read_only(target: str, place: Path) -> None:
    """Lay a read-only view over it: a disk in use cannot be remounted, it can only break."""
    path = place / target
    if target == ROOT:
        path.mkdir(mode=0o700, exist_ok=True)
    mount(str(path), path, "", flags=BIND)
    mount("none", path, "", flags=BIND | REMOUNT | READ_ONLY)


def _make_writable(target: str, place: Path) -> None:
    unmount(place / target)


def _set_flag(target: str, flag: int, place: Path) -> None:
    handle = os.open(place / target, os.O_RDONLY)
    try:
        current = struct.unpack("l", fcntl.ioctl(handle, _GET_FLAGS, struct.pack("l", 0)))[0]
        wanted = current & ~sum(_FLAGS.values()) | flag
        fcntl.ioctl(handle, _SET_FLAGS, struct.pack("l", wanted))
    finally:
        os.close(handle)


def _plant(target: str, kind: str, place: Path) -> None:
    """Put something else in the place of a file or folder, which is moved away if it exists."""
    path = place / target
    path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    with contextlib.suppress(FileNotFoundError):
        path.rename(place / "away")
    _make(path, kind, place / OUTSIDE)


def _make(path: Path, kind: str, outside: Path) -> None:
    if kind == "file":
        path.write_text("something else\n", encoding="utf-8")
    elif kind == "directory":
        path.mkdir()
    elif kind == "dangling link":
        path.symlink_to(outside / "nothing")
    elif kind == "link":
        outside.mkdir(exist_ok=True)
        path.symlink_to(outside)
    elif kind == "FIFO":
        os.mkfifo(path)
    elif kind == "device":
        os.mknod(path, 0o666 | stat.S_IFCHR, _DEVICE_OF_NULL)
    else:
        with socket.socket(socket.AF_UNIX) as listener:
            listener.bind(str(path))


def _uproot(target: str, place: Path) -> None:
    path = place / target
    if path.is_dir() and not path.is_symlink():
        path.rmdir()
    else:
        path.unlink()
    with contextlib.suppress(FileNotFoundError):
        (place / "away").rename(path)


def _become_nobody(_place: Path) -> None:
    os.setgroups([])
    os.setgid(_NOBODY)
    os.setuid(_NOBODY)


def _become_reader(place: Path) -> None:
    for path in _tree(place / ROOT):
        path.chmod(0o755)
    _become_nobody(place)


def _become_owner(place: Path) -> None:
    (place / ROOT).mkdir(mode=0o700, exist_ok=True)
    for path in _tree(place / ROOT):
        os.chown(path, _NOBODY, _NOBODY)
    _become_nobody(place)


def _lose_rights(target: str, mode: int, place: Path) -> None:
    (place / target).chmod(mode)
    _become_owner(place)


def _regain_rights(target: str, place: Path) -> None:
    (place / target).chmod(0o700)


def _tree(folder: Path) -> list[Path]:
    return [folder, *folder.rglob("*")] if folder.exists() else []


def _limit(which: int, value: int, _place: Path) -> None:
    resource.setrlimit(which, (value, resource.getrlimit(which)[1]))


def _limit_handles(handles_left: int, place: Path) -> None:
    free = [os.dup(0) for _ in range(handles_left)]
    for handle in free:
        os.close(handle)
    _limit(resource.RLIMIT_NOFILE, max(free, default=-1) + 1, place)


def _lift(which: int, _place: Path) -> None:
    hard = resource.getrlimit(which)[1]
    resource.setrlimit(which, (hard, hard))
