"""Work that is written once and runs with or without an event loop.

The work is a generator. If a step differs with a loop, the generator yields a :class:`Step` and
gets its outcome. :func:`run` and :func:`arun` run the generator.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any, ParamSpec, TypeAlias, TypeVar

from ullage._engine.calling import Call, acall, in_pool

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Generator

_Given = ParamSpec("_Given")
_Outcome = TypeVar("_Outcome")


@dataclass(frozen=True)
class Step:
    """One thing to do.

    Attributes:
        call: Does it, and may block.
        acall: Does it without blocking the event loop.
    """

    call: Callable[[], Any]
    acall: Callable[[], Awaitable[Any]]


Steps: TypeAlias = "Generator[Step, Any, _Outcome]"


def aside(
    function: Callable[_Given, _Outcome], *args: _Given.args, **more: _Given.kwargs
) -> Steps[_Outcome]:
    """Returns the step of a long call. With an event loop it runs in a thread."""
    bound = partial(function, *args, **more)
    outcome: _Outcome = yield Step(bound, partial(in_pool, bound))
    return outcome


def call_host(function: Callable[..., Any], *args: Any) -> Steps[Any]:
    """Returns the step that calls a function of the host, plain or async.

    With an event loop a plain one runs in a thread. Without a loop an async one gets its own loop.
    """
    bound = partial(function, *args)
    return (yield Step(partial(_call, bound), partial(acall, function, *args)))


def _call(function: Callable[[], Any]) -> Any:
    outcome, error = Call(function, None).wait(None)
    if error is not None:
        raise error
    return outcome


def run(steps: Steps[_Outcome]) -> _Outcome:
    """Runs the steps in this thread."""
    try:
        step = next(steps)
        while True:
            try:
                outcome = step.call()
            except BaseException as error:  # noqa: BLE001, PERF203 - raised where it was yielded
                step = steps.throw(error)
            else:
                step = steps.send(outcome)
    except StopIteration as done:
        value: _Outcome = done.value
        return value


async def arun(steps: Steps[_Outcome]) -> _Outcome:
    """Runs the steps without blocking the event loop."""
    try:
        step = next(steps)
        while True:
            try:
                outcome = await step.acall()
            except BaseException as error:  # noqa: BLE001, PERF203 - raised where it was yielded
                step = steps.throw(error)
            else:
                step = steps.send(outcome)
    except StopIteration as done:
        value: _Outcome = done.value
        return value
