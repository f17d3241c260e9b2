"""The engine of each budget: Amplifier's budget is that of the provider of the request."""

from __future__ import annotations

import threading
from collections import OrderedDict
from typing import TYPE_CHECKING, Any

from ullage import ContextManager, TokenCounter

if TYPE_CHECKING:
    from ullage import Recorder
    from ullage.amplifier.settings import Settings
    from ullage.listener import OnCompaction

# An agent talks to a few models, and a few smaller views stand by. More engines than these are made
# again when they are needed, which takes less than a millisecond: what costs is counting, and
# counters are kept.
_KEPT = 16


class Engines:
    """Makes engines and remembers the last ones.

    Args:
        counter: What counts for all of them. If not given, the counter of the model where the
            provider says which it is, and that of OpenAI's newer models where it does not.
        store: Where what leaves a view is kept; None for nowhere, since the history has it all.
        on_compaction: Is told of each compaction.
        recorder: Records them.
    """

    def __init__(
        self,
        counter: TokenCounter | None,
        store: Any,
        on_compaction: OnCompaction | None,
        recorder: Recorder | None,
    ) -> None:
        self._counter = counter
        self._store = store
        self._on_compaction = on_compaction
        self._recorder = recorder
        self._counters: dict[str | None, TokenCounter] = {}
        self._engines: OrderedDict[tuple[Any, ...], ContextManager] = OrderedDict()
        self._making = threading.Lock()

    def counter_for(self, model: str | None) -> TokenCounter:
        """The counter of a model, always the same one."""
        if self._counter is not None:
            return self._counter
        with self._making:
            if model not in self._counters:
                self._counters[model] = (
                    TokenCounter() if model is None else TokenCounter.for_model(model)
                )
            return self._counters[model]

    def engine_for(
        self, settings: Settings, room: int, model: str | None, is_told: bool = True
    ) -> ContextManager:
        """The engine of these settings for so many tokens.

        Args:
            settings: How it compacts.
            room: What it brings messages down to.
            model: The id of the model, if it is known.
            is_told: Whether its compactions are told and recorded.

        Raises:
            PolicyError: If a setting is out of range.
        """
        counter = self.counter_for(model)
        key = (settings, room, model, is_told)
        with self._making:
            engine = self._engines.get(key)
            if engine is None:
                engine = ContextManager(
                    settings.policy(room),
                    counter=counter,
                    store=self._store,
                    model=model,
                    append_only=True,
                    on_compaction=self._on_compaction if is_told else None,
                    recorder=self._recorder if is_told else None,
                )
                self._engines[key] = engine
                while len(self._engines) > _KEPT:
                    self._engines.popitem(last=False)
            self._engines.move_to_end(key)
            return engine
