"""OpenTelemetry's own SDK with exporters in memory, once for all tests."""

from __future__ import annotations

from contextlib import contextmanager
from functools import cache
from typing import TYPE_CHECKING, Any

from opentelemetry import metrics, trace
from opentelemetry.sdk.metrics import MeterProvider
from opentelemetry.sdk.metrics.export import InMemoryMetricReader
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export import SimpleSpanProcessor
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter
from opentelemetry.sdk.trace.sampling import ALWAYS_OFF, ALWAYS_ON, Sampler, SamplingResult

if TYPE_CHECKING:
    from collections.abc import Iterator


class WhileAsked(Sampler):
    """Records spans while a test listens; a host's spans cost every other test a fifth of its time."""

    asked = False

    def should_sample(self, *args: Any, **more: Any) -> SamplingResult:
        return (ALWAYS_ON if self.asked else ALWAYS_OFF).should_sample(*args, **more)

    def get_description(self) -> str:
        return "while a test listens"


class OnlyOurs(MeterProvider):
    """Keeps the metrics of ullage; those of the hosts would be collected at each look."""

    def get_meter(self, name: str, *args: Any, **more: Any) -> metrics.Meter:
        ours = name == "ullage"
        return super().get_meter(name, *args, **more) if ours else metrics.NoOpMeter(name)


class Exported:
    """The spans and metrics of this process.

    A provider is set once in the life of a process, so the tests share this one.
    """

    def __init__(self) -> None:
        self._spans = InMemorySpanExporter()
        self._sampler = WhileAsked()
        provider = TracerProvider(self._sampler)
        provider.add_span_processor(SimpleSpanProcessor(self._spans))
        trace.set_tracer_provider(provider)
        self._metrics = InMemoryMetricReader()
        metrics.set_meter_provider(OnlyOurs([self._metrics]))

    @contextmanager
    def listening(self) -> Iterator[Exported]:
        """Records spans meanwhile, from none on."""
        self.clear()
        self._sampler.asked = True
        try:
            yield self
        finally:
            self._sampler.asked = False

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
        """The value of a counter, or the count of a histogram, for these attributes."""
        wanted = {name.replace("__", "."): value for name, value in attributes.items()}
        points = [point for found, point in self.points(metric) if wanted.items() <= found.items()]
        total: float = sum(getattr(point, "count", None) or point.value for point in points)
        return total


@cache
def exported() -> Exported:
    return Exported()
