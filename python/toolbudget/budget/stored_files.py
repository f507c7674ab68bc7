"""Where the full texts are, as far as the records of a conversation say."""

# ruff: noqa: SLF001 - a copy is made by its own class

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final, NamedTuple

from toolbudget._core.pure import Fingerprint, Key

if TYPE_CHECKING:
    from collections.abc import Iterable

    from toolbudget.storage.records import ContentReplacementRecord

__all__ = ["StoredFile", "StoredFiles"]

_STORED_FILE_NAME: Final = re.compile(r"[A-Za-z0-9_-]+\.(?:txt|json)")


class StoredFile(NamedTuple):
    """Where the full text of a result is: a file of a session under the same root."""

    session_id: str
    name: str
    digest: str | None


class StoredFiles:
    """The files of one conversation, by result and by id."""

    def __init__(self, other: StoredFiles | None = None) -> None:
        """Begin without any, or with those of another conversation."""
        self._by_key: dict[Key, StoredFile] = {} if other is None else dict(other._by_key)
        self._latest: dict[str, StoredFile] = {} if other is None else dict(other._latest)
        # Forms of previews with their versions, as far as records name them.
        self._styles: dict[Key, tuple[str, int]] = {} if other is None else dict(other._styles)

    def note(self, entries: Iterable[ContentReplacementRecord], session_id: str) -> None:
        """Take over what entries of a record say about files in the folder of a session."""
        for entry in entries:
            if entry.style is not None:
                self._note_style(entry)
            # A record is input: only a name that the store could have made is ever used as one.
            if entry.file is None or not _STORED_FILE_NAME.fullmatch(entry.file):
                continue
            file = StoredFile(session_id, entry.file, entry.file_digest)
            self._latest[entry.tool_use_id] = file
            if entry.size is not None and entry.hash is not None:
                key = Key(entry.tool_use_id, Fingerprint(entry.size, entry.hash))
                self._by_key.setdefault(key, file)

    def _note_style(self, entry: ContentReplacementRecord) -> None:
        if entry.style is None or entry.style_version is None:
            return
        if entry.size is not None and entry.hash is not None:
            key = Key(entry.tool_use_id, Fingerprint(entry.size, entry.hash))
            self._styles.setdefault(key, (entry.style, entry.style_version))

    def style_of(self, key: Key) -> tuple[str | None, int | None]:
        """Return the form of a result's preview and its version, if a record names them."""
        return self._styles.get(key, (None, None))

    def place(self, key: Key, file: StoredFile) -> None:
        """Say where a result is that was stored before it was decided about."""
        self._by_key[key] = file

    def of(self, key: Key) -> StoredFile | None:
        """Return where the full text of a result is."""
        return self._by_key.get(key)

    def latest(self, tool_use_id: str) -> StoredFile | None:
        """Return where the full text of an id's latest stored result is."""
        return self._latest.get(tool_use_id)

    def all(self) -> dict[StoredFile, str]:
        """Return every file, in order, with its result's id."""
        ids = {file: key.tool_use_id for key, file in self._by_key.items()}
        return ids | {file: tool_use_id for tool_use_id, file in self._latest.items()}
