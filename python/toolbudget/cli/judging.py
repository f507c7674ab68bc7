"""Judging windows one after the other, and what comes of it."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Literal, NamedTuple, TypeAlias, cast

from toolbudget import _core as core
from toolbudget._core.pure import Change, Key
from toolbudget._core.pure.shape import text_parts
from toolbudget.cli.window import block_at

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from toolbudget._core.pure import Candidate
    from toolbudget.budget.report import EnforcementReport, Failure
    from toolbudget.budget.session import Session
    from toolbudget.budget.state import ContentReplacementState
    from toolbudget.cli.source import Place
    from toolbudget.cli.window import Window

__all__ = ["Edit", "GroupSummary", "Judge", "ReplacedResult", "Results"]

Origin: TypeAlias = Literal["gate", "budget", "earlier_run", "this_run", "other_program"]


class Edit(NamedTuple):
    """A new text for the content at one place of the input."""

    place: Place
    text: str


@dataclass(frozen=True, slots=True)
class ReplacedResult:
    """One result that stands as a replacement in the output.

    Attributes:
        tool_use_id: The id of its call.
        tool_name: The tool; ``None`` if the input has no such call.
        position: Its line, or the index of its message.
        group: The number of its group, from 1 on in the order in which groups were complete.
        origin: Who decided it: ``gate`` or ``budget`` in this run; for one that was decided before,
            ``earlier_run``, ``this_run`` (the same result stands in two places) or
            ``other_program``.
        size_chars: Characters of the original.
        size_bytes: UTF-8 bytes of the original.
        replacement_chars: Characters that stand in its place.
        replacement_bytes: Their UTF-8 bytes.
        path: Where the full text is, as far as it is known.
    """

    tool_use_id: str
    tool_name: str | None
    position: int
    group: int
    origin: Origin
    size_chars: int
    size_bytes: int
    replacement_chars: int
    replacement_bytes: int
    path: str | None

    @property
    def is_new(self) -> bool:
        """Whether this run decided it."""
        return self.origin in {"gate", "budget"}


@dataclass(slots=True)
class GroupSummary:
    """One group in which something stands as a replacement, or that is over the limit."""

    group: int
    position: int
    results: int
    chars_before: int
    chars_after: int
    over_limit_chars: int


@dataclass(slots=True)
class Results:
    """Everything that came of the windows so far.

    Attributes:
        groups: API user messages with results.
        results: Tool results, text or not.
        listed_groups: Groups that a reader wants to see.
        replaced: Results that stand as replacements.
        exempt: Exempt results by the name of their tool.
        skipped: Other results that were not judged, by reason.
        kept: Results that were judged and stay as they are.
        chars_before: Characters of all text results as given.
        chars_after: The same in the output.
        estimated_tokens_saved: Estimated tokens of replaced texts, less those of replacements.
        over_limit_chars: By how much groups still exceed the limit, summed.
        decided_earlier: Results that a record under this root had decided before this run.
        failures: What could not be done.
        edits: The changes that make the output.
    """

    groups: int = 0
    results: int = 0
    listed_groups: list[GroupSummary] = field(default_factory=list)
    replaced: list[ReplacedResult] = field(default_factory=list)
    exempt: Counter[str] = field(default_factory=Counter)
    skipped: Counter[str] = field(default_factory=Counter)
    kept: int = 0
    chars_before: int = 0
    chars_after: int = 0
    estimated_tokens_saved: int = 0
    over_limit_chars: int = 0
    decided_earlier: int = 0
    failures: list[Failure] = field(default_factory=list)
    edits: list[Edit] = field(default_factory=list)


class _Made(NamedTuple):
    """A replacement that this run made."""

    origin: Origin
    file_name: str | None


class Judge:
    """Runs the gate on each result of a window, then the budget on all of them.

    Args:
        session: Decides and remembers.
        is_exempt_tool: Tells by name whether a tool's limit is infinite.
        earlier: What was decided before this run.
    """

    def __init__(
        self,
        session: Session,
        *,
        is_exempt_tool: Callable[[str], bool],
        earlier: ContentReplacementState,
    ) -> None:
        """Start without results."""
        self.results = Results()
        self._session = session
        self._is_exempt_tool = is_exempt_tool
        self._earlier = earlier
        # By id and replacement: those of the window in hand, and that there were some before it.
        self._made_now: dict[tuple[str, str], _Made] = {}
        self._made_before: set[tuple[str, str]] = set()

    def judge(self, window: Window) -> None:
        """Decide about one group that is complete."""
        survey = core.collect(window.messages, self._is_exempt_tool)
        candidates = [found for group in survey.groups for found in group.candidates]
        self.results.skipped.update(survey.skipped)
        self.results.results += survey.skipped.total() + len(candidates)
        if not candidates:
            return
        self.results.groups += 1
        gated = core.rewrite(window.messages, self._pass_gate(window, candidates))
        output = self._session.enforce(gated)
        over_limit_chars = self._session.report.over_limit_chars
        self._note(self._session.report, "budget")
        self._sum_up(window, candidates, output, over_limit_chars)
        self._made_before.update(self._made_now)
        self._made_now.clear()

    def _pass_gate(self, window: Window, candidates: Sequence[Candidate]) -> list[Change]:
        changes = []
        for candidate in candidates:
            # No placeholder for an empty result: a transcript is not edited for that.
            if all(not part or part.isspace() for part in candidate.parts):
                continue
            index = candidate.message_index
            block = block_at(window.messages[index], candidate.block_index)
            result = self._session.gate(
                block,
                tool_name=candidate.tool_name or "",
                caller=window.caller_of(index, candidate.tool_use_id),
            )
            self._note(self._session.report, "gate")
            if result is not block:
                changes.append(Change(index, candidate.block_index, _text_of(result)))
        return changes

    def _note(self, report: EnforcementReport, origin: Origin) -> None:
        for record in report.newly_replaced:
            made = _Made(origin, record.file)
            self._made_now[record.tool_use_id, record.replacement] = made
        self.results.failures += report.failures

    def _sum_up(
        self,
        window: Window,
        candidates: Sequence[Candidate],
        output: Sequence[object],
        over_limit_chars: int,
    ) -> None:
        results = self.results
        chars_before = chars_after = 0
        replaced_before = len(results.replaced)
        for candidate in candidates:
            chars_before += candidate.size
            results.decided_earlier += self._was_decided(candidate)
            text = _replacement_of(candidate, output)
            chars_after += candidate.size if text is None else len(text)
            if text is None:
                self._note_kept(candidate)
            else:
                self._note_replaced(window, candidate, text)
        results.chars_before += chars_before
        results.chars_after += chars_after
        results.over_limit_chars += over_limit_chars
        if over_limit_chars or len(results.replaced) > replaced_before:
            results.listed_groups.append(
                GroupSummary(
                    group=results.groups,
                    position=window.position_of(candidates[0].message_index),
                    results=len(candidates),
                    chars_before=chars_before,
                    chars_after=chars_after,
                    over_limit_chars=over_limit_chars,
                )
            )

    def _was_decided(self, candidate: Candidate) -> bool:
        if not self._earlier.has_id(candidate.tool_use_id):
            return False
        return self._earlier.is_decided(
            Key(candidate.tool_use_id, core.fingerprint(candidate.parts))
        )

    def _note_kept(self, candidate: Candidate) -> None:
        if candidate.is_exempt:
            self.results.exempt[candidate.tool_name or ""] += 1
        elif core.is_framed_reference(candidate.text):
            self.results.skipped["reference"] += 1
        else:
            self.results.kept += 1

    def _note_replaced(self, window: Window, candidate: Candidate, text: str) -> None:
        origin, path = self._origin_of(candidate, text)
        self.results.replaced.append(
            ReplacedResult(
                tool_use_id=candidate.tool_use_id,
                tool_name=candidate.tool_name,
                position=window.position_of(candidate.message_index),
                group=self.results.groups,
                origin=origin,
                size_chars=candidate.size,
                size_bytes=core.utf8_length(candidate.text),
                replacement_chars=len(text),
                replacement_bytes=core.utf8_length(text),
                path=path,
            )
        )
        self.results.estimated_tokens_saved += core.estimate_tokens(candidate.parts)
        self.results.estimated_tokens_saved -= core.estimate_tokens((text,))
        place = window.place_of(candidate.message_index, candidate.block_index)
        self.results.edits.append(Edit(place, text))

    def _origin_of(self, candidate: Candidate, text: str) -> tuple[Origin, str | None]:
        """Tell who decided about a replaced result, and where its full text is."""
        tool_use_id = candidate.tool_use_id
        made = self._made_now.get((tool_use_id, text))
        if made is not None:
            results = self._session.directory / "tool-results"
            return made.origin, str(results / made.file_name) if made.file_name else None
        path = self._session.result_path(tool_use_id)
        # One id may have had several texts: the file is this one's if the replacement names it.
        known_path = str(path) if path is not None and str(path) in text else None
        if self._was_decided(candidate):
            return "earlier_run", known_path
        is_repeated = (tool_use_id, text) in self._made_before
        return "this_run" if is_repeated else "other_program", known_path


def _text_of(block: Mapping[str, object]) -> str:
    return "".join(text_parts(block["content"]) or ())


def _replacement_of(candidate: Candidate, output: Sequence[object]) -> str | None:
    """Return the text that stands in the place of a result; ``None`` if it is what it was."""
    message = cast("Mapping[str, object]", output[candidate.message_index])
    block = block_at(message, candidate.block_index)
    return None if block["content"] is candidate.content else _text_of(block)
