"""What one call did: numbers, failures and events."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Literal, TypeAlias

from toolbudget.budget.read_only import ReadOnlyDict

if TYPE_CHECKING:
    from collections.abc import Mapping

    from toolbudget.budget.prefix_finding import PrefixFinding
    from toolbudget.storage.records import ContentReplacementRecord

__all__ = ["EnforcementReport", "Event", "EventKind", "Failure", "Operation"]

EventKind: TypeAlias = Literal[
    "stored", "replaced", "reapplied", "kept", "skipped", "failed", "finished", "prefix_broken"
]
Operation: TypeAlias = Literal[
    "gate",
    "enforce",
    "enforce_json",
    "mark_seen",
    "withdraw",
    "clear_results",
    "adopt_stored",
    "check",
]
Stage: TypeAlias = Literal["store", "record", "redact"]


@dataclass(frozen=True, slots=True)
class Failure:
    """Something that could not be done; the results it is about were left in full.

    Attributes:
        stage: ``store`` (a full text), ``record`` (the decisions), ``redact`` (the host's hook).
        tool_use_id: The result it is about; ``None`` if it is about all of the call.
        error: The exception.

    Example:
        >>> from toolbudget import Failure, StoreError
        >>> print(Failure("store", "toolu_1", StoreError(28, "no space left")))
        store of 'toolu_1' failed: [Errno 28] no space left
    """

    stage: Stage
    tool_use_id: str | None
    error: Exception

    def __str__(self) -> str:
        """Say what, where and why in one line."""
        subject = "" if self.tool_use_id is None else f" of {self.tool_use_id!r}"
        return f"{self.stage}{subject} failed: {self.error}"


@dataclass(frozen=True, slots=True, kw_only=True)
class EnforcementReport:
    """What one call of ``gate`` or ``enforce`` did.

    ``candidates`` is the sum of ``replaced``, ``reapplied`` and ``frozen``. Sizes are in characters
    unless the name says otherwise. ``gate`` counts only a result that it replaced, now or again:
    one that it leaves as it is changes nothing, and the numbers stay 0.

    Attributes:
        groups: API user messages with at least one text result.
        candidates: Results that a decision is about.
        replaced: Newly replaced ones.
        reapplied: Ones that got their recorded replacement again.
        frozen: Ones that are kept in full, by an earlier decision or this one.
        skipped: Results that are no candidates: empty, not all text, exempt, references, odd ones.
        skipped_by_reason: The same by reason, always in the order ``not_text``, ``empty``,
            ``malformed``, ``object``, ``exempt``, ``reference``.
        chars_before: Characters of all text results as given.
        chars_after: The same as handed out.
        over_limit_chars: By how much groups still exceed the limit, summed: in the unit of the
            limit, which is characters by default.
        bytes_stored: Bytes newly written to the store.
        failures: What could not be done.
        message_limit: What all results of one API user message could have together in this call, in
            the unit of the limits; ``None`` if that took no part, as in ``gate``.
        is_limit_overridden: Whether that was given by the provider of overrides, not by the limits.
        newly_replaced: The records of the newly replaced results.
        elapsed_s: Seconds that the call took.

    Example:
        >>> from toolbudget import EnforcementReport
        >>> EnforcementReport().replaced
        0
    """

    groups: int = 0
    candidates: int = 0
    replaced: int = 0
    reapplied: int = 0
    frozen: int = 0
    skipped: int = 0
    skipped_by_reason: Mapping[str, int] = field(default_factory=ReadOnlyDict)
    chars_before: int = 0
    chars_after: int = 0
    over_limit_chars: int = 0
    bytes_stored: int = 0
    failures: tuple[Failure, ...] = ()
    # Previews may hold secrets: a report that is printed or logged shows none.
    newly_replaced: tuple[ContentReplacementRecord, ...] = field(default=(), repr=False)
    elapsed_s: float = 0.0
    message_limit: float | None = None
    is_limit_overridden: bool = False


@dataclass(frozen=True, slots=True)
class Event:
    """What an ``on_event`` callback is told.

    A call tells of each newly replaced result and each failure, then in one event each of the
    results that were stored, replaced again, kept or skipped, if there are any, and last that it is
    finished.

    Attributes:
        kind: ``replaced`` for each result that was newly replaced; ``failed`` for each failure;
            ``stored`` if bytes were written; ``reapplied``, ``kept`` and ``skipped`` with how many
            results there are; ``finished`` with the whole report; ``prefix_broken`` by a
            ``PrefixGuard`` that found that less than before can be read from the cache.
        tool_use_id: The result it is about, if it is about one.
        operation: The method that was called: ``gate``, ``enforce``, ``enforce_json``,
            ``mark_seen``, ``withdraw``, ``clear_results``, ``adopt_stored`` or ``check``.
        count: How many results it is about.
        size_bytes: Bytes that were written, for ``stored``.
        reasons: Numbers by reason, for ``skipped``.
        record: The new replacement, for ``replaced``.
        failure: What failed, for ``failed``.
        report: What the call did, for ``finished``.
        finding: What differs, for ``prefix_broken``.

    Example:
        >>> import tempfile, toolbudget
        >>> events = []
        >>> session = toolbudget.Session.open(tempfile.mkdtemp(), "s", on_event=events.append)
        >>> result = {"type": "tool_result", "tool_use_id": "t1", "content": "x" * 60_000}
        >>> _ = session.gate(result, tool_name="Fetch")
        >>> [event.kind for event in events]
        ['replaced', 'stored', 'finished']
    """

    kind: EventKind
    tool_use_id: str | None = None
    operation: Operation | None = None
    count: int = 1
    size_bytes: int = 0
    reasons: Mapping[str, int] = field(default_factory=ReadOnlyDict)
    record: ContentReplacementRecord | None = field(default=None, repr=False)
    failure: Failure | None = None
    report: EnforcementReport | None = field(default=None, repr=False)
    finding: PrefixFinding | None = None
