"""What a store gives back, what is asked of a store, and how its failures are told."""

from __future__ import annotations

import os
from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple, Protocol, Self

from toolbudget._display import shown
from toolbudget.errors import StoreError, StoreQuotaError

if TYPE_CHECKING:
    from pathlib import Path

    from toolbudget.storage.encoding import Content

__all__ = ["Placed", "ResultStore", "ResultStream", "StoredResult", "StreamingStore", "store_error"]


@dataclass(frozen=True, slots=True)
class StoredResult:
    """Where the full text of a result is.

    Attributes:
        path: The file, as this process reaches it.
        size_bytes: Number of stored bytes.
        digest: XXH3-128 of the stored bytes, as 32 hex digits.
        shown_path: The path as the model should see it; the same as ``path`` if left empty.
        is_new: ``False`` if the same bytes were there already and nothing was written.

    Example:
        >>> from toolbudget import MemoryStore
        >>> store = MemoryStore()
        >>> store.put("toolu_1", "text").is_new, store.put("toolu_1", "text").is_new
        (True, False)
    """

    path: Path
    size_bytes: int
    digest: str
    shown_path: str = ""
    is_new: bool = True

    def __post_init__(self) -> None:
        if not self.shown_path:
            object.__setattr__(self, "shown_path", str(self.path))


class Placed(NamedTuple):
    """A result in a store's folder, without a path object, of which a large turn would make many.

    The fields mean what those of :class:`StoredResult` do.
    """

    file_name: str
    size_bytes: int
    digest: str
    shown_path: str
    is_new: bool

    def below(self, directory: Path) -> StoredResult:
        """Give it with its path in the store's folder."""
        return StoredResult(directory / self.file_name, *self[1:])


class ResultStore(Protocol):
    """What the library needs of a store.

    Example:
        >>> import tempfile
        >>> from pathlib import Path
        >>> from toolbudget import Session, StoredResult
        >>> class Shelf:
        ...     def __init__(self):
        ...         self.texts = {}
        ...
        ...     def put(self, tool_use_id, content):
        ...         self.texts[tool_use_id] = content
        ...         size_bytes = len(content.encode())
        ...         return StoredResult(Path("/shelf") / tool_use_id, size_bytes, "")
        >>> shelf = Shelf()
        >>> session = Session.open(tempfile.mkdtemp(), "demo", store=shelf)
        >>> result = {"type": "tool_result", "tool_use_id": "t1", "content": "x" * 60_000}
        >>> print(session.gate(result, tool_name="Fetch")["content"].splitlines()[1])
        Output too large (58.6KB). Full output saved to: /shelf/t1
        >>> len(shelf.texts["t1"])
        60000
    """

    def put(self, tool_use_id: str, content: Content) -> StoredResult:
        """Store a result in full and return where it is.

        The content is a text, or a list of blocks when it cannot be told by one text. The reference
        is handed to the model as soon as this returns, so the bytes must be safe by then, and
        nothing stored before may change, also not by the same id coming again with another content.

        Raises:
            StoreError: It could not be stored; the model is then given the full text.
        """
        ...


class ResultStream(Protocol):
    """A result on its way into a store."""

    def write(self, chunk: bytes) -> None:
        """Add bytes; after a ``StoreError`` nothing of the result is left."""
        ...

    def commit(self) -> StoredResult:
        """Store what was written, with the promises of :meth:`ResultStore.put`."""
        ...

    def close(self) -> None:
        """Give up what has not been committed."""
        ...

    def __enter__(self) -> Self:
        """Use the stream as a context manager."""
        ...

    def __exit__(self, *_: object) -> None:
        """Close the stream."""
        ...


class StreamingStore(ResultStore, Protocol):
    """A store that also takes what is too large to be a text in memory."""

    def open_stream(self, tool_use_id: str) -> ResultStream:
        """Begin to store a result that comes in piece by piece.

        Raises:
            StoreError: Nothing can be written now.
        """
        ...


def store_error(cause: Exception, tool_use_id: str, place: Path) -> StoreError:
    """Return the error that tells a user which result could not be stored where, and why."""
    what = f"cannot store result {shown(tool_use_id)} in {str(place)!r}"
    if isinstance(cause, OSError) and cause.errno is not None:
        kind = StoreQuotaError if isinstance(cause, StoreQuotaError) else StoreError
        error = kind(cause.errno, f"{what}: {cause.strerror or os.strerror(cause.errno)}")
    else:
        error = StoreError(f"{what}: {str(cause) or type(cause).__name__}")
    # Failures are kept in reports; a traceback would keep the whole content alive with them.
    error.__cause__ = cause.with_traceback(None)
    return error
