"""A file written where no reader looks, which gets its final name only when it is complete."""

from __future__ import annotations

import contextlib
import errno
import os
from typing import TYPE_CHECKING, Final, NamedTuple

from toolbudget.storage._files import write_all
from toolbudget.storage.encoding import Measured, Measurement, measure_bytes

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from toolbudget.storage._files import FileSystem

__all__ = ["Aside", "Directories", "create_aside", "write_new"]

# EISDIR and EINVAL: the answers of kernels and file systems that do not know O_TMPFILE.
_NO_UNNAMED_FILES: Final = frozenset(
    {errno.EOPNOTSUPP, errno.ENOTSUP, errno.ENOSYS, errno.EISDIR, errno.EINVAL}
)
_REMOVE_TRIES: Final = 2


class Directories(NamedTuple):
    """Handles of the results' directory and of the one above it, for the length of one batch."""

    results: int
    above: int


class Aside:
    """One such file: without a name, or where there is no such thing with a temporary one.

    The temporary name stands beside the results' directory, never in it: that one holds results
    only, even if the process dies at this moment.
    """

    __slots__ = ("_directories", "_files", "_is_open", "_temporary_name", "handle")

    def __init__(
        self,
        files: FileSystem,
        handle: int,
        *,
        temporary_name: str | None,
        directories: Directories,
    ) -> None:
        self._files = files
        self._temporary_name = temporary_name
        self._directories = directories
        self._is_open = True
        self.handle = handle

    @property
    def is_unnamed(self) -> bool:
        """Whether nothing is left over even if the process dies."""
        return self._temporary_name is None

    def write(self, data: bytes | Iterable[bytes]) -> Measured:
        """Write all of a content, as a whole or in chunks, and return its size and hash."""
        if isinstance(data, bytes):
            write_all(self._files, self.handle, data)
            return measure_bytes(data)
        measurement = Measurement()
        for chunk in data:
            write_all(self._files, self.handle, chunk)
            measurement.add(chunk)
        return measurement.result()

    def open_again(self) -> int | None:
        """Open the file for reading under its temporary name, if it has one."""
        if self._temporary_name is None:
            return None
        return self._files.open_file(self._temporary_name, parent=self._directories.above)

    def link(self, name: str) -> None:
        """Give the file its final name; the file is complete and synced by now.

        Raises:
            FileExistsError: The name is taken, by whatever it may be.
            OSError: The file can be neither closed nor linked.
        """
        if self._temporary_name is None:
            self._files.link_unnamed(self.handle, name, parent=self._directories.results)
            return
        # Before the name exists: some network file systems report a failed write only here.
        self._close()
        self._files.link(
            self._temporary_name,
            name,
            source_parent=self._directories.above,
            parent=self._directories.results,
        )

    def release(self) -> None:
        """Close the file and drop its temporary name; a final name that it has got stays."""
        with contextlib.suppress(OSError):
            self._close()
        if self._temporary_name is None:
            return
        for _ in range(_REMOVE_TRIES):
            with contextlib.suppress(OSError):
                self._files.unlink(self._temporary_name, parent=self._directories.above)
                return

    def _close(self) -> None:
        if self._is_open:
            self._is_open = False
            self._files.close(self.handle)


def create_aside(files: FileSystem, directories: Directories, *, allow_unnamed: bool) -> Aside:
    """Create an empty one, 0600.

    Raises:
        OSError: No file can be created here; nothing is left over.
    """
    if allow_unnamed:
        try:
            handle = files.create_unnamed(parent=directories.results)
        except OSError as error:
            if error.errno not in _NO_UNNAMED_FILES:
                raise
        else:
            return Aside(files, handle, temporary_name=None, directories=directories)
    temporary_name = f".tmp-{os.urandom(8).hex()}"
    handle = files.create_exclusive(temporary_name, parent=directories.above)
    return Aside(files, handle, temporary_name=temporary_name, directories=directories)


def write_new(
    files: FileSystem, directory: int, name: str, parts: Sequence[bytes], *, is_synced: bool
) -> None:
    """Write a new file of our own whole: nobody ever sees a part of it, or it empty.

    Raises:
        FileExistsError: The name is taken.
        OSError: It cannot be written; nothing stands under the name.
    """
    directories = Directories(results=directory, above=directory)
    for allow_unnamed in (True, False):
        aside = create_aside(files, directories, allow_unnamed=allow_unnamed)
        try:
            for part in parts:
                write_all(files, aside.handle, part)
            if is_synced:
                files.sync(aside.handle)
            _link(aside, name)
        except _CannotLinkUnnamedError:
            continue
        finally:
            aside.release()
        if is_synced:
            files.sync_directory(directory)
        return


class _CannotLinkUnnamedError(Exception):
    """The system refuses to give an unnamed file a name; a named one may do."""


def _link(aside: Aside, name: str) -> None:
    try:
        aside.link(name)
    except FileExistsError:
        raise
    except OSError as error:
        if aside.is_unnamed:
            raise _CannotLinkUnnamedError from error
        raise
