"""``LoopProbe``: notices an event loop that is held up, without a clock."""

from __future__ import annotations

import asyncio
import threading
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Coroutine


class LoopProbe:
    """Stands for slow work, which ends only once the event loop has run a callback meanwhile.

    A loop that is held up until the work has ended never runs the callback.

    Args:
        patience: Seconds after which the loop counts as held up. A free loop answers in
            microseconds, so that even a very busy machine is within the default.
    """

    def __init__(self, patience: float = 30) -> None:
        self._patience = patience
        self._loop: asyncio.AbstractEventLoop | None = None
        # True for each piece of work during which the loop was free.
        self.was_free: list[bool] = []

    def run(self, main: Coroutine[Any, Any, Any]) -> Any:
        """Runs a coroutine in a new loop, and watches this loop."""

        async def watched() -> Any:
            self._loop = asyncio.get_running_loop()
            return await main

        return asyncio.run(watched())

    def work(self) -> None:
        """Blocks until the loop has run a callback, or is known to be held up."""
        assert self._loop is not None
        answered = threading.Event()
        self._loop.call_soon_threadsafe(answered.set)
        # One failure is enough; the test need not wait for every further one.
        self.was_free.append(all(self.was_free) and answered.wait(self._patience))

    async def work_async(self) -> None:
        """The same for work that is awaited, in whichever loop."""
        await asyncio.to_thread(self.work)
