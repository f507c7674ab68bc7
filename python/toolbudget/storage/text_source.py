"""Texts to be read page by page: any file, a stored result, or bytes in memory.

Only regular files are read: a FIFO or a terminal would keep the reader waiting, a device may never
end. What is read need not stay as it is meanwhile; a file that has become shorter just ends.
"""

from __future__ import annotations

import json
from contextlib import contextmanager
from typing import TYPE_CHECKING, Final

from toolbudget._display import quoted_path
from toolbudget.errors import ToolError, ToolInputError
from toolbudget.storage._files import POSIX, close_quietly, open_chain
from toolbudget.storage._session_files import reason_of
from toolbudget.storage.text_encoding import (
    SAMPLE_BYTES,
    TextEncoding,
    detect_encoding,
    looks_binary,
)

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from toolbudget.storage._files import FileSystem, ReadableFileSystem

__all__ = ["BytesSource", "FileSource", "open_file", "open_stored", "text_of_blocks"]

STORED_ENCODING: Final = TextEncoding("UTF-8", "utf-8")


class BytesSource:
    """A text in memory, in the encoding of stored results."""

    def __init__(self, data: bytes) -> None:
        self._data = data
        self.size_bytes = len(data)
        self.encoding = STORED_ENCODING

    def read(self, start_byte: int, max_bytes: int) -> bytes:
        """Return bytes from a position."""
        return self._data[start_byte : start_byte + max_bytes]


class FileSource:
    """An open file.

    Attributes:
        encoding: How its bytes become text.
        is_binary: Whether it is no text at all, by its beginning.
        size_bytes: As it was when it was opened; 0 for what the system makes up as it is read.
    """

    def __init__(self, handle: int, *, files: FileSystem, encoding: TextEncoding | None) -> None:
        self._handle = handle
        self._files = files
        self.size_bytes = files.status(handle).size_bytes
        sample = self.read(0, SAMPLE_BYTES)
        self.encoding = detect_encoding(sample) if encoding is None else encoding
        self.is_binary = encoding is None and looks_binary(sample, self.encoding)

    def read(self, start_byte: int, max_bytes: int) -> bytes:
        """Return bytes from a position, fewer than asked for only at the end of the file.

        Raises:
            OSError: They cannot be read.
        """
        parts: list[bytes] = []
        missing_bytes = max_bytes
        while missing_bytes:
            part = self._files.read(
                self._handle, missing_bytes, offset=start_byte + max_bytes - missing_bytes
            )
            if not part:
                break
            parts.append(part)
            missing_bytes -= len(part)
        return parts[0] if len(parts) == 1 else b"".join(parts)


@contextmanager
def open_file(path: str, *, files: ReadableFileSystem = POSIX) -> Iterator[FileSource]:
    """Open any file as a shell would: symbolic links are followed.

    Raises:
        ToolInputError: No path can be like this.
        ToolError: There is no such file, or it cannot be read as one.
    """
    try:
        handle = files.open_anywhere(path)
    except OSError as error:
        raise ToolError(f"cannot read, {reason_of(error)}: {quoted_path(path)}") from error
    except ValueError as error:
        raise ToolInputError(f"path cannot be one, {error}: {quoted_path(path)}") from error
    with _source(handle, path, files, None) as source:
        yield source


@contextmanager
def open_stored(
    root: str, names: Sequence[str], *, files: FileSystem = POSIX
) -> Iterator[FileSource]:
    """Open a stored result below a root; no symbolic link is followed.

    Raises:
        ToolError: It is gone, or cannot be read as a file.
    """
    path = "/".join([root, *names])
    try:
        parent = open_chain(files, root, names[:-1], create=False, durability="process")
        try:
            handle = files.open_file(names[-1], parent=parent)
        finally:
            close_quietly(files, parent)
    except FileNotFoundError as error:
        raise ToolError(f"the stored result is gone, no such file: {quoted_path(path)}") from error
    except OSError as error:
        raise ToolError(
            f"cannot read the stored result, {reason_of(error)}: {quoted_path(path)}"
        ) from error
    with _source(handle, path, files, STORED_ENCODING) as source:
        yield source


def text_of_blocks(data: bytes) -> bytes:
    """Return the text of a result that is stored as JSON; what is no such JSON stays as it is.

    Example:
        >>> text_of_blocks(b'[{"type":"text","text":"a"},{"type":"text","text":"b"}]')
        b'ab'
    """
    try:
        blocks = json.loads(data.decode("utf-8", "surrogatepass"))
        texts = [block["text"] for block in blocks if block["type"] == "text"]
        return "".join(texts).encode("utf-8", "surrogatepass") if texts else data
    except (ValueError, TypeError, KeyError, RecursionError):
        return data


@contextmanager
def _source(
    handle: int, path: str, files: FileSystem, encoding: TextEncoding | None
) -> Iterator[FileSource]:
    try:
        status = files.status(handle)
        if status.is_directory:
            raise ToolError(f"is a directory, not a file: {quoted_path(path)}")
        if not status.is_regular:
            raise ToolError(f"is a FIFO, socket or device, not a file: {quoted_path(path)}")
        yield FileSource(handle, files=files, encoding=encoding)
    except OSError as error:
        raise ToolError(f"cannot read, {reason_of(error)}: {quoted_path(path)}") from error
    finally:
        close_quietly(files, handle)
