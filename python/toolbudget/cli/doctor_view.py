"""The report of ``toolbudget doctor`` for a person."""

from __future__ import annotations

import textwrap
from typing import TYPE_CHECKING, Final

from rich.text import Text

from toolbudget._core.pure.replacement import format_size
from toolbudget.cli.console import open_console
from toolbudget.cli.wording import count, grouped, printable, shorten

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from rich.console import Console

    from toolbudget.cli.doctor import Checked, Totals
    from toolbudget.storage.inspection import Finding, Item, SessionReport
    from toolbudget.storage.repair import Repair

__all__ = ["DoctorView"]

_MAX_LISTED: Final = 10
_MARGIN: Final = "  "
_INDENT: Final = "    "
_MIN_TEXT_COLUMNS: Final = 20
_MAX_TEXT_COLUMNS: Final = 100
_MAX_ID_CHARS: Final = 60
_NOTHING: Final = "Nothing to do"
_STYLES: Final = {"error": "bold red", "warning": "bold yellow", "note": "bold"}


class DoctorView:
    """Prints each session as soon as it is checked.

    Args:
        root: The folder of all sessions.
        is_single: Only one session is checked; it is shown also if nothing was found.
        console: Where to.
    """

    def __init__(self, root: Path, *, is_single: bool, console: Console | None = None) -> None:
        self._root = root
        self._is_single = is_single
        self._console = console or open_console()

    def show_root(self, findings: Sequence[Finding]) -> None:
        """Print what was found about the folder of all sessions itself."""
        if findings:
            self._line(Text("Folder of all sessions", "bold"))
            self._line(Text(f"{_MARGIN}{printable(str(self._root))}", "dim"))
            self._show_findings(findings)

    def show(self, checked: Checked) -> None:
        """Print one session, unless it is one of many and nothing is to be said about it."""
        report = checked.report
        if not (self._is_single or report.findings or checked.repairs):
            return
        self._line(Text(f"Session {printable(report.place.name)}", "bold"))
        self._line(Text(f"{_MARGIN}{printable(str(report.place.directory))}", "dim"))
        self._wrapped(_summary(report), _MARGIN)
        self._show_repairs(checked.repairs)
        self._show_findings(report.findings)

    def show_totals(self, totals: Totals) -> None:
        """Print the last line: how all of it is."""
        if not totals.sessions:
            self._line(Text.assemble("No sessions in ", printable(str(self._root))))
            return
        parts = [
            count(number, noun)
            for number, noun in (
                (totals.errors, "error"),
                (totals.warnings, "warning"),
                (totals.notes, "note"),
            )
            if number
        ]
        checked = count(totals.sessions, "session")
        style = "bold red" if totals.errors else "bold yellow" if totals.warnings else "bold green"
        verdict = ", ".join(parts) or "nothing found"
        if totals.is_healthy:
            verdict = f"healthy ({verdict})"
        self._line(Text.assemble(f"{checked} checked: ", (verdict, style)))

    def _show_findings(self, findings: Sequence[Finding]) -> None:
        self._console.print()
        for finding in findings:
            kind = finding.kind
            what = (
                f"1 {kind.one}" if finding.count == 1 else f"{grouped(finding.count)} {kind.many}"
            )
            self._wrapped(what, _MARGIN, label=kind.severity, style=_STYLES[kind.severity])
            for item in finding.items[:_MAX_LISTED]:
                self._show_item(item)
            more = finding.count - min(len(finding.items), _MAX_LISTED)
            if more:
                listed = "--json lists them"
                self._line(Text(f"{_INDENT}and {grouped(more)} more; {listed}", "dim"))
            if kind.advice.startswith(_NOTHING):
                self._wrapped(f"{kind.meaning} {kind.advice}", _INDENT)
            else:
                self._wrapped(kind.meaning, _INDENT)
                self._wrapped(kind.advice, _INDENT, label="to do", style="bold")
            self._console.print()

    def _show_item(self, item: Item) -> None:
        self._line(Text(f"{_INDENT}{printable(str(item.path))}", "cyan"))
        details = [] if item.line is None else [f"line {item.line} at byte {item.offset or 0}"]
        if item.detail:
            details.append(printable(item.detail))
        if item.tool_use_id is not None and item.tool_use_id != item.path.stem:
            details.append(f"result {shorten(item.tool_use_id, _MAX_ID_CHARS)}")
        if details:
            self._line(Text(f"{_INDENT}{_MARGIN}{', '.join(details)}", "dim"))

    def _show_repairs(self, repairs: Sequence[Repair]) -> None:
        if not repairs:
            return
        self._console.print()
        for repair in repairs[:_MAX_LISTED]:
            is_done = repair.error is None
            label, style = ("repaired", "bold green") if is_done else ("not repaired", "bold red")
            said = repair.action if is_done else f"{repair.action}: {repair.error}"
            self._wrapped(printable(said), _MARGIN, label=label, style=style)
            self._line(Text(f"{_INDENT}{printable(str(repair.path))}", "cyan"))
        if len(repairs) > _MAX_LISTED:
            more = f"and {grouped(len(repairs) - _MAX_LISTED)} more; --json lists them"
            self._line(Text(f"{_INDENT}{more}", "dim"))

    def _wrapped(self, text: str, indent: str, *, label: str = "", style: str = "") -> None:
        """Print a text with an indent of its own on each line."""
        columns = min(self._console.width - len(indent), _MAX_TEXT_COLUMNS)
        prefix = f"{label}: " if label else ""
        lines = textwrap.wrap(prefix + text, max(columns, _MIN_TEXT_COLUMNS))
        for number, line in enumerate(lines):
            shown = Text(indent + line)
            if number == 0 and label:
                shown.stylize(style, len(indent), len(indent) + len(label))
            self._line(shown)

    def _line(self, text: Text) -> None:
        # The terminal wraps it, so that a path copied from there has no line breaks of ours.
        self._console.print(text, soft_wrap=True)


def _summary(report: SessionReport) -> str:
    records = sum(found.records for found in report.record_files)
    where = count(len(report.record_files), "file")
    return (
        f"{count(records, 'record')} in {where}, {count(report.replacements, 'replaced result')},"
        f" {count(report.checked_files, 'stored result')} compared"
        f" ({format_size(report.checked_bytes)})"
    )
