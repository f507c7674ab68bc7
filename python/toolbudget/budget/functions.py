"""The same steps as plain functions, for hosts that own their state, files and transcript."""

from __future__ import annotations

import time
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from toolbudget import _core as core
from toolbudget._core.pure import Key, PlanOptions
from toolbudget._core.pure.shape import text_parts
from toolbudget._display import shown
from toolbudget.budget.aggregate import rewrite
from toolbudget.budget.engine import Engine
from toolbudget.budget.journal import Journal
from toolbudget.budget.outlines import outline_for
from toolbudget.budget.policy import Policy
from toolbudget.budget.recorder import Recorder
from toolbudget.budget.settings import check_store, exemption_of
from toolbudget.budget.state import ContentReplacementState
from toolbudget.budget.storing import expected_path, is_json_content, path_prefix
from toolbudget.budget.summary import report_of
from toolbudget.budget.taking import take
from toolbudget.errors import ConfigError
from toolbudget.limits import PREVIEW_SIZE_BYTES, DeclaredLimits, Limits
from toolbudget.limits.defaults import DEFAULT_MESSAGE_LIMIT
from toolbudget.limits.validation import positive_number, whole_number
from toolbudget.storage.json_lines import decode_json

if TYPE_CHECKING:
    from collections.abc import Collection, Generator, Mapping, Sequence

    from toolbudget._core.pure import Accounting, Candidate, Plan, PreviewStyle, Unit
    from toolbudget.budget.report import EnforcementReport
    from toolbudget.storage.records import ContentReplacementRecord
    from toolbudget.storage.store import ResultStore
    from toolbudget.storage.transcript import Transcript

__all__ = [
    "Enforcement",
    "Partition",
    "apply_tool_result_budget",
    "collect_candidates_by_message",
    "enforce_tool_result_budget",
    "maybe_persist_large_tool_result",
    "partition_by_prior_decision",
    "select_fresh_to_replace",
]


@dataclass(frozen=True, slots=True)
class Enforcement:
    """What :func:`enforce_tool_result_budget` came to.

    Attributes:
        messages: The only thing to send; the input itself if nothing changed.
        newly_replaced: What this call replaced, to be recorded by the host.
        report: The numbers.
    """

    messages: list[Any]
    newly_replaced: tuple[ContentReplacementRecord, ...]
    report: EnforcementReport


@dataclass(frozen=True, slots=True)
class Partition:
    """Candidates by earlier decisions.

    Attributes:
        must_reapply: Decided: replaced. Each carries its ``replacement``.
        frozen: Decided: kept.
        fresh: Never decided.
    """

    must_reapply: list[Candidate]
    frozen: list[Candidate]
    fresh: list[Candidate]


def enforce_tool_result_budget(
    messages: Sequence[Any],
    state: ContentReplacementState,
    *,
    store: ResultStore,
    limit: float = DEFAULT_MESSAGE_LIMIT,
    unit: Unit = "chars",
    exempt_tools: Collection[str] = frozenset(),
    preview_bytes: int = PREVIEW_SIZE_BYTES,
    accounting: Accounting = "visible",
    style: PreviewStyle = "head",
) -> Enforcement:
    """Apply the budget once, with a state that the host owns.

    Args:
        messages: Everything the next request would hold. It is never changed.
        state: Earlier decisions; this call's are added after the store.
        store: Where full texts go.
        limit: What one API user message may show, in the unit; ``math.inf`` is off. By default that
            of ``Limits``: 200,000 characters or bytes, 50,000 tokens.
        unit: What the limit counts: ``chars``, ``tokens`` (an estimate) or ``bytes`` (UTF-8).
        exempt_tools: Tools that the limit does not touch.
        preview_bytes: Size of a preview in UTF-8 bytes.
        accounting: ``visible`` counts previews; ``originals`` does not.
        style: How previews are chosen, as for ``Limits(preview_style=)``.

    Raises:
        ConfigError: A limit, style, store or another argument cannot be used.
        InvalidMessageError: ``messages`` cannot be a message list.

    Example:
        >>> import toolbudget
        >>> result = {"type": "tool_result", "tool_use_id": "t1", "content": "x" * 9_000}
        >>> done = toolbudget.enforce_tool_result_budget(
        ...     [{"role": "user", "content": [result]}],
        ...     toolbudget.create_content_replacement_state(),
        ...     store=toolbudget.MemoryStore(),
        ...     limit=5_000,
        ... )
        >>> [record.tool_use_id for record in done.newly_replaced], done.report.replaced
        (['t1'], 1)
    """
    _check_state(state)
    return _enforce(
        messages,
        Journal(store=store, state=state),
        _plan_options(
            store,
            exempt_tools,
            Limits(
                max_message_chars=limit,
                unit=unit,
                preview_bytes=preview_bytes,
                accounting=accounting,
                preview_style=style,
            ),
        ),
    )


def apply_tool_result_budget(
    messages: Sequence[Any],
    state: ContentReplacementState | None,
    *,
    store: ResultStore,
    transcript: Transcript | None = None,
    limit: float = DEFAULT_MESSAGE_LIMIT,
    unit: Unit = "chars",
    exempt_tools: Collection[str] = frozenset(),
    preview_bytes: int = PREVIEW_SIZE_BYTES,
    accounting: Accounting = "visible",
    style: PreviewStyle = "head",
) -> list[Any]:
    """Apply the budget and record what it decided; without a state the feature is off.

    Args:
        messages: Everything the next request would hold.
        state: Earlier decisions, or ``None`` to get the input back as it is.
        store: Where full texts go.
        transcript: Where this call's decisions are recorded before they are handed out.
        limit: As for :func:`enforce_tool_result_budget`.
        unit: As for :func:`enforce_tool_result_budget`.
        exempt_tools: As for :func:`enforce_tool_result_budget`.
        preview_bytes: As for :func:`enforce_tool_result_budget`.
        accounting: As for :func:`enforce_tool_result_budget`.
        style: As for :func:`enforce_tool_result_budget`.

    Raises:
        ConfigError: A limit, style, store or another argument cannot be used.
        InvalidMessageError: ``messages`` cannot be a message list.

    Example:
        >>> import toolbudget
        >>> messages = [{"role": "user", "content": "hello"}]
        >>> store = toolbudget.MemoryStore()
        >>> toolbudget.apply_tool_result_budget(messages, None, store=store) is messages
        True
    """
    if state is None:
        return messages if isinstance(messages, list) else list(messages)
    _check_state(state)
    journal = Journal(
        store=store,
        state=state,
        recorder=None if transcript is None else _recorder_of(transcript),
    )
    options = _plan_options(
        store,
        exempt_tools,
        Limits(
            max_message_chars=limit,
            unit=unit,
            preview_bytes=preview_bytes,
            accounting=accounting,
            preview_style=style,
        ),
    )
    return _enforce(messages, journal, options).messages


def maybe_persist_large_tool_result(
    block: Mapping[str, Any],
    *,
    tool_name: str,
    limit: float,
    store: ResultStore,
    unit: Unit = "chars",
    style: PreviewStyle = "head",
) -> dict[str, Any]:
    """Check one result when its tool has run, without any state (the gate).

    Args:
        block: A ``tool_result`` block. It is never changed.
        tool_name: The tool that made it.
        limit: What stays as it is, in the unit; ``math.inf`` exempts.
        store: Where a larger text goes.
        unit: What the limit counts: ``chars``, ``tokens`` (an estimate) or ``bytes`` (UTF-8).
        style: How the preview is chosen, as for ``Limits(preview_style=)``.

    Returns:
        The same object, or a copy with a new ``content``.

    Raises:
        ConfigError: ``limit`` is no positive number, or ``store`` or ``style`` cannot be used.

    Example:
        >>> import toolbudget
        >>> block = {"type": "tool_result", "tool_use_id": "t1", "content": ""}
        >>> toolbudget.maybe_persist_large_tool_result(
        ...     block, tool_name="Bash", limit=100, store=toolbudget.MemoryStore()
        ... )["content"]
        '(Bash completed with no output)'
    """
    check_store(store)
    limits = Limits(tools={tool_name: limit}, unit=unit, preview_style=style)
    policy = Policy(limits, DeclaredLimits())
    engine = Engine(Journal(store=store), policy, keeps_history=False)
    result, _ = engine.gate(block, tool_name, declared_limit=None, caller=None)
    return result


def collect_candidates_by_message(
    messages: Sequence[Any], *, exempt_tools: Collection[str] = frozenset()
) -> list[list[Candidate]]:
    """List the results that a budget may be about, by API user message.

    Exempt results and references are left out, and groups in which nothing is left.

    Raises:
        ConfigError: ``exempt_tools`` is no collection.
        InvalidMessageError: ``messages`` cannot be a message list.

    Example:
        >>> import toolbudget
        >>> toolbudget.collect_candidates_by_message([{"role": "user", "content": "hello"}])
        []
    """
    survey = core.collect(messages, exemption_of(exempt_tools))
    groups = (
        [
            candidate
            for candidate in group.candidates
            if not (candidate.is_exempt or core.is_framed_reference(candidate.text))
        ]
        for group in survey.groups
    )
    return [group for group in groups if group]


def partition_by_prior_decision(
    candidates: Sequence[Candidate], state: ContentReplacementState
) -> Partition:
    """Split candidates by what was decided about them before.

    Example:
        >>> import toolbudget
        >>> state = toolbudget.create_content_replacement_state()
        >>> candidate = toolbudget.Candidate(tool_use_id="t1", content="text", size=4)
        >>> len(toolbudget.partition_by_prior_decision([candidate], state).fresh)
        1
    """
    partition = Partition([], [], [])
    for candidate in candidates:
        if not state.has_id(candidate.tool_use_id):
            partition.fresh.append(candidate)
            continue
        parts = candidate.parts or text_parts(candidate.content) or ()
        key = Key(candidate.tool_use_id, core.fingerprint(parts))
        if not state.is_decided(key):
            partition.fresh.append(candidate)
            continue
        replacement = state.decision(key, None)
        if replacement is None:
            partition.frozen.append(candidate)
        else:
            partition.must_reapply.append(replace(candidate, replacement=replacement))
    return partition


def select_fresh_to_replace(
    fresh: Sequence[Candidate], frozen_size: int, limit: float
) -> list[Candidate]:
    """Choose by the plain rule: the largest first, until what is left fits.

    Args:
        fresh: Results that were never decided.
        frozen_size: Characters of the kept ones beside them.
        limit: The largest sum that is allowed.

    Returns:
        The chosen ones, in the order taken; equal sizes in order of appearance.

    Raises:
        ConfigError: ``limit`` is no positive number, or ``frozen_size`` no whole number.

    Example:
        >>> from toolbudget import Candidate, select_fresh_to_replace
        >>> fresh = [Candidate("a", "", 10), Candidate("b", "", 30)]
        >>> [candidate.tool_use_id for candidate in select_fresh_to_replace(fresh, 5, limit=20)]
        ['b']
    """
    limit = positive_number(limit, "limit")
    sizes = [candidate.size for candidate in fresh]
    total = whole_number(frozen_size, "frozen_size") + sum(sizes)
    return [fresh[index] for index in core.select_largest(sizes, total, limit)]


def _recorder_of(transcript: Transcript) -> Recorder:
    return Recorder(_TranscriptLog(transcript), session_id=transcript.session_id)


class _TranscriptLog:
    """A host's own transcript as a place for records; nobody else decides there."""

    def __init__(self, transcript: Transcript) -> None:
        self._transcript = transcript

    def hold(self) -> Generator[_TranscriptLog, None, None]:
        yield self

    ambiguous = None

    def read_tail(self) -> tuple[()]:
        return ()

    def read_all(self) -> tuple[()]:
        return ()

    def take_lost_records(self) -> bool:
        return False

    def append(self, record: Mapping[str, object], *, sync: bool) -> None:  # noqa: ARG002 - the transcript has its own level
        self._transcript.append(record)

    def append_line(self, line: bytes, *, sync: bool) -> None:
        record = decode_json(line)
        assert isinstance(record, dict)  # noqa: S101 - it was encoded from one
        del record["check"]
        self.append(record, sync=sync)


def _enforce(messages: Sequence[Any], journal: Journal, options: PlanOptions) -> Enforcement:
    started_s = time.perf_counter()
    taken = take(messages)

    def make_plan() -> Plan:
        return core.plan(taken, journal.state.known(), options)

    done = journal.transact(make_plan, keeps_failed=True)
    report = report_of(done, options, started_s=started_s)
    return Enforcement(
        messages=rewrite(messages, taken, done.plan, done.outcome),
        newly_replaced=report.newly_replaced,
        report=report,
    )


def _check_state(state: object) -> None:
    if not isinstance(state, ContentReplacementState):
        raise ConfigError(f"state (argument) must be a ContentReplacementState: {shown(state)}")


def _plan_options(store: ResultStore, exempt_tools: Collection[str], limits: Limits) -> PlanOptions:
    check_store(store)
    return PlanOptions(
        limit=limits.max_message_chars,
        unit=limits.unit,
        preview_bytes=limits.preview_bytes,
        preview_style=limits.preview_style,
        outline=outline_for(limits.preview_style),
        accounting=limits.accounting,
        expected_path=lambda name, is_json: expected_path(store, name, is_json=is_json),
        path_prefix=path_prefix(store),
        is_stored_as_json=is_json_content,
        is_exempt_tool=exemption_of(exempt_tools),
    )
