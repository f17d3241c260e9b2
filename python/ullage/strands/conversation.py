"""The conversation manager: compaction before a model call, and after a provider's refusal."""

from __future__ import annotations

import logging
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any
from weakref import WeakKeyDictionary

from strands.agent.conversation_manager import ConversationManager
from strands.hooks import BeforeModelCallEvent, HookRegistry
from strands.types.exceptions import ContextWindowOverflowException

from ullage import BudgetError, ContextManager, ModelCatalog, ModelLimits, UllageError

if TYPE_CHECKING:
    from strands import Agent

    from ullage import Report

logger = logging.getLogger(__name__)

# When a provider refuses a history that counted as fitting, its own count is higher than ours by a
# share that nobody knows. The next try aims so far below what was refused.
_OVERFLOW_SHARE = 0.7

# What Strands itself assumes of a model whose window nobody knows.
_UNKNOWN_WINDOW = 200_000
_MODELS = ModelCatalog(default={"window": _UNKNOWN_WINDOW})


class MappingConversationManager(ConversationManager):
    """Keeps an agent's conversation inside its model's window.

    Before each model call the history is compacted if it is above the policy's high mark, the
    system prompt and the tool definitions of the agent counted. If the provider still reports an
    overflow, the history is brought well below what was refused, or the overflow is raised again:
    never a loop without progress.

    What the provider reports for each prompt corrects the engine's counter.

    Messages are changed in place (``agent.messages[:] = ...``). A session manager that keeps a log
    of messages has the originals, so ``removed_message_count``, from which such a session is
    restored, stays 0: a restored agent has its whole history, which is compacted again before its
    next model call.

    Args:
        engine: What decides. One engine may serve several agents. If not given, an engine for the
            model of the first call: by its id, and by its ``context_window_limit`` where it has
            one. It has no store, so what leaves the conversation is lost.
    """

    def __init__(self, *, engine: ContextManager | None = None) -> None:
        super().__init__()
        self.engine = engine
        # Of each agent the last answer whose usage was learned from.
        self._observed: WeakKeyDictionary[Agent, Any] = WeakKeyDictionary()

    def register_hooks(self, registry: HookRegistry, **kwargs: Any) -> None:
        """Registers the check before each model call."""
        super().register_hooks(registry, **kwargs)
        registry.add_callback(BeforeModelCallEvent, self._before_model_call)

    async def _before_model_call(self, event: BeforeModelCallEvent) -> None:
        agent = event.agent
        self._observe(agent)
        try:
            # Beside the event loop, which serves other agents: the store may write to a disk.
            await self._engine_for(agent).acompact(agent.messages, **_fixed(agent))
        except UllageError as error:
            # The provider decides: it may count less than we do, and what our store cannot keep may
            # still fit. If it does not, the provider says so, and Strands asks for a reduction.
            logger.warning("error=<%s> | the history was left as it is", error)

    def apply_management(self, agent: Agent, **_: Any) -> None:
        """Compacts the history after an invocation, if it is above the high mark."""
        self._observe(agent)
        try:
            self._engine_for(agent).compact(agent.messages, **_fixed(agent))
        except UllageError as error:
            # Strands calls this in its `finally`: raising would hide the answer, or the error, of
            # the invocation. The check before the next model call reports what is still wrong.
            logger.warning("error=<%s> | the history was left as it is", error)

    def reduce_context(self, agent: Agent, e: Exception | None = None, **_: Any) -> None:
        """Makes the history smaller: after an overflow (``e``) it must, otherwise it may.

        Raises:
            ContextWindowOverflowException: If ``e`` is given and nothing can be made smaller.
        """
        self._observe(agent)
        try:
            report = self._reduced(agent, None if e is None else _OVERFLOW_SHARE)
        except UllageError as error:
            if e is None:
                raise
            raise ContextWindowOverflowException(
                f"the history cannot be made smaller: {error}"
            ) from e
        if e is not None and report.saved <= 0:
            raise ContextWindowOverflowException(
                "the history cannot be made smaller: nothing in it may be shortened or removed"
            ) from e

    def _reduced(self, agent: Agent, share: float | None) -> Report:
        """Compacts at once, to this share of what there is, or as near to it as it goes."""
        engine, fixed = self._engine_for(agent), _fixed(agent)
        if share is None:
            return engine.compact(agent.messages, hard=True, **fixed)
        status = engine.status(agent.messages, **fixed)
        budget = min(status.available, int(status.tokens * share))
        try:
            return engine.compact(agent.messages, budget=budget, hard=True, **fixed)
        except BudgetError as error:
            if not budget < error.floor < status.tokens:
                raise
            return engine.compact(agent.messages, budget=error.floor, hard=True, **fixed)

    def _observe(self, agent: Agent) -> None:
        """Learns from the usage of the last answer; what came before it was its prompt.

        So it comes before every compaction, which changes what came before.
        """
        messages = agent.messages
        answers = (n for n in reversed(range(len(messages))) if messages[n]["role"] == "assistant")
        index = next(answers, None)
        if index is None or messages[index] is self._observed.get(agent):
            return
        self._observed[agent] = messages[index]
        reported = _prompt_tokens(messages[index])
        if reported is None:
            return
        cached = _cached_tokens(messages[index])
        said = {} if cached is None else {"cached_tokens": cached}
        try:
            self._engine_for(agent).observe(messages[:index], reported, **said)
        except UllageError as error:
            logger.debug("error=<%s> | the usage taught nothing", error)

    def _engine_for(self, agent: Agent) -> ContextManager:
        if self.engine is None:
            self.engine = _engine_of(agent.model)
        return self.engine


def _engine_of(model: Any) -> ContextManager:
    """An engine for the model, as far as it says what it is."""
    config = model.get_config() if hasattr(model, "get_config") else None
    identity = config.get("model_id") if isinstance(config, Mapping) else None
    identity = identity if isinstance(identity, str) else None
    window = getattr(model, "context_window_limit", None)
    limits = ModelLimits(identity or "", window, window, None, "override") if window else None
    policy = None if limits is None else limits.policy()
    return ContextManager(policy, model=identity, catalog=_MODELS, format="bedrock")


def _prompt_tokens(answer: Any) -> int | None:
    """The size of the prompt of an answer as Strands notes it, cached parts included."""
    usage = (answer.get("metadata") or {}).get("usage")
    if not usage:
        return None
    parts = ("inputTokens", "cacheReadInputTokens", "cacheWriteInputTokens")
    counts = [usage.get(part) or 0 for part in parts]
    return sum(counts) if all(isinstance(count, int) and count >= 0 for count in counts) else None


def _cached_tokens(answer: Any) -> int | None:
    """What of the prompt was read from the provider's cache, where Strands notes it."""
    cached = (answer.get("metadata") or {}).get("usage", {}).get("cacheReadInputTokens")
    return cached if isinstance(cached, int) and cached >= 0 else None


def _fixed(agent: Agent) -> dict[str, Any]:
    """What takes its part of the window beside the messages."""
    registry = getattr(agent, "tool_registry", None)
    return {
        "system": getattr(agent, "system_prompt", None),
        "tools": registry.get_all_tool_specs() if registry is not None else None,
    }
