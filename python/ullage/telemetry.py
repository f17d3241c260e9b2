"""``Telemetry``: OpenTelemetry spans and metrics of an engine.

Names follow the GenAI semantic conventions if one fits, and are ``ullage.*`` otherwise:
https://github.com/open-telemetry/semantic-conventions-genai. They contain no text of a message.

This module does not import OpenTelemetry's API: a listener has already imported it. If nobody has,
each operation costs a look into a dict.
"""

from __future__ import annotations

import sys
import time
from contextlib import contextmanager
from functools import cache, wraps
from typing import TYPE_CHECKING, Any, TypeVar, cast

from ullage._core import __version__
from ullage._engine.logger import Logger

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from contextvars import Token

    from ullage._core import Plan
    from ullage.report.reports import Report
    from ullage.usage.savings import Savings

logger = Logger(__name__)

# The name of the instrumentation scope.
_SCOPE = "ullage"

# Attributes of the conventions.
_OPERATION = "gen_ai.operation.name"
_MODEL = "gen_ai.request.model"
_ERROR = "error.type"
_COMPACTED = "gen_ai.conversation.compacted"
TOOL_NAME = "gen_ai.tool.name"
MAX_TOKENS = "gen_ai.request.max_tokens"

# Attributes of ullage.
_DURATION = "ullage.operation.duration"
_SAVED = "ullage.tokens.saved"
_REWRITTEN = "ullage.tokens.rewritten"
_STAGE = "ullage.stage"
_INPUT_SAVED = "ullage.input.saved"
_COST_SAVED = "ullage.cost.saved"
_CACHE = "ullage.cache"

# The conventional names of an error without a class and of a timeout.
OTHER = "_OTHER"
TIMEOUT = "timeout"

_Method = TypeVar("_Method", bound="Callable[..., None]")


def kind_of(error: BaseException) -> str:
    """Returns the class of an error for ``error.type``, never its text."""
    kind = type(error)
    name = kind.__qualname__
    return name if kind.__module__ == "builtins" else f"{kind.__module__}.{name}"


def _quiet(method: _Method) -> _Method:
    """Makes a method that never raises: a failing processor or exporter must not stop a run."""

    @wraps(method)
    def quiet(*args: Any, **kwargs: Any) -> None:
        try:
            method(*args, **kwargs)
        except Exception:
            logger.warning("OpenTelemetry failed", exc_info=True)

    return cast("_Method", quiet)


class Operation:
    """An operation of an engine. It has no span until it is begun.

    Args:
        name: The value of ``gen_ai.operation.name``.
        attributes: Attributes that are known from the start.
    """

    def __init__(self, name: str, attributes: dict[str, Any]) -> None:
        self._name = name
        self._attributes = attributes
        self._since = time.time_ns()
        self._began = time.perf_counter()
        self._is_begun = False
        self._counted: list[tuple[str, int, dict[str, Any]]] = []
        self._error: dict[str, Any] = {}
        self._span: Any = None
        self._token: Token[Any] | None = None

    @_quiet
    def begin(self) -> None:
        """Begins the span, of which later spans are children. Once is enough."""
        if self._is_begun:
            return
        self._is_begun = True
        if "opentelemetry.trace" not in sys.modules:
            return
        from opentelemetry import context, trace

        model = self._attributes.get(_MODEL)
        self._span = trace.get_tracer(_SCOPE, __version__).start_span(
            self._name if model is None else f"{self._name} {model}",
            attributes={_OPERATION: self._name, **self._attributes},
            start_time=self._since,
        )
        self._token = context.attach(trace.set_span_in_context(self._span))

    def planned(self, plan: Plan) -> None:
        """Takes the plan. Begins the operation if the plan changes something."""
        if not plan.is_empty:
            self.begin()

    @_quiet
    def reported(self, report: Report) -> None:
        """Records the outcome of a compaction."""
        if not (report.stages or report.warnings):
            return
        self.begin()
        for stage, done in report.stages.items():
            self._counted.append((_SAVED, done.saved, {_STAGE: stage}))
        self._counted.append((_REWRITTEN, report.rewritten, {}))
        if self._span is not None:
            self._span.set_attributes(_attributes_of(report))

    @_quiet
    def shrunk(self, saved: int) -> None:
        """Records the tokens by which a result became shorter."""
        self.begin()
        self._counted.append((_SAVED, saved, {_STAGE: "shrink"}))
        if self._span is not None:
            self._span.set_attribute(_SAVED, saved)

    @_quiet
    def failed(self, kind: str) -> None:
        """Records a failure, by the class of the error."""
        self.begin()
        self._error = {_ERROR: kind}
        if self._span is not None:
            from opentelemetry.trace import StatusCode

            self._span.set_attributes(self._error)
            self._span.set_status(StatusCode.ERROR)

    @_quiet
    def end(self) -> None:
        """Ends the span, and adds to the metrics."""
        if self._token is not None:
            from opentelemetry import context

            context.detach(self._token)
            self._span.end()
        if not self._is_begun or "opentelemetry.metrics" not in sys.modules:
            return
        instruments = _instruments()
        common = {_OPERATION: self._name}
        if _MODEL in self._attributes:
            common[_MODEL] = self._attributes[_MODEL]
        seconds = time.perf_counter() - self._began
        instruments[_DURATION].record(seconds, common | self._error)
        for name, amount, attributes in self._counted:
            instruments[name].add(amount, common | attributes)


class Telemetry:
    """Begins and ends the operations of an engine.

    Args:
        model: The id of the engine's model, or None.
    """

    def __init__(self, model: str | None) -> None:
        self._attributes = {} if model is None else {_MODEL: model}

    @_quiet
    def answered(self, savings: Savings) -> None:
        """Adds the savings of a request to the metrics."""
        if "opentelemetry.metrics" not in sys.modules:
            return
        instruments = _instruments()
        for name, saved in (("new", savings.saved_new), ("read", savings.saved_cached)):
            instruments[_INPUT_SAVED].add(saved, {**self._attributes, _CACHE: name})
        if savings.money is not None:
            instruments[_COST_SAVED].add(savings.money, self._attributes)

    @contextmanager
    def operation(self, name: str, **attributes: Any) -> Iterator[Operation]:
        """Returns an operation that ends with the block. Errors of the block pass through."""
        operation = Operation(name, {**self._attributes, **attributes})
        try:
            yield operation
        except BaseException as error:
            operation.failed(kind_of(error))
            raise
        finally:
            operation.end()


def _attributes_of(report: Report) -> dict[str, Any]:
    attributes = {
        "ullage.tokens.before": report.tokens_before,
        "ullage.tokens.after": report.tokens_after,
        "ullage.tokens.budget": report.budget,
        _REWRITTEN: report.rewritten,
        "ullage.messages.removed": report.removed_messages,
        "ullage.references": len(report.references),
        "ullage.stages": list(report.stages),
        "ullage.warnings": len(report.warnings),
    }
    if report.summary is not None:
        attributes["ullage.summary.by"] = report.summary.by
    if report.savings is not None:
        attributes["ullage.input.saved.new"] = report.savings.saved_new
        attributes["ullage.input.saved.read"] = report.savings.saved_cached
        if report.savings.money is not None:
            attributes[_COST_SAVED] = report.savings.money
    if report.stages:
        # The conventions set it if it is true, and never to false.
        attributes[_COMPACTED] = True
    return attributes


@cache
def _instruments() -> dict[str, Any]:
    from opentelemetry import metrics

    meter = metrics.get_meter(_SCOPE, __version__)
    return {
        _DURATION: meter.create_histogram(
            _DURATION, unit="s", description="Time that compactions, shrinks and summaries take"
        ),
        _SAVED: meter.create_counter(
            _SAVED, unit="{token}", description="Tokens that stages saved"
        ),
        _INPUT_SAVED: meter.create_up_down_counter(
            _INPUT_SAVED,
            unit="{token}",
            description="Input tokens saved against sending the whole history, or lost",
        ),
        _COST_SAVED: meter.create_up_down_counter(
            _COST_SAVED, unit="USD", description="Cost of the same input tokens"
        ),
        _REWRITTEN: meter.create_counter(
            _REWRITTEN,
            unit="{token}",
            description="Tokens that the provider has to write into its prompt cache again",
        ),
    }
