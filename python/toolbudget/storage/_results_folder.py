"""The folder of a store's results, opened anew for each batch."""

from __future__ import annotations

from typing import TYPE_CHECKING

from toolbudget.storage._aside import Directories
from toolbudget.storage._files import close_quietly, open_below, open_chain

if TYPE_CHECKING:
    from collections.abc import Sequence

    from toolbudget.storage._files import Durability, FileSystem
    from toolbudget.storage._filesystem import Identity

__all__ = ["ResultsFolder"]


class ResultsFolder:
    """Opens the folder and the one above it, and makes them if they are missing.

    Args:
        files: The file system.
        anchor: The folder above which symbolic links are followed; below it none is.
        names: The names that lead from there to the folder; at least one.
        durability: What the names of folders outlive.
    """

    def __init__(
        self, files: FileSystem, anchor: str, names: Sequence[str], *, durability: Durability
    ) -> None:
        self._files = files
        self._anchor = anchor
        *self._names_above, self._name = names
        self._durability: Durability = durability
        # The folder whose own name and those above it are known to be on the disk.
        self._anchored: Identity | None = None

    def open_directories(self) -> Directories:
        """Open both, once their names are as durable as asked for.

        Raises:
            OSError: One of them cannot be opened, made or synced; nothing is left open.
        """
        if self._durability != "full":
            return self._open_chain(sync_existing=False)
        if self._anchored is not None:
            directories = self._open_chain(sync_existing=False)
            if self._identity_of(directories) == self._anchored:
                return directories
            self.close(directories)
        directories = self._open_chain(sync_existing=True)
        self._anchored = self._identity_of(directories)
        return directories

    def close(self, directories: Directories) -> None:
        """Close what :meth:`open_directories` has given."""
        close_quietly(self._files, directories.results)
        close_quietly(self._files, directories.above)

    def _identity_of(self, directories: Directories) -> Identity:
        try:
            return self._files.status(directories.results).identity
        except BaseException:
            self.close(directories)
            raise

    def _open_chain(self, *, sync_existing: bool) -> Directories:
        above = open_chain(
            self._files,
            self._anchor,
            self._names_above,
            create=True,
            durability=self._durability,
            sync_existing=sync_existing,
        )
        try:
            results = open_below(
                self._files,
                self._name,
                parent=above,
                create=True,
                durability=self._durability,
                sync_existing=sync_existing,
            )
            return Directories(results, above)
        except BaseException:
            close_quietly(self._files, above)
            raise
