"""The report of ``toolbudget report`` for machines: JSON, and a table of tools as CSV."""

from __future__ import annotations

import csv
from typing import TYPE_CHECKING

from toolbudget.limits import PREVIEW_SIZE_BYTES

if TYPE_CHECKING:
    from collections import Counter

    from toolbudget.cli.report_limits import LimitPair, Outcome
    from toolbudget.cli.report_survey import ReportSums, ToolSums

__all__ = ["by_size", "to_json", "tools_by_chars", "tools_csv"]

_COLUMNS = ("tool", "results", "chars", "estimated_tokens", "largest_chars")


def tools_by_chars(sums: ReportSums) -> list[tuple[str | None, ToolSums]]:
    """Return the tools, the one whose results have most characters first."""
    return sorted(sums.tools.items(), key=lambda item: (-item[1].chars, item[0] or ""))


def by_size(sizes: Counter[int]) -> list[tuple[int, int]]:
    """Return the buckets from the smallest to the largest that has any, with empty ones between.

    Each is the size that all in it are below, a power of two, and how many there are.
    """
    if not sizes:
        return []
    return [(1 << bucket, sizes[bucket]) for bucket in range(min(sizes), max(sizes) + 1)]


def to_json(sums: ReportSums) -> dict[str, object]:
    """Return the whole report.

    Keys: ``transcripts``, ``input_bytes``, ``malformed``, ``unreadable`` (``path``, ``problem``);
    ``results``, ``chars``, ``estimated_tokens`` of all tools; ``messages`` with text results,
    ``messages_over`` the default limit; ``other_format_messages``, which are not counted, as those
    of OpenAI; ``skipped``, results that are not text, by reason;
    ``references`` that stand in the transcripts already; ``tools``, of each ``tool`` (null without
    its call), ``results``, ``chars``, ``estimated_tokens``, ``largest_chars``, ``sizes``;
    ``sizes`` and ``message_sizes``, lists of ``below_chars`` and ``count``; ``largest``, of each
    ``chars``, ``path``, ``position``, ``tool_use_id``, ``tool``; ``limits``, for each pair
    ``max_result_chars``, ``max_message_chars``, ``gated``, ``budgeted``, ``chars_after``,
    ``chars_saved``, ``estimated_tokens_saved``, ``messages_over``, reckoned with previews of
    ``preview_bytes``; ``prefix`` with ``requests``,
    ``kept``, ``lost_tokens``, ``compactions``.
    """
    return {
        "transcripts": sums.transcripts,
        "input_bytes": sums.input_bytes,
        "malformed": sums.malformed,
        "unreadable": [{"path": path, "problem": problem} for path, problem in sums.unreadable],
        "results": sums.results,
        "chars": sums.chars,
        "estimated_tokens": sums.estimated_tokens,
        "messages": sums.messages,
        "messages_over": sums.messages_over,
        "other_format_messages": sums.other_format_messages,
        "skipped": dict(sums.skipped),
        "references": sums.references,
        "tools": [
            {**_tool_row(name, tool), "sizes": _sizes_json(tool.sizes)}
            for name, tool in tools_by_chars(sums)
        ],
        "sizes": _sizes_json(sums.sizes),
        "message_sizes": _sizes_json(sums.message_sizes),
        "largest": [
            {
                "chars": large.chars,
                "path": large.path,
                "position": large.position,
                "tool_use_id": large.tool_use_id,
                "tool": large.tool_name or None,
            }
            for large in sums.largest
        ],
        "limits": [_limits_json(sums, *item) for item in sums.limits.outcomes.items()],
        "preview_bytes": PREVIEW_SIZE_BYTES,
        "prefix": {
            "requests": sums.prefix.requests,
            "kept": sums.prefix.kept,
            "lost_tokens": sums.prefix.lost_tokens,
            "compactions": sums.prefix.compactions,
        },
    }


def tools_csv(sums: ReportSums) -> bytes:
    """Return the tools as CSV: a header and a row each; the name is empty without the call."""
    lines = _Lines()
    writer = csv.DictWriter(lines, _COLUMNS, lineterminator="\r\n")
    writer.writeheader()
    for name, tool in tools_by_chars(sums):
        row = _tool_row(name, tool)
        # A cell that a spreadsheet would reckon with is shown as it is.
        shown = f"'{name}" if name and name[0] in "=+-@\t\r" else name or ""
        writer.writerow({**row, "tool": shown})
    return "".join(lines.written).encode("utf-8", "backslashreplace")


class _Lines:
    """Takes what is written; no file is needed for it."""

    def __init__(self) -> None:
        self.written: list[str] = []

    def write(self, line: str) -> None:
        self.written.append(line)


def _tool_row(name: str | None, tool: ToolSums) -> dict[str, object]:
    return {
        "tool": name,
        "results": tool.results,
        "chars": tool.chars,
        "estimated_tokens": tool.estimated_tokens,
        "largest_chars": tool.largest_chars,
    }


def _sizes_json(sizes: Counter[int]) -> list[dict[str, int]]:
    return [{"below_chars": below, "count": number} for below, number in by_size(sizes)]


def _limits_json(sums: ReportSums, pair: LimitPair, outcome: Outcome) -> dict[str, object]:
    return {
        "max_result_chars": pair.result_chars,
        "max_message_chars": pair.message_chars,
        "gated": outcome.gated,
        "budgeted": outcome.budgeted,
        "chars_after": outcome.chars_after,
        "chars_saved": sums.shown_chars - outcome.chars_after,
        "estimated_tokens_saved": sums.tokens_of(sums.shown_chars - outcome.chars_after),
        "messages_over": outcome.messages_over,
    }
