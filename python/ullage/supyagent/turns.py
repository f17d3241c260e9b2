"""``Turns``: one at a time, whether it comes from a thread or from an event loop."""

from __future__ import annotations

import asyncio
import contextvars
import threading
from collections import deque
from concurrent.futures import Future
from contextlib import asynccontextmanager, contextmanager
from typing import TYPE_CHECKING

from ullage.calling import is_in_event_loop
from ullage.forks import renew_after_fork

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Iterator

# The turns in which this code runs: what a client calls in its turn must not wait for its end.
_within: contextvars.ContextVar[tuple[object, ...]] = contextvars.ContextVar(
    "ullage_supyagent_turns", default=()
)


class Turns:
    """Lets one in after the other, in the order in which they came."""

    def __init__(self) -> None:
        self.renew()
        renew_after_fork(self)

    def renew(self) -> None:
        """Nobody has the turn: in the child of a fork those who had it or waited are not there."""
        self._guard = threading.Lock()
        self._current: object | None = None
        self._waiting: deque[Future[None]] = deque()

    @property
    def is_mine(self) -> bool:
        """Whether the turn is that in which this code runs."""
        return self._current is not None and self._current in _within.get()

    @contextmanager
    def taken(self) -> Iterator[None]:
        """For a thread, which waits.

        Not where it has an event loop: what it would wait for may be a task of that loop.
        """
        turn = self._asked()
        if not turn.done() and is_in_event_loop() and turn.cancel():
            yield
            return
        turn.result()
        with self._held():
            yield

    @asynccontextmanager
    async def ataken(self) -> AsyncIterator[None]:
        """For a task, which waits beside the event loop."""
        turn = self._asked()
        try:
            await asyncio.wrap_future(turn)
        except asyncio.CancelledError:
            if not turn.cancel():
                # It came in the very moment.
                self._pass_on()
            raise
        with self._held():
            yield

    @contextmanager
    def _held(self) -> Iterator[None]:
        current = self._current = object()
        token = _within.set((*_within.get(), current))
        try:
            yield
        finally:
            _within.reset(token)
            self._pass_on()

    def _asked(self) -> Future[None]:
        turn: Future[None] = Future()
        with self._guard:
            if self._current is None:
                self._current = turn
                turn.set_result(None)
            else:
                self._waiting.append(turn)
        return turn

    def _pass_on(self) -> None:
        with self._guard:
            while self._waiting:
                turn = self._waiting.popleft()
                if turn.set_running_or_notify_cancel():
                    self._current = turn
                    turn.set_result(None)
                    return
            self._current = None
