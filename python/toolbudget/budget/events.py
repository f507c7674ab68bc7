"""Telling the host: the log, and an optional callback."""

from __future__ import annotations

import logging
from typing import TYPE_CHECKING, Final

from toolbudget.budget.report import Event

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from toolbudget.budget.report import EnforcementReport
    from toolbudget.budget.summary import Summary

__all__ = ["announce"]

logger: Final = logging.getLogger("toolbudget")


def announce(
    report: EnforcementReport | Summary, on_event: Callable[[Event], object] | None
) -> None:
    """Log what failed, and call ``on_event`` for every replacement and failure of a call.

    It comes after the decisions, without a lock held: nothing that a callback does changes them.
    """
    for failure in report.failures:
        logger.warning("%s", failure)
    if on_event is None:
        return
    for event in _events(report):
        try:
            on_event(event)
        except Exception:
            logger.exception("on_event raised for %s", event.kind)


def _events(report: EnforcementReport | Summary) -> Iterator[Event]:
    for record in report.newly_replaced:
        yield Event("replaced", record.tool_use_id, record=record)
    for failure in report.failures:
        yield Event("failure", failure.tool_use_id, failure=failure)
