"""The gate: what to do with one result, right after its tool ran."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal, TypeAlias

from toolbudget import _core as core
from toolbudget._core.pure import (
    Adoption,
    Candidate,
    Change,
    Choice,
    Fresh,
    GroupTotals,
    Key,
    Plan,
    Prepared,
)
from toolbudget._core.pure.calls import is_call_for_code
from toolbudget._core.pure.collect import is_exempt_block
from toolbudget._core.pure.plan import is_applicable, redact_part
from toolbudget._core.pure.preview import preview_window
from toolbudget._core.pure.shape import field, text_field, text_parts
from toolbudget.budget.report import Failure
from toolbudget.budget.storing import expected_path, is_json_content

if TYPE_CHECKING:
    from toolbudget._core.pure import Fingerprint, OutlinePreview, PreviewStyle, Shown, Unit
    from toolbudget.budget.state import ContentReplacementState
    from toolbudget.storage.store import ResultStore

__all__ = ["GateOptions", "Verdict", "judge_result", "replace_block"]

Reason: TypeAlias = Literal[
    "decided", "empty", "not_text", "malformed", "reference", "exempt", "fits", "no_gain", "failed"
]


@dataclass(frozen=True, slots=True, kw_only=True)
class GateOptions:
    """What the gate needs to know beside the block.

    Attributes:
        limit: The largest size that stays as it is, in the unit.
        unit: What the limit counts.
        is_exempt: The tool's limit is infinite.
        preview_bytes: Size of the preview.
        preview_style: How the preview is chosen.
        outline: Shows the outline of source code, for the styles that do.
        reader_hint: A line about the host's own reader.
        redact: Changes a text before it is stored or previewed.
    """

    limit: float
    is_exempt: bool
    preview_bytes: int
    preview_style: PreviewStyle = "head"
    outline: OutlinePreview | None = None
    unit: Unit = "chars"
    reader_hint: str | None = None
    redact: Callable[[str], str] | None = None


@dataclass(frozen=True, slots=True)
class Verdict:
    """What is to be done with a block.

    Attributes:
        block: What to hand out now: the same object, or one with a placeholder or a replacement.
        reason: Why it stays as it is; ``None`` if ``choice`` is to be stored.
        choice: The result to store and replace.
        adoption: Another program's decision that was applied for the first time.
        failure: What the ``redact`` hook could not do.
        candidate: The result, if a recorded replacement was put in again.
        replacement: That replacement.
    """

    block: Mapping[str, object]
    reason: Reason | None
    choice: Choice | None = None
    adoption: Adoption | None = None
    failure: Failure | None = None
    candidate: Candidate | None = None
    replacement: str | None = None

    def as_plan(self) -> Plan:
        """Return the verdict as a plan, to be carried out like any other."""
        plan = Plan()
        if self.choice is not None:
            plan.choices = [self.choice]
            plan.candidates = 1
            plan.chars_before = self.choice.size
        if self.candidate is not None and self.replacement is not None:
            plan.changes = [Change(0, 0, self.replacement)]
            plan.candidates = 1
            plan.chars_before = self.candidate.size
            plan.chars_gained = self.candidate.size - len(self.replacement)
        if self.adoption is not None:
            plan.adoptions = [self.adoption]
        if self.failure is not None and self.failure.tool_use_id is not None:
            plan.redaction_failures = [(self.failure.tool_use_id, self.failure.error)]
        return plan


def replace_block(block: Mapping[str, object], text: str) -> dict[str, object]:
    """Copy a result block with new text in the form that its content had."""
    return {**block, "content": core.replace_content(field(block, "content"), text)}


def judge_result(  # noqa: PLR0911 - one return for each rule, in their order
    block: Any,  # noqa: ANN401 - whatever the host hands in passes through
    *,
    tool_name: str,
    caller: object,
    state: ContentReplacementState,
    fingerprint: Callable[[tuple[str, ...]], Fingerprint],
    options: GateOptions,
    store: ResultStore,
) -> Verdict:
    """Decide about one result; nothing is stored, recorded or changed here."""
    if not isinstance(block, Mapping) or text_field(block, "type") != "tool_result":
        return Verdict(block, "malformed")
    content = field(block, "content")
    parts = text_parts(content)
    tool_use_id = text_field(block, "tool_use_id")
    if parts is not None and tool_use_id is not None and state.has_id(tool_use_id):
        candidate = Candidate(tool_use_id, content, sum(map(len, parts)), parts=parts)
        decided = _apply_decision(block, candidate, fingerprint(parts), state)
        if decided is not None:
            return decided
    if content is None or (parts is not None and all(map(_is_blank, parts))):
        return Verdict(replace_block(block, _placeholder(block, tool_name)), "empty")
    if parts is None:
        return Verdict(block, "not_text")
    if tool_use_id is None:
        return Verdict(block, "malformed")
    candidate = Candidate(tool_use_id, content, sum(map(len, parts)), parts=parts)
    if _is_reference(candidate, state):
        return Verdict(block, "reference")
    if options.is_exempt or is_exempt_block(block, tool_name) or is_call_for_code(caller):
        return Verdict(block, "exempt")
    if core.measure(parts, options.unit) <= options.limit:
        return Verdict(block, "fits")
    return _choose(block, candidate, Key(tool_use_id, fingerprint(parts)), options, store)


def _apply_decision(
    block: Mapping[str, object],
    candidate: Candidate,
    fingerprint: Fingerprint,
    state: ContentReplacementState,
) -> Verdict | None:
    key = Key(candidate.tool_use_id, fingerprint)
    if not state.is_decided(key):
        replacement = state.unapplied.get(candidate.tool_use_id)
        if replacement is None or not is_applicable(replacement, candidate.size):
            return None
        # Another program's record knows only the id: text that is a reference is not its original.
        if _is_reference(candidate, state):
            return None
        adoption = Adoption(key, replacement)
    else:
        replacement, adoption = state.decision(key, None), None
        if replacement is None:
            return Verdict(block, "decided")
    return Verdict(
        replace_block(block, replacement),
        "decided",
        adoption=adoption,
        candidate=candidate,
        replacement=replacement,
    )


def _is_blank(text: str) -> bool:
    return not text or text.isspace()


def _placeholder(block: Mapping[str, object], tool_name: str) -> str:
    outcome = "failed" if field(block, "is_error") is True else "completed"
    return f"({tool_name} {outcome} with no output)"


def _is_reference(candidate: Candidate, state: ContentReplacementState) -> bool:
    same_length = state.known().replacements.get(candidate.size)
    if same_length is not None and candidate.text in same_length:
        return True
    # A text of several parts is joined only if it can be a reference at all.
    is_short = candidate.size <= core.REFERENCE_MAX_CHARS
    return is_short and core.is_framed_reference(candidate.text)


def _choose(
    block: Mapping[str, object],
    candidate: Candidate,
    key: Key,
    options: GateOptions,
    store: ResultStore,
) -> Verdict:
    redact = options.redact
    try:
        texts = candidate.parts
        if redact is not None:
            texts = tuple(redact_part(redact, part) for part in texts)
    except Exception as error:  # noqa: BLE001 - whatever the host's hook raises, the result is kept
        return Verdict(block, "failed", failure=Failure("redact", key.tool_use_id, error))
    is_json = is_json_content(candidate.content)
    choice = Choice(
        key=key,
        occurrences=[candidate],
        prepared=Prepared(Fresh([candidate]), texts, preview_window(texts, options.preview_bytes)),
        path=expected_path(store, key.tool_use_id, is_json=is_json),
        preview_bytes=options.preview_bytes,
        replacement="",
        totals=GroupTotals(),
        shown=_shown(texts, options),
    )
    choice.replacement = choice.build(choice.path, options.reader_hint)
    if len(choice.replacement) >= choice.size:
        return Verdict(block, "no_gain")
    return Verdict(block, None, choice=choice)


def _shown(texts: tuple[str, ...], options: GateOptions) -> Shown | None:
    """Show a text in the style that is asked for, if that shows more than its beginning."""
    style = options.preview_style
    if style == "head":
        return None
    shown = core.show_preview(texts, options.preview_bytes, style, options.outline)
    return None if shown.style == "head" else shown
