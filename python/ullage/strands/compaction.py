"""A compaction of an agent's messages, as Strands wants it."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Any

from ullage.steps import Step
from ullage.strands.cutting import hold_count
from ullage.strands.identity import identify

if TYPE_CHECKING:
    from ullage import ContextManager, Report
    from ullage.steps import Steps


def compaction(engine: ContextManager, messages: list[Any], **options: Any) -> Steps[Report]:
    """Compacts the messages in place: new ones get an id, and a limit on their number is held.

    Strands calls some methods in its event loop and some beside it.
    """
    before = [*messages]
    report: Report = yield Step(
        partial(engine.compact, messages, **options), partial(engine.acompact, messages, **options)
    )
    if report.stages:
        identify(messages, before)
    hold_count(messages, engine.policy, options.get("pins", ()))
    return report
