"""Bugs to be put into the storage for the length of a test, so that a harness can prove itself.

Each is a mistake that storage of this kind has really been shipped with.
"""

# ruff: noqa: ANN401 - what is patched is private, and is taken as it comes

from __future__ import annotations

from contextlib import ExitStack, contextmanager
from typing import TYPE_CHECKING, Any, Final
from unittest import mock

from toolbudget.storage import _batch, _straight, log_file
from toolbudget.storage._aside import Aside
from toolbudget.storage._existing import SameBytes
from toolbudget.storage.encoding import measure_chunks

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from contextlib import AbstractContextManager

    from toolbudget.storage._files import FileSystem

__all__ = ["STORAGE_BUGS", "seeded", "without_short_way"]


class _Direct(Aside):
    """Stands under its final name from the beginning."""

    __slots__ = ()

    def link(self, name: str) -> None:
        """Find nothing left to do."""

    @property
    def is_unnamed(self) -> bool:
        """Say no."""
        return False


def _write_directly(batch: Any, item: Any, names: Any) -> Any:
    files, directories = batch._files, batch._directories
    handle = files.create_exclusive(item.file_name, parent=directories.results)
    aside = _Direct(files, handle, temporary_name=None, directories=directories)
    item.measured = aside.write(item.chunks())
    return _batch._Opened(item, names, aside, files.status(handle).identity)


def _trust_existence(files: Any, name: str, chunks: Any, *, parent: int, doubtful: Any) -> Any:
    del doubtful
    try:
        handle = files.open_file(name, parent=parent)
    except OSError:
        return "nothing"
    return SameBytes(handle, files.status(handle).identity, measure_chunks(chunks))


def _direct(stack: ExitStack, _files: type[Any]) -> None:
    """Create exclusively under the final name; what exists there counts as done."""
    stack.enter_context(mock.patch.object(_batch.Batch, "_write_aside", _write_directly))
    _trusting(stack, _files)


def _trusting(stack: ExitStack, _files: type[Any]) -> None:
    """Take whatever stands under a name for the bytes that belong there."""
    stack.enter_context(mock.patch.object(_batch, "find_existing", _trust_existence))


def _glue(stack: ExitStack, _files: type[Any]) -> None:
    """Append to a torn tail without a line end first."""
    locked = log_file.LockedFile
    stack.enter_context(mock.patch.object(locked, "_missing_line_end", return_value=b""))


def _late(stack: ExitStack, _files: type[Any]) -> None:
    """Keep records in memory."""

    def append(locked: Any, line: bytes, *, header: bytes, sync: bool) -> tuple[int, bytes]:
        del line, header, sync
        return locked._files.status(locked.handle).size_bytes, b""

    stack.enter_context(mock.patch.object(log_file.LockedFile, "append", append))


def _do_nothing(*_arguments: object, **_options: object) -> None:
    pass


def _nofsync(stack: ExitStack, files: type[Any]) -> None:
    """Sync directories only, never a file."""
    stack.enter_context(mock.patch.object(files, "sync", _do_nothing))
    stack.enter_context(mock.patch.object(files, "sync_data", _do_nothing))


def _nodirsync(stack: ExitStack, files: type[Any]) -> None:
    """Sync files only, never a directory."""
    stack.enter_context(mock.patch.object(files, "sync_directory", _do_nothing))


def _nolock(stack: ExitStack, files: type[Any]) -> None:
    """Decide without the lock."""
    stack.enter_context(mock.patch.object(files, "lock", _do_nothing))


def _ambiguous(stack: ExitStack, _files: type[Any]) -> None:
    """Leave a record in the file whose sync has failed, and send the full text."""
    locked = log_file.LockedFile
    stack.enter_context(mock.patch.object(locked, "_take_back", return_value=True))


_SEEDS: Final[dict[str, Callable[[ExitStack, type[Any]], None]]] = {
    "direct": _direct,
    "trusting": _trusting,
    "glue": _glue,
    "late": _late,
    "nofsync": _nofsync,
    "nodirsync": _nodirsync,
    "nolock": _nolock,
    "ambiguous": _ambiguous,
}

STORAGE_BUGS: Final = tuple(_SEEDS)


def without_short_way() -> AbstractContextManager[object]:
    """Have plain texts stored call by call for a while."""
    return mock.patch.object(_straight, "place_texts", _leave_all)


def _leave_all(_files: object, texts: list[object], **_options: object) -> list[None]:
    return [None] * len(texts)


@contextmanager
def seeded(bug: str | None, files: FileSystem) -> Iterator[None]:
    """Have a bug for a while, on the class of a file system where it is about system calls."""
    with ExitStack() as stack:
        if bug is not None:
            stack.enter_context(without_short_way())  # bugs are seeded in the single calls
            _SEEDS[bug](stack, type(files))
        yield
