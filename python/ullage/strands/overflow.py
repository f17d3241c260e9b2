"""What follows on a provider's refusal: a history that is smaller than the one that was refused."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from strands.types.exceptions import ContextWindowOverflowException

from ullage import BudgetError, UllageError
from ullage.strands.compaction import compaction
from ullage.strands.engines import fixed

if TYPE_CHECKING:
    from collections.abc import Callable

    from ullage import ContextManager, Report
    from ullage.steps import Steps
    from ullage.strands.known import Known

# When a provider refuses a history that counted as fitting, its own count is higher than ours by a
# share that nobody knows. The next try aims so far below what was refused.
_SHARE = 0.7

# Refusals in a row after which the overflow is raised, although each try was smaller than the last:
# by then a try is below 3 % of what was refused first.
_MOST = 10


def after_overflow(
    agent: Any,
    error: Exception,
    known: Known,
    engine: ContextManager,
    compress: Callable[[], object] | None,
) -> Steps[Report]:
    """Compacts to a share of what was refused, or as near to it as it goes.

    Args:
        agent: Whose messages were refused.
        error: The refusal.
        known: What is known of the agent.
        engine: What decides.
        compress: What is tried before it.

    Raises:
        ContextWindowOverflowException: If nothing can be made smaller, or it was too often.
    """
    known.overflows += 1
    if known.overflows > _MOST:
        raise ContextWindowOverflowException(
            f"the provider refused {known.overflows} prompts in a row, each smaller than the one"
            " before"
        ) from error
    messages, beside = agent.messages, fixed(agent)
    try:
        refused = engine.status(messages, **beside)
        if compress is not None:
            compress()
        budget = min(refused.available, int(refused.tokens * _SHARE))
        options = {"budget": budget, "hard": True, **beside}
        try:
            report = yield from compaction(engine, messages, **options)
        except BudgetError as short:
            if not budget < short.floor < refused.tokens:
                raise
            report = yield from compaction(engine, messages, **{**options, "budget": short.floor})
    except UllageError as problem:
        raise ContextWindowOverflowException(
            f"the history cannot be made smaller: {problem}"
        ) from error
    if report.tokens_after >= refused.tokens:
        raise ContextWindowOverflowException(
            "the history cannot be made smaller: nothing in it may be shortened or removed"
        ) from error
    return report
