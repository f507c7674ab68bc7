"""The report of ``toolbudget diff``, for machines and for a person."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final, NamedTuple

import click

from toolbudget.budget.prefix_finding import PrefixKind, shown_path
from toolbudget.cli.reading import STANDARD_INPUT
from toolbudget.cli.wording import count, grouped, printable

if TYPE_CHECKING:
    from collections.abc import Iterator

    from toolbudget._core.pure.json import Path
    from toolbudget.cli.source import Format, Malformed

__all__ = ["DiffReport", "SideReport", "show_diff"]

_WHAT_HAPPENED: Final = {
    "changed": "was changed",
    "inserted": "was inserted",
    "removed": "was removed",
    "shortened": "is missing, with all that followed",
    "moved": "was moved",
}
_LABEL_COLUMNS: Final = 8


class SideReport(NamedTuple):
    """What there is to say about one input; places are ``None`` if there is no difference."""

    name: str
    format: Format
    messages: int
    malformed: tuple[Malformed, ...] = ()
    """The first hundred lines that could not be read."""
    malformed_count: int = 0
    path: Path | None = None
    line: int | None = None
    byte: int | None = None
    excerpt: str | None = None

    def to_json(self) -> dict[str, object]:
        """Return it in the form for machines."""
        return {
            "input": self.name,
            "format": self.format,
            "messages": self.messages,
            "malformed_lines": [
                {"line": line.position, "problem": line.problem} for line in self.malformed
            ],
            "malformed_line_count": self.malformed_count,
            "path": None if self.path is None else list(self.path),
            "line": self.line,
            "byte": self.byte,
            "excerpt": self.excerpt,
        }


@dataclass(frozen=True, slots=True, kw_only=True)
class DiffReport:
    """What comparing two inputs has shown.

    Attributes:
        kind: As in :class:`toolbudget.PrefixFinding`; never ``first``.
        parameter: The parameter that differs, if it is no message.
        message_index: The message that differs.
        block_index: The block that differs in it.
        has_moved_markers: Markers have moved, before the first difference if there is one.
        kept_tokens: Rough estimate of how much of A a cache can still use for B.
        lost_tokens: The rest of A.
        before: About A.
        now: About B.
    """

    kind: PrefixKind
    parameter: str | None
    message_index: int | None
    block_index: int | None
    has_moved_markers: bool
    kept_tokens: int
    lost_tokens: int
    before: SideReport
    now: SideReport

    @property
    def begins(self) -> bool:
        """Whether B begins with all of A; markers may have moved, texts have another form."""
        return self.kind in {"extended", "cache_control", "form"}

    def to_json(self) -> dict[str, object]:
        """Return the report as the object that ``--json`` prints."""
        return {
            "begins_with_all": self.begins,
            "kind": self.kind,
            "parameter": self.parameter,
            "message_index": self.message_index,
            "block_index": self.block_index,
            "has_moved_markers": self.has_moved_markers,
            "kept_tokens": self.kept_tokens,
            "lost_tokens": self.lost_tokens,
            "a": self.before.to_json(),
            "b": self.now.to_json(),
        }


def show_diff(report: DiffReport) -> None:
    """Print the report to standard output."""
    for line in _lines(report):
        click.echo(line)


def _lines(report: DiffReport) -> Iterator[str]:
    before, now = report.before, report.now
    total = report.kept_tokens + report.lost_tokens
    if report.begins:
        size = f"{count(before.messages, 'message')}, ~{grouped(total)} tokens"
        yield f"B begins with all of A: {size}"
        if before.messages < now.messages:
            yield _labelled("New", f"{count(now.messages - before.messages, 'message')} in B")
    else:
        yield f"B does not begin with A: {_place(report)} {_WHAT_HAPPENED[report.kind]}"
        yield _labelled(
            "Usable", f"~{grouped(report.kept_tokens)} of ~{grouped(total)} tokens of A"
        )
    if report.has_moved_markers:
        yield _labelled("Markers", "cache_control has moved" + _marker_place(report))
    if report.kind == "form":
        yield _labelled("Form", f"text in one and a list of it in the other, in {_place(report)}")
    if not report.begins:
        yield from _side_lines("A", before)
        yield from _side_lines("B", now)
    yield from _malformed_lines("A", before)
    yield from _malformed_lines("B", now)


def _side_lines(label: str, side: SideReport) -> Iterator[str]:
    name = "standard input" if side.name == STANDARD_INPUT else side.name
    where = f"line {grouped(side.line or 1)}, byte {grouped(side.byte or 0)}"
    yield _labelled(f"In {label}", f"{printable(name)}, {where}: {shown_path(side.path or ())}")
    text = "(nothing)" if side.excerpt is None else printable(side.excerpt)
    yield _labelled("", text)


def _malformed_lines(label: str, side: SideReport) -> Iterator[str]:
    if not side.malformed:
        return
    first = side.malformed[0]
    others = side.malformed_count - 1
    more = f", and {count(others, 'more line')}" if others else ""
    yield _labelled("Skipped", f"{label}, line {first.position}: {first.problem}{more}")


def _place(report: DiffReport) -> str:
    part = f"message {report.message_index}"
    if report.parameter is not None:
        part = printable(report.parameter)
    return part if report.block_index is None else f"{part}, block {report.block_index}"


def _marker_place(report: DiffReport) -> str:
    return f", first in {_place(report)}" if report.kind == "cache_control" else ""


def _labelled(label: str, text: str) -> str:
    return f"{label:<{_LABEL_COLUMNS}}{text}"
