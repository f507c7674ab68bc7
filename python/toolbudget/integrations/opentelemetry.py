"""Metrics and spans for OpenTelemetry, made of a session's events.

Needs the extra ``otel``, which is the API alone; a host that records something has the SDK anyway.
"""

from __future__ import annotations

import time
from importlib.metadata import version
from typing import TYPE_CHECKING, Final

try:
    from opentelemetry import metrics, trace
except ModuleNotFoundError as error:
    raise ModuleNotFoundError(
        f"metrics and spans need the packages of the extra 'otel', which are not installed "
        f"(pip install 'toolbudget[otel]'): {error.name!r}",
        name=error.name,
    ) from error

if TYPE_CHECKING:
    from opentelemetry.metrics import MeterProvider
    from opentelemetry.trace import TracerProvider

    from toolbudget.budget.report import EnforcementReport, Event

__all__ = ["TelemetryEvents"]

_NAME: Final = "toolbudget"
_NANOSECONDS: Final = 1_000_000_000
_OUTCOMES: Final = frozenset({"reapplied", "kept", "skipped"})


class TelemetryEvents:
    """Counts and traces what sessions do; give it as ``on_event`` to sessions and prefix guards.

    One object serves any number of sessions and threads. Names of results, texts and paths are
    never recorded, so the number of series does not grow.

    Metrics: ``toolbudget.results`` by ``toolbudget.outcome`` (``replaced``, ``reapplied``,
    ``kept``, ``skipped``); ``toolbudget.stored`` in bytes; ``toolbudget.saved``, characters that a
    call left out of what it handed out; ``toolbudget.failures`` by ``toolbudget.stage``;
    ``toolbudget.prefix_breaks`` by ``toolbudget.changed_by``; ``toolbudget.duration`` of a call in
    seconds. All but the prefix breaks carry ``toolbudget.operation``.

    Spans: ``toolbudget.<operation>``, one for each call, with its numbers; failures are recorded as
    exceptions of it.

    Args:
        meter_provider: Where metrics go; the global one by default.
        tracer_provider: Where spans go; the global one by default.

    Example:
        >>> import tempfile, toolbudget
        >>> from toolbudget.integrations.opentelemetry import TelemetryEvents
        >>> session = toolbudget.Session.open(
        ...     tempfile.mkdtemp(), "demo", on_event=TelemetryEvents()
        ... )
        >>> session.enforce([])
        []
    """

    def __init__(
        self,
        *,
        meter_provider: MeterProvider | None = None,
        tracer_provider: TracerProvider | None = None,
    ) -> None:
        """Make the instruments."""
        release = version(_NAME)
        meter = metrics.get_meter(_NAME, release, meter_provider)
        self._tracer = trace.get_tracer(_NAME, release, tracer_provider)
        self._results = meter.create_counter(
            "toolbudget.results", "{result}", "Tool results by what became of them"
        )
        self._stored = meter.create_counter("toolbudget.stored", "By", "Bytes written to stores")
        self._saved = meter.create_counter(
            "toolbudget.saved", "{character}", "Characters left out of requests"
        )
        self._failures = meter.create_counter(
            "toolbudget.failures", "{failure}", "What could not be stored, recorded or redacted"
        )
        self._breaks = meter.create_counter(
            "toolbudget.prefix_breaks", "{break}", "Requests that did not begin with the one before"
        )
        self._duration = meter.create_histogram("toolbudget.duration", "s", "Time of a call")

    def __call__(self, event: Event) -> None:
        """Take one event."""
        operation = {"toolbudget.operation": event.operation or ""}
        if event.kind in _OUTCOMES:
            self._results.add(event.count, {**operation, "toolbudget.outcome": event.kind})
        elif event.kind == "stored":
            self._stored.add(event.size_bytes, operation)
        elif event.failure is not None:
            self._failures.add(1, {**operation, "toolbudget.stage": event.failure.stage})
        elif event.finding is not None:
            changed_by = event.finding.changed_by or "unknown"
            self._breaks.add(1, {"toolbudget.changed_by": changed_by})
        elif event.report is not None:
            self._finish(event.report, event.operation or "")

    def _finish(self, report: EnforcementReport, operation: str) -> None:
        attributes = {"toolbudget.operation": operation}
        if report.replaced:
            self._results.add(report.replaced, {**attributes, "toolbudget.outcome": "replaced"})
        if report.chars_before > report.chars_after:
            self._saved.add(report.chars_before - report.chars_after, attributes)
        self._duration.record(report.elapsed_s, attributes)
        end_ns = time.time_ns()
        span = self._tracer.start_span(
            f"toolbudget.{operation}",
            start_time=end_ns - int(report.elapsed_s * _NANOSECONDS),
            attributes={
                "toolbudget.groups": report.groups,
                "toolbudget.replaced": report.replaced,
                "toolbudget.reapplied": report.reapplied,
                "toolbudget.kept": report.frozen,
                "toolbudget.skipped": report.skipped,
                "toolbudget.stored_bytes": report.bytes_stored,
                "toolbudget.chars_before": report.chars_before,
                "toolbudget.chars_after": report.chars_after,
                "toolbudget.over_limit_chars": report.over_limit_chars,
            },
        )
        for failure in report.failures:
            span.record_exception(failure.error)
        if report.failures:
            span.set_status(trace.StatusCode.ERROR, str(report.failures[0]))
        span.end(end_ns)
