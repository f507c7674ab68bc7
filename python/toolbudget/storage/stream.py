"""A result that is stored while it comes in, so that memory does not grow with it."""

from __future__ import annotations

import errno
from typing import TYPE_CHECKING, Final, Self

from toolbudget.errors import StoreError
from toolbudget.storage._aside import Aside
from toolbudget.storage._batch import Item
from toolbudget.storage._existing import read_exactly
from toolbudget.storage._files import close_quietly, write_all
from toolbudget.storage.encoding import Measurement
from toolbudget.storage.names import extension_of, result_name

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from toolbudget.storage._aside import Directories
    from toolbudget.storage._files import FileSystem
    from toolbudget.storage.encoding import Measured
    from toolbudget.storage.quota import Quota
    from toolbudget.storage.result import StoredResult

__all__ = ["FileStream", "StreamedItem"]

_CHUNK_BYTES: Final = 1 << 20


class _Lent(Aside):
    """The file of a stream, which closes it itself: a later try must be able to read it."""

    __slots__ = ("_lender",)

    def __init__(self, lender: Aside) -> None:
        self._lender = lender
        self.handle = lender.handle

    @property
    def is_unnamed(self) -> bool:
        """As with the lender."""
        return self._lender.is_unnamed

    def link(self, name: str) -> None:
        """Give the file its final name."""
        self._lender.link(name)

    def release(self) -> None:
        """Leave it to the stream."""


class StreamedItem(Item):
    """A content that stands in a file already, which only lacks its name."""

    def __init__(
        self, stream: FileStream, files: FileSystem, directories: Directories, *, name: str
    ) -> None:
        super().__init__("", name=name, extension=extension_of(is_json=False))
        self._stream = stream
        self._files = files
        self._directory = files.status(directories.results).identity
        self._is_taken = False
        self.measured: Measured | None = stream.measured()

    def chunks(self) -> Iterator[bytes]:
        """Yield the bytes again, as they stand in the file."""
        offset, size_bytes = 0, self.measure().size_bytes
        while offset < size_bytes:
            wanted_bytes = min(_CHUNK_BYTES, size_bytes - offset)
            chunk = read_exactly(self._files, self._stream.reader, wanted_bytes, offset=offset)
            if len(chunk) != wanted_bytes:
                raise OSError(errno.EIO, "file is shorter than what was written to it")
            yield chunk
            offset += wanted_bytes

    def data(self) -> Iterator[bytes]:
        """Yield the bytes: there is no text of them."""
        return self.chunks()

    def take_aside(self, directories: Directories) -> Aside | None:
        """Return the file, unless another directory has come into the place of the one it is in."""
        if self._is_taken or self._files.status(directories.results).identity != self._directory:
            return None
        self._is_taken = True
        return self._stream.lend()


class FileStream:
    """A result on its way into a directory; made by ``DirectoryStore.open_stream``.

    Not for several threads at once. Used as a context manager it is closed at the end.

    Args:
        tool_use_id: The result's id.
        files: The file system.
        directories: Open handles, which the stream closes.
        aside: The empty file, which the stream releases.
        place: Gives the written file its name and returns where it is.
        as_error: Makes the error of a failed call.
        quota: What may be written at all.
    """

    def __init__(
        self,
        tool_use_id: str,
        files: FileSystem,
        directories: Directories,
        *,
        aside: Aside,
        place: Callable[[StreamedItem], StoredResult],
        as_error: Callable[[Exception], StoreError],
        quota: Quota | None = None,
    ) -> None:
        self._quota = quota
        self._reserved_bytes = 0
        self._place = place
        self._tool_use_id = tool_use_id
        self._files = files
        self._directories = directories
        self._aside = aside
        self._as_error = as_error
        self._measurement = Measurement()
        self._extra_reader: int | None = None
        self._is_open = True

    @property
    def reader(self) -> int:
        """A handle that the written bytes can be read from."""
        return self._aside.handle if self._extra_reader is None else self._extra_reader

    def measured(self) -> Measured:
        """Return size and hash of what has been written."""
        return self._measurement.result()

    def lend(self) -> Aside:
        """Return the file, to be given its name."""
        return _Lent(self._aside)

    def write(self, chunk: bytes) -> None:
        """Add bytes to the result.

        Raises:
            StoreError: They could not be written; the stream is closed, and nothing is left of it.
        """
        self._require_open()
        try:
            self._reserve(len(chunk))
            write_all(self._files, self._aside.handle, chunk)
        except Exception as error:
            self.close()
            raise self._as_error(error) from error
        except BaseException:
            self.close()
            raise
        self._measurement.add(chunk)

    def _reserve(self, size_bytes: int) -> None:
        if self._quota is not None:
            self._quota.reserve(size_bytes, self._directories.results)
            self._reserved_bytes += size_bytes

    def commit(self) -> StoredResult:
        """Give the result its name, once it is as durable as the store promises; then close.

        Raises:
            StoreError: It could not be stored; nothing of it is visible.
        """
        self._require_open()
        try:
            # A file with a temporary name is closed before it gets its final one.
            self._extra_reader = self._aside.open_again()
            item = StreamedItem(
                self, self._files, self._directories, name=result_name(self._tool_use_id)
            )
            stored = self._place(item)
        except StoreError:
            raise
        except Exception as error:
            raise self._as_error(error) from error
        else:
            if item.is_new and not item.reserved_bytes:
                self._reserved_bytes = 0  # it stays, and so does what is counted for it
            return stored
        finally:
            self.close()

    def close(self) -> None:
        """Give up what has not been committed; nothing of it is left."""
        if not self._is_open:
            return
        self._is_open = False
        if self._quota is not None:
            self._quota.give_back(self._reserved_bytes)
        self._aside.release()
        for handle in (self._extra_reader, *self._directories):
            if handle is not None:
                close_quietly(self._files, handle)

    def __enter__(self) -> Self:
        """Use the stream as a context manager."""
        return self

    def __exit__(self, *_: object) -> None:
        """Close the stream."""
        self.close()

    def _require_open(self) -> None:
        if not self._is_open:
            raise self._as_error(OSError(errno.EBADF, "its stream is closed"))
