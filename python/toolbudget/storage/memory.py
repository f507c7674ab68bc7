"""A store that keeps full texts in memory, for tests and dry runs."""

from __future__ import annotations

import errno
from pathlib import Path
from typing import TYPE_CHECKING, Self

import xxhash

from toolbudget._mutex import Mutex
from toolbudget.errors import StoreError
from toolbudget.storage._batch import ALL_NAMES_TAKEN
from toolbudget.storage.encoding import encode_content, is_stored_as_json
from toolbudget.storage.names import candidate_names, extension_of, result_name
from toolbudget.storage.result import StoredResult, store_error

if TYPE_CHECKING:
    from collections.abc import Sequence

    from toolbudget.storage.encoding import Content

__all__ = ["MemoryStore", "MemoryStream"]


class MemoryStore:
    """Keeps results in memory, by the same rules: nothing is overwritten.

    Attributes:
        contents: The stored bytes by path.

    Example:
        >>> from toolbudget import MemoryStore
        >>> store = MemoryStore()
        >>> store.put("toolu_01", "text").shown_path
        'memory:/toolu_01.txt'
        >>> store.contents
        {'memory:/toolu_01.txt': b'text'}
    """

    def __init__(self) -> None:
        self.contents: dict[str, bytes] = {}
        self._lock = Mutex()

    @property
    def directory(self) -> Path:
        """The folder that paths begin with; there is none on any disk."""
        return Path("memory:")

    def expected_shown_path(self, tool_use_id: str, *, is_json: bool) -> str:
        """Return the path that is shown unless the plain name is taken."""
        return str(self.directory / (result_name(tool_use_id) + extension_of(is_json=is_json)))

    def shown_path(self, file_name: str) -> str:
        """Return the path of a result's file name as the model is shown it."""
        return str(self.directory / file_name)

    def put(self, tool_use_id: str, content: Content) -> StoredResult:
        """Store one result.

        Raises:
            StoreError: The content has no stored form, or every name for it is taken.
        """
        try:
            return self._place(tool_use_id, content)
        except Exception as error:
            raise store_error(error, tool_use_id, self.directory) from error

    def put_many(self, items: Sequence[tuple[str, Content]]) -> list[StoredResult | StoreError]:
        """Store several results; the place of one that fails holds its error."""
        return [self._put_or_error(tool_use_id, content) for tool_use_id, content in items]

    def open_stream(self, tool_use_id: str) -> MemoryStream:
        """Begin to store a result that comes in piece by piece; it is kept in memory all the same.

        Example:
            >>> from toolbudget import MemoryStore
            >>> with MemoryStore().open_stream("toolu_01") as stream:
            ...     stream.write(b"te")
            ...     stream.write(b"xt")
            ...     stream.commit().shown_path
            'memory:/toolu_01.txt'
        """
        return MemoryStream(self, tool_use_id)

    def put_bytes(self, tool_use_id: str, data: bytes) -> StoredResult:
        """Store bytes as they are, by the name that a text has.

        Raises:
            StoreError: Every name for it is taken.
        """
        try:
            return self._place_bytes(tool_use_id, data, extension_of(is_json=False))
        except Exception as error:
            raise store_error(error, tool_use_id, self.directory) from error

    def _put_or_error(self, tool_use_id: str, content: Content) -> StoredResult | StoreError:
        try:
            return self.put(tool_use_id, content)
        except StoreError as error:
            return error

    def _place(self, tool_use_id: str, content: Content) -> StoredResult:
        extension = extension_of(is_json=is_stored_as_json(content))
        return self._place_bytes(tool_use_id, b"".join(encode_content(content)), extension)

    def _place_bytes(self, tool_use_id: str, stored_bytes: bytes, extension: str) -> StoredResult:
        digest = xxhash.xxh3_128_hexdigest(stored_bytes)
        names = candidate_names(result_name(tool_use_id), extension, lambda: digest)
        with self._lock:
            for path in (self.directory / name for name in names):
                is_new = str(path) not in self.contents
                if self.contents.setdefault(str(path), stored_bytes) == stored_bytes:
                    return StoredResult(path, len(stored_bytes), digest, is_new=is_new)
        raise FileExistsError(errno.EEXIST, ALL_NAMES_TAKEN)


class MemoryStream:
    """A result on its way into a :class:`MemoryStore`."""

    def __init__(self, store: MemoryStore, tool_use_id: str) -> None:
        self._store = store
        self._tool_use_id = tool_use_id
        self._chunks: list[bytes] = []

    def write(self, chunk: bytes) -> None:
        """Take the next bytes."""
        self._chunks.append(bytes(chunk))

    def commit(self) -> StoredResult:
        """Store what has come.

        Raises:
            StoreError: Every name for it is taken.
        """
        return self._store.put_bytes(self._tool_use_id, b"".join(self._chunks))

    def close(self) -> None:
        """Let go of everything that is not stored."""
        self._chunks = []

    def __enter__(self) -> Self:
        """Use the stream as a context manager."""
        return self

    def __exit__(self, *_: object) -> None:
        """Let go of everything that is not stored."""
        self.close()
