"""What a conversation manager does before a request, when it is full, and when it was refused."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Any

from strands.types.exceptions import ContextWindowOverflowException

from ullage import UllageError
from ullage.strands.compaction import compaction, compaction_after_refusal
from ullage.strands.engines import fixed
from ullage.strands.estimate import _estimate_prompt_tokens
from ullage.strands.events import Reduction, reason_of, remember

if TYPE_CHECKING:
    from collections.abc import Callable

    from ullage import ContextManager, Report
    from ullage.steps import Steps
    from ullage.strands.cascade import Cascade
    from ullage.strands.events import Stage
    from ullage.strands.known import Known

# When a provider refuses a history that counted as fitting, its own count is higher than ours by a
# share that nobody knows. The next try aims so far below what was refused.
_SHARE = 0.7

# Refusals in a row after which the overflow is raised, although each try was smaller than the last:
# by then a try is below 3 % of what was refused first.
_MOST_REFUSALS = 10


def managed(agent: Any, known: Known, engine: ContextManager, cascade: Cascade) -> Steps[None]:
    """Layers 1 and 2; or, where an engine decides all, what that finds due."""
    if known.engines is None:
        yield from held(agent, engine)
        return
    before = len(agent.messages)
    yield from cascade.managed(agent, known, known.engines[1])
    if len(agent.messages) < before:
        _note(agent, "sliding", "window", before, None)


def held(agent: Any, engine: ContextManager) -> Steps[None]:
    """What the engine finds due, which counts better than the estimate of the thresholds."""
    before = len(agent.messages)
    report = yield from compaction(engine, agent.messages, **fixed(agent))
    if report.stages:
        _note(agent, _stage_of(report), "due", before, None)


def reduced(
    agent: Any,
    error: Exception | None,
    escalation: int,
    *,
    known: Known,
    engine: ContextManager,
    cascade: Cascade,
) -> Steps[None]:
    """One reduction: after a refusal it must make progress, otherwise it may.

    Args:
        agent: Whose messages are reduced.
        error: The refusal.
        escalation: How many reductions were not enough before this one.
        known: What is known of the agent.
        engine: What decides.
        cascade: The layers, where no engine decides all.

    Raises:
        ContextWindowOverflowException: If there is a refusal and nothing can be made smaller, or
            nothing is left between the zones.
    """
    reason, before, tokens = reason_of(agent, error), len(agent.messages), _tokens(agent)
    if error is not None:
        # A large result goes first, also one that has just come.
        compress = partial(cascade.compress, agent.messages, known, 0) if known.engines else None
        stage = _stage_of((yield from _recovered(agent, error, known, engine, compress)))
    elif known.engines is None:
        stage = _stage_of(
            (yield from compaction(engine, agent.messages, hard=True, **fixed(agent)))
        )
    else:
        stage = yield from cascade.reduced(agent, known, known.engines[1], escalation)
    if (len(agent.messages), _tokens(agent)) != (before, tokens):
        _note(agent, stage, reason, before, tokens)
    elif known.engines is not None and before <= cascade.first + cascade.last + 1:
        raise ContextWindowOverflowException(
            f"nothing is left to remove: {before} messages remain, of which the first"
            f" {cascade.first} and the last {cascade.last} stay"
        ) from error


def _recovered(
    agent: Any,
    error: Exception,
    known: Known,
    engine: ContextManager,
    compress: Callable[[], object] | None,
) -> Steps[Report]:
    """Makes refused messages well smaller."""
    known.overflows += 1
    if known.overflows > _MOST_REFUSALS:
        raise ContextWindowOverflowException(
            f"the provider refused {known.overflows} prompts in a row, each smaller than the one"
            " before"
        ) from error
    try:
        report = yield from compaction_after_refusal(
            engine, agent.messages, _SHARE, first=compress, **fixed(agent)
        )
    except UllageError as problem:
        raise ContextWindowOverflowException(
            f"the history cannot be made smaller: {problem}"
        ) from error
    if report is None:
        raise ContextWindowOverflowException(
            "the history cannot be made smaller: nothing in it may be shortened or removed"
        ) from error
    return report


def _note(agent: Any, stage: Stage, reason: str, before: int, tokens: int | None) -> None:
    """Says what was reduced: from so many messages and, where it was looked at, so many tokens."""
    after = len(agent.messages)
    removed = max(0, before - after)
    remember(agent, Reduction(stage, reason, before, after, tokens, _tokens(agent), removed))


def _stage_of(report: Report) -> Stage:
    return "sliding" if report.summary is None else "summarizing"


def _tokens(agent: Any) -> int | None:
    try:
        return _estimate_prompt_tokens(agent)
    except UllageError:
        return None
