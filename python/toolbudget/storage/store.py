"""Stores for full texts: a directory, or memory for tests and dry runs.

A host may bring its own: any object with a method like :meth:`ResultStore.put` will do.
"""

from __future__ import annotations

import contextlib
import math
import os
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Final, get_args

from toolbudget._display import quoted_path, shown
from toolbudget.errors import ConfigError, StoreError
from toolbudget.limits.validation import choice, positive_number
from toolbudget.storage._aside import create_aside
from toolbudget.storage._batch import Batch, Item
from toolbudget.storage._files import (
    POSIX,
    Durability,
    FileSystem,
    has_short_way,
)
from toolbudget.storage._paths import absolute_path, names_below, refuse_unshowable
from toolbudget.storage._results_folder import ResultsFolder
from toolbudget.storage._straight import place_straight
from toolbudget.storage.encoding import Content, encode_content, is_stored_as_json
from toolbudget.storage.memory import MemoryStore
from toolbudget.storage.names import extension_of, result_name
from toolbudget.storage.quota import Quota
from toolbudget.storage.result import (
    Placed,
    ResultStore,
    StoredResult,
    StreamingStore,
    store_error,
)
from toolbudget.storage.stream import FileStream, StreamedItem

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from toolbudget.storage._files import PlacedText
    from toolbudget.storage._filesystem import Identity

__all__ = [
    "Content",
    "DirectoryStore",
    "MemoryStore",
    "ResultStore",
    "StoredResult",
    "StreamingStore",
    "encode_content",
    "get_tool_result_path",
    "is_stored_as_json",
    "persist_tool_result",
]

# Whatever vanished or was refused the first time, a named file in a directory opened anew may do.
_ALLOW_UNNAMED_BY_ROUND: Final = (True, False, False)
_SAMPLE_ID: Final = "toolu_01"


class DirectoryStore:
    """Keeps each result as a file of one directory, private, complete and never overwritten.

    Nothing is touched before the first result. The directory is made then, and made anew if it has
    vanished. One store may be used from many threads, and one directory by many processes.

    Args:
        directory: The folder of the results, usually ``<root>/<session>/tool-results``.
        durability: ``"full"`` survives power loss, ``"data"`` does so on common file systems,
            ``"process"`` survives the end of the process only.
        display_path: Maps a path to what the model should be shown, for a model that lives in a
            container.
        files: The file system to use.
        max_stored_bytes: What all files of the directory may have together; what does not fit is
            not stored.
        anchor: The folder above which symbolic links are the user's own business; below it none is
            followed. By default the directory's parent.

    Raises:
        ConfigError: An argument cannot be used, or a path could not be shown to the model as it is:
            it has line breaks, is not UTF-8, or contains the tags of a replacement.

    Example:
        >>> from toolbudget import DirectoryStore
        >>> store = DirectoryStore("results", durability="process")
        >>> stored = store.put("toolu_01", "a very long text")
        >>> stored.path.name, stored.size_bytes
        ('toolu_01.txt', 16)
    """

    def __init__(
        self,
        directory: str | os.PathLike[str],
        *,
        durability: Durability = "full",
        display_path: Callable[[Path], str] | None = None,
        files: FileSystem = POSIX,
        anchor: str | os.PathLike[str] | None = None,
        max_stored_bytes: float = math.inf,
    ) -> None:
        durability = choice(durability, "durability", get_args(Durability))
        self._directory = absolute_path(directory, "directory (argument)")
        above = self._directory.parent if anchor is None else anchor
        self._anchor = absolute_path(above, "anchor (argument)")
        self._names = names_below(self._directory, self._anchor)
        # What a path is as text, without a path object for each file name.
        self._directory_prefix = os.path.join(self._directory, "")  # noqa: PTH118
        self._durability: Durability = durability
        self._display_path = display_path
        self._files = files
        max_bytes = positive_number(max_stored_bytes, "max_stored_bytes")
        self._quota = None if max_bytes == math.inf else Quota(max_bytes, files)
        self._doubtful: set[Identity] = set()
        self._folder = ResultsFolder(
            files, str(self._anchor), self._names, durability=self._durability
        )
        refuse_unshowable(str(self._directory), "directory")
        self.expected_shown_path(_SAMPLE_ID, is_json=False)

    @property
    def directory(self) -> Path:
        """The folder of the results, absolute."""
        return self._directory

    def __repr__(self) -> str:
        return f"DirectoryStore({str(self._directory)!r}, durability={self._durability!r})"

    @property
    def path_prefix(self) -> str | None:
        """What shown paths put before the name of a file; ``None`` with a ``display_path``."""
        return self._directory_prefix if self._display_path is None else None

    def expected_shown_path(self, tool_use_id: str, *, is_json: bool) -> str:
        """Return the path that the model will be shown unless the plain file name is taken.

        Raises:
            ConfigError: ``display_path`` fails, or gives what cannot be shown.
        """
        return self._show(result_name(tool_use_id) + extension_of(is_json=is_json))

    def shown_path(self, file_name: str) -> str:
        """Return the path of a file of the directory as the model is shown it.

        Raises:
            ConfigError: ``display_path`` fails, or gives what cannot be shown.
        """
        return self._show(file_name)

    def place_of(self, file_name: str) -> tuple[str, tuple[str, ...]]:
        """Return the anchor, and the names that lead from it to a file of the directory."""
        return str(self._anchor), (*self._names, file_name)

    def put(self, tool_use_id: str, content: Content) -> StoredResult:
        """Store one result; the same bytes again are success, other bytes get another name.

        Raises:
            StoreError: It could not be stored; nothing of it is visible.
        """
        [outcome] = self.put_many([(tool_use_id, content)])
        if isinstance(outcome, StoreError):
            raise outcome
        return outcome

    def put_many(self, items: Sequence[tuple[str, Content]]) -> list[StoredResult | StoreError]:
        """Store several results as one batch, whose files are synced in parallel.

        Never raises for one of them: its place in the list then holds the error.

        Example:
            >>> from toolbudget import DirectoryStore
            >>> store = DirectoryStore("results", durability="process")
            >>> outcomes = store.put_many([("toolu_01", "text"), ("toolu_02", [float("nan")])])
            >>> [type(outcome).__name__ for outcome in outcomes]
            ['StoredResult', 'StoreError']
        """
        return [self._with_path(outcome) for outcome in self.place_many(items)]

    def place_many(self, items: Sequence[tuple[str, Content]]) -> list[Placed | StoreError]:
        """Do what :meth:`put_many` does, and say where the results are by the names of files."""
        found = self._place_straight(items)
        placements = [
            Item.of(*item) for item, placed in zip(items, found, strict=True) if placed is None
        ]
        self._place_all(placements)
        others = iter(placements)
        return [
            self._outcome(tool_use_id, next(others)) if placed is None else placed
            for (tool_use_id, _), placed in zip(items, found, strict=True)
        ]

    def _place_straight(
        self, items: Sequence[tuple[str, Content]]
    ) -> list[Placed | StoreError | None]:
        """Place what goes the short way; ``None`` for each that does not."""
        waits_for_disk = self._durability != "process"
        if not items or waits_for_disk or self._quota is not None or not has_short_way(self._files):
            return [None] * len(items)
        try:
            directories = self._folder.open_directories()
        except OSError:
            return [None] * len(items)  # what is wrong is told by the long way
        try:
            found = place_straight(self._files, items, results=directories.results)
        finally:
            self._folder.close(directories)
        return [
            None if placed is None else self._told(tool_use_id, *placed)
            for (tool_use_id, _), placed in zip(items, found, strict=True)
        ]

    def open_stream(self, tool_use_id: str) -> FileStream:
        r"""Begin to store a result that comes in piece by piece, by the same rules as any other.

        What is written goes aside at once, so that memory does not grow with it, and gets its name
        in :meth:`FileStream.commit`. A stream that is closed without that leaves nothing.

        Raises:
            StoreError: Nothing can be written here.

        Example:
            >>> from toolbudget import DirectoryStore
            >>> store = DirectoryStore("results", durability="process")
            >>> with store.open_stream("toolu_03") as stream:
            ...     stream.write(b"one line\n")
            ...     stored = stream.commit()
            >>> stored.path.name, stored.size_bytes
            ('toolu_03.txt', 9)
        """
        for allow_unnamed in _ALLOW_UNNAMED_BY_ROUND[:-1]:
            with contextlib.suppress(OSError):
                return self._begin_stream(tool_use_id, allow_unnamed=allow_unnamed)
        try:
            return self._begin_stream(tool_use_id, allow_unnamed=False)
        except OSError as error:
            raise self._as_error(tool_use_id, error) from error

    def _begin_stream(self, tool_use_id: str, *, allow_unnamed: bool) -> FileStream:
        directories = self._folder.open_directories()
        try:
            aside = create_aside(self._files, directories, allow_unnamed=allow_unnamed)
        except BaseException:
            self._folder.close(directories)
            raise
        return FileStream(
            tool_use_id,
            self._files,
            directories,
            aside=aside,
            place=partial(self._place_stream, tool_use_id),
            as_error=partial(self._as_error, tool_use_id),
            quota=self._quota,
        )

    def _place_stream(self, tool_use_id: str, item: StreamedItem) -> StoredResult:
        self._place_all([item])
        outcome = self._with_path(self._outcome(tool_use_id, item))
        if isinstance(outcome, StoreError):
            raise outcome
        return outcome

    def _as_error(self, tool_use_id: str, error: Exception) -> StoreError:
        return store_error(error, tool_use_id, self._directory)

    def _place_all(self, items: Sequence[Item]) -> None:
        """Place every item, or note its error."""
        waiting = [item for item in items if item.error is None]
        for allow_unnamed in _ALLOW_UNNAMED_BY_ROUND:
            if not waiting:
                return
            self._place(waiting, allow_unnamed=allow_unnamed)
            waiting = [item for item in waiting if item.should_retry]

    def _place(self, items: Sequence[Item], *, allow_unnamed: bool) -> None:
        for item in items:
            item.begin()
        try:
            directories = self._folder.open_directories()
        except OSError as error:
            for item in items:
                item.fail(error)
            return
        try:
            batch = Batch(
                self._files,
                directories,
                durability=self._durability,
                allow_unnamed=allow_unnamed,
                doubtful=self._doubtful,
                quota=self._quota,
            )
            batch.run(items)
        finally:
            self._folder.close(directories)
            self._give_back(items)

    def _give_back(self, items: Sequence[Item]) -> None:
        """Let the quota go that was reserved for what is not new on the disk."""
        for item in items:
            if self._quota is not None and item.reserved_bytes and not item.is_new:
                self._quota.give_back(item.reserved_bytes)
                item.reserved_bytes = 0

    def _outcome(self, tool_use_id: str, item: Item) -> Placed | StoreError:
        if item.error is not None:
            return self._as_error(tool_use_id, item.error)
        return self._told(tool_use_id, item.file_name, (*item.measure(), item.is_new))

    def _told(self, tool_use_id: str, name: str, placed: PlacedText) -> Placed | StoreError:
        """Return where a result is as the caller is told it."""
        try:
            shown_path = self._show(name)
        except ConfigError as error:
            return self._as_error(tool_use_id, error)
        size_bytes, digest, is_new = placed
        return Placed(name, size_bytes, digest, shown_path, is_new)

    def _with_path(self, outcome: Placed | StoreError) -> StoredResult | StoreError:
        return outcome if isinstance(outcome, StoreError) else outcome.below(self._directory)

    def _show(self, file_name: str) -> str:
        if self._display_path is None:
            return self._directory_prefix + file_name
        path = self._directory / file_name
        try:
            shown_path = self._display_path(path)
        except Exception as error:
            raise ConfigError(
                f"display_path raises {error!r} for: {quoted_path(str(path))}"
            ) from error
        refuse_unshowable(shown_path, "result of display_path")
        return shown_path


def get_tool_result_path(
    directory: str | os.PathLike[str], tool_use_id: str, *, is_json: bool = False
) -> Path:
    """Return where a result is stored unless that name is taken by other bytes.

    Args:
        directory: The folder of the results.
        tool_use_id: The result's id.
        is_json: Whether it is stored as a list of blocks: content of several blocks, or of one with
            more keys than ``type``, ``text`` and ``cache_control``.

    Returns:
        An absolute path.

    Raises:
        ConfigError: ``directory`` cannot be used, or ``tool_use_id`` is no text.

    Example:
        >>> from toolbudget import get_tool_result_path
        >>> get_tool_result_path("/data/tool-results", "toolu_01").as_posix()
        '/data/tool-results/toolu_01.txt'
    """
    if not isinstance(tool_use_id, str):
        raise ConfigError(f"tool_use_id (argument) must be text: {shown(tool_use_id)}")
    file_name = result_name(tool_use_id) + extension_of(is_json=is_json)
    return absolute_path(directory, "directory (argument)") / file_name


def persist_tool_result(content: Content, tool_use_id: str, *, store: ResultStore) -> StoredResult:
    """Store one result in full, whatever its size.

    Args:
        content: What the tool returned.
        tool_use_id: The result's id.
        store: Where to.

    Raises:
        StoreError: It could not be stored.

    Example:
        >>> from toolbudget import MemoryStore, persist_tool_result
        >>> persist_tool_result("text", "toolu_01", store=MemoryStore()).size_bytes
        4
    """
    try:
        return store.put(tool_use_id, content)
    except StoreError:
        raise
    except Exception as error:
        raise store_error(error, tool_use_id, Path(type(store).__name__)) from error
