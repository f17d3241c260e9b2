"""A compaction of an agent's messages, as Strands wants it."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Any

from ullage import BudgetError
from ullage._engine.steps import Step
from ullage.strands.history import hold_count, identify

if TYPE_CHECKING:
    from collections.abc import Callable

    from ullage import ContextManager, Report
    from ullage._engine.steps import Steps


def compaction(engine: ContextManager, messages: list[Any], **options: Any) -> Steps[Report]:
    """Compacts the messages in place: new ones get an id, and a limit on their number is held.

    Strands calls some methods in its event loop and some beside it.
    """
    before = [*messages]
    report: Report = yield Step(
        partial(engine.compact, messages, **options), partial(engine.acompact, messages, **options)
    )
    if report.stages or report.repairs:
        identify(messages, before)
    hold_count(messages, engine.policy, options.get("pins", ()))
    return report


def compaction_after_refusal(
    engine: ContextManager,
    messages: list[Any],
    share: float,
    *,
    first: Callable[[], object] | None = None,
    **beside: Any,
) -> Steps[Report | None]:
    """Compacts to a share of what was refused, or as near to it as it goes.

    Args:
        engine: What decides.
        messages: The messages that were refused.
        share: The share.
        first: What is tried before it.
        beside: What takes its part of the window beside the messages.

    Returns:
        The report; None if the messages are no smaller.

    Raises:
        UllageError: If the messages cannot be made smaller.
    """
    refused = engine.status(messages, **beside)
    if first is not None:
        first()
    budget = max(1, min(refused.available, int(refused.tokens * share)))
    options = {"hard": True, **beside}
    try:
        report = yield from compaction(engine, messages, budget=budget, **options)
    except BudgetError as error:
        if not budget < error.floor < refused.tokens:
            raise
        report = yield from compaction(engine, messages, budget=error.floor, **options)
    return report if report.tokens_after < refused.tokens else None
