"""Layers 1 to 3 of the cascade, for the conversation of one agent."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from ullage import BudgetError
from ullage.strands.engines import compaction, fixed
from ullage.strands.estimate import fill_of
from ullage.strands.events import Stage, stage_of
from ullage.strands.settings import (
    ESCALATION_MAX_PASSES,
    PROACTIVE_COMPRESSION_THRESHOLD,
    SMALL_CONVERSATION_THRESHOLD,
    WINDOW_OVERFLOW_THRESHOLD,
    CascadeSettings,
)

if TYPE_CHECKING:
    from collections.abc import Callable

    from ullage import Report
    from ullage._engine.steps import Steps
    from ullage.strands.cascade_engines import Engines
    from ullage.strands.compressing import ResultCompression

# Tokens of the note about removed messages.
_NOTE = 100
# More tokens than any conversation has.
_ENDLESS = 1 << 40


@dataclass(frozen=True)
class Layers:
    """Reduces the conversation of one agent in place.

    Attributes:
        agent: The agent.
        engines: Its engines, with the zones and the window.
        compression: The messages that were compressed so far.
        mapper: Compresses a message.
        settings: The thresholds.
    """

    agent: Any
    engines: Engines
    compression: ResultCompression
    mapper: Callable[[Any, int, Any], Any]
    settings: CascadeSettings

    def manage(self) -> Steps[None]:
        """Runs Layers 1 and 2, by the number of messages."""
        window = self.engines.settings.window
        if len(self.agent.messages) >= PROACTIVE_COMPRESSION_THRESHOLD * window:
            self.compress()
        yield from self._hold_window()

    def reduce(self, escalation: int) -> Steps[Stage]:
        """Runs Layers 1 to 3, until the prompt is below its threshold.

        Args:
            escalation: How many reductions were not enough. Each spares half as many messages of
                the last zone as the one before; the last spares none.

        Returns:
            The last stage that had to act.
        """
        was_due = self._is_due()
        self.compress()
        if was_due and not self._is_due():
            return "compression"
        yield from self._hold_window()
        if was_due and not self._is_due():
            return "sliding"
        keep_last = self.engines.settings.keep_last
        spared = keep_last >> escalation if escalation < ESCALATION_MAX_PASSES else 0
        try:
            report = yield from self._reach_low_mark(spared, None)
        except BudgetError:
            # The spared messages are too large by themselves, so large results in them are
            # compressed first.
            self.compress(0)
            if not self._is_due():
                return "compression"
            policy = self.engines.reduction.policy
            room = _NOTE + policy.summary_tokens + policy.summary_lines
            report = yield from self._reach_low_mark(spared, room)
        return stage_of(report)

    def compress(self, spared: int | None = None) -> None:
        """Layer 1: compresses large results between the zones.

        Args:
            spared: Messages of the last zone that are spared; all of it if not given.
        """
        messages, zones = self.agent.messages, self.engines.settings
        end = len(messages) - (zones.keep_last if spared is None else spared)
        if len(messages) >= SMALL_CONVERSATION_THRESHOLD:
            self.compression.compress(messages, range(zones.keep_first, end), self.mapper)

    def _hold_window(self) -> Steps[None]:
        """Layer 2: removes the oldest messages between the zones if there are too many."""
        messages = self.agent.messages
        if len(messages) > WINDOW_OVERFLOW_THRESHOLD * self.engines.settings.window:
            # A budget without end: this is about their number.
            yield from compaction(self.engines.window, messages, budget=_ENDLESS)

    def _reach_low_mark(self, spared: int, room: int | None) -> Steps[Report]:
        """Layer 3: reduces to the low mark of the limit.

        Args:
            spared: Messages of the last zone that stay.
            room: Tokens beside the messages that must stay, if the low mark cannot be reached; None
                to raise.
        """
        engine, messages = self.engines.reduction, self.agent.messages
        count, fill = len(messages), fill_of(self.agent, self.settings)
        first = min(self.engines.settings.keep_first, count)
        pins = [*range(first), *range(max(first, count - spared), count)]
        beside: dict[str, Any] = fixed(self.agent)
        if fill is not None and fill.tokens > fill.beside:
            # If the system prompt and the tools leave little room, a reduction leaves half of it
            # free. Aiming for the low mark would empty the conversation and still miss it.
            most = fill.threshold if fill.beside < fill.threshold else fill.limit
            target = max(self.engines.settings.low * fill.limit, (fill.beside + most) / 2)
            # The thresholds are shares of an estimate. The engine counts; the share is the same.
            share = (target - fill.beside) / (fill.tokens - fill.beside)
            status = engine.status(messages, **beside)
            budget = min(int(status.tokens * min(max(share, 0.0), 1.0)), status.available)
            beside = {"budget": max(1, budget)}
        return (yield from compaction(engine, messages, room=room, hard=True, pins=pins, **beside))

    def _is_due(self) -> bool:
        fill = fill_of(self.agent, self.settings)
        return fill is not None and fill.is_due
