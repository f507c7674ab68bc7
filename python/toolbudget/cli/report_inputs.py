"""The transcripts that the command line names: files, and folders with whatever is below them."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Final, NamedTuple, Protocol

import click

from toolbudget.cli.failure import CommandError, reason_of
from toolbudget.cli.reading import STANDARD_INPUT
from toolbudget.storage._files import POSIX, close_quietly

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from toolbudget.storage._files import InspectableFileSystem, ReadableFileSystem

    class _Files(InspectableFileSystem, ReadableFileSystem, Protocol):
        pass


__all__ = ["Found", "find_transcripts"]

_SUFFIX: Final = ".jsonl"
# Records alone hold no messages; what `apply` made of a transcript is that transcript once more.
_NO_TRANSCRIPTS: Final = frozenset({"content-replacements.jsonl", "applied.jsonl"})


class Found(NamedTuple):
    """One file to read, and its size."""

    path: str
    size_bytes: int


def find_transcripts(paths: Iterable[str], *, files: _Files = POSIX) -> list[Found]:
    """Return every file that is meant, each once, sorted by path.

    Of a folder that is each ``.jsonl`` file below it, but for those that hold only records and
    those that ``apply`` made. Symbolic links below it are not followed.

    Raises:
        UsageError: A path is empty, as an unset variable is.
        CommandError: A path is not there, or a folder cannot be listed.
    """
    found: dict[tuple[int, int], Found] = {}
    for path in paths:
        if not path:
            raise click.UsageError(f"PATHS must name files or folders: {path!r}")
        for name, size_bytes, identity in _files_of(path, files):
            found.setdefault(identity, Found(name, size_bytes))
    return sorted(found.values())


def _files_of(path: str, files: _Files) -> Iterator[tuple[str, int, tuple[int, int]]]:
    if path == STANDARD_INPUT:
        yield path, 0, (0, 0)
        return
    try:
        handle = files.open_root(os.path.abspath(path))  # noqa: PTH100 - no symlink is to be resolved
    except NotADirectoryError:
        yield path, *_status_of(path, files)
        return
    except OSError as error:
        raise CommandError(f"cannot open {path}: {reason_of(error)}") from error
    waiting = [(handle, path)]
    try:
        while waiting:
            directory, folder = waiting.pop()
            try:
                yield from _in_folder(directory, folder, waiting, files)
            except OSError as error:
                raise CommandError(f"cannot list {folder}: {reason_of(error)}") from error
            finally:
                close_quietly(files, directory)
    finally:
        for directory, _ in waiting:
            close_quietly(files, directory)


def _in_folder(
    directory: int, folder: str, waiting: list[tuple[int, str]], files: _Files
) -> Iterator[tuple[str, int, tuple[int, int]]]:
    """Yield the transcripts in one folder; the folders in it are opened and wait."""
    for name in sorted(files.names(directory)):
        entry = files.look(name, parent=directory)
        path = os.path.join(folder, name)  # noqa: PTH118 - as the user wrote it
        if entry.kind == "directory":
            waiting.append((files.open_directory(name, parent=directory), path))
        elif entry.kind == "file" and name.endswith(_SUFFIX) and name not in _NO_TRANSCRIPTS:
            yield path, entry.size_bytes, (entry.device, entry.inode)


def _status_of(path: str, files: ReadableFileSystem) -> tuple[int, tuple[int, int]]:
    """Return size and identity of a file that the user names, whatever links lead there."""
    try:
        handle = files.open_anywhere(os.path.abspath(path))  # noqa: PTH100 - links stay
    except OSError as error:
        raise CommandError(f"cannot open {path}: {reason_of(error)}") from error
    try:
        status = files.status(handle)
    finally:
        close_quietly(files, handle)
    return status.size_bytes, status.identity
