"""Calling code of the host's: in threads, with or without a loop, and no longer than is allowed.

asyncio is imported where it is used: it would be more than half of what importing ullage takes, and
not every host has a loop.
"""

from __future__ import annotations

import contextvars
import inspect
import threading
from typing import TYPE_CHECKING, Any, ParamSpec, TypeVar

from ullage._engine.logger import Logger
from ullage._engine.reasons import said

if TYPE_CHECKING:
    import asyncio
    from collections.abc import Awaitable, Callable

logger = Logger(__name__)

_Given = ParamSpec("_Given")
_Returned = TypeVar("_Returned")

# Calls that timed out and still run. A loop holds its tasks only weakly.
_left_behind: set[asyncio.Future[Any]] = set()


class OutOfTimeError(Exception):
    """The time was over. Its own kind: a summarizer may raise a `TimeoutError` of its own."""


class SelfCancelledError(Exception):
    """The host's code raised `CancelledError`, and nobody had cancelled it.

    Its own kind: who waits for the code would take a `CancelledError` for its own cancellation.
    """


class Call:
    """A function at work in a thread, in the context of its caller.

    Args:
        function: What is called; what it returns is awaited there if it has to be.
        patience: Seconds that an awaitable has; None for as long as it takes.
    """

    def __init__(self, function: Callable[[], Any], patience: float | None) -> None:
        self._function = function
        self._patience = patience
        self._returned: Any = None
        self._raised: BaseException | None = None
        self._thread = _started(self._run)

    def wait(self, seconds: float | None) -> tuple[Any, BaseException | None]:
        """Returns the value, and the exception if it is an `Exception`.

        Args:
            seconds: How long is waited; None for as long as it takes.
        """
        self._thread.join(seconds)
        if self._thread.is_alive():
            return None, OutOfTimeError()
        error = self._raised
        if error is None or isinstance(error, Exception):
            return self._returned, error
        import asyncio

        if isinstance(error, asyncio.CancelledError):
            # Nobody can cancel a thread.
            return None, SelfCancelledError()
        raise error

    def _run(self) -> None:
        try:
            returned = self._function()
            if inspect.isawaitable(returned):
                import asyncio

                # No loop runs in this thread, so one of its own can.
                returned = asyncio.run(awaited(returned, self._patience))
            self._returned = returned
        except BaseException as error:  # noqa: BLE001 - raised again by who waits
            self._raised = error


async def awaited(awaitable: Awaitable[Any], seconds: float | None) -> Any:
    """Returns the value, within so many seconds if there is a limit.

    Not `asyncio.wait_for`, which waits until what it cancelled has ended: for ever where the
    cancellation is swallowed.

    Raises:
        OutOfTimeError: If the time is over. It is cancelled and left behind.
        SelfCancelledError: If it raised `CancelledError` without being cancelled.
    """
    import asyncio

    task = asyncio.create_task(_ended(awaitable))
    try:
        await asyncio.wait([task], timeout=seconds)
    finally:
        # Also where who waits is cancelled.
        if not task.done():
            _left_behind.add(task)
            task.add_done_callback(_left_behind.discard)
            task.cancel()
    if task in _left_behind:
        raise OutOfTimeError
    if task.cancelled():
        raise SelfCancelledError
    returned, error = task.result()
    if error is not None:
        raise error
    return returned


async def _ended(awaitable: Awaitable[Any]) -> tuple[Any, BaseException | None]:
    """Returns the value or the exception.

    Asyncio complains of an error in a task that was left behind, and ends the loop at one such as a
    `KeyboardInterrupt`.
    """
    import asyncio

    try:
        return await awaitable, None
    except asyncio.CancelledError:
        raise
    except BaseException as error:  # noqa: BLE001 - raised again by who waits
        return None, error


async def in_thread(function: Callable[[], Any]) -> Any:
    """Returns the value of a function run in a thread, which is left running on cancellation."""
    import asyncio

    loop = asyncio.get_running_loop()
    future: asyncio.Future[Any] = loop.create_future()

    def settle(set_: Callable[[Any], None], value: Any) -> None:
        if not future.done():
            set_(value)

    def run() -> None:
        try:
            outcome = (future.set_result, function())
        except StopIteration as error:
            # No future may hold one.
            outcome = (future.set_exception, RuntimeError(said(error)))
        except BaseException as error:  # noqa: BLE001 - raised again by who waits
            outcome = (future.set_exception, error)
        try:
            loop.call_soon_threadsafe(settle, *outcome)
        except RuntimeError:
            logger.debug("the loop was closed before the summarizer answered")

    _started(run)
    return await future


async def in_pool(
    function: Callable[_Given, _Returned], *args: _Given.args, **more: _Given.kwargs
) -> _Returned:
    """Returns the value of a function run in the loop's thread pool."""
    import asyncio

    return await asyncio.to_thread(function, *args, **more)


async def acall(function: Callable[..., Any], *args: Any) -> Any:
    """Calls a function of the host's, plain or async. A plain one is called in a thread."""
    if inspect.iscoroutinefunction(function):
        return await function(*args)
    outcome = await in_pool(function, *args)
    # A lambda that calls an async function returns what is still to be awaited.
    return await outcome if inspect.isawaitable(outcome) else outcome


def is_in_event_loop() -> bool:
    """True if this thread has an event loop."""
    import asyncio

    try:
        asyncio.get_running_loop()
    except RuntimeError:
        return False
    return True


def _started(run: Callable[[], None]) -> threading.Thread:
    context = contextvars.copy_context()
    # A daemon, since one that is left behind must not keep the process from ending.
    thread = threading.Thread(target=context.run, args=(run,), name="ullage-call", daemon=True)
    thread.start()
    return thread
