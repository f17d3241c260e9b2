"""Layer 4 of the cascade: reductions until a prompt is inside its budget."""

from __future__ import annotations

import asyncio
import threading
import time
from functools import partial
from typing import TYPE_CHECKING, Any

from strands.agent.conversation_manager import NullConversationManager

from ullage._engine.logger import Logger
from ullage._engine.steps import Step, Steps, arun, run
from ullage.strands.agents import accepted_options
from ullage.strands.fill import Fill, fill_of, is_far
from ullage.strands.settings import (
    ESCALATION_MAX_PASSES,
    ESCALATION_MAX_TIME_SECONDS,
    ESCALATION_THRESHOLD_RATIO,
    NO_REDUCTION_WARNING_RATIO,
    CascadeSettings,
)

if TYPE_CHECKING:
    from collections.abc import Iterator

logger = Logger(__name__)

_lock = threading.RLock()
_shared: list[Any] = []


def _ensure_prompt_within_budget(agent: Any) -> None:
    """Reduces the conversation of an agent until its prompt is below the threshold, or cannot be.

    One reduction from the threshold on, and up to two more while the prompt stays above 90 % of its
    limit, for at most half a minute. Asks the conversation manager of the agent, or else the shared
    one. Never raises: the provider decides what is too long.
    """
    run(_ensured(agent))


async def ensure_prompt_within_budget(agent: Any) -> None:
    """The same beside the event loop."""
    await arun(_ensured(agent))


def _ensured(agent: Any) -> Steps[None]:
    manager = manager_of(agent)
    for options in reductions(agent, settings_of(manager)):
        if manager is None:
            return
        reduce = manager.reduce_context
        try:
            yield Step(
                partial(reduce, agent, **accepted_options(reduce, options)),
                partial(_reduce_beside, manager, agent, options),
            )
        except Exception as error:  # noqa: BLE001 - the provider decides what is too long
            logger.warning("error=<%s> | the history was left as it is", error)
            return
    # A manager that looks itself before each model call need not.
    checked = getattr(manager, "checked", None)
    if callable(checked):
        checked(agent)


async def _reduce_beside(manager: Any, agent: Any, options: dict[str, Any]) -> None:
    """A reduction beside the event loop; in a thread, where the manager has no other."""
    reduce = getattr(manager, "areduce_context", None)
    if reduce is not None:
        await reduce(agent, **accepted_options(reduce, options))
        return
    reduce = manager.reduce_context
    await asyncio.to_thread(reduce, agent, **accepted_options(reduce, options))


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


def register_conversation_manager(manager: Any) -> None:
    """Makes ``manager`` the one for agents that have none of their own; None forgets it."""
    with _lock:
        _shared[:] = [] if manager is None else [manager]


def get_shared_conversation_manager() -> Any:
    """The manager that was registered last, or None."""
    with _lock:
        return _shared[0] if _shared else None


def clear_shared_conversation_manager() -> None:
    """Forgets the manager."""
    register_conversation_manager(None)


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


def _warn_of_no_reduction(agent: Any, fill: Fill) -> None:
    full = fill.tokens >= NO_REDUCTION_WARNING_RATIO * fill.limit
    if full and not getattr(agent, "_context_reduction_events", None):
        logger.warning(
            "tokens=<%d>, limit=<%d> | nearly full, and nothing was reduced yet",
            fill.tokens,
            fill.limit,
        )
