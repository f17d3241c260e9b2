"""Layer 4 of the cascade: the prompt is reduced to its budget before each model call."""

from __future__ import annotations

import contextlib
import inspect
import time
from functools import partial
from typing import TYPE_CHECKING, Any

from strands.agent.conversation_manager import NullConversationManager
from strands.hooks import AfterModelCallEvent, BeforeModelCallEvent, HookProvider, HookRegistry

from ullage._engine.logger import Logger
from ullage._engine.steps import Step, Steps, arun, call_host, run
from ullage.strands.estimate import fill_of, is_surely_low
from ullage.strands.settings import (
    ESCALATION_MAX_PASSES,
    ESCALATION_MAX_TIME_SECONDS,
    ESCALATION_THRESHOLD_RATIO,
    NO_REDUCTION_WARNING_RATIO,
    CascadeSettings,
)

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Iterator

logger = Logger(__name__)

# The hook runs before the conversation manager's own check, which then has nothing to do.
_ORDER = -10.0

# Replaces the content of an answer that was only reasoning: providers refuse an empty message.
_STRIPPED = {"text": "[reasoning removed]"}

# The shared manager, if there is one. A list is changed and read at once, whatever threads do.
_shared: list[Any] = []


def _ensure_prompt_within_budget(agent: Any) -> None:
    """Reduces the conversation of an agent if its prompt is above the threshold.

    There are up to two more reductions while the prompt stays above 90 % of its limit, for at most
    half a minute. The conversation manager of the agent makes them, or the shared one. Errors are
    logged and never raised: the provider decides what is too long.
    """
    run(_ensure_steps(agent))


def _ensure_steps(agent: Any) -> Steps[None]:
    manager = _manager_of(agent)
    is_done = yield from reduce_to_budget(agent, manager)
    # A manager with a check of its own before each model call can skip it.
    checked = getattr(manager, "checked", None)
    if is_done and callable(checked):
        checked(agent)


def reduce_to_budget(agent: Any, manager: Any) -> Steps[bool]:
    """Has a manager reduce the prompt of an agent as often as it has to be.

    Returns:
        False if the manager raised, which is logged: the provider decides what is too long.
    """
    settings = getattr(manager, "settings", None)
    if not isinstance(settings, CascadeSettings):
        settings = CascadeSettings.from_env()
    try:
        for options in _reductions(agent, settings):
            if manager is None:
                break
            reduce = manager.reduce_context
            areduce = getattr(manager, "areduce_context", reduce)
            yield Step(
                partial(reduce, agent, **accepted_options(reduce, options)),
                partial(_acall, areduce, agent, **accepted_options(areduce, options)),
            )
    except Exception as error:  # noqa: BLE001 - the provider decides what is too long
        logger.warning("error=<%s> | the history was left as it is", error)
        return False
    return True


async def _acall(function: Callable[..., Any], *args: Any, **options: Any) -> None:
    """Awaits an async function. Calls any other in a thread, so the event loop goes on."""
    await arun(call_host(partial(function, **options), *args))


def _reductions(agent: Any, settings: CascadeSettings) -> Iterator[dict[str, Any]]:
    """Yields the options of each reduction that an agent needs, until it needs no more.

    The caller reduces before it asks for the next.
    """
    fill = None if is_surely_low(agent, settings) else fill_of(agent, settings)
    if fill is None:
        return
    is_full = fill.tokens >= NO_REDUCTION_WARNING_RATIO * fill.limit
    if is_full and not getattr(agent, "_context_reduction_events", None):
        logger.warning(
            "tokens=<%d>, limit=<%d> | the window is nearly full, but nothing was reduced",
            fill.tokens,
            fill.limit,
        )
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
            logger.warning(
                "tokens=<%d>, limit=<%d> | the reduction ran out of time", fill.tokens, fill.limit
            )
            return
        logger.warning(
            "pass=<%d>, tokens=<%d>, limit=<%d> | escalation: the next reduction removes more",
            escalation,
            fill.tokens,
            fill.limit,
        )
        yield {"escalation": escalation}


def accepted_options(method: Callable[..., Any], options: dict[str, Any]) -> dict[str, Any]:
    """Returns the options that a method has parameters for, or all if nothing tells."""
    try:
        parameters = inspect.signature(method).parameters
    except (TypeError, ValueError):
        return options
    if any(one.kind is inspect.Parameter.VAR_KEYWORD for one in parameters.values()):
        return options
    return {name: value for name, value in options.items() if name in parameters}


def register_conversation_manager(manager: Any) -> None:
    """Makes ``manager`` the one for agents that have none of their own; None forgets it."""
    _shared[:] = [] if manager is None else [manager]


def get_shared_conversation_manager() -> Any:
    """The manager that was registered last, or None."""
    return next(iter(_shared), None)


def clear_shared_conversation_manager() -> None:
    """Forgets the manager."""
    register_conversation_manager(None)


def _manager_of(agent: Any) -> Any:
    """Returns the manager of an agent: its own, else the shared one, or None."""
    own = getattr(agent, "conversation_manager", None)
    if own is None or isinstance(own, NullConversationManager):
        return get_shared_conversation_manager()
    return own


class PromptBudgetHook(HookProvider):
    """Brings the prompt of an agent inside its budget before each model call.

    Reasoning is stripped for a model that takes none (``agent._allow_reasoning_content`` is False),
    the conversation manager manages the conversation, and then the budget is ensured. Errors are
    logged: the provider decides what is too long.

    A plain callback runs in a thread, so that the event loop goes on.

    Args:
        ensure_budget_callback: Ensures the budget of the agent that it is given, plain or async;
            ``_ensure_prompt_within_budget`` if not given.
    """

    def __init__(
        self,
        ensure_budget_callback: Callable[[Any], Awaitable[None] | None] | None = None,
    ) -> None:
        own = ensure_budget_callback in (None, _ensure_prompt_within_budget)
        self._ensure: Any = _ensure_beside_loop if own else ensure_budget_callback

    def register_hooks(self, registry: HookRegistry, **_: Any) -> None:
        """Registers the hook before and after each model call."""
        registry.add_callback(BeforeModelCallEvent, self._on_before_model_call, order=_ORDER)
        registry.add_callback(AfterModelCallEvent, self._on_after_model_call, order=_ORDER)
        logger.info(
            "HOOK REGISTRATION: PromptBudgetHook for BeforeModelCallEvent, AfterModelCallEvent"
        )

    async def _on_before_model_call(self, event: BeforeModelCallEvent) -> None:
        agent = event.agent
        _strip_reasoning_content(agent)
        manager = _manager_of(agent)
        try:
            if manager is not None:
                await _acall(getattr(manager, "aapply_management", manager.apply_management), agent)
        except Exception:
            logger.exception("the agent's own manager failed")
        try:
            await _acall(self._ensure, agent)
        except Exception:
            logger.exception("ensure_budget_callback failed")

    def _on_after_model_call(self, event: AfterModelCallEvent) -> None:
        # The reason holds for this model call only.
        if getattr(event.agent, "_pending_reduction_reason", None) is not None:
            with contextlib.suppress(AttributeError):
                del event.agent._pending_reduction_reason  # type: ignore[attr-defined]  # noqa: SLF001


async def _ensure_beside_loop(agent: Any) -> None:
    await arun(_ensure_steps(agent))


def _strip_reasoning_content(agent: Any) -> None:
    """Removes reasoning from the messages of an agent, if its model does not accept reasoning.

    Does nothing unless ``agent._allow_reasoning_content`` is false. The list is changed in place,
    and changed messages are replaced. A message that was only reasoning says that it was removed.
    """
    messages = getattr(agent, "messages", None)
    allowed = getattr(agent, "_allow_reasoning_content", True)
    if allowed or not isinstance(messages, list):
        return
    messages[:] = map(_without_reasoning, messages)


def _without_reasoning(message: Any) -> Any:
    content = message.get("content") if isinstance(message, dict) else None
    if not isinstance(content, list):
        return message
    kept = [
        block for block in content if not (isinstance(block, dict) and "reasoningContent" in block)
    ]
    return message if len(kept) == len(content) else {**message, "content": kept or [_STRIPPED]}
