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
from ullage.report import Report

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from ullage._core import Engine, Plan
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
    """

    def __init__(
        self, budget: int | None, hard: bool, pins: Sequence[int], fixed: Callable[[], int]
    ) -> None:
        self.budget = budget
        self.hard = hard
        self.pins = pins
        self._count_fixed = fixed
        self._fixed: int | None = None

    @property
    def fixed(self) -> int:
        """Tokens of the system prompt and the tools."""
        # Not `cached_property`, whose lock all requests share before Python 3.12.
        if self._fixed is None:
            self._fixed = self._count_fixed()
        return self._fixed


class Compactor:
    """Carries out what an engine decides.

    Args:
        engine: What decides.
        keeper: Stores what leaves.
        stopwatch: Takes the time of all of it.
        append_only: Whether the host promises that messages only come at the end.
    """

    def __init__(
        self, engine: Engine, keeper: Keeper, stopwatch: Stopwatch, *, append_only: bool
    ) -> None:
        self._engine = engine
        self._keeper = keeper
        self._stopwatch = stopwatch
        self._append_only = append_only
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
            return Report._of(idle, time.perf_counter() - start)  # noqa: SLF001
        plan = self._kept_plan(messages, asked)
        self._apply(plan, messages)
        with self._stopwatch.running():
            self._keeper.tidy(messages)
        return self._done(plan, start)

    async def acompact(self, messages: list[Any], asked: Asked) -> Report:
        """The same beside the event loop."""
        start = time.perf_counter()
        _require_list(messages)
        if (idle := self._idle(messages, asked)) is not None:
            return Report._of(idle, time.perf_counter() - start)  # noqa: SLF001
        for attempt in range(1, _ASYNC_TRIES + 1):
            try:
                with self._stopwatch.running():
                    plan = await self._keeper.akept(partial(self._planned, messages, asked))
                self._apply(plan, messages)
                break
            except MessagesChangedError:
                if attempt == _ASYNC_TRIES:
                    raise
                logger.debug("attempt=<%d> | messages changed while planning", attempt)
        with self._stopwatch.running():
            await self._keeper.atidy(messages)
        return self._done(plan, start)

    def view(self, messages: Sequence[Any], asked: Asked) -> list[Any]:
        """What a compaction would leave, as a new list."""
        plan = self._kept_plan(messages, asked)
        outcome = list(messages)
        self._apply(plan, outcome)
        return outcome

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
        self, messages: Sequence[Any], asked: Asked, salt: int
    ) -> tuple[Plan, list[Artifact]]:
        """A plan, and what must be stored before it is applied."""
        plan = self._plan(messages, asked, salt)
        # Without a store there is nothing, and looking for it would read the messages again.
        if self._keeper.store is None or plan.is_empty:
            return plan, []
        return plan, plan.artifacts(messages[: plan.messages])

    def _kept_plan(self, messages: Sequence[Any], asked: Asked) -> Plan:
        """A plan whose artifacts are in the store."""
        with self._stopwatch.running():
            return self._keeper.kept(partial(self._planned, messages, asked))

    def _apply(self, plan: Plan, messages: list[Any]) -> None:
        if plan.is_empty:
            return
        # Only the messages that were planned for: another thread may have added some. The lock is
        # for threads that compact one list: none may change it between the check and the change.
        with self._stopwatch.running(), self._applying:
            messages[: plan.messages] = plan.apply(messages[: plan.messages])

    def _done(self, plan: Plan, start: float) -> Report:
        report = Report._of(plan.report(), time.perf_counter() - start)  # noqa: SLF001
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
