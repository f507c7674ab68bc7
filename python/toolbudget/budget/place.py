"""The part of a session that says which conversation it is, and where its records go."""

from __future__ import annotations

from typing import TYPE_CHECKING

from toolbudget.storage.transcript import Transcript

if TYPE_CHECKING:
    from toolbudget.budget.home import Home
    from toolbudget.budget.settings import Settings
    from toolbudget.storage.record_log import RecordLog

__all__ = ["Place"]


class Place:
    """What a host needs in order to keep its messages beside the session's records."""

    _home: Home
    _log: RecordLog
    _settings: Settings

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
        return Transcript(
            self._log.path,
            session_id=self._home.session_id,
            durability=self._settings.durability,
            files=self._home.files,
            anchor=self._home.root,
        )
