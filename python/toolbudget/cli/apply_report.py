"""What ``toolbudget apply`` tells: everything that a run did, and its JSON form."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal, TypeAlias

if TYPE_CHECKING:
    from pathlib import Path

    from toolbudget.budget.report import Failure
    from toolbudget.cli.judging import GroupSummary, ReplacedResult, Results
    from toolbudget.cli.overview import Overview
    from toolbudget.cli.source import Format, Unit
    from toolbudget.limits import Unit as LimitUnit

__all__ = ["ApplyReport", "SessionIdSource", "failure_text"]

SessionIdSource: TypeAlias = Literal["records", "option", "hash"]


@dataclass(frozen=True, slots=True, kw_only=True)
class ApplyReport:
    """What one run did.

    Attributes:
        input_path: What was read; ``-`` is standard input.
        format: The form it had.
        unit: What positions count.
        session_id: The session that was decided in.
        session_id_source: Where its id comes from.
        unused_session_id: What ``--session`` asked for in vain.
        root: The folder of all sessions.
        results_directory: The folder of the session's full texts.
        output: Where the messages went.
        is_output_new: Whether it had to be written.
        overview: What the whole input says.
        results: What came of its results.
        new_files: Full texts that were newly written.
        new_bytes: Their bytes.
        limit_unit: What the limits count.
    """

    input_path: str
    format: Format
    unit: Unit
    session_id: str
    session_id_source: SessionIdSource
    unused_session_id: str | None
    root: Path
    results_directory: Path
    output: Path
    is_output_new: bool
    overview: Overview
    results: Results
    new_files: int
    new_bytes: int
    limit_unit: LimitUnit = "chars"

    @property
    def saved_chars(self) -> int:
        """Characters that the output has less than the input."""
        return self.results.chars_before - self.results.chars_after

    @property
    def estimated_tokens_saved(self) -> int:
        """An estimate of what that is in tokens."""
        return max(self.results.estimated_tokens_saved, 0)

    def to_json(self) -> dict[str, object]:
        """Return the report for machines.

        Keys are in snake case and name their units. ``line`` counts from 1; for a request body or a
        list of messages it is ``message_index``, from 0 on.

        ``input``, ``format`` (``jsonl``, ``body`` or ``messages``), ``session_id``,
        ``session_id_source`` (``records``, ``option`` or ``hash``), ``root``,
        ``results_directory``, ``output``, ``output_written`` (false: it had these bytes already),
        ``group_count``: API user messages with text results; ``result_count``: all tool results.

        ``groups``: those in which something is replaced, or that exceed the limit.
        ``replaced``: results that this run replaced, by ``stage`` ``gate`` or ``budget``.
        ``reapplied``: results that got a replacement decided before, ``decided_by`` an
        ``earlier_run``, ``this_run`` or ``other_program``. ``kept_count``: results that fit.
        ``skipped``: counts by reason: ``exempt``, ``not_text`` (images and the like),
        ``reference``, ``empty``, ``malformed``; ``exempt_by_tool`` details the first.

        ``malformed_lines``: the first hundred of ``malformed_line_count``.
        ``other_format_messages``: messages of another wire format with a call or result.
        ``unsent_copies`` and ``unsent_copies_chars``: structured copies that were left alone.
        ``chars_before``, ``chars_after``: text of all results; ``estimated_tokens_saved``;
        ``decided_earlier``: results that an earlier run over this root had decided;
        ``files_stored``, ``bytes_stored``: what is new in ``results_directory``;
        ``over_limit_chars``: by how much groups still exceed the limit, in ``limit_unit``;
        ``failures``.
        """
        results, overview = self.results, self.overview
        new = Counter(item.group for item in results.replaced if item.is_new)
        old = Counter(item.group for item in results.replaced if not item.is_new)
        return {
            "input": self.input_path,
            "format": self.format,
            "session_id": self.session_id,
            "session_id_source": self.session_id_source,
            "root": str(self.root),
            "results_directory": str(self.results_directory),
            "output": str(self.output),
            "output_written": self.is_output_new,
            "group_count": results.groups,
            "result_count": results.results,
            "groups": [
                self._group(group, new[group.group], old[group.group])
                for group in results.listed_groups
            ],
            "replaced": [self._result(item) for item in results.replaced if item.is_new],
            "reapplied": [self._result(item) for item in results.replaced if not item.is_new],
            "kept_count": results.kept,
            "skipped": {"exempt": results.exempt.total(), **results.skipped},
            "exempt_by_tool": dict(results.exempt),
            "malformed_lines": [
                {"line": line.position, "problem": line.problem} for line in overview.malformed
            ],
            "malformed_line_count": overview.malformed_count,
            "other_format_messages": overview.other_format_messages,
            "unsent_copies": overview.copies,
            "unsent_copies_chars": overview.copies_chars,
            "chars_before": results.chars_before,
            "chars_after": results.chars_after,
            "estimated_tokens_saved": self.estimated_tokens_saved,
            "decided_earlier": results.decided_earlier,
            "files_stored": self.new_files,
            "bytes_stored": self.new_bytes,
            "over_limit_chars": results.over_limit_chars,
            "limit_unit": self.limit_unit,
            "failures": [
                {
                    "stage": failure.stage,
                    "tool_use_id": failure.tool_use_id,
                    "error": failure_text(failure),
                }
                for failure in results.failures
            ],
        }

    def _position(self, position: int) -> dict[str, object]:
        return {"line" if self.unit == "line" else "message_index": position}

    def _group(self, group: GroupSummary, replaced: int, reapplied: int) -> dict[str, object]:
        return {
            "group": group.group,
            **self._position(group.position),
            "result_count": group.results,
            "replaced_count": replaced,
            "reapplied_count": reapplied,
            "chars_before": group.chars_before,
            "chars_after": group.chars_after,
            "over_limit_chars": group.over_limit_chars,
        }

    def _result(self, item: ReplacedResult) -> dict[str, object]:
        return {
            "tool_use_id": item.tool_use_id,
            "tool_name": item.tool_name,
            "group": item.group,
            **self._position(item.position),
            "stage" if item.is_new else "decided_by": item.origin,
            "size_chars": item.size_chars,
            "size_bytes": item.size_bytes,
            "replacement_chars": item.replacement_chars,
            "replacement_bytes": item.replacement_bytes,
            "path": item.path,
        }


def failure_text(failure: Failure) -> str:
    """Say what failed and why, in one line."""
    error = failure.error
    reason = error.strerror if isinstance(error, OSError) else None
    return reason or str(error) or type(error).__name__
