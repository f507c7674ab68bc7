"""The decisions of one session (or sub-agent) on disk: which files hold them, reading, appending.

There are up to two files: the transcript, and beside it a sidecar for the case that the transcript
belongs to another program. Records count in both, those of the transcript first; new ones go to
exactly one of them, under its lock.
"""

from __future__ import annotations

from contextlib import contextmanager
from copy import copy
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Final

from toolbudget._mutex import Mutex
from toolbudget.errors import TranscriptError
from toolbudget.storage._files import POSIX
from toolbudget.storage._holding import hold
from toolbudget.storage.log_file import LogFile, Owner
from toolbudget.storage.names import session_name
from toolbudget.storage.records import encode_record, header_line
from toolbudget.storage.tail import Tail

if TYPE_CHECKING:
    from collections.abc import Callable, Generator, Iterator, Mapping
    from typing import TypeAlias

    from toolbudget.storage._files import Durability, FileSystem
    from toolbudget.storage._holding import Holding
    from toolbudget.storage.log_file import LockedFile
    from toolbudget.storage.records import ParsedRecord

    _WayToRead: TypeAlias = Callable[[Tail], Iterator[ParsedRecord]]

__all__ = ["LockedLog", "RecordLog"]

_MAX_LOCK_TRIES: Final = 16
_SIDECAR_NAME: Final = "content-replacements.jsonl"


class RecordLog:
    """The records of one session, or of one of its sub-agents.

    Nothing is made on disk before :meth:`hold` is entered, and no file stays open between calls.
    :meth:`hold` serves several threads and processes; :meth:`load` belongs before its first use,
    never inside it.

    Args:
        root: The directory of all sessions; symbolic links above it are followed, below it not.
        session_id: Any string.
        agent_id: The sub-agent whose records these are; ``None`` for the session itself.
        durability: What an appended record outlives.
        force_sidecar: Never write the transcript, even if it could be ours.
        files: The file system.

    Example:
        >>> from toolbudget.storage.records import content_replacement
        >>> with RecordLog(Path("sessions"), "s1").locked() as log:
        ...     log.append(content_replacement(session_id="s1", timestamp="now"), sync=True)
        >>> [record.session_id for record in RecordLog(Path("sessions"), "s1").load()]
        ['s1']
    """

    def __init__(
        self,
        root: Path,
        session_id: str,
        *,
        agent_id: str | None = None,
        durability: Durability = "full",
        force_sidecar: bool = False,
        files: FileSystem = POSIX,
    ) -> None:
        root = Path(root).absolute()
        directory = root / session_name(session_id)
        if agent_id is None:
            transcript = directory.with_name(f"{directory.name}.jsonl")
        else:
            transcript = directory / "subagents" / f"agent-{session_name(agent_id)}.jsonl"
        # As seen from the transcript's directory; a sub-agent's is another one.
        below = None if agent_id is not None else f"{directory.name}/{_SIDECAR_NAME}"
        self._sidecar_below_transcript = below
        self._files = files
        self._force_sidecar = force_sidecar
        self._mutex = Mutex()
        transcript_tail, sidecar_tail = (
            Tail(LogFile(path, anchor=root, durability=durability, files=files))
            for path in (transcript, directory / _SIDECAR_NAME)
        )
        self._both = _BothFiles(session_id, agent_id, transcript_tail, sidecar_tail)

    @property
    def path(self) -> Path:
        """The file that records go to as things are now, also before it exists.

        Raises:
            TranscriptError: The transcript cannot be read or is no regular file.
        """
        both = self._both
        is_foreign = both.transcript.log_file.owner() is Owner.ANOTHER
        uses_sidecar = is_foreign or self._force_sidecar or both.sidecar.holds_own_records
        return (both.sidecar if uses_sidecar else both.transcript).log_file.path

    @property
    def transcript_path(self) -> Path:
        """The transcript, whoever it belongs to."""
        return self._both.transcript.log_file.path

    def exists(self) -> bool:
        """Whether there is anything at the transcript's path, or a folder of the session.

        For a sub-agent only its transcript counts: the folder is its session's.

        Raises:
            TranscriptError: It cannot be looked at.
        """
        return self._both.transcript.log_file.exists() or (
            self._both.agent_id is None and self._both.sidecar.log_file.has_directory()
        )

    def has_own_transcript(self) -> bool:
        """Whether there is a transcript that begins with a header of ours.

        Raises:
            TranscriptError: It cannot be looked at.
        """
        return self._both.transcript.log_file.owner() is Owner.US

    @property
    def skipped(self) -> int:
        """Damaged lines, as far as both files have been read."""
        return sum(self.skipped_by_file.values())

    @property
    def skipped_by_file(self) -> dict[Path, int]:
        """The same for each file that has any."""
        both = (self._both.transcript, self._both.sidecar)
        return {tail.log_file.path: tail.skipped_lines for tail in both if tail.skipped_lines}

    @property
    def dropped_entries(self) -> int:
        """Malformed entries of readable records, as far as both files have been read."""
        return self._both.transcript.dropped_entries + self._both.sidecar.dropped_entries

    def load(self, *, wait_for_writers: bool = True) -> Iterator[ParsedRecord]:
        """Yield all records of this session or agent, those of the transcript first.

        Streams; a missing file has no records. The counts of skipped lines hold when it has ended.

        Args:
            wait_for_writers: Wait a moment while a record is just being appended, which may yet be
                taken back. Reading only (``False``) never takes a lock.

        Raises:
            TranscriptError: A file cannot be read or is no regular file.
        """
        return self._both.read(from_start=True, wait_for_writers=wait_for_writers)

    def read_new(self) -> list[ParsedRecord]:
        """Return what others have recorded since the last reading, without deciding anything.

        Raises:
            TranscriptError: A file cannot be read or is no regular file.
        """
        with self._mutex:
            return list(self._both.read(from_start=False, wait_for_writers=True))

    def hold(self) -> Generator[LockedLog, None, None]:
        """Yield the log while nobody else decides, until the generator is closed.

        Makes the file and its directories if they are missing. Not to be entered twice by a thread.
        Closed in a plain ``finally`` it leaves no lock behind, whatever interrupts its user:

            lock = log.hold()
            try:
                next(lock).append(record, sync=True)
            finally:
                lock.close()

        Raises:
            TranscriptError: The file cannot be opened, made or locked, or is no regular file.
        """
        with self._mutex:
            yield from hold(self._files, self._lock)

    locked = contextmanager(hold)
    """The same for a ``with`` block, where an interrupt on the way out may leave the lock held."""

    def _lock(self, holding: Holding) -> LockedLog:
        """Lock every file that a process may write to on this session, whatever it was told.

        The transcript always comes first, so that no two wait for each other.
        """
        transcript_file, sidecar_file = (
            tail.log_file for tail in (self._both.transcript, self._both.sidecar)
        )
        for _ in range(_MAX_LOCK_TRIES):
            transcript = self._lock_transcript(holding)
            sidecar = None
            if self._needs_sidecar(transcript):
                sidecar = sidecar_file.lock(holding)
            if transcript is not None or transcript_file.owner() is not Owner.US:
                return LockedLog(
                    self._both, transcript, sidecar, forces_sidecar=self._force_sidecar
                )
            # Somebody has just begun the transcript, and does not know of the sidecar.
            holding.release()
        raise TranscriptError(f"transcript keeps changing hands: {transcript_file.path}")

    def _needs_sidecar(self, transcript: LockedFile | None) -> bool:
        if transcript is None or self._force_sidecar:
            return True
        path = self._sidecar_below_transcript
        if path is not None and transcript.has_surely_no(path):
            return False
        return self._both.sidecar.log_file.identity() is not None

    def _lock_transcript(self, holding: Holding) -> LockedFile | None:
        log_file = self._both.transcript.log_file
        if self._force_sidecar and log_file.identity() is None:
            return None
        return log_file.lock_unless_foreign(holding)


class LockedLog:
    """A record log while its lock is held; see :meth:`RecordLog.hold`."""

    def __init__(
        self,
        both: _BothFiles,
        transcript: LockedFile | None,
        sidecar: LockedFile | None,
        *,
        forces_sidecar: bool,
    ) -> None:
        self._both = both
        self._transcript = transcript
        self._sidecar = sidecar
        self._forces_sidecar = forces_sidecar

    @property
    def path(self) -> Path:
        """The file that records go to."""
        return self._target()[0].log_file.path

    @property
    def ambiguous(self) -> OSError | None:
        """Why an appended record, although it counts, may not outlive a power loss."""
        for file in (self._transcript, self._sidecar):
            if file is not None and file.ambiguous is not None:
                return file.ambiguous
        return None

    def read_tail(self) -> list[ParsedRecord]:
        """The records that others have appended since the last reading, in file order.

        If this fails, the next reading begins where this one did.

        Raises:
            TranscriptError: A file cannot be read or is no regular file.
        """
        return list(self._both.read_locked(self._transcript, self._sidecar, from_start=False))

    def read_all(self) -> list[ParsedRecord]:
        """Every record, whatever has been read before.

        Raises:
            TranscriptError: A file cannot be read or is no regular file.
        """
        return list(self._both.read_locked(self._transcript, self._sidecar, from_start=True))

    def take_lost_records(self) -> bool:
        """Tell once whether records that were read before have gone with their file."""
        tails = (self._both.transcript, self._both.sidecar)
        has_lost = any(tail.has_lost_records for tail in tails)
        for tail in tails:
            tail.has_lost_records = False
        return has_lost

    def append(self, record: Mapping[str, object], *, sync: bool) -> None:
        """Append a record; when this returns it counts, and nothing that fails later undoes it.

        The first record of a file is always synced, later ones if ``sync``.

        Raises:
            TranscriptError: The record was not appended and is not in the file.
        """
        self.append_line(encode_record(record), sync=sync)

    def append_line(self, line: bytes, *, sync: bool) -> None:
        """Append a record that is encoded already, as :meth:`append` does.

        Raises:
            TranscriptError: The record was not appended and is not in the file.
        """
        header = self._both.header
        tail, file = self._target()
        start, written = file.append(line, header=header, sync=sync)
        tail.pass_over(written, start=start, identity=file.identity)
        tail.holds_own_records = True

    def _target(self) -> tuple[Tail, LockedFile]:
        """Where the next record goes.

        Those of the sidecar are read last. So once it holds any, all others follow them there, or a
        later one would be read before an earlier one.
        """
        is_begun = self._forces_sidecar or self._both.sidecar.holds_own_records
        if self._transcript is None or (self._sidecar is not None and is_begun):
            assert self._sidecar is not None  # noqa: S101 - one of the two is always locked
            return self._both.sidecar, self._sidecar
        return self._both.transcript, self._transcript


class _BothFiles:
    """How far the two files have been read, and which of their records are this log's."""

    def __init__(
        self, session_id: str, agent_id: str | None, transcript: Tail, sidecar: Tail
    ) -> None:
        self.session_id = session_id
        self.agent_id = agent_id
        self.transcript = transcript
        self.sidecar = sidecar

    @cached_property
    def header(self) -> bytes:
        """The first line of a file of this session."""
        return header_line(self.session_id)

    def read(self, *, from_start: bool, wait_for_writers: bool) -> Iterator[ParsedRecord]:
        """Yield the records not yet read; if that ends early, none of them counts as read."""

        def read(tail: Tail) -> Iterator[ParsedRecord]:
            return tail.read(wait_for_writers=wait_for_writers)

        return self._read((read, read), from_start=from_start)

    def read_locked(
        self, transcript: LockedFile | None, sidecar: LockedFile | None, *, from_start: bool
    ) -> Iterator[ParsedRecord]:
        """Do what :meth:`read` does by the handles of the locked files.

        Without its lock the transcript is missing or foreign; the sidecar then was missing.
        """

        def read_transcript(tail: Tail) -> Iterator[ParsedRecord]:
            if transcript is None:
                return tail.read(wait_for_writers=False)
            return tail.read_locked(transcript, is_foreign=False)

        def read_sidecar(tail: Tail) -> Iterator[ParsedRecord]:
            if sidecar is None:
                return tail.read_nothing()
            return tail.read_locked(sidecar, is_foreign=sidecar.owner() is Owner.ANOTHER)

        return self._read((read_transcript, read_sidecar), from_start=from_start)

    def _read(
        self, ways: tuple[_WayToRead, _WayToRead], *, from_start: bool
    ) -> Iterator[ParsedRecord]:
        transcript, sidecar = copy(self.transcript), copy(self.sidecar)
        for tail, read in zip((transcript, sidecar), ways, strict=True):
            if from_start:
                tail.restart()
            for record in read(tail):
                if self._is_ours(record, is_in_transcript=tail is transcript):
                    tail.holds_own_records |= record.is_ours
                    yield record
        self.transcript, self.sidecar = transcript, sidecar

    def _is_ours(self, record: ParsedRecord, *, is_in_transcript: bool) -> bool:
        if record.belongs_to(self.session_id, self.agent_id):
            return True
        # A sub-agent's transcript is its own, so there a record needs no agent id either.
        return is_in_transcript and record.belongs_to(self.session_id, None)
