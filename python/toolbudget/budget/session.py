"""The façade that a host needs: one conversation with its state, store and transcript."""

from __future__ import annotations

import logging
import math
import weakref
from pathlib import Path
from typing import TYPE_CHECKING, Final, Literal, NoReturn, Self

from toolbudget._display import shown
from toolbudget._threads import in_thread
from toolbudget.budget.compaction import Compaction
from toolbudget.budget.engine import Engine
from toolbudget.budget.home import Home
from toolbudget.budget.policy import Policy
from toolbudget.budget.reading import Reading
from toolbudget.budget.report import EnforcementReport
from toolbudget.budget.scope import PerCaller
from toolbudget.budget.settings import Settings
from toolbudget.budget.state import ContentReplacementState
from toolbudget.budget.streams import Streams
from toolbudget.continuation.turn import TurnBudget
from toolbudget.errors import ConfigError
from toolbudget.limits import DeclaredLimits, Limits, durability_from_environment
from toolbudget.limits.validation import choice

if TYPE_CHECKING:
    import os
    from collections.abc import Callable, Mapping
    from types import TracebackType

    from toolbudget.budget.report import Event
    from toolbudget.budget.summary import QuietTurn, Summary
    from toolbudget.storage._files import Durability
    from toolbudget.storage.record_log import RecordLog
    from toolbudget.storage.session_lock import SessionLock
    from toolbudget.storage.store import ResultStore

__all__ = ["Session"]

logger: Final = logging.getLogger("toolbudget")


class Session(Compaction, Streams, Reading):
    r"""One conversation: decides about tool results and remembers what it decided.

    Safe to use from many threads and tasks. Open it with :meth:`open`.

    Example:
        >>> import tempfile, toolbudget
        >>> root = tempfile.mkdtemp()
        >>> with toolbudget.Session.open(root, "demo") as session:
        ...     block = {"type": "tool_result", "tool_use_id": "t1", "content": "x" * 60_000}
        ...     small = session.gate(block, tool_name="Fetch")
        ...     messages = session.enforce([{"role": "user", "content": [small]}])
        >>> small["content"].splitlines()[0]
        '<persisted-output>'
    """

    def __init__(
        self,
        home: Home,
        settings: Settings,
        *,
        log: RecordLog,
        lock: SessionLock,
        engine: Engine,
    ) -> None:
        """Join the parts; hosts call :meth:`open`."""
        self._home = home
        self._settings = settings
        self._log = log
        self._engine = engine
        self._is_closed = False
        # Of a call that did nothing it is only the seconds that it took.
        self._reports: PerCaller[EnforcementReport | Summary | QuietTurn | float] = PerCaller(
            EnforcementReport()
        )
        self.turn_budget = TurnBudget()
        """Output tokens of the turn that runs, and the budget that its user gave."""
        self._lock = lock
        # Released when the session is closed or forgotten, at the latest with the process.
        self._release = weakref.finalize(self, lock.release)

    @classmethod
    def open(
        cls,
        root: str | os.PathLike[str],
        session_id: str,
        *,
        limits: Limits | None = None,
        declared_limits: Mapping[str, float] | None = None,
        agent_id: str | None = None,
        parent: Session | ContentReplacementState | None = None,
        ephemeral: bool = False,
        durability: Durability | None = None,
        transcript: Literal["sidecar"] | None = None,
        store: ResultStore | None = None,
        display_path: Callable[[Path], str] | None = None,
        redact: Callable[[str], str] | None = None,
        on_event: Callable[[Event], object] | None = None,
        strict: bool = False,
        max_stored_bytes: float = math.inf,
        unrecorded: Literal["history", "fresh"] = "history",
        history: Literal["verified", "append_only"] = "verified",
    ) -> Self:
        """Open a conversation: a new one, or one that goes on from its records.

        Nothing is created on disk before something is decided.

        Args:
            root: Folder of all sessions; full texts go to ``<root>/<session>/tool-results``.
            session_id: Any text; ids that cannot be file names are mapped to safe ones.
            limits: ``None`` takes them from the environment.
            declared_limits: Limits that the host's tools declare, in the unit of ``limits``;
                infinite exempts.
            agent_id: Resume this sub-agent of the session; :meth:`subagent` begins a new one.
            parent: The session (or its state) that the sub-agent came from. Its replacements fill
                gaps for ids that occur in the sub-agent's messages, unless its own records begin
                with the parent's decisions. Its cuts hold too, if there are no own records at all.
            ephemeral: Write no records: what is decided is forgotten with the object.
            durability: ``full`` survives power loss, ``data`` does on most file systems,
                ``process`` survives a killed process. ``None`` asks ``TOOLBUDGET_DURABILITY``,
                else it is ``full``.
            transcript: ``"sidecar"`` keeps records apart even where the transcript is our own.
            store: Where full texts go instead of the session's folder.
            display_path: Maps a stored file's path to the one that the model is shown; a ``store``
                of the host's own has its own mapping.
            redact: Changes a text before it is stored or previewed; what is decided is about the
                original.
            on_event: Told of what each call did, after the fact; see ``Event``.
            strict: Raise failures instead of sending full content.
            max_stored_bytes: What the session's folder may hold in stored results, those of its
                sub-agents too; a fork has a folder of its own. What does not fit stays in full, and
                the report has a ``StoreQuotaError`` among its ``failures``.
            unrecorded: What a result without a record is in the first enforcement of a resumed
                conversation: ``"history"`` keeps what a later assistant message has answered,
                ``"fresh"`` decides about all of them.
            history: ``"verified"`` looks at every message in every turn, so that no edit in place
                is missed. ``"append_only"`` is the host's promise not to change a message in place,
                nor what was made of it, once an assistant message follows; then a turn costs what
                is new. Other messages, fewer or in another order are noticed by both.

        Raises:
            ConfigError: An argument or environment variable cannot be used.
            TranscriptError: The transcript cannot be read.
        """
        limits = Limits.from_environment() if limits is None else limits
        level = durability_from_environment(durability)
        if transcript is not None:
            choice(transcript, "transcript", ("sidecar",))
        if parent is not None and agent_id is None:
            raise ConfigError(f"parent (argument) goes with agent_id: {shown(parent)}")
        if not isinstance(parent, (Session, ContentReplacementState, type(None))):
            raise ConfigError(f"parent (argument) must be a session or its state: {shown(parent)}")
        settings = Settings(
            policy=Policy(limits, DeclaredLimits(declared_limits), redact),
            durability=level,
            is_ephemeral=ephemeral,
            uses_sidecar=transcript == "sidecar",
            store=store,
            display_path=display_path,
            on_event=on_event,
            is_strict=strict,
            max_stored_bytes=max_stored_bytes,
            unrecorded=unrecorded,
            history=history,
        )
        return cls._resume(Home.at(root, session_id, agent_id), settings, parent)

    @classmethod
    def _resume(
        cls, home: Home, settings: Settings, parent: Session | ContentReplacementState | None
    ) -> Self:
        log, lock = home.open_log(settings), home.hold(settings.durability)
        with lock.given_back_on_failure():
            journal = home.open_journal(settings, log, lock)
            journal.apply_records(log.load())
            journal.ledger.adopted.take()  # nothing has been sent by this object yet
            for path, skipped_lines in log.skipped_by_file.items():
                logger.warning("%s: %d damaged lines skipped", path, skipped_lines)
            keeps_history = settings.unrecorded == "history"
            engine = Engine(
                journal, settings.policy, keeps_history=keeps_history, history=settings.history
            )
            if isinstance(parent, Session):
                engine.expect_cuts(parent._engine)  # noqa: SLF001 - of the same class
                engine.expect_gaps(parent.state)
            elif parent is not None:
                engine.expect_gaps(parent.clone())
            return cls(home, settings, log=log, lock=lock, engine=engine)

    def fork(self, session_id: str, *, ephemeral: bool = False) -> Self:
        """Begin a session of its own that shares every decision so far.

        Its transcript begins with the decisions of this one; new files go to its own folder. What
        either of them decides from now on does not touch the other.

        Args:
            session_id: The new session's id.
            ephemeral: Write no records for the fork.

        Raises:
            ConfigError: ``session_id`` cannot be used, or there is such a session already.
            TranscriptError: The fork's transcript cannot be written.

        Example:
            >>> import tempfile, toolbudget
            >>> session = toolbudget.Session.open(tempfile.mkdtemp(), "main")
            >>> fork = session.fork("what-if")
            >>> fork.state == session.state
            True
        """
        return self._branch(self._home.beside(session_id), "session_id", ephemeral=ephemeral)

    def subagent(self, agent_id: str, *, ephemeral: bool = False) -> Self:
        """Begin a sub-agent's chain, which shares every decision so far.

        Its records go to ``<root>/<session>/subagents``, its files to the session's folder.

        Args:
            agent_id: The sub-agent's id.
            ephemeral: Write no records for the sub-agent.

        Raises:
            ConfigError: ``agent_id`` cannot be used, or there is such a sub-agent already.
            TranscriptError: Its transcript cannot be written.

        Example:
            >>> import tempfile, toolbudget
            >>> session = toolbudget.Session.open(tempfile.mkdtemp(), "main")
            >>> session.subagent("explore").transcript_path.name
            'agent-explore.jsonl'
        """
        return self._branch(self._home.of_agent(agent_id), "agent_id", ephemeral=ephemeral)

    def _branch(self, home: Home, argument: str, *, ephemeral: bool) -> Self:
        self._check_open()
        if home == self._home or home.exists():
            taken = home.session_id if home.agent_id is None else home.agent_id
            raise ConfigError(f"{argument} (argument) exists already: {shown(taken)}")
        settings = self._settings.for_child(is_ephemeral=ephemeral)
        # What another process has decided is shared too.
        self._engine.apply_new_records(self._log)
        log, lock = home.open_log(settings), home.hold(settings.durability)
        with lock.given_back_on_failure():
            journal = home.open_journal(settings, log, lock)
            engine = self._engine.branch(journal, settings.policy)
            if home.name != self._home.name:
                self._lock.note_fork()
                if ephemeral:
                    self._lock.lend_to(lock)
            if not ephemeral:
                home.begin(journal, self._home.session_id, settings.durability)
                home.hold_what_exists(lock)
                # Read back, so that the log knows how far it has been followed.
                engine.apply_records(log.load())
            return type(self)(home, settings, log=log, lock=lock, engine=engine)

    @property
    def state(self) -> ContentReplacementState:
        """A copy of every decision so far."""
        return self._engine.state()

    @property
    def report(self) -> EnforcementReport:
        """What the last call of this task or thread did.

        Example:
            >>> import tempfile, toolbudget
            >>> session = toolbudget.Session.open(tempfile.mkdtemp(), "demo")
            >>> block = {"type": "tool_result", "tool_use_id": "t1", "content": "x" * 60_000}
            >>> _ = session.gate(block, tool_name="Fetch")
            >>> session.report.replaced, session.report.bytes_stored
            (1, 60000)
        """
        known = self._reports.get()
        if isinstance(known, EnforcementReport):
            return known
        report = EnforcementReport(elapsed_s=known) if isinstance(known, float) else known.report()
        self._reports.set(report)
        return report

    @property
    def directory(self) -> Path:
        """The session's own folder."""
        return self._home.directory

    @property
    def transcript_path(self) -> Path:
        """The file that records go to as things are now; it need not exist yet.

        Raises:
            TranscriptError: The transcript cannot be read.
        """
        return self._log.path

    def result_path(self, tool_use_id: str) -> Path | None:
        """Return where the full text of an id's latest replaced result is, by the records.

        ``None`` if no record names a file, or the host's own store keeps it where it will.

        Example:
            >>> import tempfile, toolbudget
            >>> session = toolbudget.Session.open(tempfile.mkdtemp(), "demo")
            >>> block = {"type": "tool_result", "tool_use_id": "t1", "content": "x" * 60_000}
            >>> _ = session.gate(block, tool_name="Fetch")
            >>> session.result_path("t1").name, session.result_path("t2")
            ('t1.txt', None)
        """
        file = self._engine.latest_file(tool_use_id)
        if file is None:
            return None
        if file.session_id != self._home.session_id:
            return self._home.results_of(file.session_id) / file.name
        folder = getattr(self._engine.store, "directory", None)
        return None if folder is None else Path(folder) / file.name

    def close(self) -> None:
        """End the use of this object; what is on disk stays.

        Example:
            >>> import tempfile, toolbudget
            >>> with toolbudget.Session.open(tempfile.mkdtemp(), "demo") as session:
            ...     _ = session.enforce([])
            >>> session.enforce([])
            Traceback (most recent call last):
                ...
            toolbudget.errors.ToolBudgetError: session is closed: 'demo'
        """
        self._is_closed = True
        if not self._release.alive:
            return
        try:
            failure = self._engine.flush()
            if failure is not None:
                logger.warning("%s", failure)
        finally:
            self._lock.release()
        # Last, so that a call after an interrupted one does what is left.
        self._release.detach()

    def __reduce__(self) -> NoReturn:
        """Refuse to be copied or pickled: closing the one would give back the lock of the other."""
        raise TypeError("a session cannot be copied or pickled: open it again, or fork it")

    def __enter__(self) -> Self:
        """Use the session as a context manager."""
        return self

    def __exit__(
        self,
        exception_type: type[BaseException] | None,
        exception: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        """Close the session."""
        self.close()

    async def __aenter__(self) -> Self:
        """Use the session as an asynchronous context manager."""
        return self

    async def __aexit__(
        self,
        exception_type: type[BaseException] | None,
        exception: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        """Close the session without blocking the event loop."""
        await in_thread(self.close)
