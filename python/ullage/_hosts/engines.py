"""``Engines``: an engine for each model that a host uses."""

from __future__ import annotations

import threading
from typing import TYPE_CHECKING

from ullage import ContextManager, MemoryStore, PolicyError, TokenCounter
from ullage._engine.lru_cache import LruCache
from ullage._hosts.checks import require_engine
from ullage.models.catalog import ModelLimits

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from ullage import Policy
    from ullage.stores.protocol import Store

# The most engines that are kept. A host may let a user name the model. A forgotten engine is made
# again.
MODELS = 64


class Engines:
    """Creates an engine for each model.

    Engines of one family of models learn together from the reports of providers. So an agent that
    takes over from another begins with what was learned.

    Args:
        engine: One engine for all models. If not given, each model gets its own.
        policy: The settings of the engines; if not given, those of the model.
        store: The store for removed content; in memory if not given.
        model: The id of the model. It takes precedence over the id that the host gives.
        format: The wire format of the host's messages.
        factory: Makes the engine of a model, by its id.
        has_store: False if engines have no store, unless one is given.
        append_only: True if the host never edits a message.

    Raises:
        PolicyError: If an argument is invalid, or if an engine is given together with a policy, a
            store or a model.
    """

    def __init__(
        self,
        engine: ContextManager | None,
        *,
        policy: Policy | None = None,
        store: Store | None = None,
        model: str | None = None,
        format: str,
        factory: Callable[[str], ContextManager] | None = None,
        has_store: bool = True,
        append_only: bool = True,
    ) -> None:
        given: Mapping[str, object] = {"policy": policy, "store": store, "model": model}
        named = [name for name, value in given.items() if value is not None]
        require_engine(engine)
        if engine is not None and named:
            raise PolicyError(
                f"{named[0]}: the engine has its own; give either engine or {named[0]}"
            )
        self._given = engine
        self._policy, self._model, self._format = policy, model, format
        self._append_only = append_only
        self.store = store or (MemoryStore() if has_store else None)
        if engine is not None:
            self.store = engine.store
        self._factory = factory
        self._made: LruCache[ContextManager] = LruCache(MODELS)
        # By the families of models.
        self._counters: dict[str, TokenCounter] = {}
        self._making = threading.Lock()
        self._last = engine
        if factory is None:
            # Created now, so that an invalid argument is an error here.
            self.of(model)

    @property
    def last(self) -> ContextManager:
        """The engine of the last request. Used for tool results, which do not name a model."""
        return self._last or self.of(self._model)

    def of(self, model: object, window: int | None = None) -> ContextManager:
        """Returns the engine for a model.

        Args:
            model: The id of the model, if the host knows it. Only a string is used.
            window: Tokens of the context window, if the host knows them.
        """
        if self._given is not None:
            return self._given
        name = self._model or (model if isinstance(model, str) else "")
        with self._making:
            engine = self._made.get((name, window))
            if engine is None:
                engine = self._factory(name) if self._factory else self._default(name, window)
                self._made.put((name, window), engine)
        self._last = engine
        return engine

    def _default(self, name: str, window: int | None) -> ContextManager:
        policy, counter = self._policy, None
        if policy is None and window is not None:
            policy = ModelLimits(name, window, window, None, "override").policy()
        if name:
            family = TokenCounter.for_model(name).name
            counter = TokenCounter.for_model(name, learn_with=self._counters.get(family))
            if family != "unknown":
                self._counters.setdefault(family, counter)
        return ContextManager(
            policy,
            counter=counter,
            store=self.store,
            model=name or None,
            format=self._format,
            append_only=self._append_only,
        )


def without_store(engine: ContextManager) -> ContextManager:
    """Returns an engine like this one without a store, for a request while the store fails."""
    own = getattr(engine, "without_store", None)
    if own is not None:
        other: ContextManager = own()
        return other
    return ContextManager(
        engine.policy,
        counter=engine.counter,
        format=engine.__getstate__()["format"],
        append_only=True,
        on_compaction=engine.on_compaction,
        recorder=engine.recorder,
    )
