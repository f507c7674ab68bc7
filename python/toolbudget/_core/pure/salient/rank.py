"""In which order findings are shown: how bad, how new, where."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from toolbudget._core.pure.salient.severity import CERTAIN, WEAK

if TYPE_CHECKING:
    from toolbudget._core.pure.salient.scan import Finding, Scan, Section

__all__ = ["SHOWN_FIRST", "SHOWN_LAST", "Ranked", "rank"]

SHOWN_FIRST: Final = 4_500
SHOWN_LAST: Final = 1_500

_SCALE: Final = 100
_BEFORE_SECTIONS_PERCENT: Final = 40
_AFTER_SECTIONS_PERCENT: Final = 20
_START_PERCENT: Final = 70
_WEAK_START_PERCENT: Final = 0
_EDGE_PERCENT: Final = 180
_NEW_KIND_PERCENT: Final = 180
_NEW_KIND_FROM: Final = 3_500
_KNOWN_KIND_PERCENT: Final = 35
_BEFORE_EXIT_BONUS: Final = 1_500
_BEFORE_EXIT_LINES: Final = 2

Ranked = tuple[int, int]


def rank(found: Scan, line_count: int) -> list[Ranked]:
    """Give (weight, line number) of all findings, the weightiest first, else in text order."""
    findings = found.findings
    sections = list(found.sections)
    edges = _edges(findings, sections)
    near_exit = {number - back for number in found.exits for back in (1, _BEFORE_EXIT_LINES)}
    known: set[tuple[bytes, bool]] = set()
    ranked: list[Ranked] = []
    for finding in findings:
        percent = _place_percent(finding.number, sections)
        weight = finding.severity * _SCALE * percent // 100
        start = _START_PERCENT if finding.severity > WEAK else _WEAK_START_PERCENT
        nearness = (100 - start) * finding.number // max(1, line_count)
        weight = weight * (start + nearness) // 100
        if finding.number in edges:
            weight = weight * _EDGE_PERCENT // 100
        if finding.number in near_exit:
            weight += _BEFORE_EXIT_BONUS
        kind = (finding.kind, percent == 100)  # noqa: PLR2004
        if kind in known:
            weight = weight * _KNOWN_KIND_PERCENT // 100
        elif weight >= _NEW_KIND_FROM:
            weight = weight * _NEW_KIND_PERCENT // 100
        known.add(kind)
        ranked.append((weight, finding.number))
    ranked.sort(key=lambda pair: (-pair[0], pair[1]))
    return ranked


def _edges(findings: list[Finding], sections: list[Section]) -> set[int]:
    """Find the first and the last certain failure: people look at these."""
    certain = [finding.number for finding in findings if finding.severity >= CERTAIN]
    inside = [number for number in certain if any(number in section for section in sections)]
    numbers = inside or certain
    return {numbers[0], numbers[-1]} if numbers else set()


def _place_percent(number: int, sections: list[Section]) -> int:
    if not sections or any(number in section for section in sections):
        return 100
    return _BEFORE_SECTIONS_PERCENT if number < sections[-1].last else _AFTER_SECTIONS_PERCENT
