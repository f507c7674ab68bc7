"""The transcripts that the command line names: files, and folders with whatever is below them."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Final, NamedTuple, Protocol

import click

from toolbudget.cli.failure import CommandError, reason_of
from toolbudget.cli.reading import STANDARD_INPUT
from toolbudget.storage._files import POSIX, close_quietly, open_chain

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

    from toolbudget.storage._files import InspectableFileSystem, ReadableFileSystem

    class _Files(InspectableFileSystem, ReadableFileSystem, Protocol):
        pass


__all__ = ["Found", "find_transcripts"]

_SUFFIX: Final = ".jsonl"
# Records alone hold no messages; what `apply` made of a transcript is that transcript once more.
_NO_TRANSCRIPTS: Final = frozenset({"content-replacements.jsonl", "applied.jsonl"})


class Found(NamedTuple):
    """One file to read, its size, and which it is, by whatever name."""

    path: str
    size_bytes: int
    identity: tuple[int, int]


def find_transcripts(
    paths: Iterable[str], on_problem: Callable[[str, str], object], *, files: _Files = POSIX
) -> list[Found]:
    """Return every file that is meant, each once, sorted by path.

    Of a folder that is each ``.jsonl`` file below it, but for those that hold only records and
    those that ``apply`` made. Symbolic links below it are not followed.

    Args:
        paths: What the user names.
        on_problem: Told of each folder below those that cannot be listed, and why.
        files: The file system.

    Raises:
        UsageError: A path is empty, as an unset variable is.
        CommandError: A path is not there, or cannot be opened.
    """
    found: dict[tuple[int, int], Found] = {}
    for path in paths:
        if not path:
            raise click.UsageError(f"PATHS must name files or folders: {path!r}")
        for name, size_bytes, identity in _files_of(path, files, on_problem):
            found.setdefault(identity, Found(name, size_bytes, identity))
    return sorted(found.values())


def _files_of(
    path: str, files: _Files, on_problem: Callable[[str, str], object]
) -> Iterator[tuple[str, int, tuple[int, int]]]:
    if path == STANDARD_INPUT:
        yield path, 0, (0, 0)
        return
    root = os.path.abspath(path)  # noqa: PTH100 - no symlink is to be resolved
    try:
        close_quietly(files, files.open_root(root))
    except NotADirectoryError:
        yield path, *_status_of(path, files)
        return
    except OSError as error:
        raise CommandError(f"cannot open {path}: {reason_of(error)}") from error
    # By their names: a folder may have more folders in it than a process may open.
    waiting: list[tuple[str, ...]] = [()]
    while waiting:
        names = waiting.pop()
        try:
            yield from _in_folder(root, names, path, waiting, files)
        except FileNotFoundError:
            # It has been removed since.
            continue
        except OSError as error:
            folder = os.path.join(path, *names)  # noqa: PTH118 - as the user wrote it
            on_problem(folder, f"cannot list {folder}: {reason_of(error)}")


def _in_folder(
    root: str,
    names: tuple[str, ...],
    path: str,
    waiting: list[tuple[str, ...]],
    files: _Files,
) -> Iterator[tuple[str, int, tuple[int, int]]]:
    """Yield the transcripts in one folder; the folders in it wait."""
    directory = open_chain(files, root, names, create=False, durability="process")
    try:
        for name in sorted(files.names(directory)):
            try:
                entry = files.look(name, parent=directory)
            except FileNotFoundError:
                continue
            if entry.kind == "directory":
                waiting.append((*names, name))
            elif entry.kind == "file" and name.endswith(_SUFFIX) and name not in _NO_TRANSCRIPTS:
                found = os.path.join(path, *names, name)  # noqa: PTH118 - as the user wrote it
                yield found, entry.size_bytes, (entry.device, entry.inode)
    finally:
        close_quietly(files, directory)


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
