"""The part of a session that takes results which are stored before they are a text."""

from __future__ import annotations

from typing import TYPE_CHECKING

from toolbudget._core.pure.plan import redact_part
from toolbudget._display import shown
from toolbudget.budget.requests import Requests
from toolbudget.errors import ConfigError
from toolbudget.storage.store import persist_tool_result

if TYPE_CHECKING:
    from toolbudget._core.pure import Fingerprint
    from toolbudget.limits import Limits
    from toolbudget.storage.result import ResultStream, StoredResult

__all__ = ["Streams"]


class Streams(Requests):
    """Results that come in piece by piece, and were never one text in memory."""

    @property
    def limits(self) -> Limits:
        """The limits that this session decides by."""
        return self._settings.policy.limits

    @property
    def stores_streams(self) -> bool:
        """Whether :meth:`open_stream` can be used: not with a ``redact`` hook, nor every store."""
        has_streams = hasattr(self._engine.store, "open_stream")
        return has_streams and self._settings.policy.redact is None

    def redact(self, text: str) -> str:
        """Return a text as the host's ``redact`` hook leaves it; without a hook as it is."""
        hook = self._settings.policy.redact
        return text if hook is None else redact_part(hook, text)

    def store_text(self, tool_use_id: str, text: str) -> StoredResult:
        """Store a whole text, as the ``redact`` hook leaves it, for :meth:`adopt_stored`.

        Raises:
            StoreError: It could not be stored.
        """
        self._check_open()
        return persist_tool_result(self.redact(text), tool_use_id, store=self._engine.store)

    def open_stream(self, tool_use_id: str) -> ResultStream:
        """Begin to store a result that comes in piece by piece, where all results are stored.

        Write bytes to what comes back, then ``commit()`` it and hand the outcome to
        :meth:`adopt_stored`; ``close()`` gives up what is not committed.

        Args:
            tool_use_id: The result's id, which names the file.

        Raises:
            ConfigError: The host's own store has no ``open_stream``, or there is a ``redact`` hook:
                it needs the whole text before anything is stored.
            StoreError: Nothing can be written now.
            ToolBudgetError: The session is closed.
        """
        self._check_open()
        if self._settings.policy.redact is not None:
            raise ConfigError(
                "a session with a redact hook stores no streams: it needs whole texts"
            )
        open_stream = getattr(self._engine.store, "open_stream", None)
        if open_stream is None:
            raise ConfigError(f"store has no open_stream: {shown(self._engine.store)}")
        stream: ResultStream = open_stream(tool_use_id)
        return stream

    def adopt_stored(
        self,
        tool_use_id: str,
        stored: StoredResult,
        *,
        fingerprint: Fingerprint,
        replacement: str,
    ) -> str:
        r"""Record that a result, stored already, is replaced; what comes back is what to show.

        It is a decision like any other, recorded before it is handed out: from now on
        ``replacement`` is known as a reference, which neither limit touches, and
        :meth:`result_path` finds the file.

        Args:
            tool_use_id: The result's id.
            stored: What the store said about its full text.
            fingerprint: Size and hash of that text.
            replacement: What the model is to see.

        Returns:
            ``replacement``, or the one that was recorded for the same id and text before.

        Raises:
            ConfigError: An argument could not be recorded, or ``replacement`` not be sent.
            TranscriptError: With ``strict``, when recording failed.

        Example:
            >>> import tempfile, toolbudget
            >>> session = toolbudget.Session.open(tempfile.mkdtemp(), "demo")
            >>> with session.open_stream("t1") as stream:
            ...     stream.write(b"text")
            ...     stored = stream.commit()
            >>> fingerprint = toolbudget.Fingerprint(len("text"), stored.digest)
            >>> shown = session.adopt_stored(
            ...     "t1", stored, fingerprint=fingerprint, replacement="see the file"
            ... )
            >>> session.result_path("t1").read_text(), session.state
            ('text', ContentReplacementState(replaced=1, kept=0))
        """
        self._check_open()
        held, report = self._engine.adopt(tool_use_id, fingerprint, replacement, stored)
        self._announce(report, "adopt_stored")
        self._reports.set(report)
        return held
