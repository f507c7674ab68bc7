"""What a check of a session can find, and in which words it is told. Pure.

Everything of one kind is one finding with a list of places, so that a hundred thousand files
without a record are still one thing to read.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final, Literal, NamedTuple

if TYPE_CHECKING:
    from pathlib import Path

__all__ = ["KINDS", "MAX_ITEMS", "Collector", "Finding", "Item", "Kind", "Severity"]

Severity = Literal["error", "warning", "note"]
"""What is lost, what may be lost or costs something, and what is merely good to know."""

MAX_ITEMS: Final = 10_000
"""More places than this are counted but not listed."""


class Kind(NamedTuple):
    """One kind of finding.

    Attributes:
        code: Its name for programs; these stay.
        severity: How much it matters.
        one: What it is, for one of them.
        many: What they are, behind a number.
        meaning: What it means for the user.
        advice: What to do about it.
    """

    code: str
    severity: Severity
    one: str
    many: str
    meaning: str
    advice: str


KINDS: Final = {
    kind.code: kind
    for kind in (
        Kind(
            "missing-file",
            "error",
            "stored result is missing",
            "stored results are missing",
            "The conversation goes on with the same bytes, but the model cannot read the full"
            " text.",
            "Restore the file from a backup under exactly this name; nothing else is needed.",
        ),
        Kind(
            "wrong-bytes",
            "error",
            "stored result has other bytes than were recorded",
            "stored results have other bytes than were recorded",
            "The conversation goes on with the same bytes, but whoever reads the file reads"
            " something else than the tool gave.",
            "Find out who changed it, and restore it from a backup.",
        ),
        Kind(
            "wrong-kind",
            "error",
            "name is taken by something that does not belong there",
            "names are taken by something that does not belong there",
            "It is never followed or opened: what should stand there counts as missing.",
            "Find out who put it there, and put the file or folder back.",
        ),
        Kind(
            "unreadable",
            "error",
            "file or folder cannot be read",
            "files or folders cannot be read",
            "What it holds could not be checked, and a session cannot use it either.",
            "Check its permissions and the disk; then run doctor again.",
        ),
        Kind(
            "damaged-line",
            "warning",
            "line is damaged",
            "lines are damaged",
            "They are skipped; all whole records count. Results that only such a line decided are"
            " decided anew, so the provider's prompt cache may miss once.",
            "Restore the file from a backup if there is one; otherwise leave it as it is.",
        ),
        Kind(
            "missing-elsewhere",
            "warning",
            "stored result is not here, and the model was shown another place",
            "stored results are not here, and the model was shown another place",
            "The session was moved without its files, or they were removed.",
            "If it was moved, move its tool-results folder too.",
        ),
        Kind(
            "no-records",
            "warning",
            "stored result although there is not one record",
            "stored results although there is not one record",
            "A crash in the very first turn leaves this, and so does an ephemeral session."
            " Otherwise the file of records was lost: all results will be decided anew.",
            "Restore the record file, <session>.jsonl, if there was one.",
        ),
        Kind(
            "open-permissions",
            "warning",
            "file or folder is open to other users",
            "files or folders are open to other users",
            "Other users of this machine may read or change what the tools gave.",
            "Run doctor with --repair: it makes them private (folders 0700, files 0600).",
        ),
        Kind(
            "narrow-permissions",
            "warning",
            "file or folder lacks rights of its owner",
            "files or folders lack rights of their owner",
            "Nothing can be stored or recorded there; results then go to the model in full.",
            "Give the owner its rights back, unless it was made read-only on purpose.",
        ),
        Kind(
            "other-owner",
            "warning",
            "file or folder belongs to another user",
            "files or folders belong to other users",
            "That user can change what the model is referred to.",
            "Find out how it came there; files of this session should have one owner.",
        ),
        Kind(
            "writable-root",
            "warning",
            "folder of all sessions can be changed by other users",
            "folders of all sessions can be changed by other users",
            "Other users of this machine may replace whole sessions.",
            "Take the right to write away from group and others.",
        ),
        Kind(
            "unusable-file-name",
            "warning",
            "record names a file that no store has made",
            "records name files that no store has made",
            "Such a name is never opened; the replacement itself still counts.",
            "Find out who wrote the record.",
        ),
        Kind(
            "unusable-entry",
            "warning",
            "entry of a record is malformed",
            "entries of records are malformed",
            "They are ignored; the rest of their records counts.",
            "Find out which program or version wrote them; otherwise leave them as they are.",
        ),
        Kind(
            "unframed-text",
            "warning",
            "replacement lacks the frame that this library gives it",
            "replacements lack the frame that this library gives them",
            "The model is shown a text that this library would not write.",
            "Find out who wrote the record. Removing it would change what the model has seen.",
        ),
        Kind(
            "other-session",
            "warning",
            "record is about another session or agent",
            "records are about another session or agent",
            "They are not applied: to this session those results are undecided.",
            "Files of records cannot be renamed or copied by hand; fork the session instead.",
        ),
        Kind(
            "other-header",
            "warning",
            "file was begun for another session",
            "files were begun for another session",
            "It was renamed or copied by hand; records that name the other session do not count.",
            "Give it its name back, or fork the session instead of copying it.",
        ),
        Kind(
            "newer-version",
            "warning",
            "file was begun by a newer version of this library",
            "files were begun by a newer version of this library",
            "This version reads it but never writes it; new records go to the sidecar.",
            "Update toolbudget.",
        ),
        Kind(
            "unrecorded-file",
            "note",
            "stored result is in no record",
            "stored results are in no record",
            "Harmless: a crash between file and record leaves one, and other programs store here"
            " too. A replayed turn finds the same bytes and adopts them.",
            "Nothing to do.",
        ),
        Kind(
            "leftover-file",
            "note",
            "temporary file was left over",
            "temporary files were left over",
            "Harmless: a killed process was writing it more than an hour ago.",
            "Run doctor with --repair to remove it.",
        ),
        Kind(
            "torn-line",
            "note",
            "line is incomplete",
            "lines are incomplete",
            "A crash in the middle of an append leaves this, and what it would have recorded was"
            " never handed out. If the file was cut or copied in part, results that only this line"
            " decided are decided anew. All whole records count.",
            "Restore the file if it was cut or copied; otherwise nothing.",
        ),
        Kind(
            "unterminated-line",
            "note",
            "last line has no line end",
            "last lines have no line end",
            "Harmless: the next append begins on a line of its own.",
            "Nothing to do; doctor --repair ends the line.",
        ),
        Kind(
            "foreign-damage",
            "note",
            "line of another program's transcript is damaged",
            "lines of another program's transcript are damaged",
            "They are skipped. This library only reads that file.",
            "Nothing to do here; the other program may want to know.",
        ),
        Kind(
            "foreign-session",
            "note",
            "record of another program is about another session or agent",
            "records of another program are about another session or agent",
            "They are not applied.",
            "Nothing to do.",
        ),
        Kind(
            "stored-elsewhere",
            "note",
            "stored result is in another place that the model was shown",
            "stored results are in other places that the model was shown",
            "The host has a store of its own; doctor does not look into it.",
            "Nothing to do, unless the host has no such store: then the files are lost.",
        ),
        Kind(
            "moved-path",
            "note",
            "replacement shows another path than the file has",
            "replacements show another path than their files have",
            "The session was moved, is reached by another name, or the host maps paths for the"
            " model. What the model has seen never changes, so the old path stays.",
            "If it was moved, a symbolic link at the old place lets the model read the files.",
        ),
        Kind(
            "two-record-files",
            "note",
            "session has records both in its transcript and in a sidecar",
            "sessions have records both in their transcript and in a sidecar",
            "Both count, those of the transcript first.",
            "Nothing to do.",
        ),
        Kind(
            "shared-folder",
            "note",
            "folder of another program's session is open to other users",
            "folders of another program's session are open to other users",
            "Other users may see the names in it; the stored results have a folder of their own.",
            "Make it private if the other program allows.",
        ),
        Kind(
            "unknown-file",
            "note",
            "file or folder is unknown to this library",
            "files or folders are unknown to this library",
            "It is never read, changed or removed.",
            "Nothing to do.",
        ),
    )
}


class Item(NamedTuple):
    """One place of a finding.

    Attributes:
        path: The file or folder.
        detail: What exactly is wrong there, if there is more to say.
        line: Number of the line, from 1.
        offset: Byte where the line begins, from 0.
        tool_use_id: The result that it is about.
    """

    path: Path
    detail: str = ""
    line: int | None = None
    offset: int | None = None
    tool_use_id: str | None = None


@dataclass(frozen=True, slots=True)
class Finding:
    """Everything of one kind that was found.

    Attributes:
        kind: What it is, what it means and what to do.
        count: How many there are.
        items: Where; at most :data:`MAX_ITEMS`.
    """

    kind: Kind
    count: int
    items: tuple[Item, ...]


class Collector:
    """Gathers what is found, by kind."""

    def __init__(self) -> None:
        self._counts: dict[str, int] = {}
        self._items: dict[str, list[Item]] = {}

    def add(self, code: str, item: Item) -> None:
        """Take note of one place; ``code`` is a key of :data:`KINDS`."""
        self._counts[code] = self._counts.get(code, 0) + 1
        items = self._items.setdefault(code, [])
        if len(items) < MAX_ITEMS:
            items.append(item)

    def has(self, code: str) -> bool:
        """Tell whether anything of a kind was found."""
        return code in self._counts

    def findings(self) -> tuple[Finding, ...]:
        """Return what was found, the most serious first."""
        return tuple(
            Finding(kind, self._counts[code], tuple(self._items[code]))
            for code, kind in KINDS.items()
            if code in self._counts
        )
