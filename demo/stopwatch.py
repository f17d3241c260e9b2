"""Measures from outside what ullage takes, beside what the engine says of itself."""

from __future__ import annotations

import functools
import inspect
import time
from contextvars import ContextVar
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Callable

# The methods that Strands calls on a conversation manager outside of hooks.
_METHODS = ("apply_management", "reduce_context")
# A timed method may call another one; only the outermost counts. Strands runs tools in tasks of
# their own, hence a context variable.
_running: ContextVar[bool] = ContextVar("running", default=False)


class Stopwatch:
    """Wall time spent inside the attached objects, and how it spreads over model calls."""

    def __init__(self) -> None:
        """A stopwatch at zero."""
        self.seconds = 0.0
        self.per_call: list[float] = []
        self._marked = 0.0

    def mark(self) -> None:
        """A model call begins: what was spent since the last one was spent for it."""
        self.per_call.append(self.seconds - self._marked)
        self._marked = self.seconds

    def attach(self, part: Any) -> Any:
        """Time the hooks that `part` registers, and what a manager does outside of hooks."""
        register = part.register_hooks
        part.register_hooks = lambda registry, **kwargs: register(
            _TimedRegistry(registry, self), **kwargs
        )
        for name in _METHODS:
            if hasattr(part, name):
                setattr(part, name, self.timed(getattr(part, name)))
        return part

    def timed(self, function: Callable[..., Any]) -> Callable[..., Any]:
        """The same function, timed; plain and async."""
        if inspect.iscoroutinefunction(function):

            @functools.wraps(function)
            async def wait(*args: Any, **kwargs: Any) -> Any:
                with _Lap(self):
                    return await function(*args, **kwargs)

            return wait

        @functools.wraps(function)
        def call(*args: Any, **kwargs: Any) -> Any:
            with _Lap(self):
                return function(*args, **kwargs)

        return call


class _TimedRegistry:
    """A registry of hooks that passes everything on, with timed callbacks."""

    def __init__(self, registry: Any, stopwatch: Stopwatch) -> None:
        self._registry = registry
        self._stopwatch = stopwatch

    def add_callback(self, event_type: Any, callback: Callable[..., Any], **kwargs: Any) -> None:
        self._registry.add_callback(event_type, self._stopwatch.timed(callback), **kwargs)

    def __getattr__(self, name: str) -> Any:
        return getattr(self._registry, name)


class _Lap:
    """One outermost call."""

    def __init__(self, stopwatch: Stopwatch) -> None:
        self._stopwatch = stopwatch

    def __enter__(self) -> None:
        self._outermost = not _running.get()
        if self._outermost:
            self._token = _running.set(True)
            self._began = time.perf_counter()

    def __exit__(self, *_: object) -> None:
        if self._outermost:
            self._stopwatch.seconds += time.perf_counter() - self._began
            _running.reset(self._token)
