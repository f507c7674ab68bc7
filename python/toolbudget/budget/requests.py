"""The part of a session that works on results and message lists."""

from __future__ import annotations

import time
from functools import partial
from typing import TYPE_CHECKING, Any, cast

from toolbudget._threads import in_thread
from toolbudget.budget.bodies import Bodies
from toolbudget.budget.report import EnforcementReport
from toolbudget.budget.summary import QuietTurn

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from toolbudget.budget.summary import Summary
    from toolbudget.storage.records import ParsedRecord

__all__ = ["Requests"]


class Requests(Bodies):
    """What a session does before, with and after a request."""

    def gate(
        self,
        block: Mapping[str, Any],
        *,
        tool_name: str,
        declared_limit: float | None = None,
        caller: Mapping[str, object] | None = None,
    ) -> dict[str, Any]:
        """Check one result when its tool has run; a too large one comes back as a reference.

        Args:
            block: A ``tool_result`` block. It is never changed. Anything else, a whole message or
                record too, comes back as it is.
            tool_name: The tool that made it.
            declared_limit: Limit that the tool declares, in the unit of the session's limits;
                remembered for the tool.
            caller: The call's ``caller``, if it has one: results for running code are exempt.

        Returns:
            The same object, or a copy with a new ``content``.

        Raises:
            ConfigError: ``declared_limit`` is no positive number.
            StoreError: With ``strict``, when storing failed.
            TranscriptError: With ``strict``, when recording failed.

        Example:
            >>> import tempfile, toolbudget
            >>> session = toolbudget.Session.open(tempfile.mkdtemp(), "demo")
            >>> block = {"type": "tool_result", "tool_use_id": "t1", "content": "x" * 60_000}
            >>> print(session.gate(block, tool_name="Fetch")["content"][:44])
            <persisted-output>
            Output too large (58.6KB)
        """
        started_s = time.perf_counter()
        is_small = declared_limit is None and self._engine.fits_at_once(block, tool_name)
        if is_small and not self._is_closed:
            self._reports.set(time.perf_counter() - started_s)
            return cast("dict[str, Any]", block)
        result, report = self._gate(block, tool_name, declared_limit, caller)
        self._reports.set(report)
        return result

    async def agate(
        self,
        block: Mapping[str, Any],
        *,
        tool_name: str,
        declared_limit: float | None = None,
        caller: Mapping[str, object] | None = None,
    ) -> dict[str, Any]:
        """Do what :meth:`gate` does without blocking the event loop.

        A cancelled call still runs to its end in the background: a decision is whole or not at all.
        """
        call = partial(self._gate, block, tool_name, declared_limit, caller)
        result, report = await in_thread(call)
        self._reports.set(report)
        return result

    def enforce(self, messages: Sequence[Any]) -> list[Any]:
        """Apply the budget to a message list; what comes back is the only thing to send.

        Args:
            messages: Everything that the next request would hold, as the host keeps it. Neither the
                list nor anything in it is changed.

        Returns:
            The list itself if nothing is to be changed, else a new one that shares every unchanged
            message.

        Raises:
            InvalidMessageError: ``messages`` cannot be a message list.
            StoreError: With ``strict``, when storing failed.
            TranscriptError: With ``strict``, when recording failed.

        Example:
            >>> import tempfile, toolbudget
            >>> session = toolbudget.Session.open(tempfile.mkdtemp(), "demo")
            >>> block = {"type": "tool_result", "tool_use_id": "t1", "content": "x" * 250_000}
            >>> history = [{"role": "user", "content": [block]}]
            >>> request = session.enforce(history)
            >>> session.report.replaced, session.enforce(history) == request
            (1, True)
        """
        # Without another call in between: it is the one that hosts make in every turn.
        if self._is_closed:
            self._check_open()
        output, summary = self._engine.enforce(messages)
        if type(summary) is not QuietTurn or self._settings.on_event is not None:
            self._tell(summary)
        self._reports.set(summary)
        return output

    async def aenforce(self, messages: Sequence[Any]) -> list[Any]:
        """Do what :meth:`enforce` does without blocking the event loop."""
        output, summary = await in_thread(self._enforce, messages)
        self._reports.set(summary)
        return output

    def mark_seen(self, messages: Sequence[Any]) -> None:
        """Adopt a running conversation: every undecided text result in it is kept from now on.

        Results that another program's record names follow that record.

        Raises:
            InvalidMessageError: ``messages`` cannot be a message list.
            TranscriptError: With ``strict``, when recording failed.
        """
        self._check_open()
        report = self._engine.mark_seen(messages)
        self._announce(report, "mark_seen")
        self._reports.set(report)

    def withdraw(self) -> int:
        """Take back what was kept for a request that the provider did not accept.

        Call it when the last request was refused (413, prompt too long): every kept decision about
        a result of the last enforced list that no later group follows is taken back, so that the
        next :meth:`enforce` may replace it. Replaced results stay replaced, and what
        :meth:`mark_seen` kept stays kept.

        Returns:
            How many results may be replaced now. With the same limits they are kept again, so lower
            one first (``Limits(overrides=…)``). 0 also if nothing was enforced since opening.

        Raises:
            TranscriptError: With ``strict``, when it could not be recorded; then nothing changed.

        Example:
            >>> import tempfile, toolbudget
            >>> session = toolbudget.Session.open(tempfile.mkdtemp(), "demo")
            >>> block = {"type": "tool_result", "tool_use_id": "t1", "content": "kept"}
            >>> history = session.enforce([{"role": "user", "content": [block]}])
            >>> session.withdraw()
            1
            >>> session.state
            ContentReplacementState(replaced=0, kept=0)
        """
        self._check_open()
        withdrawn, failure = self._engine.withdraw()
        report = EnforcementReport(failures=() if failure is None else (failure,))
        self._announce(report, "withdraw")
        self._reports.set(report)
        return withdrawn

    def trim(self) -> None:
        """Let go of the messages, texts and bodies that are kept from turn to turn.

        They make the next turn cheap and keep alive what the host has replaced or dropped, in the
        mode ``append_only`` the whole conversation and what was made of it. No decision is
        forgotten: the next turn costs a full pass, and a replaced message is another object then.

        Example:
            >>> import tempfile, toolbudget
            >>> session = toolbudget.Session.open(tempfile.mkdtemp(), "s", history="append_only")
            >>> messages = session.enforce([{"role": "user", "content": "hello"}])
            >>> session.trim()
        """
        self._engine.trim()

    def adopt_records(self, records: Iterable[ParsedRecord]) -> None:
        """Take over decisions that are recorded somewhere else than under this session's root.

        What this session has decided stands before them. Those of another program are bound to a
        text, and recorded, at their first application.
        """
        self._engine.apply_records(records)

    def _gate(
        self,
        block: Mapping[str, Any],
        tool_name: str,
        declared_limit: float | None,
        caller: Mapping[str, object] | None,
    ) -> tuple[dict[str, Any], EnforcementReport]:
        self._check_open()
        result, report = self._engine.gate(block, tool_name, declared_limit, caller)
        self._announce(report, "gate")
        return result, report

    def _enforce(self, messages: Sequence[Any]) -> tuple[list[Any], Summary | QuietTurn]:
        self._check_open()
        output, summary = self._engine.enforce(messages)
        self._tell(summary)
        return output, summary

    def _tell(self, summary: Summary | QuietTurn) -> None:
        if summary.failures or summary.newly_replaced or self._settings.on_event is not None:
            told = summary.report() if isinstance(summary, QuietTurn) else summary
            self._announce(told, "enforce")
