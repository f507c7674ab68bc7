r"""Reading a file of lines in constant memory.

Lines end at the byte ``\n`` and nowhere else: what other conventions take for a line end may stand
inside a JSON string.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Iterator

    from toolbudget.storage._filesystem import FileSystem

__all__ = ["MAX_LINE_BYTES", "Line", "read_exactly", "read_lines"]

MAX_LINE_BYTES: Final = 64 * 1024 * 1024
"""A longer line is passed over without being held in memory; none of ours is ever written."""

_CHUNK_BYTES: Final = 1024 * 1024


class Line(NamedTuple):
    """One line of a file."""

    data: bytes | None
    """Without its line end; ``None`` if it is longer than the maximum."""
    end_offset: int
    """The position behind the line and its line end."""
    is_terminated: bool
    """False for a last line without a line end."""


class _OpenLine:
    """The parts of a line whose end has not been met yet."""

    def __init__(self) -> None:
        self._parts: list[bytes] = []
        self._size_bytes = 0

    def __bool__(self) -> bool:
        return self._size_bytes > 0

    def add(self, part: bytes) -> None:
        self._size_bytes += len(part)
        if self._size_bytes > MAX_LINE_BYTES:
            self._parts.clear()
        else:
            self._parts.append(part)

    def take(self, last_part: bytes) -> bytes | None:
        """Return the whole line and begin the next one."""
        self.add(last_part)
        line = None if self._size_bytes > MAX_LINE_BYTES else b"".join(self._parts)
        self._parts, self._size_bytes = [], 0
        return line


def read_lines(
    files: FileSystem,
    handle: int,
    *,
    start: int = 0,
    end: int | None = None,
    chunk_bytes: int = _CHUNK_BYTES,
) -> Iterator[Line]:
    """Yield the lines from a position on, up to ``end`` or the end of the file.

    Args:
        files: The file system.
        handle: The open file.
        start: Where the first line begins.
        end: Nothing beyond it is read, whatever is appended meanwhile.
        chunk_bytes: How much is read at a time.

    Raises:
        OSError: A read failed.
    """
    open_line, position = _OpenLine(), start
    while wanted_bytes := chunk_bytes if end is None else max(0, min(chunk_bytes, end - position)):
        chunk = files.read(handle, wanted_bytes, offset=position)
        if not chunk:
            break
        *ended, rest = chunk.split(b"\n")
        for data in ended:
            position += len(data) + 1
            line = open_line.take(data) if open_line else data
            yield Line(line, position, is_terminated=True)
        position += len(rest)
        open_line.add(rest)
    if open_line:
        yield Line(open_line.take(b""), position, is_terminated=False)


def read_exactly(files: FileSystem, handle: int, size_bytes: int, *, offset: int) -> bytes:
    """Read so many bytes from a position; fewer only where the file ends.

    Raises:
        OSError: A read failed.
    """
    parts: list[bytes] = []
    while size_bytes > 0:
        part = files.read(handle, size_bytes, offset=offset)
        if not part:
            break
        parts.append(part)
        size_bytes -= len(part)
        offset += len(part)
    return b"".join(parts)
