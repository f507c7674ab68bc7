"""Telling the host: the log, and an optional callback."""

from __future__ import annotations

import logging
from typing import TYPE_CHECKING, Final

from toolbudget.budget.report import EnforcementReport, Event

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from toolbudget.budget.report import Operation
    from toolbudget.budget.summary import Summary

__all__ = ["announce", "tell"]

logger: Final = logging.getLogger("toolbudget")


def announce(
    report: EnforcementReport | Summary,
    on_event: Callable[[Event], object] | None,
    *,
    operation: Operation,
    session_id: str,
) -> None:
    """Log what a call did, and call ``on_event`` for all of it.

    It comes after the decisions, without a lock held: nothing that a callback does changes them.
    A log record carries its numbers as fields too, for handlers that write structured logs.
    """
    for failure in report.failures:
        fields = {
            "session_id": session_id,
            "operation": operation,
            "stage": failure.stage,
            "tool_use_id": failure.tool_use_id,
        }
        logger.warning("%s", failure, extra={"toolbudget": fields})
    if report.newly_replaced and logger.isEnabledFor(logging.DEBUG):
        _log_replaced(report, operation, session_id)
    if on_event is None:
        return
    full = report if isinstance(report, EnforcementReport) else report.report()
    for event in _events(full, operation):
        tell(on_event, event)


def tell(on_event: Callable[[Event], object], event: Event) -> None:
    """Call a host's callback; what it raises is logged."""
    try:
        on_event(event)
    except Exception:
        logger.exception("on_event raised for %s", event.kind)


def _log_replaced(
    report: EnforcementReport | Summary, operation: Operation, session_id: str
) -> None:
    fields = {
        "session_id": session_id,
        "operation": operation,
        "replaced": report.replaced,
        "bytes_stored": report.bytes_stored,
        "chars_before": report.chars_before,
        "chars_after": report.chars_after,
        "tool_use_ids": [record.tool_use_id for record in report.newly_replaced],
    }
    logger.debug("%d results replaced", report.replaced, extra={"toolbudget": fields})


def _events(report: EnforcementReport, operation: Operation) -> Iterator[Event]:
    for record in report.newly_replaced:
        yield Event("replaced", record.tool_use_id, operation, record=record)
    for failure in report.failures:
        yield Event("failed", failure.tool_use_id, operation, failure=failure)
    if report.bytes_stored:
        stored = len(report.newly_replaced)
        yield Event("stored", None, operation, stored, size_bytes=report.bytes_stored)
    if report.reapplied:
        yield Event("reapplied", None, operation, report.reapplied)
    if report.frozen:
        yield Event("kept", None, operation, report.frozen)
    if report.skipped:
        reasons = report.skipped_by_reason
        yield Event("skipped", None, operation, report.skipped, reasons=reasons)
    yield Event("finished", None, operation, report=report)
