"""The journal: state, records and store of one conversation, changed together in one step."""

from __future__ import annotations

from typing import TYPE_CHECKING

from toolbudget import _core as core
from toolbudget._core.pure import Key, Plan
from toolbudget.budget.ledger import ContextLedger
from toolbudget.budget.lineage import record_lost_inheritance
from toolbudget.budget.recorder import SEEN, failure_to_record, key_of, why_unrecordable
from toolbudget.budget.recording import record_decisions
from toolbudget.budget.report import Failure
from toolbudget.budget.state import CLEARED, ContentReplacementState
from toolbudget.budget.stored_files import StoredFile, StoredFiles
from toolbudget.budget.storing import store_choices
from toolbudget.budget.transaction import Transaction
from toolbudget.errors import TranscriptError
from toolbudget.storage.records import ContentReplacementRecord

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterable

    from toolbudget._core.pure import Choice, Fingerprint, Fingerprints
    from toolbudget.budget.ledger import ContextChange
    from toolbudget.budget.recorder import Held, LockedLog, Recorder
    from toolbudget.storage.records import ParsedRecord
    from toolbudget.storage.session_lock import SessionLock
    from toolbudget.storage.store import ResultStore

__all__ = ["Journal"]


class Journal:
    """Takes decisions: files first, then the record, then the state, then the request.

    Not thread-safe by itself; its owner holds a lock.

    Args:
        store: Where full texts go.
        recorder: Where records go; ``None`` records nothing.
        session_id: Whose folder new files are in.
        state: The decisions so far.
        strict: Raise the first failure before anything is handed out.
        reader_hint: A line about the host's own reader.
        lock: Taken when something is stored without a recorder, which has a lock of its own.
    """

    def __init__(
        self,
        *,
        store: ResultStore,
        recorder: Recorder | None = None,
        session_id: str = "",
        state: ContentReplacementState | None = None,
        strict: bool = False,
        reader_hint: str | None = None,
        lock: SessionLock | None = None,
    ) -> None:
        """Begin with the decisions of ``state``."""
        self.state = ContentReplacementState() if state is None else state
        self.store = store
        self.fingerprints: Fingerprints = core.FingerprintCache()
        self.has_records = False
        self.is_begun_by_parent = False
        self.ledger = ContextLedger()
        self._recorder = recorder
        self.session_id = session_id
        self._strict = strict
        self._reader_hint = reader_hint
        self._lock = lock
        # What `mark_seen` kept: the model has seen it before this library did.
        self._marked_seen: set[Key] = set()
        self._files = StoredFiles()

    def apply_records(self, records: Iterable[ParsedRecord], *, are_own: bool = False) -> bool:
        """Take over what records say; tell whether there were any.

        Those that this session has written itself do not make it one that goes on.
        """
        found = False
        for record in records:
            found = True
            self.ledger.adopted.follow(record, self.state)
            self.ledger.note(record)
            self._files.note(record.replacements, record.inherited_from or self.session_id)
            self.is_begun_by_parent |= record.is_ours and record.inherited_from is not None
            if record.is_ours and record.raw.get(SEEN) is True:
                self._marked_seen.update(key_of(entry) for entry in record.frozen)
        self.has_records |= found and not are_own
        return found

    def keep_at_once(self, plan: Plan) -> bool:
        """Carry out a plan if nothing is to be stored or recorded for it; tell whether it was.

        Most turns of a session come to that. It is what :meth:`transact` would do with such a plan,
        without the objects for all that it need not do.
        """
        if plan.choices or plan.adoptions or plan.redaction_failures:
            return False
        kept, recorder = plan.kept, self._recorder
        if recorder is not None and (kept or recorder.owes):
            return False
        if kept:
            self.state.decide_all((), kept)
        return True

    def transact(
        self,
        make_plan: Callable[[], Plan],
        *,
        keeps_failed: bool,
        marks_seen: bool = False,
        plan: Plan | None = None,
    ) -> Transaction:
        """Carry out a plan: store, record, then change the state.

        Args:
            make_plan: Makes the plan from the state; called again if the log's tail brought
                decisions of others.
            keeps_failed: A result that could not be stored is decided: kept. The gate decides
                nothing about it.
            marks_seen: What is kept now is never withdrawn.
            plan: The first plan, if it is made already.

        Raises:
            StoreError: With ``strict``: a text could not be stored.
            TranscriptError: With ``strict``: the decisions could not be recorded.
        """
        transaction = Transaction(make_plan() if plan is None else plan)
        if not keeps_failed:
            transaction.keeps_failed = False
            transaction.fix()
        recorder = self._recorder
        if not (transaction.plan.decides or (recorder and recorder.owes)):
            transaction.note_redaction(strict=self._strict)
            return transaction
        if recorder is None:
            if self._lock is not None and transaction.plan.choices:
                self._lock.take(create=True)
            self._store(transaction)
        else:
            self._store_and_record(recorder, transaction, make_plan, marks_seen=marks_seen)
        if marks_seen:
            self._marked_seen.update(transaction.kept)
        self.state.decide_all(transaction.taken, transaction.kept, transaction.failed)
        if transaction.outcome.replaced:
            new_entries = [item.record for item in transaction.outcome.replaced]
            self._files.note(new_entries, self.session_id)
        if recorder is not None:
            recorder.settle()
        return transaction

    @property
    def files(self) -> StoredFiles:
        """Where the full texts are."""
        return self._files

    @property
    def is_strict(self) -> bool:
        """Whether a failure is raised before anything is handed out."""
        return self._strict

    @property
    def owes_records(self) -> bool:
        """Whether decisions wait for a record, because an append has failed."""
        return self._recorder is not None and bool(self._recorder.unrecorded)

    def flush(self) -> Failure | None:
        """Record what no record holds yet, because an append has failed; return what is wrong."""
        if not self.owes_records:
            return None
        try:
            failures = self.transact(Plan, keeps_failed=False).failures
        except (TranscriptError, OSError) as error:
            return Failure("record", None, error)
        return failures[0] if failures else None

    def withdraw(self, keys: Iterable[Key]) -> tuple[int, Failure | None]:
        """Take kept decisions back, those of ``mark_seen`` excepted.

        Returns:
            How many were taken back, and what went wrong.

        Raises:
            TranscriptError: With ``strict``: it could not be recorded.
        """
        wanted = [key for key in dict.fromkeys(keys) if self._is_withdrawable(key)]
        try:
            if wanted and self._recorder is not None:
                wanted = self._record_withdrawal(self._recorder, wanted)
        except (TranscriptError, OSError) as error:
            # Without the record a later resume would find them kept: so they stay kept here too.
            if self._strict:
                raise
            return 0, Failure("record", None, error)
        self.state.withdraw(wanted)
        if self._recorder is not None:
            self._recorder.settle()
        return len(wanted), None

    def _record_withdrawal(self, recorder: Recorder, keys: Iterable[Key]) -> list[Key]:
        """Record it of those that can be taken back still; return them."""

        def work(held: Held) -> list[Key]:
            self.apply_records(held.records, are_own=held.are_own)
            wanted = list(filter(self._is_withdrawable, keys))
            if wanted:
                self._record_lost(recorder, held.log)
                recorder.write_withdrawal(held.log, wanted)
            return wanted

        return recorder.while_locked(work)

    def _record_lost(self, recorder: Recorder, locked: LockedLog) -> None:
        """Record everything again if the file that held it is gone.

        Raises:
            TranscriptError: It is certainly not recorded.
        """
        if record_lost_inheritance(self, recorder, locked):
            nothing_new = Transaction(Plan())
            record_decisions(self, recorder, locked, nothing_new, marks_seen=False)

    def _is_withdrawable(self, key: Key) -> bool:
        return self.state.decision(key, "") is None and not self.is_marked_seen(key)

    def change_context(self, make: Callable[[], ContextChange]) -> ContextChange:
        """Clear results, keep originals or cut messages out: record it, then take it over.

        Args:
            make: Says what is to be changed, from what is known then; what it stores is stored
                before the record is written. It is called under the lock of the log, so that what
                another process has changed is known.

        Raises:
            TranscriptError: It is certainly not recorded; then nothing has changed.
            OSError: The same, for a reason of the operating system.
        """
        recorder = self._recorder
        if recorder is None:
            change = make()
            self._take_over_change(change)
            return change

        def work(held: Held) -> ContextChange:
            self.apply_records(held.records, are_own=held.are_own)
            change = make()
            if change.is_empty:
                return change
            self._record_lost(recorder, held.log)
            # Nothing of the change counts before its last record, the one with the edit.
            for entries, entry in change.records():
                recorder.write_context(held.log, entries, entry)
            self._take_over_change(change)
            return change

        change = recorder.while_locked(work)
        recorder.settle()
        return change

    def _take_over_change(self, change: ContextChange) -> None:
        for entry in change.entries:
            self.state.apply_entry(entry)
        self.ledger.take_over(change)
        self._files.note(change.entries, self.session_id)

    def inherit(self, parent: Journal) -> None:
        """Begin with all that a parent knows."""
        self.state = parent.state.clone()
        self.ledger = parent.ledger.clone()
        self.has_records = parent.has_records
        self._marked_seen = set(parent._marked_seen)
        self._files = StoredFiles(parent._files)

    def inherit_cuts(self, parent: Journal) -> None:
        """Begin with what a parent has cut out; to be recorded next."""
        self.ledger = parent.ledger.clone()
        for key, entry in parent.ledger.originals.items():
            file = parent.file_of(key)
            self._files.note([entry], parent.session_id if file is None else file.session_id)
        if self._recorder is not None:
            self._recorder.unrecorded_inherited = True

    def take_over(self, parent: ContentReplacementState, tool_use_ids: Collection[str]) -> None:
        """Fill gaps from a parent's replacements, for ids that occur; to be recorded next."""
        missing = self.state.fill_gaps(parent, tool_use_ids)
        if self._recorder is not None:
            self._recorder.unrecorded.update(missing)

    def _store_and_record(
        self,
        recorder: Recorder,
        transaction: Transaction,
        make_plan: Callable[[], Plan],
        *,
        marks_seen: bool,
    ) -> None:
        def work(held: Held) -> None:
            if self.apply_records(held.records, are_own=held.are_own):
                transaction.follow(make_plan())
            record_lost_inheritance(self, recorder, held.log)
            self._store(transaction)
            record_decisions(self, recorder, held.log, transaction, marks_seen=marks_seen)

        try:
            recorder.while_locked(work)
        except (TranscriptError, OSError) as error:
            if self._strict:
                raise
            # No later resume could reproduce a replacement that is in no record.
            transaction.outcome.give_up()
            transaction.fix()
            transaction.failures.append(Failure("record", None, error))
            recorder.unrecorded.update(
                (key, replacement)
                for key, replacement in transaction.decisions()
                if why_unrecordable(key) is None
            )

    def _store(self, transaction: Transaction) -> None:
        transaction.note_redaction(strict=self._strict)
        choices = transaction.plan.choices
        kept: list[Choice] = []
        if self._recorder is not None:
            kept = [choice for choice in choices if why_unrecordable(choice.key) is not None]
        if kept:
            failures = (failure_to_record(choice.key) for choice in kept)
            transaction.failures += filter(None, failures)
            too_long = set(map(id, kept))
            choices = [choice for choice in choices if id(choice) not in too_long]
        if choices:
            transaction.outcome = store_choices(choices, self.store, self._reader_hint)
            transaction.failures += transaction.outcome.failures
            transaction.outcome.kept += kept
            transaction.fix()
        if self._strict and transaction.failures:
            raise transaction.failures[0].error

    def entry(self, key: Key, replacement: str) -> ContentReplacementRecord:
        """Return the entry of a record about a replaced result."""
        file = self._files.of(key)
        style, style_version = self._files.style_of(key)
        return ContentReplacementRecord(
            kind=CLEARED if self.state.is_cleared(key) else "tool-result",
            tool_use_id=key.tool_use_id,
            replacement=replacement,
            size=key.fingerprint.size_chars,
            hash=key.fingerprint.hash,
            file=None if file is None else file.name,
            file_digest=None if file is None else file.digest,
            style=style,
            style_version=style_version,
        )

    @property
    def has_marked_seen(self) -> bool:
        """Whether `mark_seen` kept anything."""
        return bool(self._marked_seen)

    def is_marked_seen(self, key: Key) -> bool:
        """Tell whether `mark_seen` kept a result, so that it is never withdrawn."""
        return key in self._marked_seen

    def file_of(self, key: Key) -> StoredFile | None:
        """Return where the full text of a replaced result is, as far as a record says."""
        return self._files.of(key)

    def latest_file(self, tool_use_id: str) -> StoredFile | None:
        """Return where the full text of an id's latest replaced result is."""
        return self._files.latest(tool_use_id)

    def stored_files(self) -> dict[StoredFile, str]:
        """Return every file that a record names, in order, with its result's id."""
        return self._files.all()

    def fingerprint(self, parts: tuple[str, ...]) -> Fingerprint:
        """Fingerprint a text; one of the last enforced list is not hashed again."""
        known = self.fingerprints.find(parts)
        return core.fingerprint(parts) if known is None else known
