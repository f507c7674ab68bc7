"""Where a conversation lives: its folder, its transcript, and what is opened there."""

from __future__ import annotations

import math
from contextlib import suppress
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from toolbudget._display import shown
from toolbudget.budget.journal import Journal
from toolbudget.budget.lineage import inherited_records
from toolbudget.budget.recorder import Recorder
from toolbudget.budget.settings import check_id
from toolbudget.errors import ConfigError, TranscriptError
from toolbudget.storage._files import POSIX
from toolbudget.storage._paths import absolute_path, refuse_unshowable
from toolbudget.storage.beginning import begin_transcript
from toolbudget.storage.names import session_name
from toolbudget.storage.record_log import RecordLog
from toolbudget.storage.session_lock import SessionLock
from toolbudget.storage.store import DirectoryStore

if TYPE_CHECKING:
    import os
    from pathlib import Path

    from toolbudget.budget.settings import Settings
    from toolbudget.storage._files import Durability, FileSystem
    from toolbudget.storage.store import ResultStore

__all__ = ["Home"]


@dataclass(frozen=True, slots=True)
class Home:
    """One conversation's place below the root of all sessions."""

    root: Path
    session_id: str
    agent_id: str | None = None
    files: FileSystem = field(default=POSIX, compare=False, repr=False)

    @classmethod
    def at(
        cls,
        root: str | os.PathLike[str],
        session_id: str,
        agent_id: str | None = None,
        *,
        files: FileSystem = POSIX,
    ) -> Home:
        """Name the place of a session, or of one of its sub-agents, and the disk it is on.

        Raises:
            ConfigError: An id cannot be used, or the root cannot be shown to a model.
        """
        session_id = check_id("session_id", session_id)
        if agent_id is not None:
            agent_id = check_id("agent_id", agent_id)
        base = absolute_path(root, "root (argument)")
        refuse_unshowable(str(base), "root")
        return cls(base, session_id, agent_id, files)

    def beside(self, session_id: str) -> Home:
        """Name the place of another session under the same root.

        Raises:
            ConfigError: ``session_id`` cannot be used.
        """
        return Home.at(self.root, session_id, files=self.files)

    def of_agent(self, agent_id: str) -> Home:
        """Name the place of a sub-agent of the session.

        Raises:
            ConfigError: ``agent_id`` cannot be used.
        """
        check_id("agent_id", agent_id)
        return Home.at(self.root, self.session_id, agent_id, files=self.files)

    @property
    def name(self) -> str:
        """The name of the session's folder."""
        return session_name(self.session_id)

    @property
    def directory(self) -> Path:
        """The session's own folder."""
        return self.root / self.name

    def results_of(self, session_id: str) -> Path:
        """Return the folder of the full texts of a session under this root."""
        return self.root / session_name(session_id) / "tool-results"

    def open_store(self, settings: Settings) -> ResultStore:
        """Return the host's store, or the session's own; nothing is made on disk yet.

        Raises:
            ConfigError: The settings or the shown path cannot be used.
        """
        if settings.store is None:
            return DirectoryStore(
                self.results_of(self.session_id),
                durability=settings.durability,
                display_path=settings.display_path,
                anchor=self.root,
                files=self.files,
                max_stored_bytes=settings.max_stored_bytes,
            )
        given = {
            "display_path": settings.display_path is not None,
            "max_stored_bytes": settings.max_stored_bytes != math.inf,
        }
        for name in (name for name, is_given in given.items() if is_given):
            problem = f"{name} (argument) belongs to the store given"
            raise ConfigError(f"{problem}: {shown(settings.store)}")
        return settings.store

    def open_log(self, settings: Settings) -> RecordLog:
        """Return the place of the records; nothing is made on disk yet."""
        return RecordLog(
            self.root,
            self.session_id,
            agent_id=self.agent_id,
            durability=settings.durability,
            force_sidecar=settings.uses_sidecar,
            files=self.files,
        )

    def open_journal(self, settings: Settings, log: RecordLog, lock: SessionLock) -> Journal:
        """Return the journal of the conversation, before its records are read.

        Raises:
            ConfigError: The settings or the shown path cannot be used.
        """
        return Journal(
            store=self.open_store(settings),
            recorder=None if settings.is_ephemeral else self._recorder(log, lock),
            lock=lock if settings.is_ephemeral and settings.store is None else None,
            session_id=self.session_id,
            strict=settings.is_strict,
            reader_hint=settings.policy.limits.reader_hint,
        )

    def _recorder(self, log: RecordLog, lock: SessionLock) -> Recorder:
        return Recorder(log, lock=lock, session_id=self.session_id, agent_id=self.agent_id)

    def exists(self) -> bool:
        """Tell whether there is such a session, or such a sub-agent, already."""
        return self._transcript().exists()

    def begin(self, parent: Journal, parent_id: str, durability: Durability) -> None:
        """Write a transcript that begins with a parent's decisions.

        Raises:
            TranscriptError: It cannot be written, or there is one already.
        """
        begin_transcript(
            self._transcript().transcript_path,
            anchor=self.root,
            session_id=self.session_id,
            records=inherited_records(
                parent, session_id=self.session_id, agent_id=self.agent_id, parent_id=parent_id
            ),
            durability=durability,
            files=self.files,
        )

    def _transcript(self) -> RecordLog:
        return RecordLog(self.root, self.session_id, agent_id=self.agent_id, files=self.files)

    def hold(self, durability: Durability) -> SessionLock:
        """Mark the session as in use, if there is anything of it yet; else its first decision will.

        Returns:
            The lock, held or not.
        """
        lock = SessionLock(self.root, self.name, durability=durability, files=self.files)
        self.hold_what_exists(lock)
        return lock

    def hold_what_exists(self, lock: SessionLock) -> None:
        """Take the lock if there is anything to protect.

        A fork that has decided nothing of its own has no folder yet, but what it began with.
        """
        lock.take(create=False)
        if lock.is_held:
            return
        with suppress(TranscriptError):
            if self._transcript().has_own_transcript():
                lock.take(create=True)
