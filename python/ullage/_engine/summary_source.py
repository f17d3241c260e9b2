"""``SummarySource``: the summary of a plan, from the background or made now."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from ullage._engine.background import BackgroundSummaries
from ullage._engine.steps import aside

if TYPE_CHECKING:
    from collections.abc import Sequence

    from ullage._core import Engine, Plan, Policy, Reading
    from ullage._engine.background import BackgroundSummary, PendingSummary
    from ullage._engine.plan_request import PlanRequest
    from ullage._engine.steps import Steps
    from ullage._engine.stopwatch import Stopwatch
    from ullage._engine.summarizer import SummaryAnswer, SummaryCaller, SummaryRequest
    from ullage.report.reports import Report


@dataclass(frozen=True)
class SummarizedPlan:
    """A plan, and the answer of the summarizer.

    Attributes:
        plan: The plan.
        answer: The answer for its summary.
        tokens: The tokens before and after, if there are messages after the planned ones.
        dropped: The reason for not using a summary from the background; may be empty.
    """

    plan: Plan
    answer: SummaryAnswer | None = None
    tokens: tuple[int, int] | None = None
    dropped: str = ""

    @property
    def summary(self) -> tuple[str | None, str]:
        """Returns the text of the summary, and the reason if there is none."""
        if self.answer is None:
            return None, "none was asked for"
        return self.answer.text, self.answer.reason

    def completed_report(self, report: Report) -> Report:
        """Returns the report of the plan, with facts that the plan does not know."""
        if self.tokens is not None:
            before, after = self.tokens
            report = replace(report, tokens_before=before, tokens_after=after)
        if self.dropped:
            line = f"the summary made in the background was dropped: {self.dropped}"
            report = replace(report, warnings=[*report.warnings, line])
        return report


class SummarySource:
    """Chooses the summary of a plan.

    Args:
        engine: Counts.
        caller: Calls the summarizer.
        stopwatch: Measures the time without the summarizer.
        policy: The settings of the engine.
    """

    def __init__(
        self, engine: Engine, caller: SummaryCaller, stopwatch: Stopwatch, policy: Policy
    ) -> None:
        self._caller = caller
        self._background = BackgroundSummaries(engine, caller)
        self._stopwatch = stopwatch
        self._timeout = policy.summary_timeout
        self._begins_at = policy.summary_ahead if policy.summary_ahead < policy.high else None

    @property
    def unasked(self) -> str | None:
        """The reason why no plan waits for a summary; None if one is requested or required."""
        return self._caller.unasked

    def choose(
        self, plan: Plan, reading: Reading, ask: PlanRequest, *, own: list[Any] | None
    ) -> Steps[SummarizedPlan]:
        """Returns the plan with the answer for its summary; ``own`` is the host's list."""
        if not plan.is_pending:
            return SummarizedPlan(plan)
        dropped = ""
        if own is not None and (pending := self._background.take(own)) is not None:
            was_done = pending.summary.done
            yield from aside(pending.summary.wait, min(self._timeout, ask.seconds))
            ready, dropped = yield from aside(
                self._ready, pending, plan, own, ask, was_done=was_done
            )
            if ready is not None:
                return ready
        request = yield from aside(self._request, plan, reading)
        answer = yield from self._caller.call(request, ask.seconds)
        return SummarizedPlan(plan, answer, dropped=dropped)

    def is_near(self, messages: list[Any], report: Report) -> bool:
        """True if the next summary should be pending now, because nothing was due."""
        if self._begins_at is None or report.stages or not self._caller.can_ask:
            return False
        tokens = report.tokens_after
        if tokens <= self._begins_at * report.budget or self._background.has(messages):
            return False
        return not self._background.is_fruitless(messages, tokens)

    def leave(self, messages: list[Any], report: Report) -> None:
        """Notes that no summary could be pending, so that it is not tried again every turn."""
        self._background.leave(messages, report.tokens_after)

    def begin(
        self, messages: list[Any], plan: Plan, ask: PlanRequest, reading: Reading
    ) -> Steps[BackgroundSummary | None]:
        """Begins the summary that a plan waits for; returns None if it waits for none."""
        if not plan.is_pending:
            return None
        request = yield from aside(self._request, plan, reading)
        return None if request is None else self._background.begin(messages, plan, ask, request)

    def _request(self, plan: Plan, reading: Reading) -> SummaryRequest | None:
        with self._stopwatch.running():
            return self._caller.request(plan, reading)

    def _ready(
        self,
        pending: PendingSummary,
        plan: Plan,
        messages: Sequence[Any],
        ask: PlanRequest,
        *,
        was_done: bool,
    ) -> tuple[SummarizedPlan | None, str]:
        """Returns the summary from the background if it can be used, and the reason if not."""
        answer = pending.summary._answer()  # noqa: SLF001
        if answer.late and not was_done:
            # It had its time. Another call would take as long again.
            reason = "the background summary did not finish in time"
            return SummarizedPlan(plan, self._caller.no_answer(reason)), ""
        with self._stopwatch.running():
            done, tokens, why_not = self._background.finished(pending, answer, messages, ask)
        if done is None:
            return None, why_not
        return SummarizedPlan(done, tokens=(plan.tokens_before, tokens)), ""
