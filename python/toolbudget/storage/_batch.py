"""Putting several contents under final names: write all aside, sync at once, link, sync the names.

Each item fails for itself. Whatever happens, no name ever shows a part of a content, and no file is
left over.
"""

from __future__ import annotations

import errno
from typing import TYPE_CHECKING, Final, Literal

from toolbudget.storage._aside import Aside, Directories, create_aside
from toolbudget.storage._existing import (
    EXHAUSTED,
    SameBytes,
    find_existing,
)
from toolbudget.storage._files import close_quietly
from toolbudget.storage._parallel import run_parallel
from toolbudget.storage.encoding import (
    Content,
    Measured,
    encode_content,
    encode_small,
    is_stored_as_json,
    measure_chunks,
)
from toolbudget.storage.names import candidate_names, extension_of, result_name

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from toolbudget.storage._files import Durability, FileSystem
    from toolbudget.storage._filesystem import Identity
    from toolbudget.storage.quota import Quota

__all__ = ["ALL_NAMES_TAKEN", "Batch", "Item"]

# Each waiting item holds a descriptor, of which a process has 1,024 or even 256.
_MAX_OPEN_ITEMS: Final = 64
# More than there are names to try: a name may also vanish between being taken and being looked at.
_MAX_LINK_TRIES: Final = 16

ALL_NAMES_TAKEN: Final = "each of its names holds something else"

# ESTALE: what NFS says when the directory is gone. EPERM: what ext4 says to O_TMPFILE then.
_DIRECTORY_VANISHED: Final = frozenset({errno.ENOENT, errno.EPERM, errno.ESTALE})
# Where the system forbids linking an unnamed file, a named one may still do.
_UNNAMED_CANNOT_BE_LINKED: Final = frozenset(
    {
        errno.EACCES,
        errno.EINVAL,
        errno.ENOSYS,
        errno.ENOTSUP,
        errno.EOPNOTSUPP,
        errno.EXDEV,
    }
)


class Item:
    """One content on its way to the disk, and what became of it."""

    def __init__(self, content: Content, *, name: str, extension: str) -> None:
        self.content = content
        self.file_name = ""
        """Where it is, if there is no ``error``."""
        self.measured: Measured | None = None
        self.is_new = False
        """Written now; otherwise the same bytes were there already."""
        self.error: Exception | None = None
        self.should_retry = False
        """The directory may have vanished, or one of two ways to link may be closed."""
        self.reserved_bytes = 0
        """What was counted for it against a quota."""
        self._name = name
        self._extension = extension

    @classmethod
    def of(cls, tool_use_id: str, content: Content) -> Item:
        """Make the item of a result; one that has no stored form has its error from the start."""
        try:
            name = result_name(tool_use_id)
            extension = extension_of(is_json=is_stored_as_json(content))
        except Exception as error:  # noqa: BLE001 - a host's blocks may raise anything
            item = cls(content, name="", extension="")
            item.error = error
            return item
        return cls(content, name=name, extension=extension)

    def candidate_names(self) -> Iterator[str]:
        """Yield the file names to try, in order."""
        return candidate_names(self._name, self._extension, lambda: self.measure().digest)

    def measure(self) -> Measured:
        """Return size and hash of the stored form, reckoned at most once."""
        if self.measured is None:
            self.measured = measure_chunks(self.chunks())
        return self.measured

    def chunks(self) -> Iterator[bytes]:
        """Yield the bytes to store, anew with each call."""
        return encode_content(self.content)

    def data(self) -> bytes | Iterator[bytes]:
        """Return the bytes to store: as a whole if they are few, else chunk by chunk."""
        small = encode_small(self.content)
        return self.chunks() if small is None else small

    def take_aside(self, _directories: Directories) -> Aside | None:
        """Return a file that has been written there already, if there is one."""
        return None

    def begin(self) -> None:
        """Forget an earlier try."""
        self.error = None
        self.should_retry = False

    def fail(self, error: Exception) -> None:
        """Note why it could not be placed."""
        self.error = error
        self.should_retry = isinstance(error, OSError) and error.errno in _DIRECTORY_VANISHED


class _Opened:
    """An item with its file: written aside, or found under a name."""

    def __init__(
        self, item: Item, names: Iterator[str], file: Aside | SameBytes, identity: Identity | None
    ) -> None:
        self.item = item
        self.names = names
        self.file = file
        self.identity = identity


class Batch:
    """One batch of items into one directory.

    Args:
        files: The file system.
        directories: Open handles, which stay the caller's.
        durability: What is synced.
        allow_unnamed: Whether files without a name may be used where the system has them.
        doubtful: Files whose sync, or whose directory's sync, has failed; added to here. They are
            never taken for stored and never synced again: a kernel that has dropped their bytes
            would report success.
        quota: What may be written at all.
    """

    def __init__(
        self,
        files: FileSystem,
        directories: Directories,
        *,
        durability: Durability,
        allow_unnamed: bool,
        doubtful: set[Identity],
        quota: Quota | None = None,
    ) -> None:
        self._quota = quota
        self._files = files
        self._directories = directories
        self._durability = durability
        self._allow_unnamed = allow_unnamed
        self._doubtful = doubtful
        self._opened: list[_Opened] = []
        self._placed: list[_Opened] = []
        # Names are looked at before writing until one is free: what is stored again mostly comes
        # as a whole. A name that is taken after all shows itself when it is linked.
        self._expects_free_names = False

    def run(self, items: Sequence[Item]) -> None:
        """Place every item, or note its error."""
        try:
            for item in items:
                if len(self._opened) == _MAX_OPEN_ITEMS:
                    self._publish()
                self._prepare(item)
            self._publish()
        finally:
            self._release()
        self._sync_names()

    def _prepare(self, item: Item) -> None:
        """Find the item's bytes or write them aside."""
        try:
            opened = self._find_or_write_with_room(item)
        except Exception as error:  # noqa: BLE001 - a host's blocks may raise anything
            item.fail(error)
        else:
            self._opened.append(opened)

    def _find_or_write_with_room(self, item: Item) -> _Opened:
        try:
            return self._find_or_write(item)
        except OSError as error:
            if error.errno not in EXHAUSTED or not self._opened:
                raise
        # The items before hold descriptors; bringing them to their end gives those back.
        self._publish()
        return self._find_or_write(item)

    def _find_or_write(self, item: Item) -> _Opened:
        if self._expects_free_names:
            try:
                return self._write_unseen(item)
            except OSError:
                # Where nothing can be written, the same bytes may still be there.
                self._expects_free_names = False
        names = item.candidate_names()
        for name in names:
            found = self._find(name, item)
            if found == "other":
                continue
            item.file_name = name
            if found == "nothing":
                written = self._write_aside(item, names)
                self._expects_free_names = True
                return written
            item.measured = found.measured
            return _Opened(item, names, found, found.identity)
        raise FileExistsError(errno.EEXIST, ALL_NAMES_TAKEN)

    def _write_unseen(self, item: Item) -> _Opened:
        names = item.candidate_names()
        item.file_name = next(names)
        return self._write_aside(item, names)

    def _find(self, name: str, item: Item) -> SameBytes | Literal["nothing", "other"]:
        return find_existing(
            self._files,
            name,
            item.data(),
            parent=self._directories.results,
            doubtful=self._doubtful,
        )

    def _write_aside(self, item: Item, names: Iterator[str]) -> _Opened:
        aside = item.take_aside(self._directories)
        is_written = aside is not None
        if aside is None:
            self._reserve(item)
            aside = create_aside(self._files, self._directories, allow_unnamed=self._allow_unnamed)
        try:
            if not is_written:
                item.measured = aside.write(item.data())
            # A file can come into doubt only by a sync of its name.
            is_name_synced = self._durability == "full"
            identity = self._files.status(aside.handle).identity if is_name_synced else None
        except BaseException:
            aside.release()
            raise
        return _Opened(item, names, aside, identity)

    def _reserve(self, item: Item) -> None:
        """Count the item against the quota; whoever runs the batch gives back what is not stored.

        Raises:
            StoreQuotaError: There is no room for it.
        """
        if self._quota is not None and not item.reserved_bytes:
            size_bytes = item.measure().size_bytes
            self._quota.reserve(size_bytes, self._directories.results)
            item.reserved_bytes = size_bytes

    def _publish(self) -> None:
        """Sync what is open, all at once, and give each file its name."""
        try:
            self._sync_opened()
            for opened in self._opened:
                if opened.item.error is None:
                    self._place(opened)
        finally:
            self._release()

    def _sync_opened(self) -> None:
        if self._durability == "process":
            return
        outcomes = run_parallel(self._sync_file, [opened.file.handle for opened in self._opened])
        for opened, error in zip(self._opened, outcomes, strict=True):
            if error is None:
                continue
            opened.item.fail(error)
            if isinstance(opened.file, SameBytes):
                self._doubtful.add(opened.file.identity)

    def _sync_file(self, handle: int) -> None:
        if self._durability == "full":
            self._files.sync(handle)
        elif self._durability == "data":
            self._files.sync_data(handle)

    def _place(self, opened: _Opened) -> None:
        """Give the item its name; once it has it, no later failure takes it away."""
        item, file = opened.item, opened.file
        try:
            if isinstance(file, Aside):
                self._link(opened, file)
        except Exception as error:  # noqa: BLE001 - a host's blocks may raise anything
            item.fail(error)
            if isinstance(file, Aside) and file.is_unnamed and isinstance(error, OSError):
                item.should_retry |= error.errno in _UNNAMED_CANNOT_BE_LINKED
        else:
            self._placed.append(opened)

    def _link(self, opened: _Opened, aside: Aside) -> None:
        item = opened.item
        for _ in range(_MAX_LINK_TRIES):
            try:
                aside.link(item.file_name)
            except FileExistsError:
                self._expects_free_names = False  # looked at below
            else:
                item.is_new = True
                return
            found = self._find(item.file_name, item)
            if isinstance(found, SameBytes):
                self._adopt(opened, found)
                return
            if found == "other":
                item.file_name = self._next_name(opened)
        raise FileExistsError(errno.EEXIST, "its name keeps appearing and vanishing")

    def _next_name(self, opened: _Opened) -> str:
        name = next(opened.names, None)
        if name is None:
            raise FileExistsError(errno.EEXIST, ALL_NAMES_TAKEN)
        return name

    def _adopt(self, opened: _Opened, found: SameBytes) -> None:
        """Take what someone else stored meanwhile, once it is as durable as our own would be."""
        try:
            self._sync_file(found.handle)
        except OSError:
            self._doubtful.add(found.identity)
            raise
        finally:
            close_quietly(self._files, found.handle)
        opened.identity = found.identity

    def _release(self) -> None:
        while self._opened:
            file = self._opened.pop().file
            if isinstance(file, Aside):
                file.release()
            else:
                close_quietly(self._files, file.handle)

    def _sync_names(self) -> None:
        if self._durability != "full" or not self._placed:
            return
        try:
            self._files.sync_directory(self._directories.results)
        except OSError as error:
            # The files stay: another process may refer to them by now.
            for opened in self._placed:
                opened.item.error = error
                if opened.identity is not None:
                    self._doubtful.add(opened.identity)
