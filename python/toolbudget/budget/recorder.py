"""The recorder: a session's records, written before anything they say is handed out."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import TYPE_CHECKING, Final, NamedTuple, Protocol, TypeVar

from toolbudget import _core as core
from toolbudget._core.pure import Fingerprint, Key
from toolbudget.budget.context_edits import EDITS, KEPT_ORIGINAL
from toolbudget.budget.report import Failure
from toolbudget.errors import TranscriptError
from toolbudget.storage.json_lines import survives_json
from toolbudget.storage.records import (
    beginning_of_record,
    content_replacement,
    encode_decisions,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Generator, Iterable, Mapping, Sequence

    from toolbudget.storage.entries import Fingerprinted
    from toolbudget.storage.records import ContentReplacementRecord, ParsedRecord
    from toolbudget.storage.session_lock import SessionLock

__all__ = ["SEEN", "Held", "LockedLog", "Log", "Recorder"]
__all__ += ["failure_to_record", "key_of", "why_unrecordable"]

_Result = TypeVar("_Result")

# Marks a record of `mark_seen`: what it keeps is never withdrawn.
SEEN: Final = "seen"
# A line must stay far below the length at which a reader passes it over. An id that long is none
# that a provider gives: what is decided about it holds in this process only.
_MAX_ID_BYTES: Final = 1 << 25
# A character beyond the first 65,536 becomes two escapes of six bytes.
_ESCAPED_BYTES: Final = 12
_ANY_ID_FITS_CHARS: Final = _MAX_ID_BYTES // _ESCAPED_BYTES
# So much of an id stands in a message: the rest may be megabytes.
_SHOWN_ID_CHARS: Final = 80
_KEPT_CHARS_PER_RECORD: Final = 1 << 22
_NONE_KEPT: Final = b"[]"


def why_unrecordable(key: Key) -> str | None:
    """Say why no record can hold the id of a decision; ``None`` if one can."""
    tool_use_id = key.tool_use_id
    if len(tool_use_id) <= _ANY_ID_FITS_CHARS and tool_use_id.isascii():
        return None
    size_bytes = len(tool_use_id) * (1 if tool_use_id.isascii() else _ESCAPED_BYTES)
    if size_bytes > _MAX_ID_BYTES:
        return f"id is too long to be recorded: {len(tool_use_id)} characters"
    if not survives_json(tool_use_id):
        return f"id holds a character as two surrogates: {tool_use_id[:_SHOWN_ID_CHARS]!r}"
    return None


def failure_to_record(key: Key) -> Failure | None:
    """Return what a report says of a result that no record can hold; ``None`` if one can."""
    problem = why_unrecordable(key)
    if problem is None:
        return None
    return Failure("record", key.tool_use_id[:_SHOWN_ID_CHARS], TranscriptError(problem))


class LockedLog(Protocol):
    """A record log while this process holds its lock."""

    def read_tail(self) -> Sequence[ParsedRecord]:
        """Return what others recorded since the last read."""

    def read_all(self) -> Sequence[ParsedRecord]:
        """Return every record."""

    def take_lost_records(self) -> bool:
        """Tell once whether records have gone with their file."""

    @property
    def ambiguous(self) -> OSError | None:
        """Why an appended record, although it counts, may not outlive a power loss."""

    def append(self, record: Mapping[str, object], *, sync: bool) -> None:
        """Append one record; raises ``TranscriptError`` if it certainly is not there."""

    def append_line(self, line: bytes, *, sync: bool) -> None:
        """Append one that is encoded already."""


class Log(Protocol):
    """Where records go."""

    def hold(self) -> Generator[LockedLog, None, None]:
        """Yield the log, locked for one decision until the generator is closed."""


class Held(NamedTuple):
    """The log while it is locked, and what is new in it."""

    log: LockedLog
    records: Sequence[ParsedRecord]
    are_own: bool
    """Whether nobody else wrote any of them."""


class Recorder:
    """Reads and writes the records of one session or sub-agent.

    Args:
        log: Where records go.
        lock: Marks the session as in use; taken at the latest before something is written.
        session_id: Named in every record; ``None`` leaves it out.
        agent_id: The sub-agent whose decisions these are.
    """

    def __init__(
        self,
        log: Log,
        *,
        lock: SessionLock | None = None,
        session_id: str | None = None,
        agent_id: str | None = None,
    ) -> None:
        """Begin with everything recorded."""
        # Decisions that hold in this process but are in no record yet.
        self.unrecorded: dict[Key, str | None] = {}
        # Whether what was inherited, or is expected, is in no record any more.
        self.unrecorded_inherited = False
        self._log = log
        self._lock = lock
        self._session_id = session_id
        self._agent_id = agent_id
        self._beginning = beginning_of_record(session_id, agent_id)
        self._is_in_doubt = False
        self._appended = 0

    @property
    def owes(self) -> bool:
        """Whether the next turn is to record something, whatever it decides."""
        return bool(self.unrecorded) or self.unrecorded_inherited

    def mark_in_use(self) -> None:
        """Hold the session's lock, if it can be had."""
        if self._lock is not None:
            self._lock.take(create=True)

    def while_locked(self, work: Callable[[Held], _Result]) -> _Result:
        """Lock the log, read what is new in it, and return what ``work`` makes of it.

        Until :meth:`settle` is called the log is in doubt: if the caller is interrupted, by Ctrl-C
        say, between reading or writing records and taking them over, the next one reads all of them
        again.

        Raises:
            TranscriptError: The log cannot be locked or read.
        """
        self.mark_in_use()
        lock = self._log.hold()
        try:
            locked = next(lock)
            was_in_doubt, self._is_in_doubt = self._is_in_doubt, True
            records = locked.read_all() if was_in_doubt else locked.read_tail()
            own = self._appended if was_in_doubt else 0
            return work(Held(locked, records, are_own=len(records) <= own))
        finally:
            lock.close()

    def settle(self) -> None:
        """Say that everything read and written has been taken over."""
        self._is_in_doubt = False

    def write(
        self,
        locked: LockedLog,
        replacements: Sequence[ContentReplacementRecord],
        kept: Iterable[Key],
        left_out: Collection[Key] = (),
        *,
        marks_seen: bool,
    ) -> list[Failure]:
        """Append decisions: the replacements in one record, many kept ones in several.

        Of the kept ones, those ``left_out`` are not recorded, and those that no record can hold.

        Returns:
            What did not become durable, or was not recorded although nothing is lost by that.

        Raises:
            TranscriptError: The replacements are certainly not recorded.
        """
        failures: list[Failure] = []
        parts = core.kept_json(
            kept,
            left_out,
            max_id_bytes=_MAX_ID_BYTES,
            max_part_chars=_KEPT_CHARS_PER_RECORD,
        )
        for index, part in enumerate(parts, 1):
            # In the last one: if any append fails, no replacement is in a record.
            entries = replacements if index == len(parts) else ()
            if not entries and part == _NONE_KEPT:
                continue
            line = encode_decisions(
                self._beginning,
                timestamp=_now(),
                replacements=entries,
                frozen=part,
                marks={SEEN: True} if marks_seen else None,
            )
            locked.append_line(line, sync=bool(entries))
            self._appended += 1
            if locked.ambiguous is not None:
                failures.append(Failure("record", None, locked.ambiguous))
        return failures

    def write_inherited(
        self, locked: LockedLog, entries: Sequence[ContentReplacementRecord], *, home: str
    ) -> None:
        """Append what this session did not decide, with the session whose folder holds the files.

        Raises:
            TranscriptError: It is certainly not recorded.
        """
        record = self._record(replacements=entries, inherited_from=home)
        self._append(locked, record, sync=True)
        for entry in entries:
            decides = entry.kind != KEPT_ORIGINAL
            if decides and entry.size is not None and entry.hash is not None:
                key = Key(entry.tool_use_id, Fingerprint(entry.size, entry.hash))
                self.unrecorded.pop(key, None)

    def write_context(
        self,
        locked: LockedLog,
        entries: Sequence[ContentReplacementRecord],
        edits: Sequence[Mapping[str, object]],
    ) -> None:
        """Append what was cleared or kept in full, and what was cut out of the history.

        Raises:
            TranscriptError: It is certainly not recorded.
        """
        record = self._record(replacements=entries)
        if edits:
            record[EDITS] = list(edits)
        self._append(locked, record, sync=True)

    def write_withdrawal(self, locked: LockedLog, keys: Sequence[Key]) -> None:
        """Append that kept decisions are taken back.

        Raises:
            TranscriptError: It is certainly not recorded.
        """
        self._append(locked, self._record(withdrawn=map(_fingerprinted, keys)), sync=False)
        for key in keys:
            self.unrecorded.pop(key, None)

    def _append(self, locked: LockedLog, record: Mapping[str, object], *, sync: bool) -> None:
        locked.append(record, sync=sync)
        self._appended += 1

    def _record(
        self,
        *,
        replacements: Iterable[ContentReplacementRecord] = (),
        withdrawn: Iterable[Fingerprinted] = (),
        inherited_from: str | None = None,
    ) -> dict[str, object]:
        return content_replacement(
            inherited_from=inherited_from,
            session_id=self._session_id,
            agent_id=self._agent_id,
            timestamp=_now(),
            replacements=replacements,
            withdrawn=withdrawn,
        )


def _now() -> str:
    return datetime.now(UTC).isoformat(timespec="milliseconds")


def key_of(entry: Fingerprinted) -> Key:
    """Return the key of a decision that a record names."""
    tool_use_id, size_chars, text_hash = entry
    return Key(tool_use_id, Fingerprint(size_chars, text_hash))


def _fingerprinted(key: Key) -> Fingerprinted:
    return key.tool_use_id, key.fingerprint.size_chars, key.fingerprint.hash
