"""``Compactor``: carries out an engine's decisions.

Removed content is stored first, and the messages are changed last. So after an error they are
unchanged.
"""

from __future__ import annotations

import threading
import time
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, Any

from ullage._core import MessagesChangedError
from ullage._engine.arguments import not_a_list
from ullage._engine.forks import renew_after_fork
from ullage._engine.logger import Logger
from ullage._engine.steps import aside
from ullage.report.reports import Report
from ullage.usage.savings import Savings

if TYPE_CHECKING:
    from collections.abc import Sequence

    from ullage._core import Engine, Plan, Reading
    from ullage._engine.artifact_writer import Artifact, ArtifactWriter
    from ullage._engine.background import BackgroundSummary
    from ullage._engine.listener import Listener
    from ullage._engine.plan_request import PlanRequest
    from ullage._engine.steps import Steps
    from ullage._engine.stopwatch import Stopwatch
    from ullage._engine.summary_source import SummarizedPlan, SummarySource
    from ullage.telemetry import Operation, Telemetry
    from ullage.usage.economics import Economics

logger = Logger(__name__)

# Times that a compaction plans again because an older message changed meanwhile.
_TRIES = 3


class Compactor:
    """Carries out an engine's decisions.

    Args:
        engine: Decides.
        artifact_writer: Stores removed content.
        summary_source: Gives the summaries.
        stopwatch: Measures the time without the summaries.
        listener: Gets the report.
        telemetry: Reports to OpenTelemetry.
        prices: The prices of the model, or None if they are not known.
        append_only: True if the host promises that messages only come at the end.
    """

    def __init__(
        self,
        engine: Engine,
        artifact_writer: ArtifactWriter,
        summary_source: SummarySource,
        *,
        stopwatch: Stopwatch,
        listener: Listener,
        telemetry: Telemetry,
        prices: Economics | None,
        append_only: bool,
    ) -> None:
        self._engine = engine
        self._artifact_writer = artifact_writer
        self._summary_source = summary_source
        self._stopwatch = stopwatch
        self._listener = listener
        self._telemetry = telemetry
        self._prices = prices
        self._append_only = append_only
        self.renew()
        renew_after_fork(self)

    def renew(self) -> None:
        """Replaces its lock."""
        self._applying = threading.Lock()

    def plan(self, messages: Sequence[Any], ask: PlanRequest) -> Plan:
        """Returns a plan, and changes nothing."""
        with self._stopwatch.running():
            return self._plan(self._read(messages, ask), ask, unasked=None)

    def compact(self, messages: list[Any], ask: PlanRequest) -> Steps[Report]:
        """Makes a plan and carries it out in place.

        Messages that are appended meanwhile stay after the planned ones. If an older one changes,
        the plan is made again.
        """
        start = time.perf_counter()
        _require_list(messages)
        plan: Plan | None = None
        if (idle := self._idle(messages, ask)) is not None:
            report = Report._of(idle, time.perf_counter() - start)  # noqa: SLF001
        else:
            with self._telemetry.operation("compact") as operation:
                summarized = yield from self._compact_with_retries(messages, ask, operation)
                plan = summarized.plan
                yield from self._artifact_writer.clean(messages)
                report = self.finish(summarized, start)
                operation.reported(report)
        yield self._listener.notify(report, plan)
        if self._summary_source.is_near(messages, report):
            begun = yield from self.begin(messages, ask)
            if begun is None:
                self._summary_source.leave(messages, report)
        return report

    def view(self, messages: Sequence[Any], ask: PlanRequest) -> Steps[list[Any]]:
        """Returns the compacted messages as a new list."""
        start = time.perf_counter()
        with self._telemetry.operation("view") as operation:
            reading = yield from self._reading(messages, ask)
            summarized = yield from self.prepare(reading, ask, operation, own=None)
            outcome = list(messages)
            self._apply(summarized.plan, reading, outcome)
            report = _report(summarized, start)
            operation.reported(report)
        yield self._listener.notify(report, summarized.plan)
        return outcome

    def begin(self, messages: list[Any], ask: PlanRequest) -> Steps[BackgroundSummary | None]:
        """Begins the summary that a compaction down to the low mark would need."""
        _require_list(messages)
        deep = ask.down_to_low()
        reading = yield from self._reading(messages, deep)
        with self._stopwatch.running():
            plan = yield from aside(self._plan, reading, deep, unasked=None)
        return (yield from self._summary_source.begin(messages, plan, deep, reading))

    def prepare(
        self, reading: Reading, ask: PlanRequest, operation: Operation, *, own: list[Any] | None
    ) -> Steps[SummarizedPlan]:
        """Returns a plan with its summary, after storing the removed content."""
        with self._stopwatch.running():
            plan = yield from aside(self._plan, reading, ask, unasked=self._summary_source.unasked)
        operation.planned(plan)
        summarized = yield from self._summary_source.choose(plan, reading, ask, own=own)
        plan = summarized.plan
        # Beside an event loop this takes a thread.
        if plan.is_pending or self._leaves_something(plan):
            with self._stopwatch.running():
                plan = yield from self._artifact_writer.write(
                    partial(self._plan_and_artifacts, reading, ask, summarized)
                )
        return replace(summarized, plan=plan)

    def _compact_with_retries(
        self, messages: list[Any], ask: PlanRequest, operation: Operation
    ) -> Steps[SummarizedPlan]:
        for _ in range(_TRIES - 1):
            try:
                return (yield from self._attempt(messages, ask, operation))
            except MessagesChangedError as error:  # noqa: PERF203 - it is planned again
                logger.debug("error=<%s> | messages changed while planning", error)
        return (yield from self._attempt(messages, ask, operation))

    def _attempt(
        self, messages: list[Any], ask: PlanRequest, operation: Operation
    ) -> Steps[SummarizedPlan]:
        reading = yield from self._reading(messages, ask)
        summarized = yield from self.prepare(reading, ask, operation, own=messages)
        self._apply(summarized.plan, reading, messages)
        return summarized

    def _reading(self, messages: Sequence[Any], ask: PlanRequest) -> Steps[Reading]:
        with self._stopwatch.running():
            return (yield from aside(self._read, messages, ask))

    def _read(self, messages: Sequence[Any], ask: PlanRequest) -> Reading:
        return self._engine.read(messages, budget=ask.budget, fixed=ask.fixed, pins=list(ask.pins))

    def _plan(
        self, reading: Reading, ask: PlanRequest, *, unasked: str | None, salt: int = 0
    ) -> Plan:
        make = partial(reading.plan, hard=ask.hard, salt=salt, unasked=unasked)
        plan = make(distrusted=[], seconds=ask.seconds)
        missing = self._artifact_writer.missing(plan.relied_on)
        return make(distrusted=missing, seconds=ask.seconds) if missing else plan

    def _idle(self, messages: Sequence[Any], ask: PlanRequest) -> dict[str, Any] | None:
        """Returns the report of an idle compaction, if the host's promise shows that it is idle."""
        if not self._append_only or ask.hard or len(ask.pins) > 0:
            return None
        with self._stopwatch.running():
            return self._engine.idle(messages, budget=ask.budget, fixed=ask.fixed)

    def _plan_and_artifacts(
        self, reading: Reading, ask: PlanRequest, summarized: SummarizedPlan, salt: int
    ) -> tuple[Plan, list[Artifact]]:
        """Returns the plan with its summary, and the content to store before it is applied."""
        plan = summarized.plan
        if salt != 0:
            plan = self._plan(reading, ask, unasked=self._summary_source.unasked, salt=salt)
        if plan.is_pending:
            text, reason = summarized.summary
            plan = reading.resume(plan, text, reason=reason)
        return plan, reading.artifacts(plan) if self._leaves_something(plan) else []

    def _leaves_something(self, plan: Plan) -> bool:
        """True if there may be content to store. Collecting it reads the messages again."""
        return self._artifact_writer.store is not None and not plan.is_empty

    def _apply(self, plan: Plan, reading: Reading, messages: list[Any]) -> None:
        if plan.is_empty and not reading.is_repaired:
            return
        # Only the planned messages, because another thread may have added some. A summary from the
        # background comes with a plan for fewer.
        count = reading.count if reading.is_repaired else plan.messages
        # The lock is for threads that compact one list: none may change it between the check and
        # the change.
        with self._stopwatch.running(), self._applying:
            messages[:count] = reading.apply(plan, messages[:count])

    def finish(
        self, summarized: SummarizedPlan, start: float, savings: dict[str, int] | None = None
    ) -> Report:
        """Records and logs a compaction that began at ``start``.

        ``savings`` are those of a view; without them, the engine may know them.
        """
        plan, report = summarized.plan, _report(summarized, start)
        savings = self._engine.savings(plan) if savings is None else savings
        if savings is not None and savings["requests"] > 0:
            report = replace(report, savings=Savings.of_sums(savings, self._prices))
        for warning in report.warnings:
            logger.info(
                "budget=<%d>, warning=<%s> | the compaction has a warning", report.budget, warning
            )
        for repair in report.repairs:
            logger.info("repair=<%s> | the messages were repaired", repair)
        if plan.is_empty and not report.repairs:
            self._engine.postponed(plan)
            return report
        self._engine.record(plan)
        logger.info(
            "before=<%d>, after=<%d>, budget=<%d>, stages=<%s>, removed_messages=<%d> | compacted",
            report.tokens_before,
            report.tokens_after,
            report.budget,
            ",".join(report.stages),
            report.removed_messages,
        )
        return report


def _report(summarized: SummarizedPlan, start: float) -> Report:
    report = Report._of(summarized.plan.report(), time.perf_counter() - start)  # noqa: SLF001
    return summarized.completed_report(report)


def _require_list(messages: Any) -> None:
    if not isinstance(messages, list):
        raise not_a_list(messages, "compact changes a list in place; use view for anything else")
