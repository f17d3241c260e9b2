"""Work that is written once and carried out with or without an event loop.

What is to be done is a generator. Where it needs something that a loop does in another way, it
yields a :class:`Step` and is sent what came of it. :func:`run` and :func:`arun` carry it out.
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
        call: Does it, and may take its time.
        acall: Does it without holding up the event loop.
    """

    call: Callable[[], Any]
    acall: Callable[[], Awaitable[Any]]


Steps: TypeAlias = "Generator[Step, Any, _Outcome]"


def aside(
    function: Callable[_Given, _Outcome], *args: _Given.args, **more: _Given.kwargs
) -> Steps[_Outcome]:
    """A call that takes long: where an event loop runs, it is made in a thread."""
    bound = partial(function, *args, **more)
    outcome: _Outcome = yield Step(bound, partial(in_pool, bound))
    return outcome


def calling(function: Callable[..., Any], *args: Any) -> Steps[Any]:
    """A call of a function of the host's, plain or async.

    Beside an event loop a plain one is called in a thread. Without a loop an async one gets a loop
    of its own.
    """
    bound = partial(function, *args)
    return (yield Step(partial(_called, bound), partial(acall, function, *args)))


def _called(function: Callable[[], Any]) -> Any:
    outcome, error = Call(function, None).wait(None)
    if error is not None:
        raise error
    return outcome


def run(steps: Steps[_Outcome]) -> _Outcome:
    """Carries the steps out in this thread."""
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
    """Carries the steps out beside the event loop."""
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
