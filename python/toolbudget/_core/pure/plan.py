"""Planning: what one call decides, before anything is stored, recorded or changed."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from toolbudget._core.pure.choose import Choice, Fresh, GroupTotals, Prepared, choose
from toolbudget._core.pure.collect import SkipReason, Survey, collect
from toolbudget._core.pure.decision import Adoption, Fingerprints, Key, Known, PlanOptions
from toolbudget._core.pure.fingerprint import Fingerprint, FingerprintCache, fingerprint
from toolbudget._core.pure.preview import preview_window
from toolbudget._core.pure.replacement import REFERENCE_MAX_CHARS, is_framed_reference
from toolbudget._core.pure.rewrite import Change
from toolbudget._core.pure.shape import text_objects
from toolbudget._core.pure.unit import measure

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from toolbudget._core.pure.candidate import Candidate
    from toolbudget._core.pure.group import Group

__all__ = ["Plan", "plan"]


@dataclass(slots=True)
class Plan:
    """What a call decides, and what it would change.

    Attributes:
        choices: Fresh results to be replaced, once they are stored.
        kept: Results decided to be kept.
        adoptions: Decisions of another program that were applied for the first time.
        changes: Recorded replacements to be put in again.
        totals: Sizes by group, in the order of the groups and the unit of the limit.
        skipped: Results that are no candidates, by reason.
        candidates: How many results this call decided about, or had been decided about.
        chars_before: Characters of all text results as given.
        chars_gained: Characters that the recorded replacements in ``changes`` save.
        fingerprints: What the next call is to be given: exactly the texts of this one.
        redaction_failures: Ids whose text the ``redact`` hook could not handle, with the reason.
    """

    choices: Sequence[Choice] = field(default_factory=list)
    kept: Sequence[Key] = field(default_factory=list)
    adoptions: Sequence[Adoption] = field(default_factory=list)
    changes: Sequence[Change] = field(default_factory=list)
    totals: Sequence[GroupTotals] = field(default_factory=list)
    skipped: Counter[SkipReason] = field(default_factory=Counter)
    candidates: int = 0
    chars_before: int = 0
    chars_gained: int = 0
    fingerprints: Fingerprints = field(default_factory=FingerprintCache, compare=False)
    redaction_failures: Sequence[tuple[str, Exception]] = field(default_factory=list)

    @property
    def decides(self) -> bool:
        """Whether anything is to be stored or recorded."""
        return bool(self.choices or self.kept or self.adoptions)


def plan(messages: object, known: Known, options: PlanOptions) -> Plan:
    """Decide about every result of a message list that is not decided yet.

    Nothing is changed: neither the messages nor ``known``.

    Raises:
        InvalidMessageError: ``messages`` cannot be a message list.
    """
    survey: Survey = collect(messages, options.is_exempt_tool)
    planner = _Planner(known, options, Plan(skipped=Counter(survey.skipped)))
    for group in survey.groups:
        planner.judge(group)
    return planner.plan


class _Planner:
    """The running state of one call: what its earlier groups decided holds for its later ones."""

    def __init__(self, known: Known, options: PlanOptions, result: Plan) -> None:
        self.plan = result
        self._known = known
        self._options = options
        self._fingerprints = FingerprintCache()
        result.fingerprints = self._fingerprints
        self._totals: list[GroupTotals] = []
        self._kept: list[Key] = []
        self._changes: list[Change] = []
        self._choices: list[Choice] = []
        self._adoptions: list[Adoption] = []
        self._redaction_failures: list[tuple[str, Exception]] = []
        result.totals, result.kept, result.changes = self._totals, self._kept, self._changes
        result.choices, result.adoptions = self._choices, self._adoptions
        result.redaction_failures = self._redaction_failures
        self._decided: dict[Key, str | Choice | None] = {}
        self._unapplied = dict(known.unapplied)

    def judge(self, group: Group) -> None:
        """Partition one group by earlier decisions, then choose among its fresh results."""
        totals = GroupTotals()
        self._totals.append(totals)
        fresh: dict[Key, Fresh] = {}
        for candidate in group.candidates:
            self.plan.chars_before += candidate.size
            key = Key(candidate.tool_use_id, self._fingerprint(candidate))
            if key in fresh:
                fresh[key].occurrences.append(candidate)
                self.plan.candidates += 1
            elif self._is_decided(key):
                self._follow(candidate, key, totals)
            elif not self._settle(candidate, key, totals, group):
                fresh[key] = Fresh([candidate])
                self.plan.candidates += 1
        self._choose(fresh, totals)

    def _fingerprint(self, candidate: Candidate) -> Fingerprint:
        texts = text_objects(candidate.content)
        known = self._known.fingerprints.find(texts) or self._fingerprints.find(texts)
        if known is None:
            known = fingerprint(candidate.parts)
        self._fingerprints.keep(texts, known)
        return known

    def _size(self, candidate: Candidate) -> int:
        """Measure a result in the unit of the limit."""
        unit = self._options.unit
        if unit == "chars":
            return candidate.size
        texts = text_objects(candidate.content)
        size = self._fingerprints.find_size(texts, unit)
        if size is None:
            earlier = self._known.fingerprints
            if isinstance(earlier, FingerprintCache):
                size = earlier.find_size(texts, unit)
            if size is None:
                size = measure(candidate.parts, unit)
            self._fingerprints.keep_size(texts, unit, size)
        return size

    def _size_of_text(self, text: str) -> int:
        return measure((text,), self._options.unit)

    def _is_decided(self, key: Key) -> bool:
        if key in self._decided:
            return True
        earlier = self._known.decisions.get(key.tool_use_id)
        return earlier is not None and key.fingerprint in earlier

    def _follow(self, candidate: Candidate, key: Key, totals: GroupTotals) -> None:
        """Apply the decision that was taken about the same result before."""
        if key in self._decided:
            decision = self._decided[key]
        else:
            decision = self._known.decisions[key.tool_use_id][key.fingerprint]
        if decision is None:
            self._count_kept(candidate, totals)
            return
        self.plan.candidates += 1
        if isinstance(decision, Choice):
            decision.followers.append((candidate, totals))
            totals.standing += self._size_of_text(decision.replacement)
            return
        self._reapply(candidate, decision, totals)

    def _reapply(self, candidate: Candidate, replacement: str, totals: GroupTotals) -> None:
        totals.standing += self._size_of_text(replacement)
        self.plan.chars_gained += candidate.size - len(replacement)
        self._changes.append(Change(candidate.message_index, candidate.block_index, replacement))

    def _count_kept(self, candidate: Candidate, totals: GroupTotals) -> None:
        """Count a kept result: an exempt one not at all, a reference as a standing replacement."""
        if candidate.is_exempt:
            self.plan.skipped["exempt"] += 1
        elif self._is_reference(candidate):
            self.plan.skipped["reference"] += 1
            totals.standing += self._size(candidate)
        else:
            self.plan.candidates += 1
            totals.frozen += self._size(candidate)

    def _settle(self, candidate: Candidate, key: Key, totals: GroupTotals, group: Group) -> bool:
        """Decide at once about a result that no selection is needed for."""
        is_reference = self._is_reference(candidate)
        foreign = None if is_reference else self._unapplied.get(key.tool_use_id)
        if foreign is not None and is_applicable(foreign, candidate.size):
            del self._unapplied[key.tool_use_id]
            self._decided[key] = foreign
            self._adoptions.append(Adoption(key, foreign))
            self.plan.candidates += 1
            self._reapply(candidate, foreign, totals)
            return True
        rule = self._options.rule
        is_seen = rule == "seen" or (rule == "resumed" and group.is_followed)
        if not (is_seen or candidate.is_exempt or is_reference):
            return False
        self._keep(key)
        self._count_kept(candidate, totals)
        return True

    def _keep(self, key: Key) -> None:
        self._decided[key] = None
        self._kept.append(key)

    def _is_reference(self, candidate: Candidate) -> bool:
        same_length = self._known.replacements.get(candidate.size)
        if same_length is not None and candidate.text in same_length:
            return True
        return candidate.size <= REFERENCE_MAX_CHARS and is_framed_reference(candidate.text)

    def _choose(self, fresh: dict[Key, Fresh], totals: GroupTotals) -> None:
        totals.fresh = sum(
            self._size(item.occurrences[0]) * len(item.occurrences) for item in fresh.values()
        )
        if self._options.leaves_fresh:
            return
        chosen: dict[Key, Choice] = {}
        if fresh and totals.visible(self._options.accounting) > self._options.limit:
            prepared = {key: self._prepare(key, item) for key, item in fresh.items()}
            usable = {key: item for key, item in prepared.items() if item is not None}
            chosen = choose(usable, totals, self._options, self._size)
        for key in fresh:
            if key in chosen:
                self._decided[key] = chosen[key]
            else:
                self._keep(key)
        self._choices += chosen.values()

    def _prepare(self, key: Key, fresh: Fresh) -> Prepared | None:
        """Redact the text of a fresh result, if asked; ``None`` passes it over."""
        first = fresh.occurrences[0]
        redact = self._options.redact
        if redact is None:
            return self._prepared(fresh, first.parts)
        try:
            parts = tuple(redact_part(redact, part) for part in first.parts)
        except Exception as error:  # noqa: BLE001 - whatever the host's hook raises, the result is kept
            self._redaction_failures.append((key.tool_use_id, error))
            return None
        return self._prepared(fresh, parts)

    def _prepared(self, fresh: Fresh, parts: tuple[str, ...]) -> Prepared:
        return Prepared(fresh, parts, preview_window(parts, self._options.preview_bytes))


def is_applicable(foreign: str, size_chars: int) -> bool:
    """Tell whether another program's replacement, known by its id alone, fits a text so long."""
    return len(foreign) <= REFERENCE_MAX_CHARS and len(foreign) < size_chars


def redact_part(redact: Callable[[str], str], text: str) -> str:
    """Call the host's hook for one text block.

    Raises:
        TypeError: The hook did not return text.
    """
    redacted = redact(text)
    if type(redacted) is str:
        return redacted
    if isinstance(redacted, str):
        return str.__str__(redacted)
    raise TypeError(f"redact must return text, not {type(redacted).__name__}")
