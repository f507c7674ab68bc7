"""What records say about stored files: which must be there, and with which bytes."""

from __future__ import annotations

import errno
import re
from typing import TYPE_CHECKING, Final

from toolbudget._core.pure.replacement import CLOSING, OPENING
from toolbudget.storage._files import close_quietly
from toolbudget.storage._findings import Item
from toolbudget.storage._session_files import (
    RESULTS_NAME,
    STORED_NAME,
    open_in_session,
    reason_of,
)
from toolbudget.storage.encoding import Measurement
from toolbudget.storage.names import session_name

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping

    from toolbudget.storage._files import InspectableFileSystem
    from toolbudget.storage._findings import Collector
    from toolbudget.storage._session_files import SessionPlace
    from toolbudget.storage.entries import ContentReplacementRecord
    from toolbudget.storage.records import ParsedRecord

__all__ = ["Reference", "ReferenceBook", "ReferenceCheck"]

_SHOWN_PATH: Final = re.compile(
    r"(?:Output too large \([^)\n]*\)|Old tool result cleared)\. "
    r"Full output saved to: ([^\n]+)(?:\n|$)"
)
_SEPARATOR: Final = re.compile(r"[/\\]")
_CHUNK_BYTES: Final = 1024 * 1024
_MAX_SHOWN_CHARS: Final = 1024
_NO_FOLDER: Final = frozenset({errno.ENOENT, errno.ENOTDIR, errno.ELOOP})


class Reference:
    """One stored file, as the records name it.

    Attributes:
        name: Its name in a folder of results.
        session: The name of the session that has it: this one, or the one that the decision was
            inherited from.
        digests: The digests that were recorded for it; normally one.
        tool_use_id: The first result that refers to it.
        is_shown_here: Whether the model was shown its place in that session.
        is_elsewhere: Whether the model was shown it in a folder of another kind, as a store of the
            host's own has them.
    """

    __slots__ = ("digests", "is_elsewhere", "is_shown_here", "name", "session", "tool_use_id")

    def __init__(self, name: str, session: str, tool_use_id: str) -> None:
        self.name = name
        self.session = session
        self.tool_use_id = tool_use_id
        self.digests: set[str] = set()
        self.is_shown_here = False
        self.is_elsewhere = False


class ReferenceBook:
    """Gathers the references of a session, and tells what is odd about the records themselves.

    Nothing of a record is ever used as a path: a name counts only if a store could have made it.
    """

    def __init__(self, place: SessionPlace, collector: Collector) -> None:
        self.replacements = 0
        self._place = place
        self._collector = collector
        self._references: dict[tuple[str, str], Reference] = {}

    def __iter__(self) -> Iterator[Reference]:
        return iter(self._references.values())

    def add_record(self, record: ParsedRecord, where: Item) -> None:
        """Take note of every replacement in a record of ours, which stands at ``where``."""
        self._check_file_names(record.raw, where)
        for entry in record.replacements:
            self.replacements += entry.kind == "tool-result"
            self._add(entry, record.inherited_from, where)

    def names(self) -> set[str]:
        """The names of the files in this session's own folder that records refer to."""
        own = self._place.name
        return {reference.name for reference in self if reference.session == own}

    def _add(
        self, entry: ContentReplacementRecord, inherited_from: str | None, where: Item
    ) -> None:
        item = where._replace(tool_use_id=entry.tool_use_id)
        # A decision taken over from another program keeps that program's text, and has no file.
        if entry.file_digest is None and entry.file is None:
            return
        if not (entry.replacement.startswith(OPENING) and entry.replacement.endswith(CLOSING)):
            self._collector.add("unframed-text", item)
        if entry.file is None or not STORED_NAME.fullmatch(entry.file):
            return
        # A fork's inherited files stay in the folder of the session that stored them.
        session = self._place.name if inherited_from is None else session_name(inherited_from)
        reference = self._references.get((session, entry.file))
        if reference is None:
            reference = Reference(entry.file, session, entry.tool_use_id)
            self._references[session, entry.file] = reference
        if entry.file_digest is not None:
            reference.digests.add(entry.file_digest)
        shown = _shown_path(entry.replacement)
        path = str(self._place.root / session / RESULTS_NAME / entry.file)
        reference.is_shown_here |= shown in {None, path}
        reference.is_elsewhere |= _is_of_another_store(shown, entry.file)
        if shown not in {None, path}:
            self._collector.add("moved-path", item._replace(detail=shown[:_MAX_SHOWN_CHARS]))

    def _check_file_names(self, raw: Mapping[str, object], where: Item) -> None:
        entries = raw.get("replacements")
        for entry in entries if isinstance(entries, list) else ():
            name = entry.get("file") if isinstance(entry, dict) else None
            if isinstance(name, str) and not STORED_NAME.fullmatch(name):
                replacement = entry.get("replacement")
                shown = _shown_path(replacement) if isinstance(replacement, str) else None
                is_theirs = _is_of_another_store(shown, name)
                code = "stored-elsewhere" if is_theirs else "unusable-file-name"
                detail = repr(name[:_MAX_SHOWN_CHARS])
                self._collector.add(code, where._replace(detail=detail))


class ReferenceCheck:
    """Looks for the files of references and compares their bytes.

    Args:
        place: The session.
        files: The file system.
        collector: Takes what is found.
        on_read: Told the number of bytes of each piece read.
    """

    def __init__(
        self,
        place: SessionPlace,
        files: InspectableFileSystem,
        collector: Collector,
        on_read: Callable[[int], object],
    ) -> None:
        self.checked_files = 0
        self.checked_bytes = 0
        self._not_here: list[tuple[Item, bool]] = []
        self._has_folder = False
        self._place = place
        self._files = files
        self._collector = collector
        self._on_read = on_read

    def check(self, reference: Reference) -> None:
        """Check one file; it is read in chunks, whatever its size."""
        path = self._place.root / reference.session / RESULTS_NAME / reference.name
        item = Item(path, tool_use_id=reference.tool_use_id)
        try:
            is_there = self._check_bytes(reference, item)
        except OSError as error:
            self._collector.add("unreadable", item._replace(detail=reason_of(error)))
            return
        if is_there:
            return
        if reference.is_shown_here:
            self._collector.add("missing-file", item)
        else:
            self._not_here.append((item, reference.is_elsewhere))

    def finish(self) -> None:
        """Judge what is missing and was shown elsewhere, once it is known what else is here."""
        # If some files were moved here, the others should have been too.
        for item, is_elsewhere in self._not_here:
            if self.checked_files:
                code = "missing-file"
            elif is_elsewhere and not self._has_folder:
                code = "stored-elsewhere"
            else:
                code = "missing-elsewhere"
            self._collector.add(code, item)

    def _check_bytes(self, reference: Reference, item: Item) -> bool:
        """Check the file under the name; ``False`` if there is nothing."""
        try:
            directory = open_in_session(item.path.parent, self._place, self._files)
        except OSError as error:
            # Something else in the place of a folder holds no files of ours.
            if error.errno in _NO_FOLDER:
                return False
            raise
        self._has_folder = True
        try:
            entry = self._files.look(reference.name, parent=directory)
            if entry.kind == "file":
                handle = self._files.open_file(reference.name, parent=directory)
                try:
                    self._compare(handle, reference, item)
                finally:
                    close_quietly(self._files, handle)
            elif reference.session != self._place.name:
                # In the session's own folder it has been found already.
                self._collector.add("wrong-kind", item._replace(detail=entry.kind))
        except FileNotFoundError:
            return False
        finally:
            close_quietly(self._files, directory)
        return True

    def _compare(self, handle: int, reference: Reference, item: Item) -> None:
        measurement = Measurement()
        offset = 0
        while chunk := self._files.read(handle, _CHUNK_BYTES, offset=offset):
            measurement.add(chunk)
            offset += len(chunk)
            self._on_read(len(chunk))
        measured = measurement.result()
        self.checked_files += 1
        self.checked_bytes += measured.size_bytes
        differing = sorted(reference.digests - {measured.digest})
        if differing:
            detail = f"{measured.size_bytes} bytes, digest {measured.digest}, recorded"
            self._collector.add(
                "wrong-bytes", item._replace(detail=f"{detail} {', '.join(differing[:2])}")
            )


def _is_of_another_store(shown: str | None, name: str) -> bool:
    """Tell whether the model was shown a name in a place where a session keeps no results."""
    if shown is None or name in {"", ".", ".."}:
        return False
    *folders, last = _SEPARATOR.split(shown)
    return last == name and folders[-1:] != [RESULTS_NAME]


def _shown_path(replacement: str) -> str | None:
    """Return the path that a replacement tells the model."""
    match = _SHOWN_PATH.match(replacement, len(OPENING))
    return None if match is None else match[1]
