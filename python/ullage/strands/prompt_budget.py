"""Layer 4 of the cascade as a hook of its own: the budget is looked at before each model call."""

from __future__ import annotations

import asyncio
import contextlib
import inspect
from typing import TYPE_CHECKING, Any

from strands.hooks import AfterModelCallEvent, BeforeModelCallEvent, HookProvider, HookRegistry

from ullage._engine.logger import Logger
from ullage.strands.budget import (
    _ensure_prompt_within_budget,
    ensure_prompt_within_budget,
    manager_of,
)

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable

logger = Logger(__name__)

# Before the conversation manager's own check, which then finds the work done.
_ORDER = -10.0

# What an agent is told about one model call, and no longer.
_TRANSIENT = ("_pending_reduction_reason",)

# What is left of an answer that was nothing but reasoning: providers refuse an empty message.
_STRIPPED = {"text": "[reasoning removed]"}


class PromptBudgetHook(HookProvider):
    """Brings the prompt of an agent inside its budget before each model call.

    Reasoning is stripped for a model that takes none (``agent._allow_reasoning_content`` is False),
    the conversation manager is asked to manage, and then the budget is ensured. Whatever goes wrong
    in it is logged: the provider decides what is too long.

    A plain callback runs in a thread, so that the event loop goes on.

    Args:
        ensure_budget_callback: Ensures the budget of the agent that it is given, plain or async;
            ``_ensure_prompt_within_budget`` if not given.
    """

    def __init__(
        self,
        ensure_budget_callback: Callable[[Any], Awaitable[None] | None] | None = None,
    ) -> None:
        if ensure_budget_callback in (None, _ensure_prompt_within_budget):
            ensure_budget_callback = ensure_prompt_within_budget
        self._ensure: Any = ensure_budget_callback

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
        await self._manage(agent)
        try:
            if inspect.iscoroutinefunction(self._ensure):
                await self._ensure(agent)
            else:
                returned = await asyncio.to_thread(self._ensure, agent)
                if inspect.isawaitable(returned):
                    await returned
        except Exception:
            logger.exception("the budget was not ensured")

    def _on_after_model_call(self, event: AfterModelCallEvent) -> None:
        for name in _TRANSIENT:
            if getattr(event.agent, name, None) is not None:
                with contextlib.suppress(AttributeError):
                    delattr(event.agent, name)

    async def _manage(self, agent: Any) -> None:
        manager = manager_of(agent)
        if manager is None:
            return
        manage = getattr(manager, "aapply_management", None)
        try:
            if manage is not None:
                await manage(agent)
            else:
                await asyncio.to_thread(manager.apply_management, agent)
        except Exception:
            logger.exception("the conversation was not managed")


def _strip_reasoning_content(agent: Any) -> None:
    """Removes reasoning from the messages of an agent, if its model does not accept reasoning.

    Does nothing unless ``agent._allow_reasoning_content`` is false. The list is changed in place,
    and changed messages are replaced. A message that was only reasoning says that it was removed.
    """
    messages = getattr(agent, "messages", None)
    allowed = getattr(agent, "_allow_reasoning_content", True)
    if allowed or not isinstance(messages, list):
        return
    stripped = [_without_reasoning(message) for message in messages]
    if any(new is not old for new, old in zip(stripped, messages, strict=True)):
        messages[:] = stripped


def _without_reasoning(message: Any) -> Any:
    content = message.get("content") if isinstance(message, dict) else None
    if not isinstance(content, list):
        return message
    kept = [block for block in content if not _is_reasoning(block)]
    return message if len(kept) == len(content) else {**message, "content": kept or [_STRIPPED]}


def _is_reasoning(block: Any) -> bool:
    return isinstance(block, dict) and "reasoningContent" in block
