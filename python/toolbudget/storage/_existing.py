"""What stands under a name already: exactly the bytes to be stored, something else, or nothing."""

from __future__ import annotations

import errno
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final, Literal

from toolbudget.storage._files import close_quietly
from toolbudget.storage.encoding import Measured, Measurement

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable

    from toolbudget.storage._files import FileSystem
    from toolbudget.storage._filesystem import Identity

__all__ = ["EXHAUSTED", "SameBytes", "find_existing", "read_exactly"]

EXHAUSTED: Final = frozenset({errno.EMFILE, errno.ENFILE, errno.ENOMEM})
"""Errors that say nothing about the file asked for: the process or system is at a limit."""

# ESTALE: the whole directory is gone from its server.
_SAYS_NOTHING: Final = EXHAUSTED | {errno.ESTALE}


@dataclass(frozen=True, slots=True)
class SameBytes:
    """A regular file with exactly the bytes to be stored, open for reading."""

    handle: int
    identity: Identity
    measured: Measured


def find_existing(
    files: FileSystem,
    name: str,
    chunks: Iterable[bytes],
    *,
    parent: int,
    doubtful: Collection[Identity],
) -> SameBytes | Literal["nothing", "other"]:
    """Look at a name; only ``SameBytes`` leaves a handle open, which the caller closes.

    A name that cannot be opened or read (a symbolic link, a socket, a file of someone else) holds
    something else. So does a file in ``doubtful``: its bytes may not be on the disk although
    reading it shows them.

    Raises:
        OSError: The name could not be looked at, for a reason that is not in the file.
    """
    try:
        handle = files.open_file(name, parent=parent)
    except FileNotFoundError:
        return "nothing"
    except OSError as error:
        if error.errno in _SAYS_NOTHING:
            raise
        return "other"
    same: SameBytes | None = None
    try:
        same = _compare(files, handle, chunks, doubtful=doubtful)
    finally:
        if same is None:
            close_quietly(files, handle)
    return same or "other"


def _compare(
    files: FileSystem, handle: int, chunks: Iterable[bytes], *, doubtful: Collection[Identity]
) -> SameBytes | None:
    status = files.status(handle)
    identity = status.identity
    if not status.is_regular or identity in doubtful:
        return None
    measurement = Measurement()
    offset = 0
    for chunk in chunks:
        if _read(files, handle, len(chunk), offset=offset) != chunk:
            return None
        measurement.add(chunk)
        offset += len(chunk)
    if _read(files, handle, 1, offset=offset) != b"":
        return None
    return SameBytes(handle, identity, measurement.result())


def _read(files: FileSystem, handle: int, size_bytes: int, *, offset: int) -> bytes | None:
    """Do what :func:`read_exactly` does; ``None`` if the file cannot be read."""
    try:
        return read_exactly(files, handle, size_bytes, offset=offset)
    except OSError as error:
        if error.errno in _SAYS_NOTHING:
            raise
        return None


def read_exactly(files: FileSystem, handle: int, size_bytes: int, *, offset: int) -> bytes:
    """Read exactly so many bytes unless the file ends before.

    Raises:
        OSError: The file cannot be read.
    """
    parts: list[bytes] = []
    missing_bytes = size_bytes
    while missing_bytes:
        part = files.read(handle, missing_bytes, offset=offset)
        if not part:
            break
        parts.append(part)
        offset += len(part)
        missing_bytes -= len(part)
    return b"".join(parts)
