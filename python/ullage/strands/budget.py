"""When a prompt is too large: the thresholds of the cascade, and reducing until it is not."""

from __future__ import annotations

import asyncio
import time
from typing import TYPE_CHECKING, Any

from strands.agent.conversation_manager import NullConversationManager

from ullage.logger import Logger
from ullage.strands.agents import accepted_options
from ullage.strands.fill import Fill, fill_of, is_far
from ullage.strands.settings import (
    ESCALATION_MAX_PASSES,
    ESCALATION_MAX_TIME_SECONDS,
    ESCALATION_THRESHOLD_RATIO,
    NO_REDUCTION_WARNING_RATIO,
    CascadeSettings,
)
from ullage.strands.shared import get_shared_conversation_manager

if TYPE_CHECKING:
    from collections.abc import Iterator

logger = Logger(__name__)


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
            await reduce(agent, **accepted_options(reduce, options))
        except Exception as error:  # noqa: BLE001 - the provider decides what is too long
            logger.warning("error=<%s> | the history was left as it is", error)
            return
    _note(manager, agent)


def reductions(agent: Any, settings: CascadeSettings) -> Iterator[dict[str, Any]]:
    """The reductions that an agent needs, each with what it is asked with, until it needs no more.

    Whoever iterates reduces before asking for the next.
    """
    if is_far(agent, settings):
        return
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
        manager.reduce_context(agent, **accepted_options(manager.reduce_context, options))
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
