"""Where a run keeps things: the root, the session in it, and the session's store."""

from __future__ import annotations

import os
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from toolbudget.budget.session import Session
from toolbudget.limits import durability_from_environment
from toolbudget.storage._files import POSIX
from toolbudget.storage.log_file import LogFile
from toolbudget.storage.names import session_name
from toolbudget.storage.result import StoredResult
from toolbudget.storage.session_lock import SessionLock
from toolbudget.storage.store import DirectoryStore, is_stored_as_json

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from toolbudget.cli.reading import Input
    from toolbudget.errors import StoreError
    from toolbudget.limits import Limits
    from toolbudget.storage._files import Durability
    from toolbudget.storage.encoding import Content

__all__ = ["CountingStore", "Workspace", "default_root"]


def default_root() -> str:
    """Return the folder of all sessions in the user's data folder."""
    from platformdirs import user_data_path

    return str(user_data_path("toolbudget", appauthor=False) / "sessions")


@dataclass(frozen=True, slots=True)
class Workspace:
    """One session under a root.

    Attributes:
        root: The folder of all sessions, absolute.
        session_id: Which session.
        limits: The limits in force.
        declared_limits: Limits that the command line declares for tools.
        durability: How durable results, records and output are.
    """

    root: Path
    session_id: str
    limits: Limits
    declared_limits: Mapping[str, float]
    durability: Durability

    @classmethod
    def at(
        cls, root: str, session_id: str, *, limits: Limits, declared_limits: Mapping[str, float]
    ) -> Workspace:
        """Make a workspace; nothing is created on disk.

        Raises:
            ConfigError: The environment names no such durability.
        """
        base = Path(os.path.abspath(root))  # noqa: PTH100 - no symlink is to be resolved
        return cls(base, session_id, limits, declared_limits, durability_from_environment())

    @property
    def name(self) -> str:
        """The name of the session's folder."""
        return session_name(self.session_id)

    @property
    def results(self) -> Path:
        """The folder of the full texts."""
        return self.root / self.name / "tool-results"

    def open_session(self, store: CountingStore, *, source: Input) -> Session:
        """Open the session to decide in it.

        Args:
            store: Where full texts go.
            source: What is being read; records never go into it, by whatever path it was named.

        Raises:
            ConfigError: The root cannot be used.
            TranscriptError: The session's records cannot be read.
        """
        transcript = LogFile(
            self.root / f"{self.name}.jsonl",
            anchor=self.root,
            durability=self.durability,
            files=POSIX,
        )
        is_input = transcript.identity() == source.identity
        return Session.open(
            self.root,
            self.session_id,
            limits=self.limits,
            declared_limits=self.declared_limits,
            durability=self.durability,
            store=store,
            transcript="sidecar" if is_input else None,
            unrecorded="fresh",
        )

    def open_rehearsal(self) -> Session:
        """Open the session to see what would be decided: it writes neither texts nor records.

        Raises:
            ConfigError: The root cannot be used.
            TranscriptError: The session's records cannot be read.
        """
        return Session.open(
            self.root,
            self.session_id,
            limits=self.limits,
            declared_limits=self.declared_limits,
            ephemeral=True,
            store=_RehearsalStore(self.results, anchor=self.root),
            unrecorded="fresh",
        )

    def mark_output(self) -> None:
        """Let a clean-up see that the folder with our output is ours.

        A run that replaces nothing records nothing, and the name of its output proves nothing.
        """
        lock = SessionLock(self.root, self.name, durability=self.durability)
        lock.take(create=True)
        lock.release()

    def open_store(self) -> CountingStore:
        """Return the store of the session's full texts.

        Raises:
            ConfigError: A path below the root could not be shown to a model.
        """
        return CountingStore(self.results, durability=self.durability, anchor=self.root)


class CountingStore(DirectoryStore):
    """A directory store that knows what it has newly written."""

    new_files = 0
    new_bytes = 0

    def put_many(self, items: Sequence[tuple[str, Content]]) -> list[StoredResult | StoreError]:
        """Store several results as one batch."""
        outcomes = super().put_many(items)
        for outcome in outcomes:
            if isinstance(outcome, StoredResult) and outcome.is_new:
                self.new_files += 1
                self.new_bytes += outcome.size_bytes
        return outcomes


class _RehearsalStore(DirectoryStore):
    """Says where results would be stored, unless their plain file names are taken."""

    def put_many(self, items: Sequence[tuple[str, Content]]) -> list[StoredResult | StoreError]:
        return [self._expect(tool_use_id, content) for tool_use_id, content in items]

    def _expect(self, tool_use_id: str, content: Content) -> StoredResult:
        path = self.expected_shown_path(tool_use_id, is_json=is_stored_as_json(content))
        return StoredResult(Path(path), size_bytes=0, digest="")
