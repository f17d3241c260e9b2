"""``Listener``: reports each compaction to the host.

Errors of the host's function are logged, and the run continues.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable
from functools import partial
from typing import TYPE_CHECKING, Any, TypeAlias

from ullage._engine.calling import Call, awaited
from ullage._engine.logger import Logger
from ullage._engine.steps import Step
from ullage.report.reports import Report

if TYPE_CHECKING:
    import asyncio
    from collections.abc import Awaitable, Sequence

    from ullage._core import Plan
    from ullage.report.recorder import Recorder

logger = Logger(__name__)

# Takes the report of a compaction. An awaitable that it returns is awaited.
OnCompaction: TypeAlias = Callable[[Report], object]

# Seconds that an async listener has. The run waits for it, and one that takes longer probably
# hangs.
_PATIENCE = 10.0

# Tasks of listeners in a running loop. A loop holds its tasks only weakly.
_notifications: set[asyncio.Task[None]] = set()


class Listener:
    """Calls the host's function with each useful report, in the context of its caller.

    Args:
        function: The host's function, or None.
        recorder: Records each report before the function is called, and the requests to the
            model.
    """

    def __init__(self, function: OnCompaction | None, recorder: Recorder | None = None) -> None:
        self.function = function
        self._recorder = recorder

    def request(
        self,
        messages: Sequence[Any],
        reported_tokens: int,
        cached_tokens: int | None,
        *,
        is_plausible: bool,
    ) -> None:
        """Records a request to the model, with the provider's report if that is plausible."""
        if self._recorder is not None:
            said = (reported_tokens, cached_tokens) if is_plausible else ()
            self._recorder.request(messages, *said)

    def notify(self, report: Report, plan: Plan | None) -> Step:
        """:meth:`tell`, or :meth:`atell` beside an event loop."""
        return Step(partial(self.tell, report, plan), partial(self.atell, report, plan))

    def tell(self, report: Report, plan: Plan | None) -> None:
        """Calls the function. An awaitable becomes a task if a loop runs, else it runs in a thread.

        An error that is not an `Exception`, such as a `KeyboardInterrupt`, passes through.
        """
        returned = self._call(report, plan)
        if not inspect.isawaitable(returned):
            return
        import asyncio

        try:
            loop = asyncio.get_running_loop()
        except RuntimeError:
            # A thread, because `asyncio.run` here would remove this thread's event loop.
            _, error = Call(lambda: returned, _PATIENCE).wait(_PATIENCE)
            _log(error)
        else:
            task = loop.create_task(_await(returned))
            _notifications.add(task)
            task.add_done_callback(_notifications.discard)

    async def atell(self, report: Report, plan: Plan | None) -> None:
        """Does the same without blocking the event loop; an awaitable is awaited."""
        returned = self._call(report, plan)
        if inspect.isawaitable(returned):
            await _await(returned)

    def _call(self, report: Report, plan: Plan | None) -> object:
        if self._recorder is not None:
            self._recorder.compaction(report, plan)
        if self.function is None or not (report.stages or report.warnings):
            return None
        try:
            return self.function(report)
        except Exception as error:  # noqa: BLE001 - whatever the host's function raises
            _log(error)
            return None


async def _await(awaitable: Awaitable[Any]) -> None:
    try:
        await awaited(awaitable, _PATIENCE)
    except Exception as error:  # noqa: BLE001 - likewise
        _log(error)


def _log(error: BaseException | None) -> None:
    if error is not None:
        logger.error("on_compaction failed", exc_info=error)
