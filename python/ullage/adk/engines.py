"""``Engines``: the engine for each model of an app."""

from __future__ import annotations

from typing import TYPE_CHECKING, TypeAlias

from ullage import ContextManager, PolicyError
from ullage._engine.lru_cache import LruCache
from ullage.adk.conversations import invocation_of

if TYPE_CHECKING:
    from collections.abc import Callable

    from google.adk.agents.callback_context import CallbackContext

# An engine, a function from a model's id to its engine, or None for defaults by the id.
EngineOrFactory: TypeAlias = "ContextManager | Callable[[str], ContextManager] | None"

# Models that an app uses at once. A forgotten engine is made again.
_MODELS = 64


class Engines:
    """Gives each model its engine.

    Args:
        given: An engine for all models, or a function from a model's id to its engine. If not
            given, each model gets an engine with its window, reserve and counter.

    Raises:
        PolicyError: If ``given`` is anything else.
    """

    def __init__(self, given: EngineOrFactory) -> None:
        if given is not None and not isinstance(given, ContextManager) and not callable(given):
            raise PolicyError(f"engine: it is a {type(given).__name__}, not a ContextManager")
        self._given = given
        self._made: LruCache[ContextManager] = LruCache(_MODELS)

    def of(self, model: str | None) -> ContextManager:
        """Returns the engine for a model, by its id."""
        if isinstance(self._given, ContextManager):
            return self._given
        name = model or ""
        engine = self._made.get(name)
        if engine is None:
            if self._given is None:
                engine = ContextManager(model=name or "unknown", format="gemini", append_only=True)
            else:
                engine = self._given(name)
            self._made.put(name, engine)
        return engine

    def for_tool(self, context: CallbackContext) -> ContextManager:
        """Returns the engine for the model of the agent that called a tool."""
        if isinstance(self._given, ContextManager):
            return self._given
        agent = invocation_of(context).agent
        model = getattr(agent, "canonical_model", None)
        return self.of(getattr(model, "model", None))
