"""Beginning a transcript with records in it, in one step that never overwrites."""

from __future__ import annotations

from typing import TYPE_CHECKING

from toolbudget.errors import TranscriptError
from toolbudget.storage._aside import write_new
from toolbudget.storage._files import POSIX, close_quietly, open_chain
from toolbudget.storage.log_file import explained
from toolbudget.storage.records import encode_record, header_line

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence
    from pathlib import Path

    from toolbudget.storage._files import Durability, FileSystem

__all__ = ["begin_transcript"]


def begin_transcript(
    path: Path,
    *,
    anchor: Path,
    session_id: str,
    records: Iterable[Mapping[str, object]],
    durability: Durability,
    files: FileSystem = POSIX,
) -> None:
    """Write a header and records as a new file: all of it, or no file at all.

    Args:
        path: The transcript.
        anchor: The directory below which no symbolic link is followed.
        session_id: Named by the header.
        records: What it begins with.
        durability: What the file outlives when this returns.
        files: The file system.

    Raises:
        TranscriptError: There is something at ``path`` already, or it cannot be written.
    """
    with explained("begin", path):
        names = path.parent.relative_to(anchor).parts
        directory = open_chain(files, str(anchor), names, create=True, durability=durability)
        try:
            write_new(
                files,
                directory,
                path.name,
                _lines(session_id, records),
                is_synced=durability != "process",
            )
        except FileExistsError as error:
            raise TranscriptError(f"transcript exists already: {path}") from error
        finally:
            close_quietly(files, directory)


def _lines(session_id: str, records: Iterable[Mapping[str, object]]) -> Sequence[bytes]:
    return [header_line(session_id), *map(encode_record, records)]
