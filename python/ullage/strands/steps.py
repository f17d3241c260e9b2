"""Compactions that are decided one after the other, carried out by whoever waits for them.

Strands calls some methods in its event loop and some beside it. What is to be done is the same, so
it is written once, as a generator that asks for compactions, and carried out in one way or the
other.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, TypeAlias, TypeVar

from ullage.strands.cutting import hold_count
from ullage.strands.identity import identify

if TYPE_CHECKING:
    from collections.abc import Generator

    from ullage import ContextManager, Report

_Outcome = TypeVar("_Outcome")


@dataclass(frozen=True)
class Compaction:
    """A compaction that is asked for.

    Attributes:
        engine: What compacts.
        messages: The messages, which are changed in place.
        options: What else the engine is given.
    """

    engine: ContextManager
    messages: list[Any]
    options: dict[str, Any] = field(default_factory=dict)

    def run(self) -> Report:
        """Compacts the messages."""
        before = [*self.messages]
        report = self.engine.compact(self.messages, **self.options)
        self._finish(before, report)
        return report

    async def arun(self) -> Report:
        """Compacts the messages without holding up the event loop."""
        before = [*self.messages]
        report = await self.engine.acompact(self.messages, **self.options)
        self._finish(before, report)
        return report

    def _finish(self, before: list[Any], report: Report) -> None:
        if report.stages:
            identify(self.messages, before)
        hold_count(self.messages, self.engine.policy, self.options.get("pins", ()))


# Asks for compactions, gets their reports or what they raise, and comes to an outcome.
Steps: TypeAlias = "Generator[Compaction, Report, _Outcome]"


def run(steps: Steps[_Outcome]) -> _Outcome:
    """Carries the steps out where they stand."""
    try:
        asked = next(steps)
        while True:
            try:
                report = asked.run()
            except Exception as error:  # noqa: BLE001, PERF203 - the steps decide
                asked = steps.throw(error)
            else:
                asked = steps.send(report)
    except StopIteration as done:
        outcome: _Outcome = done.value
        return outcome


async def arun(steps: Steps[_Outcome]) -> _Outcome:
    """The same beside the event loop."""
    try:
        asked = next(steps)
        while True:
            try:
                report = await asked.arun()
            except Exception as error:  # noqa: BLE001, PERF203 - the steps decide
                asked = steps.throw(error)
            else:
                asked = steps.send(report)
    except StopIteration as done:
        outcome: _Outcome = done.value
        return outcome
