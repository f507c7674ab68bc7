"""The user's input: a file, or what comes through a pipe, read as often as needed."""

from __future__ import annotations

import contextlib
from contextlib import contextmanager
from typing import TYPE_CHECKING, BinaryIO, Final, NamedTuple, TypeAlias, cast

import click
import xxhash

from toolbudget.cli.failure import CommandError, reason_of
from toolbudget.storage._aside import Directories, create_aside
from toolbudget.storage._files import POSIX, FileSystem, close_quietly, open_chain, write_all
from toolbudget.storage.line_reader import read_exactly

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

__all__ = ["STANDARD_INPUT", "Input", "Line", "OnRead", "ignore", "open_input"]

STANDARD_INPUT: Final = "-"

OnRead: TypeAlias = "Callable[[int], object]"
"""Told the number of bytes of each piece that has been dealt with."""

_CHUNK_BYTES: Final = 1 << 20


def ignore(_size_bytes: int) -> None:
    """Be told, and do nothing."""


class Line(NamedTuple):
    r"""One line of the input, without the ``\n`` that ends it."""

    number: int
    offset: int
    data: bytes


class Input:
    """An input of fixed size: what is appended to the file meanwhile is not looked at.

    Attributes:
        name: What messages call it.
        size_bytes: Its size when it was opened.
        digest: XXH3-128 of its bytes, known once it has been read as a whole.
        identity: Device and inode of what was named, by whatever path or redirection.
    """

    def __init__(
        self, name: str, handle: int, *, named_handle: int | None = None, files: FileSystem = POSIX
    ) -> None:
        """Take an open regular file, and the one it is a copy of, if it is one."""
        self.name = name
        self.digest: str | None = None
        self._files = files
        self._handle = handle
        self.size_bytes = files.status(handle).size_bytes
        self.identity = files.status(handle if named_handle is None else named_handle).identity

    def read(self, start: int, size_bytes: int) -> bytes:
        """Read exactly so many bytes from a position.

        Raises:
            CommandError: They cannot be read, or are no longer there.
        """
        try:
            data = read_exactly(self._files, self._handle, size_bytes, offset=start)
        except OSError as error:
            raise CommandError(f"cannot read {self.name}: {reason_of(error)}") from error
        if len(data) < size_bytes:
            raise self._changed()
        return data

    def chunks(self, start: int, end: int, on_read: OnRead) -> Iterator[bytes]:
        """Read from one position to another in pieces of bounded size.

        Raises:
            CommandError: The bytes cannot be read, or are no longer there.
        """
        while start < end:
            chunk = self.read(start, min(_CHUNK_BYTES, end - start))
            start += len(chunk)
            yield chunk
            on_read(len(chunk))

    def everything(self, on_read: OnRead) -> Iterator[bytes]:
        """Read all of it, and make sure that it is what it was the last time.

        Raises:
            CommandError: It cannot be read, or has changed since.
        """
        hasher = xxhash.xxh3_128()
        for chunk in self.chunks(0, self.size_bytes, on_read):
            hasher.update(chunk)
            yield chunk
        digest = hasher.hexdigest()
        if self.digest not in {None, digest}:
            raise self._changed()
        self.digest = digest

    def lines(self, on_read: OnRead) -> Iterator[Line]:
        r"""Read all of it line by line; lines end at the byte ``\n`` and nowhere else.

        Raises:
            CommandError: It cannot be read, or has changed since the last time.
        """
        open_parts: list[bytes] = []
        number, offset = 1, 0
        for chunk in self.everything(on_read):
            *ended, rest = chunk.split(b"\n")
            for part in ended:
                open_parts.append(part)
                line = Line(number, offset, b"".join(open_parts))
                open_parts = []
                yield line
                number += 1
                offset += len(line.data) + 1
            open_parts.append(rest)
        last = b"".join(open_parts)
        if last:
            yield Line(number, offset, last)

    def _changed(self) -> CommandError:
        return CommandError(f"{self.name} changed while it was read")


@contextmanager
def open_input(path: str, *, spool_directory: str, files: FileSystem = POSIX) -> Iterator[Input]:
    """Open what the command line names; ``-`` is standard input.

    What cannot be read twice is first copied into a private file that nobody else sees.

    Args:
        path: A file, or ``-``.
        spool_directory: Where that copy is; made if it is missing.
        files: The file system.

    Raises:
        CommandError: It cannot be opened or copied.
    """
    name = "standard input" if path == STANDARD_INPUT else path
    with contextlib.ExitStack() as opened:
        try:
            stream = opened.enter_context(cast("BinaryIO", click.open_file(path, "rb")))
        except OSError as error:
            raise CommandError(f"cannot open {name}: {reason_of(error)}") from error
        except RuntimeError as error:
            raise CommandError(f"{name} is closed") from error
        if path != STANDARD_INPUT and files.status(stream.fileno()).is_regular:
            yield Input(name, stream.fileno(), files=files)
            return
        try:
            handle = _copy(stream, spool_directory, files, opened)
        except OSError as error:
            where = f"cannot copy {name} to {spool_directory}"
            raise CommandError(f"{where}: {reason_of(error)}") from error
        yield Input(name, handle, named_handle=_handle_of(stream), files=files)


def _handle_of(stream: BinaryIO) -> int | None:
    try:
        return stream.fileno()
    except OSError:
        return None  # a stream of this process's own, in the place of standard input


def _copy(stream: BinaryIO, directory: str, files: FileSystem, opened: contextlib.ExitStack) -> int:
    parent = open_chain(files, directory, [], create=True, durability="process")
    opened.callback(close_quietly, files, parent)
    aside = create_aside(files, Directories(parent, parent), allow_unnamed=True)
    opened.callback(aside.release)
    while chunk := stream.read(_CHUNK_BYTES):
        write_all(files, aside.handle, chunk)
    return aside.handle
