"""What OpenTelemetry was told: its own SDK with exporters in memory, once for all tests."""

from __future__ import annotations

from functools import cache
from typing import Any

from opentelemetry import metrics, trace
from opentelemetry.sdk.metrics import MeterProvider
from opentelemetry.sdk.metrics.export import InMemoryMetricReader
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export import SimpleSpanProcessor
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter


class Exported:
    """What left the process, were there anybody to send it to.

    A provider is set once in the life of a process, so it listens from its first use on.
    """

    def __init__(self) -> None:
        self._spans = InMemorySpanExporter()
        provider = TracerProvider()
        provider.add_span_processor(SimpleSpanProcessor(self._spans))
        trace.set_tracer_provider(provider)
        self._metrics = InMemoryMetricReader()
        metrics.set_meter_provider(MeterProvider([self._metrics]))

    def clear(self) -> None:
        """Forgets the spans so far."""
        self._spans.clear()

    def spans(self, scope: str | None = "ullage") -> list[Any]:
        """The spans that ended, in the order in which they did; None for those of all scopes."""
        spans: list[Any] = list(self._spans.get_finished_spans())
        return [s for s in spans if scope is None or s.instrumentation_scope.name == scope]

    def points(self, metric: str) -> list[tuple[dict[str, Any], Any]]:
        """Attributes and point of a metric of ullage's."""
        data: Any = self._metrics.get_metrics_data()
        if data is None:
            return []
        return [
            (dict(point.attributes), point)
            for resource in data.resource_metrics
            for scope in resource.scope_metrics
            if scope.scope.name == "ullage"
            for found in scope.metrics
            if found.name == metric
            for point in found.data.data_points
        ]

    def total(self, metric: str, **attributes: str) -> float:
        """What a counter came to, or how often a histogram was told, for these attributes."""
        wanted = {name.replace("__", "."): value for name, value in attributes.items()}
        points = [point for found, point in self.points(metric) if wanted.items() <= found.items()]
        total: float = sum(getattr(point, "count", None) or point.value for point in points)
        return total


@cache
def exported() -> Exported:
    return Exported()
