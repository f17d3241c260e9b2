"""``Compactor``: carrying out what an engine decides.

What a plan takes out of a conversation is stored first and the messages are changed last, so after
an error they are as they were.
"""

from __future__ import annotations

import threading
import time
from functools import partial
from typing import TYPE_CHECKING, Any

from ullage._core import MessageError, MessagesChangedError
from ullage.calling import in_pool
from ullage.forks import renew_after_fork
from ullage.logger import Logger
from ullage.report import Report

if TYPE_CHECKING:
    from collections.abc import Sequence

    from ullage._core import Engine, Plan
    from ullage.ahead import BackgroundSummary
    from ullage.asked import Asked
    from ullage.chooser import Chooser, Chosen
    from ullage.keeper import Artifact, Keeper
    from ullage.listener import Listener
    from ullage.stopwatch import Stopwatch
    from ullage.telemetry import Operation, Telemetry

logger = Logger(__name__)

# A compaction beside a running agent plans again when an older message changed meanwhile.
_ASYNC_TRIES = 3


class Compactor:
    """Carries out what an engine decides.

    Args:
        engine: What decides.
        keeper: Stores what leaves.
        chooser: Chooses the summaries.
        stopwatch: Takes the time of all but the summaries.
        listener: Is told what was done.
        telemetry: Likewise, by OpenTelemetry.
        append_only: Whether the host promises that messages only come at the end.
    """

    def __init__(
        self,
        engine: Engine,
        keeper: Keeper,
        chooser: Chooser,
        *,
        stopwatch: Stopwatch,
        listener: Listener,
        telemetry: Telemetry,
        append_only: bool,
    ) -> None:
        self._engine = engine
        self._keeper = keeper
        self._chooser = chooser
        self._stopwatch = stopwatch
        self._listener = listener
        self._telemetry = telemetry
        self._append_only = append_only
        self.renew()
        renew_after_fork(self)

    def renew(self) -> None:
        """Makes its lock anew."""
        self._applying = threading.Lock()

    def plan(self, messages: Sequence[Any], asked: Asked) -> Plan:
        """A plan, of which nothing was carried out."""
        with self._stopwatch.running():
            return self._plan(messages, asked, unasked=None)

    def compact(self, messages: list[Any], asked: Asked) -> Report:
        """Makes a plan and carries it out in place."""
        start = time.perf_counter()
        _require_list(messages)
        plan: Plan | None = None
        if (idle := self._idle(messages, asked)) is not None:
            report = Report._of(idle, time.perf_counter() - start)  # noqa: SLF001
        else:
            with self._telemetry.operation("compact") as operation:
                plan = operation.planned(self._plan_to_apply(messages, asked))
                chosen = self._chooser.chosen(plan, messages, asked, own=messages)
                plan = self._kept(messages, asked, chosen)
                self._apply(plan, messages)
                with self._stopwatch.running():
                    self._keeper.tidy(messages)
                report = self._done(plan, chosen, start)
                operation.reported(report)
        self._listener.tell(report, plan)
        if self._chooser.is_near(messages, report) and self.begin(messages, asked) is None:
            self._chooser.leave(messages, report)
        return report

    async def acompact(self, messages: list[Any], asked: Asked) -> Report:
        """The same beside the event loop."""
        start = time.perf_counter()
        _require_list(messages)
        plan: Plan | None = None
        if (idle := self._idle(messages, asked)) is not None:
            report = Report._of(idle, time.perf_counter() - start)  # noqa: SLF001
        else:
            with self._telemetry.operation("compact") as operation:
                plan, chosen = await self._acompacted(messages, asked, operation)
                with self._stopwatch.running():
                    await self._keeper.atidy(messages)
                report = self._done(plan, chosen, start)
                operation.reported(report)
        await self._listener.atell(report, plan)
        if self._chooser.is_near(messages, report) and await self.abegin(messages, asked) is None:
            self._chooser.leave(messages, report)
        return report

    def view(self, messages: Sequence[Any], asked: Asked) -> list[Any]:
        """What a compaction would leave, as a new list."""
        start = time.perf_counter()
        with self._telemetry.operation("view") as operation:
            plan = operation.planned(self._plan_to_apply(messages, asked))
            outcome = list(messages)
            chosen = self._chooser.chosen(plan, outcome, asked, own=None)
            plan = self._kept(outcome, asked, chosen)
            self._apply(plan, outcome)
            report = _report(plan, chosen, start)
            operation.reported(report)
        self._listener.tell(report, plan)
        return outcome

    def begin(self, messages: list[Any], asked: Asked) -> BackgroundSummary | None:
        """Begins the summary that a compaction down to the low mark would ask for."""
        _require_list(messages)
        deep = asked.down_to_low()
        plan = self.plan(messages, deep)
        return self._chooser.begin(messages, plan, deep, self._chooser.request(plan, messages))

    async def abegin(self, messages: list[Any], asked: Asked) -> BackgroundSummary | None:
        """The same beside the event loop."""
        _require_list(messages)
        deep = asked.down_to_low()
        plan = await in_pool(self.plan, messages, deep)
        request = await in_pool(self._chooser.request, plan, messages)
        return self._chooser.begin(messages, plan, deep, request)

    async def _acompacted(
        self, messages: list[Any], asked: Asked, operation: Operation
    ) -> tuple[Plan, Chosen]:
        for attempt in range(1, _ASYNC_TRIES):
            try:
                return await self._atried(messages, asked, operation)
            except MessagesChangedError:  # noqa: PERF203 - what changed is planned anew
                logger.debug("attempt=<%d> | messages changed while planning", attempt)
        return await self._atried(messages, asked, operation)

    async def _atried(
        self, messages: list[Any], asked: Asked, operation: Operation
    ) -> tuple[Plan, Chosen]:
        plan = operation.planned(await in_pool(self._plan_to_apply, messages, asked))
        chosen = await self._chooser.achosen(plan, messages, asked)
        # A thread only where there is something to do in it.
        if plan.is_pending or self._leaves_something(plan):
            with self._stopwatch.running():
                plan = await self._keeper.akept(partial(self._planned, messages, asked, chosen))
        self._apply(plan, messages)
        return plan, chosen

    def _plan_to_apply(self, messages: Sequence[Any], asked: Asked) -> Plan:
        """A plan that is to be carried out: it waits only where somebody is asked."""
        with self._stopwatch.running():
            return self._plan(messages, asked, unasked=self._chooser.unasked)

    def _plan(
        self, messages: Sequence[Any], asked: Asked, *, unasked: str | None, salt: int = 0
    ) -> Plan:
        def made(distrusted: list[str]) -> Plan:
            return self._engine.plan(
                messages,
                budget=asked.budget,
                fixed=asked.fixed,
                hard=asked.hard,
                pins=list(asked.pins),
                salt=salt,
                distrusted=distrusted,
                seconds=asked.seconds,
                unasked=unasked,
            )

        plan = made([])
        missing = self._keeper.missing(plan.relied_on)
        return made(missing) if missing else plan

    def _idle(self, messages: Sequence[Any], asked: Asked) -> dict[str, Any] | None:
        """The report of a compaction with nothing to do, where the host's promise tells so."""
        if not self._append_only or asked.hard or len(asked.pins) > 0:
            return None
        with self._stopwatch.running():
            return self._engine.idle(messages, budget=asked.budget, fixed=asked.fixed)

    def _planned(
        self, messages: Sequence[Any], asked: Asked, chosen: Chosen, salt: int
    ) -> tuple[Plan, list[Artifact]]:
        """The plan with its summary, and what must be stored before it is applied."""
        plan = chosen.plan
        if salt != 0:
            plan = self._plan(messages, asked, unasked=self._chooser.unasked, salt=salt)
        if plan.is_pending:
            plan = self._chooser.resumed(plan, messages, chosen.answer)
        if not self._leaves_something(plan):
            return plan, []
        return plan, plan.artifacts(messages[: plan.messages])

    def _leaves_something(self, plan: Plan) -> bool:
        """Whether there may be something to store; looking for it reads the messages again."""
        return self._keeper.store is not None and not plan.is_empty

    def _kept(self, messages: Sequence[Any], asked: Asked, chosen: Chosen) -> Plan:
        """The plan, once its artifacts are in the store."""
        with self._stopwatch.running():
            return self._keeper.kept(partial(self._planned, messages, asked, chosen))

    def _apply(self, plan: Plan, messages: list[Any]) -> None:
        if plan.is_empty:
            return
        # Only the messages that were planned for: another thread may have added some. The lock is
        # for threads that compact one list: none may change it between the check and the change.
        with self._stopwatch.running(), self._applying:
            messages[: plan.messages] = plan.apply(messages[: plan.messages])

    def _done(self, plan: Plan, chosen: Chosen, start: float) -> Report:
        report = _report(plan, chosen, start)
        if plan.is_empty and not report.warnings:
            return report
        self._engine.record(plan)
        for warning in report.warnings:
            logger.info("budget=<%d>, warning=<%s> | not all as wished", report.budget, warning)
        logger.info(
            "before=<%d>, after=<%d>, budget=<%d>, stages=<%s>, removed_messages=<%d> | compacted",
            report.tokens_before,
            report.tokens_after,
            report.budget,
            ",".join(report.stages),
            report.removed_messages,
        )
        return report


def _report(plan: Plan, chosen: Chosen, start: float) -> Report:
    return chosen.said_in(Report._of(plan.report(), time.perf_counter() - start))  # noqa: SLF001


def _require_list(messages: Any) -> None:
    if not isinstance(messages, list):
        raise MessageError(
            f"the messages are a {type(messages).__name__}, not a list; compact changes a list in"
            " place, use view for anything else"
        )
