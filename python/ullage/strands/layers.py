"""Layers 1 to 3 of the cascade: one agent's conversation, reduced in place."""

from __future__ import annotations

import contextlib
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any, Literal, TypeAlias

from ullage import BudgetError, ContextManager, ModelLimits, Policy, TokenCounter, UllageError
from ullage._engine.logger import Logger
from ullage.strands.agents import model_id
from ullage.strands.engines import compaction, system_and_tools
from ullage.strands.estimate import _estimate_prompt_tokens, fill_of
from ullage.strands.mapper import LargeToolResultMapper
from ullage.strands.settings import (
    ESCALATION_MAX_PASSES,
    ESCALATION_THRESHOLD_RATIO,
    MAX_REDUCTION_HISTORY,
    PROACTIVE_COMPRESSION_THRESHOLD,
    SMALL_CONVERSATION_THRESHOLD,
    WINDOW_OVERFLOW_THRESHOLD,
    CascadeSettings,
)
from ullage.strands.summaries import AgentSummarizer

if TYPE_CHECKING:
    from collections.abc import Callable

    from ullage import Report
    from ullage._engine.steps import Steps
    from ullage.stores.protocol import Store

logger = Logger(__name__)

Stage: TypeAlias = Literal["compression", "sliding", "summarizing"]

_PRESET = Policy.preset("cyber-autoagent")
# The input of a summary takes at most half of the window. The other half is for the error of our
# count.
_SUMMARY_INPUTS = 2
# Tokens of the note about removed messages.
_NOTE = 100
# More tokens than any conversation has.
_ENDLESS = 1 << 40


@dataclass(frozen=True)
class LayerSettings:
    """The settings of an agent's layers, most of them arguments of the manager.

    Attributes:
        limit: Tokens of the model's window.
        low: Share of the limit to which a reduction goes down.
        thresholds: The settings of the environment.
    """

    model: Any
    limit: int
    low: float
    window: int
    keep_first: int
    keep_last: int
    mapper: Callable[[Any, int, Any], Any]
    thresholds: CascadeSettings
    store: Store | None
    summarization_agent: Any
    summarization_prompt: str | None

    def policy(self) -> Policy:
        """Returns the preset of the cascade, for these settings."""
        limits = ModelLimits("", self.limit, self.limit, None, "override").policy()
        return _PRESET.replace(
            window=limits.window,
            reserve_output=min(limits.reserve_output, _PRESET.reserve_output),
            # The cascade compares its own estimate with the preset's mark. The engine counts
            # better, and acts by itself only on what the estimate has not seen coming.
            high=ESCALATION_THRESHOLD_RATIO,
            low=self.low,
            keep_first=self.keep_first,
            keep_recent=self.keep_last,
            max_messages=self.window,
            # The model that is asked for the summary has the same window.
            summary_input=max(1, min(_PRESET.summary_input, self.limit // _SUMMARY_INPUTS)),
        )


class Layers:
    """The layers for one agent, with an engine for its window and one for its tokens.

    Args:
        agent: The agent; it is not kept alive.
        settings: Its settings.
        previous: Its layers so far. If the model is the same, the counter stays: what it has
            learned is about the model.

    Attributes:
        settings: The settings.
        engine: Does everything that brings a conversation within a budget.
    """

    def __init__(self, agent: Any, settings: LayerSettings, previous: Layers | None) -> None:
        self.settings = settings
        identity = model_id(settings.model)
        if previous is not None and previous.settings.model is settings.model:
            counter = previous.engine.counter
        else:
            counter = TokenCounter() if identity is None else TokenCounter.for_model(identity)
        policy = settings.policy()
        engine = partial(
            ContextManager,
            counter=counter,
            store=settings.store,
            format="bedrock",
            model=identity,
            append_only=True,
        )
        summarizer = AgentSummarizer(
            agent, settings.summarization_agent, settings.summarization_prompt
        )
        # The cascade counts the messages first, and reduces what is still too large after that.
        self._window = engine(policy.replace(stages=["window"]))
        self.engine: ContextManager = engine(
            policy.replace(max_messages=None), summarizer=summarizer
        )
        # The messages that were compressed, and the settings of the mapper that has seen them.
        self._seen: list[Any] = []
        self._seen_by: tuple[int, int, int] | None = None

    def manage(self, agent: Any) -> Steps[None]:
        """Runs Layers 1 and 2, by the number of messages."""
        if len(agent.messages) >= PROACTIVE_COMPRESSION_THRESHOLD * self.settings.window:
            self.compress(agent)
        yield from self._limit_window(agent)

    def reduce(self, agent: Any, escalation: int) -> Steps[Stage]:
        """Runs Layers 1 to 3 until the prompt is below its threshold; returns the last that acted.

        Each escalation spares half as many messages of the last zone; the last spares none.
        """
        was_due = self._is_due(agent)
        self.compress(agent)
        if was_due and not self._is_due(agent):
            return "compression"
        yield from self._limit_window(agent)
        if was_due and not self._is_due(agent):
            return "sliding"
        keep_last = self.settings.keep_last
        spared = keep_last >> escalation if escalation < ESCALATION_MAX_PASSES else 0
        try:
            report = yield from self._reach_low_mark(agent, spared, None)
        except BudgetError:
            # The spared messages are too large by themselves, so large results in them are
            # compressed first.
            self.compress(agent, 0)
            if not self._is_due(agent):
                return "compression"
            policy = self.engine.policy
            room = _NOTE + policy.summary_tokens + policy.summary_lines
            report = yield from self._reach_low_mark(agent, spared, room)
        return stage_of(report)

    def compress(self, agent: Any, spared: int | None = None) -> None:
        """Layer 1: replaces large results between the zones.

        A message that ``LargeToolResultMapper`` has seen is not shown to it again. Another mapper
        may ask where a message stands, so it sees every message each time.
        ``spared`` messages of the last zone are spared; all of it if not given.
        """
        messages, zones = agent.messages, self.settings
        end = len(messages) - (zones.keep_last if spared is None else spared)
        places, mapper = range(zones.keep_first, end), zones.mapper
        if len(messages) < SMALL_CONVERSATION_THRESHOLD or not places:
            return
        settings = mapper.settings if type(mapper) is LargeToolResultMapper else None
        is_known = settings is not None and settings == self._seen_by
        seen = set(map(id, self._seen)) if is_known else set()
        changed = {}
        for index in places:
            if id(messages[index]) in seen:
                continue
            try:
                new = mapper(messages[index], index, messages)
            except Exception:
                # A mapper of somebody else's. Its failure must not end the agent.
                logger.exception("message=<%d> | the mapper failed, the message stays", index)
                continue
            # A mapper may return None to leave a message out; a call would lose its result.
            if new is not None and new is not messages[index]:
                changed[index] = new
        if changed:
            logger.info("LAYER 2 COMPRESSION: Compressing %d tool result(s)", len(changed))
            messages[:] = [changed.get(index, message) for index, message in enumerate(messages)]
        self._seen_by, self._seen = settings, [messages[index] for index in places]

    def _limit_window(self, agent: Any) -> Steps[None]:
        """Layer 2: removes the oldest messages between the zones if there are too many."""
        if len(agent.messages) > WINDOW_OVERFLOW_THRESHOLD * self.settings.window:
            # A budget without end: this is about their number.
            yield from compaction(agent, self._window, agent.messages, budget=_ENDLESS)

    def _reach_low_mark(self, agent: Any, spared: int, room: int | None) -> Steps[Report]:
        """Layer 3: reduces to the low mark of the limit; ``spared`` messages of the last zone stay.

        ``room`` is for the case that the low mark cannot be reached, see :func:`compaction`.
        """
        messages, settings = agent.messages, self.settings
        count, fill = len(messages), fill_of(agent, settings.thresholds)
        first = min(settings.keep_first, count)
        pins = [*range(first), *range(max(first, count - spared), count)]
        options: dict[str, Any] = {"hard": True, "pins": pins}
        if fill is not None and fill.tokens > fill.beside:
            # If the system prompt and the tools leave little room, a reduction leaves half of it
            # free. Aiming for the low mark would empty the conversation and still miss it.
            most = fill.threshold if fill.beside < fill.threshold else fill.limit
            target = max(settings.low * fill.limit, (fill.beside + most) / 2)
            # The thresholds are shares of an estimate. The engine counts; the share is the same.
            share = (target - fill.beside) / (fill.tokens - fill.beside)
            status = self.engine.status(messages, **system_and_tools(agent))
            budget = min(int(status.tokens * min(max(share, 0.0), 1.0)), status.available)
            options["budget"] = max(1, budget)
        return (yield from compaction(agent, self.engine, messages, room=room, **options))

    def _is_due(self, agent: Any) -> bool:
        fill = fill_of(agent, self.settings.thresholds)
        return fill is not None and fill.is_due


def stage_of(report: Report) -> Stage:
    """Returns the stage that a reduction by an engine ended with."""
    return "sliding" if report.summary is None else "summarizing"


def prompt_estimate(agent: Any) -> int | None:
    """Returns the tokens of the next prompt, or None if the messages cannot be read."""
    try:
        return _estimate_prompt_tokens(agent)
    except UllageError:
        return None


def reason_of(agent: Any, error: Exception | None) -> str:
    """Returns the reason for a reduction. A reason that the agent has is used once."""
    reason = getattr(agent, "_pending_reduction_reason", None)
    if isinstance(reason, str):
        with contextlib.suppress(AttributeError, TypeError):
            agent._pending_reduction_reason = None  # noqa: SLF001
        return reason
    return "budget" if error is None else "overflow"


def note_reduction(
    agent: Any, stage: Stage, reason: str, before: int, tokens: int | None = None
) -> None:
    """Logs a reduction, and appends it to the last few in ``agent._context_reduction_events``."""
    after = len(agent.messages)
    logger.info("Context reduced via %s manager: messages %d->%d", stage, before, after)
    event = {
        "stage": stage,
        "reason": reason,
        "before_messages": before,
        "after_messages": after,
        "before_tokens": tokens,
        "after_tokens": prompt_estimate(agent),
        "removed_messages": max(0, before - after),
    }
    known = getattr(agent, "_context_reduction_events", None)
    events = [*known, event] if isinstance(known, list) else [event]
    # An object in place of an agent may allow no new attributes.
    with contextlib.suppress(AttributeError, TypeError):
        agent._context_reduction_events = events[-MAX_REDUCTION_HISTORY:]  # noqa: SLF001
