"""Metrics and spans, as the real OpenTelemetry SDK receives them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from tests.builders import gate, res, turn
from toolbudget import PrefixGuard, Session

pytest.importorskip("opentelemetry.sdk", reason="the extra otel is not installed")

from opentelemetry.sdk.metrics import MeterProvider
from opentelemetry.sdk.metrics.export import InMemoryMetricReader
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export import SimpleSpanProcessor
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter
from opentelemetry.trace import StatusCode

from toolbudget.integrations.opentelemetry import TelemetryEvents

if TYPE_CHECKING:
    from pathlib import Path

HUGE = "a" * 210_000


class Telemetry:
    """Receives what is recorded, and gives it as plain values."""

    def __init__(self) -> None:
        """Begin with nothing."""
        self._reader = InMemoryMetricReader()
        self._spans = InMemorySpanExporter()
        tracers = TracerProvider()
        tracers.add_span_processor(SimpleSpanProcessor(self._spans))
        self.events = TelemetryEvents(
            meter_provider=MeterProvider([self._reader]), tracer_provider=tracers
        )

    @property
    def metrics(self) -> dict[tuple[str, tuple[str, ...]], Any]:
        """Sums by name and the values of the attributes; of a histogram how many there are."""
        data = self._reader.get_metrics_data()
        found = {}
        for resource in data.resource_metrics if data else ():
            for metric in (metric for scope in resource.scope_metrics for metric in scope.metrics):
                for point in metric.data.data_points:
                    values = tuple(sorted(map(str, (point.attributes or {}).values())))
                    count = getattr(point, "count", None)
                    found[metric.name, values] = getattr(point, "value", count)
        return found

    @property
    def spans(self) -> tuple[Any, ...]:
        """Everything that was traced."""
        return self._spans.get_finished_spans()


def test_what_a_session_does_is_counted(tmp_path: Path) -> None:
    """Each metric has the numbers of the reports, summed."""
    telemetry = Telemetry()
    with Session.open(tmp_path, "s", durability="process", on_event=telemetry.events) as session:
        messages = turn("Fetch", t1=HUGE, t2="small")
        sent = session.enforce(messages)
        session.enforce(messages)
    saved = sum(len(str(block)) for block in messages[-1]["content"])
    saved -= sum(len(str(block)) for block in sent[-1]["content"])
    found = telemetry.metrics
    assert found["toolbudget.results", ("enforce", "replaced")] == 1
    assert found["toolbudget.results", ("enforce", "reapplied")] == 1
    assert found["toolbudget.results", ("enforce", "kept")] == 2
    assert found["toolbudget.stored", ("enforce",)] == len(HUGE)
    # The text of a block in Python's form has escapes for line breaks.
    assert abs(found["toolbudget.saved", ("enforce",)] - 2 * saved) < 100
    assert found["toolbudget.duration", ("enforce",)] == 2


def test_a_call_is_a_span(tmp_path: Path) -> None:
    """With the time that it took, its numbers, and what failed as an exception of it."""
    telemetry = Telemetry()
    with Session.open(tmp_path, "s", durability="process", on_event=telemetry.events) as session:
        session.enforce(turn("Fetch", t1=HUGE))
        elapsed_s = session.report.elapsed_s
        gate(session, res("t5", [{"type": "text", "text": HUGE, "meta": {1, 2}}]))
    enforced, gated = telemetry.spans
    assert (enforced.name, gated.name) == ("toolbudget.enforce", "toolbudget.gate")
    assert enforced.attributes["toolbudget.replaced"] == 1
    assert enforced.end_time - enforced.start_time == int(elapsed_s * 1e9)
    assert gated.status.status_code is StatusCode.ERROR
    assert [event.name for event in gated.events] == ["exception"]
    assert telemetry.metrics["toolbudget.failures", ("gate", "store")] == 1


def test_no_name_or_text_is_recorded(tmp_path: Path) -> None:
    """Ids, tools, paths and texts would make a series each, and may be secret."""
    telemetry = Telemetry()
    with Session.open(
        tmp_path, "secret-session", durability="process", on_event=telemetry.events
    ) as session:
        session.enforce(turn("SecretTool", secret_id="secret text " * 30_000))
    told = repr(telemetry.metrics) + repr([dict(span.attributes) for span in telemetry.spans])
    assert "secret" not in told.lower()


def test_a_broken_prefix_is_counted() -> None:
    """By whom, if the guard was told."""
    telemetry = Telemetry()
    guard = PrefixGuard(on_event=telemetry.events)
    for text in ("a", "b"):
        message = {"role": "user", "content": text}
        guard.check([message], given=[message])
    assert telemetry.metrics["toolbudget.prefix_breaks", ("host",)] == 1
