"""What the attributes of a manager of the cascade come to, for one agent."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from ullage.strands.cascade import Cascade
from ullage.strands.engines import Engines, engines_of
from ullage.strands.estimate import prompt_token_limit
from ullage.strands.summaries import AgentSummarizer

if TYPE_CHECKING:
    from collections.abc import Callable

    from ullage.store import Store
    from ullage.strands.known import Known
    from ullage.strands.settings import CascadeSettings


@dataclass(frozen=True)
class Layers:
    """The attributes of a manager as they are now; they may change at any time.

    Attributes:
        settings: The thresholds.
        window: Messages that a conversation may have.
        zones: Messages of the first and of the last zone.
        summary_ratio: Share of the prompt at its threshold that a reduction takes away.
        mapper: Compresses a message.
        store: Keeps what leaves.
        summarizer: The agent that summarizes, and what its model is told.
    """

    settings: CascadeSettings
    window: int
    zones: tuple[int, int]
    summary_ratio: float
    mapper: Callable[[Any, int, Any], Any] | None
    store: Store | None
    summarizer: tuple[Any, str | None]

    @property
    def low(self) -> float:
        """Share of the limit to which a reduction goes down."""
        # Rounded, since 0.65 * 0.7 is 0.45499999999999996 to a computer.
        return round(self.settings.prompt_telemetry_threshold * (1 - self.summary_ratio), 9)

    def cascade(self) -> Cascade:
        """The layers at work."""
        first, last = self.zones
        return Cascade(
            settings=self.settings,
            window=self.window,
            first=first,
            last=last,
            low=self.low,
            mapper=self.mapper,
        )

    def engines(self, agent: Any, known: Known) -> Engines:
        """The engines of an agent; new ones where its model, its limit or an attribute changed."""
        limit, model = prompt_token_limit(agent, self.settings), getattr(agent, "model", None)
        key = (model, limit, self.low, self.window, self.zones, self.store, self.summarizer)
        before, made = known.engines or ((None,), None)
        if made is None or before != key:
            made = engines_of(
                model,
                # What a counter has learned is about the model.
                counter=made.reduction.counter if made and before[0] is model else None,
                limit=limit,
                low=self.low,
                window=self.window,
                zones=self.zones,
                store=self.store,
                summarizer=AgentSummarizer(agent, *self.summarizer),
            )
            known.engines = (key, made)
        return made
