"""Calls code of the host: in threads, with or without a loop, within a time limit.

asyncio is imported on use. It would be more than half of ullage's import time, and not every host
has a loop.
"""

from __future__ import annotations

import contextvars
import inspect
import threading
from concurrent import futures
from functools import partial
from typing import TYPE_CHECKING, Any, ParamSpec, TypeVar

from ullage._engine.reasons import error_line

if TYPE_CHECKING:
    import asyncio
    from collections.abc import Awaitable, Callable

_Given = ParamSpec("_Given")
_Returned = TypeVar("_Returned")

# Calls that timed out and still run. A loop holds its tasks only weakly.
_left_behind: set[asyncio.Future[Any]] = set()


class OutOfTimeError(Exception):
    """The time is over. Not a `TimeoutError`, because a summarizer may raise that itself."""


class SelfCancelledError(Exception):
    """The host's code raised `CancelledError` without being cancelled.

    This is not a `CancelledError`, because the caller would take that for its own cancellation.
    """


class Call:
    """A function that runs in a thread, in the context of its caller.

    Args:
        function: The function. An awaitable that it returns is awaited in the thread.
        patience: Seconds that an awaitable has; None for no limit.
    """

    def __init__(self, function: Callable[[], Any], patience: float | None) -> None:
        self._future = _start_thread(partial(_complete, function, patience))

    def wait(self, seconds: float | None) -> tuple[Any, BaseException | None]:
        """Returns the value, and the exception if it is an `Exception`.

        Args:
            seconds: The longest time to wait; None for no limit.
        """
        if not futures.wait([self._future], seconds).done:
            return None, OutOfTimeError()
        error = self._future.exception()
        if error is None:
            return self._future.result(), None
        if isinstance(error, Exception):
            return None, error
        import asyncio

        if isinstance(error, asyncio.CancelledError):
            # Nobody can cancel a thread.
            return None, SelfCancelledError()
        raise error


def _complete(function: Callable[[], Any], patience: float | None) -> Any:
    returned = function()
    if inspect.isawaitable(returned):
        import asyncio

        # No loop runs in this thread, so it can have its own.
        returned = asyncio.run(awaited(returned, patience))
    return returned


async def awaited(awaitable: Awaitable[Any], seconds: float | None) -> Any:
    """Returns the value, within ``seconds`` if there is a limit.

    It does not use `asyncio.wait_for`, which waits until the cancelled code has ended. That may be
    for ever if the code swallows the cancellation.

    Raises:
        OutOfTimeError: If the time is over. The awaitable is cancelled and left behind.
        SelfCancelledError: If it raised `CancelledError` without being cancelled.
    """
    import asyncio

    task = asyncio.create_task(_outcome_of(awaitable))
    try:
        await asyncio.wait([task], timeout=seconds)
    finally:
        # Also if the waiting caller is cancelled.
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


async def _outcome_of(awaitable: Awaitable[Any]) -> tuple[Any, BaseException | None]:
    """Returns the value or the exception.

    Asyncio reports an unhandled error of a task that was left behind. An error such as a
    `KeyboardInterrupt` ends the loop.
    """
    import asyncio

    try:
        return await awaitable, None
    except asyncio.CancelledError:
        raise
    except BaseException as error:  # noqa: BLE001 - the caller raises it again
        return None, error


async def in_thread(function: Callable[[], Any]) -> Any:
    """Returns the value of a function run in a thread, which is left running on cancellation."""
    import asyncio

    def run() -> Any:
        try:
            return function()
        except StopIteration as error:
            # A future of asyncio cannot hold it.
            raise RuntimeError(error_line(error)) from error

    return await asyncio.wrap_future(_start_thread(run))


async def in_pool(
    function: Callable[_Given, _Returned], *args: _Given.args, **more: _Given.kwargs
) -> _Returned:
    """Returns the value of a function run in the loop's thread pool."""
    import asyncio

    return await asyncio.to_thread(function, *args, **more)


async def acall(function: Callable[..., Any], *args: Any) -> Any:
    """Calls a function of the host, plain or async. A plain one runs in a thread."""
    if inspect.iscoroutinefunction(function):
        return await function(*args)
    outcome = await in_pool(function, *args)
    # A lambda that calls an async function returns an awaitable.
    return await outcome if inspect.isawaitable(outcome) else outcome


def is_in_event_loop() -> bool:
    """True if this thread has an event loop."""
    import asyncio

    try:
        asyncio.get_running_loop()
    except RuntimeError:
        return False
    return True


def _start_thread(function: Callable[[], Any]) -> futures.Future[Any]:
    future: futures.Future[Any] = futures.Future()
    # So that nobody can cancel it.
    future.set_running_or_notify_cancel()

    def run() -> None:
        try:
            future.set_result(function())
        except BaseException as error:  # noqa: BLE001 - the caller raises it again
            future.set_exception(error)

    context = contextvars.copy_context()
    # A daemon, because a thread that is left behind must not keep the process alive.
    threading.Thread(target=context.run, args=(run,), name="ullage-call", daemon=True).start()
    return future
