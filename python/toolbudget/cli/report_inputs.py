"""The transcripts that the command line names: files, and folders with whatever is below them."""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING, Final, NamedTuple

from toolbudget.cli.failure import CommandError, reason_of

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

__all__ = ["Found", "find_transcripts"]

_SUFFIX: Final = ".jsonl"
# Files of records alone; they hold no messages.
_SIDECAR: Final = "content-replacements.jsonl"
# What `apply` made of a transcript is that transcript once more.
_APPLIED: Final = "applied.jsonl"


class Found(NamedTuple):
    """One file to read, and its size."""

    path: str
    size_bytes: int


def find_transcripts(paths: Iterable[str]) -> list[Found]:
    """Return every file that is meant, each once, sorted by path.

    Of a folder that is each ``.jsonl`` file below it, but for those that hold only records and
    those that ``apply`` made. Symbolic links to folders are not followed.

    Raises:
        CommandError: A path is not there, or a folder cannot be listed.
    """
    found: dict[tuple[int, int], Found] = {}
    for path in paths:
        for name in sorted(_files_of(path)):
            try:
                status = Path(name).stat()
            except OSError as error:
                raise CommandError(f"cannot open {name}: {reason_of(error)}") from error
            found.setdefault((status.st_dev, status.st_ino), Found(name, status.st_size))
    return sorted(found.values())


def _files_of(path: str) -> Iterator[str]:
    if not Path(path).is_dir():
        yield path
        return

    def refuse(error: OSError) -> None:
        raise CommandError(f"cannot list {error.filename}: {reason_of(error)}") from error

    for folder, _, names in os.walk(path, onerror=refuse):
        for name in names:
            if name.endswith(_SUFFIX) and name not in {_SIDECAR, _APPLIED}:
                yield str(Path(folder, name))
