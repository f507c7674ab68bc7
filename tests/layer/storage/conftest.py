"""Fixtures of the storage tests."""

from __future__ import annotations

import ctypes
import gc
import os
import threading
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Final, TypeVar

import pytest

from toolbudget.storage._files import POSIX

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

_Result = TypeVar("_Result")

# From linux/capability.h: what lets root pass over the permissions of files.
_CAPABILITY_VERSION: Final = 0x20080522
_CAPABILITIES_OVER_FILES: Final = 0b1110
_OPEN_FILES: Final = Path("/proc/self/fd")


@pytest.fixture
def results(tmp_path: Path) -> Path:
    """Give the folder of the results of a session that does not exist yet."""
    return tmp_path / "root" / "session" / "tool-results"


@pytest.fixture
def parent(tmp_path: Path) -> Iterator[int]:
    """Give an open directory."""
    handle = POSIX.open_root(str(tmp_path))
    yield handle
    POSIX.close(handle)


@pytest.fixture
def unprivileged() -> Callable[[Callable[[], _Result]], _Result]:
    """Give a way to run something for which the permissions of files hold, even as root."""

    def run(action: Callable[[], _Result]) -> _Result:
        if os.geteuid() != 0:
            return action()
        results: list[_Result] = []
        errors: list[BaseException] = []

        def act() -> None:
            try:
                _give_up_file_privileges()
                results.append(action())
            except BaseException as error:  # noqa: BLE001 - raised by the caller's thread
                errors.append(error)

        # Capabilities belong to the thread, and end with it.
        thread = threading.Thread(target=act)
        thread.start()
        thread.join()
        if errors:
            raise errors[0]
        return results[0]

    return run


def _give_up_file_privileges() -> None:
    libc = ctypes.CDLL(None, use_errno=True)
    header = (ctypes.c_uint32 * 2)(_CAPABILITY_VERSION, 0)
    data = (ctypes.c_uint32 * 6)()
    if libc.capget(header, data) == 0:
        data[0] &= ~_CAPABILITIES_OVER_FILES
        if libc.capset(header, data) == 0:
            return
    raise OSError(ctypes.get_errno(), "cannot give up the privileges over files")


@pytest.fixture
def umask() -> Iterator[Callable[[int], None]]:
    """Give a way to set the umask, which is set back afterwards."""
    before = os.umask(0o022)
    os.umask(before)
    yield lambda mask: (os.umask(mask), None)[1]
    os.umask(before)


@pytest.fixture
def no_leaked_descriptors() -> Iterator[None]:
    """Fail if more descriptors are open after the test than before."""
    if not _OPEN_FILES.is_dir():
        yield
        return
    with unchanged_descriptors():
        yield


def _open_descriptors() -> set[str]:
    return {path.name for path in _OPEN_FILES.iterdir()}


@contextmanager
def unchanged_descriptors() -> Iterator[None]:
    """Fail if the block leaves a descriptor open."""
    before = _open_descriptors()
    yield
    # What an earlier test let go of may close its descriptors meanwhile: only new ones count.
    left_open = _open_descriptors() - before
    if left_open:
        # What is held by a cycle only is closed some time; looking for it each time takes too long.
        gc.collect()
        left_open = _open_descriptors() - before
    assert not left_open, f"left open: {left_open}"
