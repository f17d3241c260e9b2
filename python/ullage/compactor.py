"""``Compactor``: carrying out what an engine decides.

What a plan takes out of a conversation is stored first and the messages are changed last, so after
an error they are as they were.
"""

from __future__ import annotations

import logging
import threading
import time
from functools import partial
from typing import TYPE_CHECKING, Any

from ullage._core import MessageError, MessagesChangedError
from ullage.calling import in_pool
from ullage.forks import renew_after_fork
from ullage.report import Report

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from ullage._core import Engine, Plan
    from ullage.ahead import BackgroundSummary
    from ullage.chooser import Chooser, Chosen
    from ullage.keeper import Artifact, Keeper
    from ullage.stopwatch import Stopwatch

logger = logging.getLogger(__name__)

# A compaction beside a running agent plans again when an older message changed meanwhile.
_ASYNC_TRIES = 3


class Asked:
    """What a caller asks of a plan.

    Args:
        budget: Tokens that the messages may take, or None for what the window leaves.
        hard: Whether it does not wait for the high mark.
        pins: Indices of messages that stay as they are.
        fixed: Counts what stands beside the messages; it is called once, when that is needed.
        time_limit: Seconds from now on that it may take, the summary included.
    """

    def __init__(
        self,
        budget: int | None,
        hard: bool,
        pins: Sequence[int],
        fixed: Callable[[], int],
        time_limit: float,
    ) -> None:
        self.budget = budget
        self.hard = hard
        self.pins = pins
        self._time_limit = time_limit
        self._until = time.monotonic() + time_limit
        self._count_fixed = fixed
        self._fixed: int | None = None

    @property
    def fixed(self) -> int:
        """Tokens of the system prompt and the tools."""
        # Not `cached_property`, whose lock all requests share before Python 3.12.
        if self._fixed is None:
            self._fixed = self._count_fixed()
        return self._fixed

    @property
    def seconds(self) -> float:
        """Seconds that are left."""
        return max(0.0, self._until - time.monotonic())

    def down_to_low(self) -> Asked:
        """The same, down to the low mark now."""
        return Asked(
            self.budget,
            hard=True,
            pins=self.pins,
            fixed=lambda: self.fixed,
            time_limit=self._time_limit,
        )


class Compactor:
    """Carries out what an engine decides.

    Args:
        engine: What decides.
        keeper: Stores what leaves.
        chooser: Chooses the summaries.
        stopwatch: Takes the time of all but the summaries.
        append_only: Whether the host promises that messages only come at the end.
    """

    def __init__(
        self,
        engine: Engine,
        keeper: Keeper,
        chooser: Chooser,
        stopwatch: Stopwatch,
        *,
        append_only: bool,
    ) -> None:
        self._engine = engine
        self._keeper = keeper
        self._chooser = chooser
        self._stopwatch = stopwatch
        self._append_only = append_only
        self.renew()
        renew_after_fork(self)

    def renew(self) -> None:
        """Makes its lock anew."""
        self._applying = threading.Lock()

    def plan(self, messages: Sequence[Any], asked: Asked) -> Plan:
        """A plan, of which nothing was carried out."""
        with self._stopwatch.running():
            return self._plan(messages, asked)

    def compact(self, messages: list[Any], asked: Asked) -> Report:
        """Makes a plan and carries it out in place."""
        start = time.perf_counter()
        _require_list(messages)
        if (idle := self._idle(messages, asked)) is not None:
            report = Report._of(idle, time.perf_counter() - start)  # noqa: SLF001
        else:
            chosen = self._chooser.chosen(self.plan(messages, asked), messages, asked, own=messages)
            plan = self._kept(messages, asked, chosen)
            self._apply(plan, messages)
            with self._stopwatch.running():
                self._keeper.tidy(messages)
            report = self._done(plan, chosen, start)
        if self._chooser.is_near(messages, report) and self.begin(messages, asked) is None:
            self._chooser.leave(messages, report)
        return report

    async def acompact(self, messages: list[Any], asked: Asked) -> Report:
        """The same beside the event loop."""
        start = time.perf_counter()
        _require_list(messages)
        if (idle := self._idle(messages, asked)) is not None:
            report = Report._of(idle, time.perf_counter() - start)  # noqa: SLF001
        else:
            plan, chosen = await self._acompacted(messages, asked)
            with self._stopwatch.running():
                await self._keeper.atidy(messages)
            report = self._done(plan, chosen, start)
        if self._chooser.is_near(messages, report) and await self.abegin(messages, asked) is None:
            self._chooser.leave(messages, report)
        return report

    def view(self, messages: Sequence[Any], asked: Asked) -> list[Any]:
        """What a compaction would leave, as a new list."""
        plan = self.plan(messages, asked)
        outcome = list(messages)
        chosen = self._chooser.chosen(plan, outcome, asked, own=None)
        self._apply(self._kept(outcome, asked, chosen), outcome)
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

    async def _acompacted(self, messages: list[Any], asked: Asked) -> tuple[Plan, Chosen]:
        for attempt in range(1, _ASYNC_TRIES):
            try:
                return await self._atried(messages, asked)
            except MessagesChangedError:  # noqa: PERF203 - what changed is planned anew
                logger.debug("attempt=<%d> | messages changed while planning", attempt)
        return await self._atried(messages, asked)

    async def _atried(self, messages: list[Any], asked: Asked) -> tuple[Plan, Chosen]:
        plan = await in_pool(self.plan, messages, asked)
        chosen = await self._chooser.achosen(plan, messages, asked)
        with self._stopwatch.running():
            plan = await self._keeper.akept(partial(self._planned, messages, asked, chosen))
        self._apply(plan, messages)
        return plan, chosen

    def _plan(self, messages: Sequence[Any], asked: Asked, salt: int = 0) -> Plan:
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
        plan = chosen.plan if salt == 0 else self._plan(messages, asked, salt)
        if plan.is_pending:
            plan = self._chooser.resumed(plan, messages, chosen.answer)
        # Without a store there is nothing, and looking for it would read the messages again.
        if self._keeper.store is None or plan.is_empty:
            return plan, []
        return plan, plan.artifacts(messages[: plan.messages])

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
        report = Report._of(plan.report(), time.perf_counter() - start)  # noqa: SLF001
        report = chosen.said_in(report)
        if plan.is_empty and not report.warnings:
            return report
        self._engine.record(plan)
        for warning in report.warnings:
            logger.info("budget=<%d> | %s", report.budget, warning)
        logger.info(
            "before=<%d>, after=<%d>, budget=<%d>, stages=<%s>, removed_messages=<%d> | compacted",
            report.tokens_before,
            report.tokens_after,
            report.budget,
            ",".join(report.stages),
            report.removed_messages,
        )
        return report


def _require_list(messages: Any) -> None:
    if not isinstance(messages, list):
        raise MessageError(
            f"the messages are a {type(messages).__name__}, not a list; compact changes a list in"
            " place, use view for anything else"
        )
