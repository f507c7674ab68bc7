"""The part of a session that says which conversation it is, and where its records go."""

from __future__ import annotations

from typing import TYPE_CHECKING

from toolbudget.storage.transcript import Transcript

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

    from toolbudget.budget.home import Home
    from toolbudget.budget.settings import Settings
    from toolbudget.storage.record_log import RecordLog
    from toolbudget.storage.session_lock import SessionLock

__all__ = ["Place"]


class _SessionTranscript(Transcript):
    """A transcript that shows from its first message on that its session is in use."""

    def __init__(self, home: Home, settings: Settings, *, path: Path, lock: SessionLock) -> None:
        super().__init__(
            path,
            session_id=home.session_id,
            durability=settings.durability,
            files=home.files,
            anchor=home.root,
        )
        self._lock = lock

    def append(self, record: Mapping[str, object]) -> None:
        super().append(record)
        self._lock.take(create=True)


class Place:
    """What a host needs in order to keep its messages beside the session's records."""

    _home: Home
    _lock: SessionLock
    _log: RecordLog
    _settings: Settings

    def __repr__(self) -> str:
        """Name the place; what was decided there may be secret."""
        agent = "" if self.agent_id is None else f", agent_id={self.agent_id!r}"
        return f"{type(self).__name__}({str(self._home.root)!r}, {self.session_id!r}{agent})"

    @property
    def session_id(self) -> str:
        """The id that the session was opened with."""
        return self._home.session_id

    @property
    def agent_id(self) -> str | None:
        """The sub-agent that this is; ``None`` for the session itself."""
        return self._home.agent_id

    @property
    def transcript(self) -> Transcript | None:
        """The file that records go to; ``None`` if the session is ephemeral.

        A host may append its messages there: the session passes over them. They become as durable
        as the session's records.

        Raises:
            TranscriptError: The transcript cannot be read.

        Example:
            >>> import tempfile, toolbudget
            >>> session = toolbudget.Session.open(tempfile.mkdtemp(), "demo")
            >>> record = {"type": "user", "message": {"role": "user", "content": "hello"}}
            >>> session.transcript.append(record)
            >>> list(session.transcript.messages()) == [record]
            True
        """
        if self._settings.is_ephemeral:
            return None
        return _SessionTranscript(self._home, self._settings, path=self._log.path, lock=self._lock)
