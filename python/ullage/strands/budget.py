"""When a prompt is too large: the thresholds of the cascade, and reducing until it is not."""

from __future__ import annotations

import asyncio
import json
import time
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from strands.agent.conversation_manager import NullConversationManager

from ullage import TokenCounter
from ullage.logger import Logger
from ullage.strands.agents import tool_specs
from ullage.strands.caching import is_prompt_cached
from ullage.strands.estimate import _safe_estimate_tokens, prompt_token_limit, reported_tokens
from ullage.strands.settings import (
    ESCALATION_MAX_PASSES,
    ESCALATION_MAX_TIME_SECONDS,
    ESCALATION_THRESHOLD_RATIO,
    NO_REDUCTION_WARNING_RATIO,
    SYSTEM_PROMPT_OVERHEAD_TOKENS,
    TOOL_DEFINITIONS_OVERHEAD_TOKENS,
    CascadeSettings,
)
from ullage.strands.shared import get_shared_conversation_manager

if TYPE_CHECKING:
    from collections.abc import Iterator

logger = Logger(__name__)

# Where the constants of the estimate take more than this share of the limit, they say more about
# themselves than about the prompt: what the agent really sends stands in for them.
_MOST_OVERHEAD = 0.25
_OVERHEAD = SYSTEM_PROMPT_OVERHEAD_TOKENS + TOOL_DEFINITIONS_OVERHEAD_TOKENS


@dataclass(frozen=True)
class Fill:
    """How full the prompt of an agent is.

    Attributes:
        tokens: Tokens of the prompt.
        beside: Those of them that are not of the messages.
        limit: Tokens that it may have.
        threshold: From so many on it is reduced.
    """

    tokens: int
    beside: int
    limit: int
    threshold: int

    @property
    def is_due(self) -> bool:
        """Whether it is to be reduced."""
        return self.tokens >= self.threshold


def fill_of(agent: Any, settings: CascadeSettings) -> Fill | None:
    """How full the prompt is: by the estimate, else by what was reported last, else None."""
    limit = prompt_token_limit(agent, settings)
    tokens, beside = _safe_estimate_tokens(agent), _OVERHEAD
    if tokens is None:
        tokens = reported_tokens(agent)
        if tokens is None:
            logger.error("BUDGET CHECK ABORT: No estimation and no telemetry")
            return None
        logger.info("BUDGET CHECK FALLBACK: Using telemetry tokens")
    elif tokens and _MOST_OVERHEAD * limit < _OVERHEAD:
        beside = _sent_beside(agent)
        tokens += beside - _OVERHEAD
    threshold = int(limit * settings.relaxed_threshold(cached=is_prompt_cached(agent)))
    return Fill(tokens, beside, limit, threshold)


def _ensure_prompt_within_budget(agent: Any) -> None:
    """Reduces the conversation of an agent until its prompt is below the threshold, or cannot be.

    One reduction from the threshold on, and up to two more while the prompt stays above 90 % of its
    limit, for at most half a minute. Asks the conversation manager of the agent, or else the shared
    one. Never raises: the provider decides what is too long.
    """
    manager = manager_of(agent)
    for options in reductions(agent, settings_of(manager)):
        if manager is None or not _tried(manager, agent, options):
            return
    _note(manager, agent)


async def ensure_prompt_within_budget(agent: Any) -> None:
    """The same beside the event loop."""
    manager = manager_of(agent)
    for options in reductions(agent, settings_of(manager)):
        if manager is None:
            return
        reduce = getattr(manager, "areduce_context", None)
        if reduce is None:
            if not await asyncio.to_thread(_tried, manager, agent, options):
                return
            continue
        try:
            await reduce(agent, **options)
        except Exception as error:  # noqa: BLE001 - the provider decides what is too long
            logger.warning("error=<%s> | the history was left as it is", error)
            return
    _note(manager, agent)


def reductions(agent: Any, settings: CascadeSettings) -> Iterator[dict[str, Any]]:
    """The reductions that an agent needs, each with what it is asked with, until it needs no more.

    Whoever iterates reduces before asking for the next.
    """
    fill = fill_of(agent, settings)
    if fill is None:
        return
    _warn_of_no_reduction(agent, fill)
    if not fill.is_due:
        return
    logger.warning("THRESHOLD EXCEEDED: context=%d, threshold=%d", fill.tokens, fill.threshold)
    deadline = time.monotonic() + ESCALATION_MAX_TIME_SECONDS
    yield {}
    for escalation in range(1, ESCALATION_MAX_PASSES + 1):
        fill = fill_of(agent, settings)
        if fill is None or fill.tokens < ESCALATION_THRESHOLD_RATIO * fill.limit:
            return
        if time.monotonic() >= deadline:
            logger.warning("tokens=<%d>, limit=<%d> | out of time", fill.tokens, fill.limit)
            return
        logger.warning(
            "pass=<%d>, tokens=<%d>, limit=<%d> | escalation", escalation, fill.tokens, fill.limit
        )
        yield {"escalation": escalation}


def manager_of(agent: Any) -> Any:
    """The manager that reduces an agent's conversation: its own, else the shared one, or None."""
    own = getattr(agent, "conversation_manager", None)
    if own is None or isinstance(own, NullConversationManager):
        return get_shared_conversation_manager()
    return own


def settings_of(manager: Any) -> CascadeSettings:
    """The settings of a manager of the cascade; for any other those of the environment."""
    settings = getattr(manager, "settings", None)
    return settings if isinstance(settings, CascadeSettings) else CascadeSettings.from_env()


def _tried(manager: Any, agent: Any, options: dict[str, Any]) -> bool:
    try:
        manager.reduce_context(agent, **options)
    except Exception as error:  # noqa: BLE001 - the provider decides what is too long
        logger.warning("error=<%s> | the history was left as it is", error)
        return False
    return True


def _note(manager: Any, agent: Any) -> None:
    """Says so to a manager that looks itself before each model call."""
    checked = getattr(manager, "checked", None)
    if callable(checked):
        checked(agent)


def _warn_of_no_reduction(agent: Any, fill: Fill) -> None:
    full = fill.tokens >= NO_REDUCTION_WARNING_RATIO * fill.limit
    if full and not getattr(agent, "_context_reduction_events", None):
        logger.warning(
            "tokens=<%d>, limit=<%d> | nearly full, and nothing was reduced yet",
            fill.tokens,
            fill.limit,
        )


def _sent_beside(agent: Any) -> int:
    """What an agent sends beside its messages."""
    system = getattr(agent, "system_prompt", None) or ""
    tools = json.dumps(tool_specs(agent) or [], default=str)
    counter = TokenCounter.preset("cyber-autoagent")
    return counter.count(str(system)) + counter.count(tools)
