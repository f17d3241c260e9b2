"""Summaries made in the background, for the next compaction of the same list."""

from __future__ import annotations

import contextvars
import threading
from collections import OrderedDict
from concurrent.futures import CancelledError, Future, wait
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from ullage._core import MessagesChangedError, SummaryError
from ullage._engine.calling import OutOfTimeError
from ullage._engine.forks import renew_after_fork
from ullage._engine.lru_cache import LruCache
from ullage._engine.reasons import error_line
from ullage._engine.steps import arun, run
from ullage._engine.summarizer import SummaryAnswer

if TYPE_CHECKING:
    import asyncio
    from collections.abc import Sequence

    from ullage._core import Engine, Plan
    from ullage._engine.plan_request import PlanRequest
    from ullage._engine.summarizer import SummaryCaller, SummaryRequest

# Conversations whose next summary is remembered, and the bytes of their texts. Above that, the
# oldest are forgotten.
_MOST = 64
_MOST_BYTES = 256 * 2**20

# Bytes of a token, by which these bytes are estimated.
_TOKEN_BYTES = 4

# The growth of a list after which summarizing in it is tried again: often enough to be in time,
# rarely enough to be cheap.
_NOTABLY = 1.05


class BackgroundSummary:
    """A summary in the making."""

    def __init__(self, future: Future[SummaryAnswer], task: asyncio.Task[None] | None) -> None:
        self._future = future
        # The task, or None for a thread. A loop holds its tasks only weakly.
        self._task = task

    def __repr__(self) -> str:
        return f"BackgroundSummary(done={self.done})"

    @property
    def done(self) -> bool:
        """True if the summarizer has answered, or failed."""
        return self._future.done()

    def wait(self, timeout: float | None = None) -> bool:
        """Waits at most ``seconds`` until it is done. Returns True if it is.

        It does not wait for a task of this thread's own loop, because that would block the loop.
        """
        if not self._is_ours():
            wait([self._future], timeout)
        return self.done

    def cancel(self) -> None:
        """Drops the summary, so the next compaction asks again. A thread runs to its end."""
        self._future.cancel()
        if self._task is not None:
            self._task.get_loop().call_soon_threadsafe(self._task.cancel)

    def _is_ours(self) -> bool:
        if self._task is None:
            return False
        import asyncio

        try:
            return asyncio.get_running_loop() is self._task.get_loop()
        except RuntimeError:
            return False

    def _answer(self) -> SummaryAnswer:
        if not self.done:
            # A task of this thread's loop could not be waited for.
            return SummaryAnswer(None, "it was not finished in time", late=not self._is_ours())
        try:
            return self._future.result()
        except CancelledError:
            return SummaryAnswer(None, "it was cancelled")
        except SummaryError as error:
            return SummaryAnswer(None, str(error), late=isinstance(error.__cause__, OutOfTimeError))
        except BaseException as error:  # noqa: BLE001 - nobody waits for the task
            return SummaryAnswer(None, error_line(error))


@dataclass(frozen=True)
class PendingSummary:
    """A summary in the making, and the plan that it is for.

    Attributes:
        messages: The host's list.
        plan: The plan, made for the first messages of the list.
        pins: The pinned messages.
        summary: The summary.
    """

    messages: list[Any]
    plan: Plan
    pins: list[int]
    summary: BackgroundSummary


class BackgroundSummaries:
    """Begins summaries, and completes plans with them.

    Args:
        engine: Counts.
        caller: Calls the summarizer.
    """

    def __init__(self, engine: Engine, caller: SummaryCaller) -> None:
        self._engine = engine
        self._caller = caller
        self.renew()
        renew_after_fork(self)

    def renew(self) -> None:
        """Forgets all, because no thread continues in the child of a fork."""
        self._lock = threading.Lock()
        self._pending: LruCache[PendingSummary] = LruCache(_MOST, _MOST_BYTES)
        # Tokens of lists with nothing to summarize. By identity only: if another list has the same
        # identity, its summary begins later at worst.
        self._fruitless: OrderedDict[int, int] = OrderedDict()

    def has(self, messages: list[Any]) -> bool:
        """True if a summary of this list is pending or done."""
        pending = self._pending.get(id(messages))
        return pending is not None and pending.messages is messages

    def is_fruitless(self, messages: list[Any], tokens: int) -> bool:
        """True if the list had nothing to summarize, and has hardly grown since."""
        then = self._fruitless.get(id(messages))
        return then is not None and then <= tokens < then * _NOTABLY

    def leave(self, messages: list[Any], tokens: int) -> None:
        """Notes that the list has nothing to summarize now."""
        with self._lock:
            self._fruitless.pop(id(messages), None)
            self._fruitless[id(messages)] = tokens
            while len(self._fruitless) > _MOST:
                self._fruitless.popitem(last=False)

    def begin(
        self, messages: list[Any], plan: Plan, ask: PlanRequest, request: SummaryRequest
    ) -> BackgroundSummary:
        """Calls the summarizer in the background: in a task if possible, else in a thread."""
        future: Future[SummaryAnswer] = Future()
        task = self._task(future, request)
        if task is None:
            thread = threading.Thread(
                target=contextvars.copy_context().run,
                args=(self._run, future, request),
                name="ullage-background",
                daemon=True,
            )
            thread.start()
        summary = BackgroundSummary(future, task)
        pending = PendingSummary(messages, plan, list(ask.pins), summary)
        self._pending.put(id(messages), pending, _TOKEN_BYTES * plan.tokens_before)
        return summary

    def take(self, messages: list[Any]) -> PendingSummary | None:
        """Returns the pending summary of this list, and forgets it."""
        pending = self._pending.take(id(messages))
        return pending if pending is not None and pending.messages is messages else None

    def finished(
        self,
        pending: PendingSummary,
        answer: SummaryAnswer,
        messages: Sequence[Any],
        ask: PlanRequest,
    ) -> tuple[Plan | None, int, str]:
        """Returns the plan with its summary, the tokens after it, and the reason for no summary."""
        if answer.text is None:
            return None, 0, answer.reason
        if list(ask.pins) != pending.pins:
            return None, 0, "other messages are pinned"
        try:
            head = messages[: pending.plan.messages]
            reading = self._engine.read(head, budget=ask.budget, fixed=ask.fixed, pins=pending.pins)
            plan = reading.resume(pending.plan, answer.text, reason=answer.reason)
            kept = plan.apply(head)
        except MessagesChangedError:
            return None, 0, "the messages have changed"
        outcome = [*kept, *messages[plan.messages :]]
        status = self._engine.status(outcome, budget=ask.budget, fixed=ask.fixed)
        if status["tokens"] > status["low" if ask.hard else "high"]:
            return None, 0, "it no longer fits"
        return plan, status["tokens"], ""

    def _task(
        self, future: Future[SummaryAnswer], request: SummaryRequest
    ) -> asyncio.Task[None] | None:
        """Returns a task for an async summarizer if a loop runs."""
        if not self._caller.is_async:
            return None
        import asyncio

        try:
            loop = asyncio.get_running_loop()
        except RuntimeError:
            return None
        return loop.create_task(self._arun(future, request))

    def _run(self, future: Future[SummaryAnswer], request: SummaryRequest) -> None:
        if not future.set_running_or_notify_cancel():
            return
        try:
            future.set_result(run(self._caller.call(request)))
        except BaseException as error:  # noqa: BLE001 - the compaction that needs the summary gets it
            future.set_exception(error)

    async def _arun(self, future: Future[SummaryAnswer], request: SummaryRequest) -> None:
        try:
            answer = await arun(self._caller.call(request))
        except Exception as error:  # noqa: BLE001 - the compaction that needs the summary gets it
            _settle(future, error)
        except BaseException as error:
            _settle(future, error)
            raise
        else:
            _settle(future, answer)


def _settle(future: Future[SummaryAnswer], outcome: SummaryAnswer | BaseException) -> None:
    if not future.set_running_or_notify_cancel():
        return
    if isinstance(outcome, BaseException):
        future.set_exception(outcome)
    else:
        future.set_result(outcome)
