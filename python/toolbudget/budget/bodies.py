"""The part of a session that works on request bodies and transcripts as raw bytes."""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal, TypeVar

from toolbudget import _core as core
from toolbudget._threads import in_thread
from toolbudget.budget.events import announce
from toolbudget.budget.last_body import Output
from toolbudget.budget.place import Place
from toolbudget.errors import ToolBudgetError

if TYPE_CHECKING:
    from toolbudget.budget.engine import Engine
    from toolbudget.budget.report import EnforcementReport, Operation
    from toolbudget.budget.scope import PerCaller
    from toolbudget.budget.summary import QuietTurn, Summary

__all__ = ["Bodies"]

_Made = TypeVar("_Made")


def _whole() -> Output[bytes]:
    return Output(core.rewrite_json, lambda body: body)


def _segments() -> Output[list[bytes | memoryview]]:
    return Output(core.rewrite_json_segments, lambda body: [body])


def _nothing() -> Output[None]:
    return Output(lambda _scan, _changes: None, lambda _body: None)


class Bodies(Place):
    """What a session does with bytes; it decides as it does about message lists."""

    _engine: Engine
    _is_closed: bool
    _reports: PerCaller[EnforcementReport | Summary | QuietTurn | float]

    def enforce_json(self, body: bytes) -> bytes:
        r"""Apply the budget to a request body, a list of messages or the records of a transcript.

        It decides as :meth:`enforce` does about the same messages, and both may be called in turn.
        Nothing is parsed into objects; only the content of what is replaced becomes other bytes.
        The last body is kept, so that what the next one has in common with it is known.

        Args:
            body: JSON in UTF-8: an object with ``messages``, a list of messages, or objects one
                after the other (JSON lines).

        Returns:
            The body itself if nothing is to be changed, else one in which every byte outside of
            replaced contents is as it was. New texts are written in ASCII.

        Raises:
            InvalidMessageError: ``body`` is malformed or holds no messages; the message names the
                byte, and nothing was decided.
            StoreError: With ``strict``, when storing failed.
            TranscriptError: With ``strict``, when recording failed.

        Example:
            >>> import tempfile, toolbudget
            >>> session = toolbudget.Session.open(tempfile.mkdtemp(), "demo")
            >>> body = b'{ "max_tokens": 1e3, "messages": [{"role":"user","content":"hello"}] }'
            >>> session.enforce_json(body) is body
            True
            >>> session.enforce_json(b'{"messages": [NaN]}')
            Traceback (most recent call last):
                ...
            toolbudget.errors.InvalidMessageError: not JSON: expecting a value at byte 14
        """
        output, report = self._enforce_json(body, _whole())
        self._reports.set(report)
        return output

    async def aenforce_json(self, body: bytes) -> bytes:
        """Do what :meth:`enforce_json` does without blocking the event loop."""
        output, report = await in_thread(self._enforce_json, body, _whole())
        self._reports.set(report)
        return output

    def enforce_json_segments(self, body: bytes) -> list[bytes | memoryview]:
        """Do what :meth:`enforce_json` does, without joining the pieces of a changed body.

        What is not replaced comes as views of ``body``, for ``os.writev`` or a client that sends an
        iterable. For large bodies that is several times as fast as one new object.

        Example:
            >>> import tempfile, toolbudget
            >>> limits = toolbudget.Limits(max_message_chars=5_000)
            >>> session = toolbudget.Session.open(tempfile.mkdtemp(), "demo", limits=limits)
            >>> block = b'{"type":"tool_result","tool_use_id":"t1","content":"%s"}' % (b"x" * 9_000)
            >>> body = b'{"messages":[{"role":"user","content":[%s]}]}' % block
            >>> pieces = session.enforce_json_segments(body)
            >>> [type(piece).__name__ for piece in pieces]
            ['memoryview', 'bytes', 'memoryview']
            >>> b"".join(pieces) == session.enforce_json(body)
            True
        """
        output, report = self._enforce_json(body, _segments())
        self._reports.set(report)
        return output

    async def aenforce_json_segments(self, body: bytes) -> list[bytes | memoryview]:
        """Do what :meth:`enforce_json_segments` does without blocking the event loop."""
        output, report = await in_thread(self._enforce_json, body, _segments())
        self._reports.set(report)
        return output

    def mark_seen_json(self, body: bytes) -> None:
        r"""Adopt a running conversation as :meth:`mark_seen` does, from a body or a transcript.

        Every undecided text result in it is kept from now on; results that another program's record
        names follow that record.

        Args:
            body: As for :meth:`enforce_json`.

        Raises:
            InvalidMessageError: ``body`` is malformed or holds no messages; the message names the
                byte, and nothing was decided.
            TranscriptError: With ``strict``, when recording failed.

        Example:
            >>> import tempfile, toolbudget
            >>> session = toolbudget.Session.open(tempfile.mkdtemp(), "demo")
            >>> block = b'{"type":"tool_result","tool_use_id":"t1","content":"%s"}' % (
            ...     b"x" * 300_000
            ... )
            >>> session.mark_seen_json(b'{"messages":[{"role":"user","content":[%s]}]}' % block)
            >>> session.state
            ContentReplacementState(replaced=0, kept=1)
        """
        _, report = self._enforce_json(body, _nothing(), rule="seen")
        self._reports.set(report)

    def _enforce_json(
        self, body: bytes, output: Output[_Made], rule: Literal["seen"] | None = None
    ) -> tuple[_Made, EnforcementReport]:
        self._check_open()
        made, report = self._engine.enforce_json(body, output, rule)
        self._announce(report, "enforce_json" if rule is None else "mark_seen")
        return made, report

    def _announce(self, report: EnforcementReport | Summary, operation: Operation) -> None:
        announce(
            report,
            self._settings.on_event,
            operation=operation,
            session_id=self._home.session_id,
        )

    def _check_open(self) -> None:
        if self._is_closed:
            raise ToolBudgetError(f"session is closed: {self._home.session_id!r}")
