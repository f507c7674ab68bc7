"""Writing the output: the changed input, complete or not at all, and never over other bytes."""

from __future__ import annotations

import contextlib
import errno
import os
from pathlib import Path
from typing import TYPE_CHECKING, Final, Literal, NamedTuple, TypeAlias

from toolbudget._core.pure.json import Splice, replace_contents
from toolbudget.cli.failure import CommandError, reason_of
from toolbudget.cli.reading import ignore
from toolbudget.storage._files import POSIX, close_quietly, open_chain, write_all
from toolbudget.storage.line_reader import read_exactly

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence
    from collections.abc import Set as AbstractSet

    from toolbudget._core.pure.json import Path as JsonPath
    from toolbudget.cli.judging import Edit
    from toolbudget.cli.reading import Input, OnRead
    from toolbudget.storage._files import Durability, FileSystem

__all__ = [
    "OutputFile",
    "OutputTakenError",
    "named_output",
    "output_chunks",
    "splices_of",
    "write_named",
]

Comparison: TypeAlias = Literal["missing", "same", "other"]

# The answers of file systems without hard links.
_NO_LINKS: Final = frozenset(
    {errno.EPERM, errno.EOPNOTSUPP, errno.ENOTSUP, errno.ENOSYS, errno.EMLINK}
)


class OutputTakenError(CommandError):
    """Other bytes are there already."""


class OutputFile(NamedTuple):
    """Where the output goes: a file below an anchor.

    Attributes:
        anchor: A directory; above it symbolic links are the user's business.
        directories: Names of the directories from there on.
        name: The file's own name.
        durability: How durable it is.
        makes_directories: Missing directories are made.
        files: The file system.
    """

    anchor: Path
    directories: tuple[str, ...]
    name: str
    durability: Durability
    makes_directories: bool
    files: FileSystem = POSIX

    @property
    def path(self) -> Path:
        """The whole path."""
        return self.anchor.joinpath(*self.directories, self.name)

    def is_same_as(self, identity: tuple[int, int]) -> bool:
        """Tell whether this is the file of that device and inode, by whatever path."""
        with contextlib.ExitStack() as opened, contextlib.suppress(OSError):
            directory = self._open_directory(create=False)
            opened.callback(close_quietly, self.files, directory)
            handle = self.files.open_file(self.name, parent=directory)
            opened.callback(close_quietly, self.files, handle)
            return self.files.status(handle).identity == identity
        return False

    def compare(self, chunks: Iterable[bytes]) -> Comparison:
        """Compare what is there with what would be written.

        Raises:
            CommandError: It cannot be read, or is nothing that could be replaced.
        """
        with contextlib.ExitStack() as opened:
            try:
                directory = self._open_directory(create=False)
            except FileNotFoundError as error:
                if self.makes_directories:
                    return "missing"
                raise self._error("write", error) from error
            except OSError as error:
                raise self._error("write", error) from error
            opened.callback(close_quietly, self.files, directory)
            try:
                handle = self.files.open_file(self.name, parent=directory)
            except FileNotFoundError:
                return "missing"
            except OSError as error:
                if error.errno == errno.ELOOP:
                    return "other"
                raise self._error("read", error) from error
            opened.callback(close_quietly, self.files, handle)
            if not self.files.status(handle).is_regular:
                raise CommandError(f"output is not a regular file: {self.path}")
            try:
                return "same" if self._holds(handle, chunks) else "other"
            except OSError as error:
                raise self._error("read", error) from error

    def write(self, chunks: Iterable[bytes], *, overwrite: bool) -> None:
        """Write all of it aside, then put it under its name.

        Raises:
            OutputTakenError: Something is there already, and nothing is to be overwritten.
            CommandError: It could not be written; what was there before is still there.
        """
        try:
            directory = self._open_directory(create=self.makes_directories)
        except OSError as error:
            raise self._error("write", error) from error
        temporary_name = f".{os.urandom(8).hex()}.tmp"
        try:
            if overwrite:
                self._refuse_no_file(directory)
            self._write_aside(chunks, temporary_name, directory)
            self._publish(temporary_name, directory, overwrite=overwrite)
            if self.durability == "full":
                self.files.sync_directory(directory)
        except FileExistsError as error:
            raise self.taken() from error
        except OSError as error:
            raise self._error("write", error) from error
        finally:
            with contextlib.suppress(OSError):
                self.files.unlink(temporary_name, parent=directory)
            close_quietly(self.files, directory)

    def refuse(self, inputs: AbstractSet[tuple[int, int]]) -> None:
        """Refuse at once what may not be overwritten: an input, or what is no file.

        Raises:
            CommandError: It is one of those.
        """
        if any(self.is_same_as(identity) for identity in inputs):
            raise CommandError(f"output is the input itself: {self.path}")
        with contextlib.ExitStack() as opened, contextlib.suppress(OSError):
            directory = self._open_directory(create=False)
            opened.callback(close_quietly, self.files, directory)
            self._refuse_no_file(directory)

    def _refuse_no_file(self, directory: int) -> None:
        """Refuse the place of a device, a FIFO or a socket: it would be gone.

        A link is replaced, what it points to stays.
        """
        with contextlib.suppress(FileNotFoundError):
            kind = self.files.look(self.name, parent=directory).kind
            if kind not in {"file", "symbolic link"}:
                raise CommandError(f"output is not a regular file: {self.path}")

    def taken(self) -> OutputTakenError:
        """Return the error for other bytes that are there already."""
        return OutputTakenError(
            f"output exists with other content; --force overwrites it: {self.path}"
        )

    def _open_directory(self, *, create: bool) -> int:
        return open_chain(
            self.files,
            str(self.anchor),
            self.directories,
            create=create,
            durability=self.durability,
        )

    def _holds(self, handle: int, chunks: Iterable[bytes]) -> bool:
        offset = 0
        for chunk in chunks:
            if read_exactly(self.files, handle, len(chunk), offset=offset) != chunk:
                return False
            offset += len(chunk)
        return self.files.status(handle).size_bytes == offset

    def _write_aside(self, chunks: Iterable[bytes], name: str, directory: int) -> None:
        handle = self.files.create_exclusive(name, parent=directory)
        try:
            for chunk in chunks:
                write_all(self.files, handle, chunk)
            if self.durability == "full":
                self.files.sync(handle)
            elif self.durability == "data":
                self.files.sync_data(handle)
        except BaseException:
            close_quietly(self.files, handle)
            raise
        # Some network file systems report a failed write only here.
        self.files.close(handle)

    def _publish(self, temporary_name: str, directory: int, *, overwrite: bool) -> None:
        if not overwrite:
            try:
                self.files.link(
                    temporary_name, self.name, source_parent=directory, parent=directory
                )
            except OSError as error:
                if error.errno not in _NO_LINKS:
                    raise
            else:
                return
        self.files.replace(temporary_name, self.name, parent=directory)

    def _error(self, action: str, error: OSError) -> CommandError:
        return CommandError(f"cannot {action} output {self.path}: {reason_of(error)}")


def splices_of(source: Input, edits: Sequence[Edit]) -> list[Splice]:
    """Find where in the input's bytes the edits apply, in the order of the bytes.

    Raises:
        CommandError: The input cannot be read.
        InvalidMessageError: The input changed while it was read.
    """
    by_text: dict[tuple[int, int], dict[JsonPath, str]] = {}
    for place, text in edits:
        by_text.setdefault((place.offset, place.size_bytes), {})[place.path] = text
    splices: list[Splice] = []
    for (offset, size_bytes), replacements in sorted(by_text.items()):
        data = source.read(offset, size_bytes)
        splices += (
            Splice(offset + start, offset + end, new)
            for start, end, new in replace_contents(data, replacements)
        )
    return splices


def write_named(path: str, data: bytes) -> None:
    """Put bytes under a name that the user gave, in the place of an earlier file.

    Raises:
        CommandError: The file cannot be written, or something else than a file is there.
    """
    named_output(path).write([data], overwrite=True)


def named_output(path: str) -> OutputFile:
    """Return a file of a name that the user gave."""
    place = Path(os.path.abspath(path))  # noqa: PTH100 - no symlink is to be resolved
    return OutputFile(
        anchor=place.parent,
        directories=(),
        name=place.name,
        durability="process",
        makes_directories=False,
    )


def output_chunks(
    source: Input,
    splices: Sequence[Splice],
    on_write: OnRead = ignore,
) -> Iterator[bytes]:
    """Yield the output: every byte of the input, except those that a splice replaces.

    Args:
        source: The input.
        splices: The changes, in order.
        on_write: Told how many bytes of the input each piece stands for.

    Raises:
        CommandError: The input cannot be read.
    """
    position = 0
    for start, end, new in splices:
        yield from source.chunks(position, start, on_write)
        yield new
        on_write(end - start)
        position = end
    yield from source.chunks(position, source.size_bytes, on_write)
