"""The engine of a session: gate, budget and withdrawal under one lock."""

from __future__ import annotations

import time
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, Any, Literal, TypeVar

from toolbudget import _core as core
from toolbudget._core import pure
from toolbudget._core.pure import Key
from toolbudget.budget.adopting import adopt, check_adoption
from toolbudget.budget.aggregate import changes_of
from toolbudget.budget.clearing import ClearedResults, plan_clearing, plan_storing
from toolbudget.budget.gating import Gating
from toolbudget.budget.history import History
from toolbudget.budget.last import LastEnforced
from toolbudget.budget.last_body import LastBody
from toolbudget.budget.policy import RunningOptions
from toolbudget.budget.reapplying import reapply
from toolbudget.budget.settings import check_text, plain_body
from toolbudget.budget.summary import NOTHING, empty_turn, quiet_turn, report_of, summary_of

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence

    from toolbudget._core.pure import Fingerprint, Plan, PlanOptions
    from toolbudget.budget.clearing import OldResult
    from toolbudget.budget.context_edits import ContextEdit
    from toolbudget.budget.history import HistoryMode, Turn
    from toolbudget.budget.journal import Journal
    from toolbudget.budget.last_body import Output
    from toolbudget.budget.ledger import ContextLedger
    from toolbudget.budget.policy import Policy
    from toolbudget.budget.report import EnforcementReport, Failure
    from toolbudget.budget.state import ContentReplacementState
    from toolbudget.budget.stored_files import StoredFile
    from toolbudget.budget.summary import QuietTurn, Summary
    from toolbudget.budget.transaction import Transaction
    from toolbudget.storage.record_log import RecordLog
    from toolbudget.storage.records import ParsedRecord
    from toolbudget.storage.result import StoredResult
    from toolbudget.storage.store import ResultStore

__all__ = ["Engine"]

_Made = TypeVar("_Made")


class Engine(Gating):
    """Takes every decision of one session, one at a time.

    Args:
        journal: State, record log and store.
        policy: Limits and hooks.
        keeps_history: In the first enforcement of a session with records, a result without one is
            kept if a later group follows it; afterwards what is undecided is fresh.
        history: Whether messages may change in place; see :class:`History`.
    """

    def __init__(
        self,
        journal: Journal,
        policy: Policy,
        *,
        keeps_history: bool,
        history: HistoryMode = "verified",
    ) -> None:
        """Begin before the first enforcement."""
        super().__init__(journal, policy)
        self._keeps_history = keeps_history
        self._parent_state: ContentReplacementState | None = None
        self._history = History(history)
        self._last = LastEnforced()
        self._last_body: LastBody | None = None
        self._running_options = RunningOptions(policy, journal.store)

    @property
    def store(self) -> ResultStore:
        """Where full texts go."""
        return self._journal.store

    def state(self) -> ContentReplacementState:
        """Return a copy of every decision so far."""
        with self._lock:
            return self._journal.state.clone()

    def latest_file(self, tool_use_id: str) -> StoredFile | None:
        """Return where the full text of an id's latest replaced result is."""
        with self._lock:
            return self._journal.latest_file(tool_use_id)

    def stored_files(self) -> dict[StoredFile, str]:
        """Return every file that a record names, in order, with its result's id."""
        with self._lock:
            return self._journal.stored_files()

    def apply_records(self, records: Iterable[ParsedRecord]) -> None:
        """Take over what records say."""
        with self._deciding():
            self._journal.apply_records(records)

    def apply_new_records(self, log: RecordLog) -> None:
        """Take over what others have recorded since the last reading."""
        # Read under the lock: what is read is no longer new, and a decision waits for nobody.
        with self._deciding():
            self._journal.apply_records(log.read_new())

    def flush(self) -> Failure | None:
        """Record what no record holds yet, because an append has failed."""
        if self._is_torn:
            return None  # what is owed is the parent's to record
        with self._deciding():
            return self._journal.flush()

    def expect_gaps(self, parent_state: ContentReplacementState) -> None:
        """Fill gaps from a parent's replacements in the first enforcement, if there are any."""
        if not self._journal.is_begun_by_parent:
            self._parent_state = parent_state

    def expect_cuts(self, parent: Engine) -> None:
        """Begin with what a parent has cut out of its history, unless something was sent before."""
        if parent is self or self._journal.has_records:
            return
        with parent._deciding():
            if parent._journal.ledger.edits:
                self._journal.inherit_cuts(parent._journal)

    def branch(self, journal: Journal, policy: Policy) -> Engine:
        """Return an engine that goes on separately from what this one knows."""
        with self._deciding():
            journal.inherit(self._journal)
            keeps_history = self._keeps_history and self._journal.has_records
            mode = self._history.mode
            return Engine(journal, policy, keeps_history=keeps_history, history=mode)

    def adopt(
        self, tool_use_id: str, fingerprint: Fingerprint, replacement: str, stored: StoredResult
    ) -> tuple[str, EnforcementReport]:
        """Decide that a result, stored already, is replaced; return what holds."""
        check_text("tool_use_id", tool_use_id)
        check_adoption(stored, fingerprint, replacement)
        with self._deciding():
            return adopt(self._journal, Key(tool_use_id, fingerprint), replacement, stored)

    def reapply(self, messages: Sequence[Any]) -> Sequence[Any]:
        """Put in again what was decided before; see :meth:`Session.reapply`."""
        with self._deciding():
            self._fill_gaps(messages)
            return reapply(self._journal, self.policy, messages)

    def enforce(self, messages: Sequence[Any]) -> tuple[list[Any], Summary | QuietTurn]:
        """Apply the budget to a message list."""
        started_s = time.perf_counter()
        journal = self._journal
        options = self._running_options.current()
        with self._deciding():
            if not messages and type(messages) is list and not self._expects_first:
                self._last.set_messages((), ())
                self._last_body = None
                return messages, empty_turn(options, started_s=started_s)
            turn = self._history.begin(messages)
            plan = self._plan(turn, options)
            done: Transaction | None = None
            if not journal.keep_at_once(plan):
                make_plan = partial(self._plan, turn, options)
                done = journal.transact(make_plan, keeps_failed=True, plan=plan)
                plan = done.plan
            journal.fingerprints = plan.fingerprints
            past, self._last_body = turn.past, None
            self._last.set_messages(() if past is None else past.inputs, turn.part)
            self._keeps_history = False
            output = turn.rewrite(changes_of(plan, done.outcome) if done else plan.changes)
            # What was only kept changes nothing about results that are decided.
            self._history.keep(turn, self._token(options) if done else turn.token)
            before = NOTHING if past is None else past.sums
        if done is None:
            return output, quiet_turn(plan, options, started_s=started_s, before=before)
        return output, summary_of(done, options, started_s=started_s, before=before)

    @property
    def _expects_first(self) -> bool:
        """Whether even an enforcement without messages has something to do."""
        is_first = self._keeps_history or self._parent_state is not None
        return is_first or self._journal.owes_records

    def _plan(self, turn: Turn, options: PlanOptions) -> Plan:
        if self._parent_state is not None:
            self._fill_gaps(turn.messages)
        asked = self._with_rule(options) if self._keeps_history else options
        return turn.plan(self._journal, asked, self._token(options))

    def mark_seen(self, messages: Sequence[Any]) -> EnforcementReport:
        """Keep whatever is undecided in a message list."""
        started_s = time.perf_counter()
        journal = self._journal
        options = self.policy.plan_options(journal.store, "seen")

        def make_plan() -> Plan:
            self._fill_gaps(messages)
            return core.plan(messages, journal.state.known(journal.fingerprints), options)

        with self._deciding():
            done = journal.transact(make_plan, keeps_failed=True, marks_seen=True)
            journal.fingerprints = done.plan.fingerprints
            self._last.set_messages((), tuple(messages))
            self._last_body = None
        return report_of(done, options, started_s=started_s)

    def enforce_json(
        self, body: bytes, output: Output[_Made], rule: Literal["seen"] | None = None
    ) -> tuple[_Made, EnforcementReport]:
        """Apply the budget to a body; ``output`` says in which form it goes out."""
        started_s = time.perf_counter()
        body = plain_body(body)
        journal = self._journal
        options = self._running_options.current()
        options = options if rule is None else replace(options, rule=rule)
        with self._deciding():
            # Dropped by `enforce`, so that it is looked up under the lock.
            last = self._last_body
            if last is None:
                last = self._last_body = LastBody()
            last.begin(body)
            if self._parent_state is not None:
                self._fill_gaps(pure.scan_json(body).messages)

            def current_options() -> PlanOptions:
                return self._with_rule(options) if rule is None else options

            again = None if journal.owes_records else last.report(journal.state, current_options())
            if again is not None:
                self._last.set_body(body)
                made = last.put_together_again(body, output)
                elapsed_s = time.perf_counter() - started_s
                is_overridden = rule is None and options.is_limit_overridden
                return made, replace(again, elapsed_s=elapsed_s, is_limit_overridden=is_overridden)
            done = journal.transact(
                lambda: last.plan(journal.state, current_options()),
                keeps_failed=True,
                marks_seen=rule == "seen",
            )
            self._last.set_body(body)
            if rule is None:
                self._keeps_history = False
            # Before another call takes over what is known about this body.
            made = last.put_together(body, changes_of(done.plan, done.outcome), output)
            report = report_of(done, options, started_s=started_s)
            last.settle(done.plan, report)
        return made, report

    def clear_results(self, results: Sequence[OldResult]) -> ClearedResults:
        """Clear results for good; see :meth:`Session.clear_results`."""
        outcome = ClearedResults()
        journal, redact = self._journal, self.policy.redact
        with self._deciding():
            journal.change_context(lambda: plan_clearing(journal, results, outcome, redact))
            # The caller announces these, whoever was the first to clear them.
            journal.ledger.adopted.leave_out(outcome.texts.values())
        return outcome

    def store_results(self, results: Sequence[OldResult]) -> dict[str, str]:
        """Store results in full; see :meth:`Session.store_results`."""
        paths: dict[str, str] = {}
        journal, redact = self._journal, self.policy.redact
        with self._deciding():
            journal.change_context(lambda: plan_storing(journal, results, paths, redact))
        return paths

    def record_edit(
        self,
        edit: ContextEdit | None,
        snapshot: Mapping[str, Any] | None,
        known_edits: int | None,
    ) -> None:
        """Record what was cut out of the history."""
        ledger = self._journal.ledger
        with self._deciding():
            self._journal.change_context(lambda: ledger.change(edit, snapshot, known_edits))

    def from_ledger(self, read: Callable[[ContextLedger], _Made]) -> _Made:
        """Return something of what is known beside the decisions."""
        with self._lock:
            return read(self._journal.ledger)

    def withdraw(self) -> tuple[int, Failure | None]:
        """Take back what was kept for the last enforced list and no later group follows.

        Returns:
            How many decisions were taken back, and what went wrong.

        Raises:
            TranscriptError: With ``strict``: it could not be recorded.
        """
        with self._deciding():
            return self._journal.withdraw(
                self._last.keys(self._journal, self.policy.is_exempt_tool)
            )

    def trim(self) -> None:
        """Let go of every message, text and body of earlier turns."""
        with self._deciding():
            try:
                self._last.settle(self._journal, self.policy.is_exempt_tool)
            finally:
                self._history.forget()
                self._last_body = None
                self._journal.fingerprints = core.FingerprintCache()

    def _fill_gaps(self, messages: Sequence[object]) -> None:
        parent_state = self._parent_state
        if parent_state is None:
            return
        survey = core.collect(messages, self.policy.is_exempt_tool)
        candidates = (candidate for group in survey.groups for candidate in group.candidates)
        self._journal.take_over(parent_state, {candidate.tool_use_id for candidate in candidates})
        self._parent_state = None

    def _with_rule(self, options: PlanOptions) -> PlanOptions:
        is_resumed = self._keeps_history and self._journal.has_records
        return replace(options, rule="resumed") if is_resumed else options

    def _token(self, options: PlanOptions) -> object:
        """Return what stays equal as long as the same messages give the same report."""
        declared = self.policy.declared.version
        return self._journal.state.token, declared, options.limit, options.accounting
