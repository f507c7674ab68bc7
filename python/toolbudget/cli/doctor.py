"""``toolbudget doctor``: is everything of a session there, whole and private."""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import click

from toolbudget.cli.failure import EXIT_DONE, EXIT_FAILED
from toolbudget.cli.option_types import read_path
from toolbudget.cli.progress import Progress, show_progress
from toolbudget.storage.inspection import (
    SessionReport,
    find_sessions,
    inspect_root,
    inspect_session,
)
from toolbudget.storage.repair import Repair, repair_session, without_repaired

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from pathlib import Path

    from toolbudget.storage.inspection import Finding, SessionPlace

__all__ = ["Checked", "Totals", "command"]


@dataclass(frozen=True, slots=True)
class Checked:
    """One session: what was repaired, and what was found apart from that."""

    report: SessionReport
    repairs: tuple[Repair, ...]


@dataclass(slots=True)
class Totals:
    """What was found in all sessions together."""

    sessions: int = 0
    healthy: int = 0
    errors: int = 0
    warnings: int = 0
    notes: int = 0
    repaired: int = 0
    root_findings: tuple[Finding, ...] = field(default=())

    @property
    def is_healthy(self) -> bool:
        """Whether nothing worse than a note is left."""
        return not (self.errors or self.warnings)

    def add(self, checked: Checked) -> None:
        """Count one session."""
        self.sessions += 1
        self.healthy += checked.report.is_healthy
        self.repaired += sum(repair.error is None for repair in checked.repairs)
        self.add_findings(checked.report.findings)

    def add_findings(self, findings: Sequence[Finding]) -> None:
        """Count findings by their severity."""
        self.errors += sum(finding.kind.severity == "error" for finding in findings)
        self.warnings += sum(finding.kind.severity == "warning" for finding in findings)
        self.notes += sum(finding.kind.severity == "note" for finding in findings)


@click.command("doctor", short_help="Check sessions on disk and say what to do.")
@click.argument("path", metavar="PATH", callback=read_path)
@click.option(
    "--repair",
    "should_repair",
    is_flag=True,
    help="Repair where nothing can be lost: make files private, remove temporary files left over"
    " for more than an hour, end an unfinished last line. Results and records stay.",
)
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object.")
def command(*, path: str, should_repair: bool, as_json: bool) -> int:
    """Check a session on disk: missing or changed results, damaged records, open permissions.

    PATH is a session's folder, its transcript ROOT/SESSION.jsonl, or a folder of sessions, which
    stands for all of them. Only reads, takes no lock, and may look at a session in use.

    An error is something that is lost, a warning something that may be lost or be read by others,
    a note is harmless. Exit codes: 0 nothing or notes only, 1 errors or warnings, 2 wrong usage.

    \b
    Example:
      toolbudget doctor ~/agent/sessions --repair
    """  # noqa: D301 - click's mark for lines that stay as they are
    root, places = find_sessions(path)
    totals = Totals()
    if places:
        totals.root_findings = inspect_root(root)
        totals.add_findings(totals.root_findings)
    if as_json:
        sessions: list[dict[str, object]] = []
        _check(places, totals, lambda one: sessions.append(_session_json(one)), should_repair)
        click.echo(json.dumps(_to_json(root, totals, sessions), indent=2))
    else:
        from toolbudget.cli.doctor_view import DoctorView

        view = DoctorView(root, is_single=len(places) == 1)
        view.show_root(totals.root_findings)
        _check(places, totals, view.show, should_repair)
        view.show_totals(totals)
    return EXIT_DONE if totals.is_healthy else EXIT_FAILED


def _check(
    places: Sequence[SessionPlace],
    totals: Totals,
    tell: Callable[[Checked], object],
    should_repair: bool,  # noqa: FBT001 - handed through
) -> None:
    for place in places:
        # The bar is gone before anything is told, so that nothing of it stays between the lines.
        with show_progress() as progress:
            checked = _check_one(place, progress, should_repair=should_repair)
        totals.add(checked)
        tell(checked)


def _check_one(place: SessionPlace, progress: Progress, *, should_repair: bool) -> Checked:
    report = inspect_session(
        place, progress=lambda total_bytes: progress.begin("Checking", total_bytes)
    )
    repairs = repair_session(report) if should_repair else ()
    return Checked(without_repaired(report, repairs), repairs)


def _to_json(root: Path, totals: Totals, sessions: list[dict[str, object]]) -> dict[str, object]:
    """Return the whole report.

    Keys: ``root``, ``healthy``; ``counts`` of ``sessions``, ``errors``, ``warnings``, ``notes``
    and ``repaired``; ``findings`` about the root itself; ``sessions``.
    """
    return {
        "root": str(root),
        "healthy": totals.is_healthy,
        "counts": {
            "sessions": totals.sessions,
            "errors": totals.errors,
            "warnings": totals.warnings,
            "notes": totals.notes,
            "repaired": totals.repaired,
        },
        "findings": [_finding_json(finding) for finding in totals.root_findings],
        "sessions": sessions,
    }


def _session_json(checked: Checked) -> dict[str, object]:
    """Return one session.

    Keys: ``name``, ``directory``, ``transcript``, ``healthy``; ``record_files`` with ``path``,
    ``ours``, ``lines``, ``records``; ``replacements``, ``stored_files``, ``checked_files``,
    ``checked_bytes``; ``findings``; ``repairs`` with ``code``, ``path``, ``action`` and ``error``
    (null if it was done).
    """
    report = checked.report
    return {
        "name": report.place.name,
        "directory": str(report.place.directory),
        "transcript": str(report.place.transcript),
        "healthy": report.is_healthy,
        "record_files": [
            {
                "path": str(found.path),
                "ours": found.is_ours,
                "lines": found.lines,
                "records": found.records,
            }
            for found in report.record_files
        ],
        "replacements": report.replacements,
        "stored_files": report.stored_files,
        "checked_files": report.checked_files,
        "checked_bytes": report.checked_bytes,
        "findings": [_finding_json(finding) for finding in report.findings],
        "repairs": [repair._asdict() | {"path": str(repair.path)} for repair in checked.repairs],
    }


def _finding_json(finding: Finding) -> dict[str, object]:
    """Return one finding.

    Keys: ``code``, ``severity``, ``what``, ``meaning``, ``advice``; ``count``; ``items``, at most
    10,000, with ``path``, ``detail``, ``line`` (from 1), ``offset`` (bytes, from 0) and
    ``tool_use_id``, each null where there is none.
    """
    kind = finding.kind
    return {
        "code": kind.code,
        "severity": kind.severity,
        "what": kind.one if finding.count == 1 else kind.many,
        "meaning": kind.meaning,
        "advice": kind.advice,
        "count": finding.count,
        "items": [
            item._asdict() | {"path": str(item.path), "detail": item.detail or None}
            for item in finding.items
        ],
    }
