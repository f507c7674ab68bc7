"""The part of a session that the pipeline works with: clearing results, cutting out messages."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from toolbudget.budget.report import EnforcementReport
from toolbudget.budget.requests import Requests

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from toolbudget.budget.adopted_changes import AdoptedChanges
    from toolbudget.budget.clearing import ClearedResults, OldResult
    from toolbudget.budget.context_edits import ContextEdit

__all__ = ["Compaction"]


class Compaction(Requests):
    """What a session does when old parts of its history are to go."""

    @property
    def context_edits(self) -> tuple[ContextEdit, ...]:
        """What was cut out of the history so far, in the order in which it was."""
        return self._engine.from_ledger(lambda ledger: tuple(ledger.edits))

    @property
    def collapse_snapshot(self) -> Mapping[str, Any] | None:
        """What a collapse stage last asked to be kept; ``None`` if nothing."""
        return self._engine.from_ledger(lambda ledger: ledger.snapshot)

    def take_adopted_changes(self) -> AdoptedChanges:
        """Hand out once what another process has changed, so that it can be announced.

        Its results and messages go out from now on as that process has recorded it, although this
        one may have sent them in another form.

        Example:
            >>> import tempfile, toolbudget
            >>> session = toolbudget.Session.open(tempfile.mkdtemp(), "demo")
            >>> session.take_adopted_changes().edits
            []
        """
        return self._engine.from_ledger(lambda ledger: ledger.adopted.take())

    def reapply(self, messages: Sequence[Any]) -> Sequence[Any]:
        """Put in again what was replaced or cleared before; nothing is decided or written.

        It is for whoever sends a history without having it enforced: what the model has seen stays
        what it is.

        Args:
            messages: Everything that the next request would hold.

        Returns:
            The messages as they are if nothing is to be put in, else a list that shares every
            unchanged message.

        Raises:
            InvalidMessageError: ``messages`` cannot be a message list.

        Example:
            >>> import tempfile, toolbudget
            >>> from toolbudget.pipeline import OldResult
            >>> session = toolbudget.Session.open(tempfile.mkdtemp(), "demo")
            >>> block = {"type": "tool_result", "tool_use_id": "t1", "content": "x" * 900}
            >>> _ = session.clear_results([OldResult("t1", block["content"])])
            >>> messages = session.reapply([{"role": "user", "content": [block]}])
            >>> messages == session.enforce([{"role": "user", "content": [block]}])
            True
        """
        self._check_open()
        return self._engine.reapply(messages)

    def clear_results(self, results: Sequence[OldResult]) -> ClearedResults:
        """Clear results that the model has seen: a text naming the stored file stands in for each.

        What was never stored is stored first. From now on :meth:`enforce` gives the new text, also
        after a resume and in forks. The caller puts it into the messages of this turn.

        Args:
            results: The results as they stand in the history now, in full or as a reference.

        Returns:
            What stands in their place. A result stays as it is if it could not be stored, if the
            text would not be shorter, or if it is a reference that names no file.

        Raises:
            StoreError: With ``strict``, when storing failed; then nothing was cleared.
            TranscriptError: It could not be recorded; then nothing was cleared.

        Example:
            >>> import tempfile, toolbudget
            >>> from toolbudget.pipeline import OldResult
            >>> session = toolbudget.Session.open(tempfile.mkdtemp(), "demo")
            >>> block = {"type": "tool_result", "tool_use_id": "t1", "content": "x" * 900}
            >>> history = session.enforce([{"role": "user", "content": [block]}])
            >>> _ = session.clear_results([OldResult("t1", block["content"])])
            >>> print(session.enforce(history)[0]["content"][0]["content"][:43])
            <persisted-output>
            Old tool result cleared.
        """
        self._check_open()
        outcome = self._engine.clear_results(results)
        self._announce(EnforcementReport(failures=tuple(outcome.failures)), "clear_results")
        return outcome

    def store_results(self, results: Sequence[OldResult]) -> dict[str, str]:
        """Store in full what is about to leave the history, and record where it is.

        Args:
            results: The results as they stand in the history now, in full or as a reference.

        Returns:
            By id: the path of the full text, as the model is shown it.

        Raises:
            StoreError: One of them could not be stored.
            TranscriptError: It could not be recorded.

        Example:
            >>> import tempfile, toolbudget
            >>> from toolbudget.pipeline import OldResult
            >>> session = toolbudget.Session.open(tempfile.mkdtemp(), "demo")
            >>> paths = session.store_results([OldResult("t1", "small")])
            >>> session.result_path("t1").read_text()
            'small'
        """
        self._check_open()
        return self._engine.store_results(results)

    def record_edit(
        self,
        edit: ContextEdit | None,
        *,
        snapshot: Mapping[str, Any] | None = None,
        known_edits: int | None = None,
    ) -> None:
        """Record that messages were cut out of the history, so that every later turn cuts them out.

        Args:
            edit: What was cut out, and what stands in its place.
            snapshot: What a collapse stage wants to know again.
            known_edits: How many edits the history was known to have when this one was made. If
                another process has recorded one since, this one is about what is no more. ``None``:
                do not ask.

        Raises:
            TranscriptError: It could not be recorded, or there are more edits; then nothing has
                changed.
        """
        self._check_open()
        self._engine.record_edit(edit, snapshot, known_edits)
