"""The reductions of an agent's conversation, as the log and the agent tell them."""

from __future__ import annotations

import contextlib
from typing import TYPE_CHECKING, Any, Literal, TypeAlias

from ullage import UllageError
from ullage._engine.logger import Logger
from ullage.strands.estimate import _estimate_prompt_tokens
from ullage.strands.settings import MAX_REDUCTION_HISTORY

if TYPE_CHECKING:
    from ullage import Report

logger = Logger(__name__)

Stage: TypeAlias = Literal["compression", "sliding", "summarizing"]


def stage_of(report: Report) -> Stage:
    """Returns the stage that a reduction by an engine ended with."""
    return "sliding" if report.summary is None else "summarizing"


def estimated_tokens(agent: Any) -> int | None:
    """Returns the tokens of the next prompt, or None if the messages cannot be read."""
    try:
        return _estimate_prompt_tokens(agent)
    except UllageError:
        return None


def reason_of(agent: Any, error: Exception | None) -> str:
    """Returns why a reduction is asked for. A reason that the agent gives holds for one of them."""
    said = getattr(agent, "_pending_reduction_reason", None)
    if isinstance(said, str):
        with contextlib.suppress(AttributeError, TypeError):
            agent._pending_reduction_reason = None  # noqa: SLF001
        return said
    return "budget" if error is None else "overflow"


def note_reduction(agent: Any, stage: Stage, reason: str, before: int, tokens: int | None) -> None:
    """Logs a reduction, and appends it to the last few in ``agent._context_reduction_events``."""
    after = len(agent.messages)
    logger.info("Context reduced via %s manager: messages %d->%d", stage, before, after)
    event = {
        "stage": stage,
        "reason": reason,
        "before_messages": before,
        "after_messages": after,
        "before_tokens": tokens,
        "after_tokens": estimated_tokens(agent),
        "removed_messages": max(0, before - after),
    }
    known = getattr(agent, "_context_reduction_events", None)
    events = [*known, event] if isinstance(known, list) else [event]
    # An agent may refuse attributes; its history is a courtesy.
    with contextlib.suppress(AttributeError, TypeError):
        agent._context_reduction_events = events[-MAX_REDUCTION_HISTORY:]  # noqa: SLF001
