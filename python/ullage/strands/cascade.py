"""The layers of the cascade over an agent's messages, each where those before did not suffice.

Layer 0, what happens to results as they arrive, is :class:`~ullage.strands.ToolRouterHook`.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any

from strands.types.exceptions import ContextWindowOverflowException

from ullage import BudgetError, UllageError
from ullage._engine.logger import Logger
from ullage.strands.compaction import compaction, compaction_after_refusal
from ullage.strands.engines import fixed
from ullage.strands.estimate import _estimate_prompt_tokens
from ullage.strands.events import Reduction, reason_of, remember
from ullage.strands.fill import fill_of
from ullage.strands.mapper import LargeToolResultMapper
from ullage.strands.settings import (
    ESCALATION_MAX_PASSES,
    PROACTIVE_COMPRESSION_THRESHOLD,
    SMALL_CONVERSATION_THRESHOLD,
    WINDOW_OVERFLOW_THRESHOLD,
    CascadeSettings,
)

if TYPE_CHECKING:
    from collections.abc import Callable

    from ullage import ContextManager, Report
    from ullage._engine.steps import Steps
    from ullage.strands.agent_state import AgentState
    from ullage.strands.engines import Engines
    from ullage.strands.events import Stage

logger = Logger(__name__)

# When a provider refuses a history that counted as fitting, its own count is higher than ours by a
# share that nobody knows. The next try aims so far below what was refused.
_SHARE = 0.7

# Refusals in a row after which the overflow is raised, although each try was smaller than the last:
# by then a try is below 3 % of what was refused first.
_MOST_REFUSALS = 10

# Tokens of the note that stands for what was removed.
_NOTE = 100
# More tokens than any conversation has.
_ENDLESS = 1 << 40


@dataclass(frozen=True)
class Cascade:
    """How an agent's conversation is reduced.

    Attributes:
        settings: The thresholds.
        window: Messages that it may have.
        first: Messages of the first zone, which never leave.
        last: Messages of the last zone, which leave when nothing else is left.
        low: Share of the limit to which a reduction goes down.
        mapper: Compresses a message, see :class:`~ullage.strands.LargeToolResultMapper`.
    """

    settings: CascadeSettings
    window: int
    first: int
    last: int
    low: float
    mapper: Callable[[Any, int, Any], Any] | None

    def manage(self, agent: Any, known: AgentState, engines: Engines) -> Steps[None]:
        """What is done before each request: Layers 1 and 2, where the messages are many."""
        if len(agent.messages) >= PROACTIVE_COMPRESSION_THRESHOLD * self.window:
            self.compress(agent.messages, known)
        yield from self._windowed(agent, engines)

    def reduce(
        self, agent: Any, known: AgentState, engines: Engines, escalation: int
    ) -> Steps[Stage]:
        """Layers 1 to 3, until the prompt is below its threshold; the last one that had to act.

        Each escalation spares half as many messages of the last zone, the last one spares none.
        """
        was_due = self._is_due(agent)
        self.compress(agent.messages, known)
        if was_due and not self._is_due(agent):
            return "compression"
        yield from self._windowed(agent, engines)
        if was_due and not self._is_due(agent):
            return "sliding"
        spared = self.last >> escalation if escalation < ESCALATION_MAX_PASSES else 0
        try:
            report = yield from self._down(agent, engines.reduction, spared)
        except BudgetError:
            # What is spared is too large by itself. A large result in it goes before the rest does.
            self.compress(agent.messages, known, 0)
            if not self._is_due(agent):
                return "compression"
            report = yield from self._nearly_down(agent, engines.reduction, spared)
        return "summarizing" if report.summary is not None else "sliding"

    def compress(self, messages: list[Any], known: AgentState, last: int | None = None) -> None:
        """Layer 1: compresses what is too large between the zones, in place.

        What was looked at before is not looked at again, but for a mapper of somebody else's, which
        may ask where a message stands.

        Args:
            messages: The messages.
            known: What is known of their agent.
            last: Messages of the last zone, if not all of it is spared.
        """
        start, end = self.first, len(messages) - (self.last if last is None else last)
        if self.mapper is None or len(messages) < SMALL_CONVERSATION_THRESHOLD or start >= end:
            return
        by = self.mapper.settings if type(self.mapper) is LargeToolResultMapper else None
        changed = {}
        for place in known.unseen(by, messages[start:end]):
            index = start + place
            try:
                mapped = self.mapper(messages[index], index, messages)
            except Exception:
                # A mapper of somebody else's; what it fails at is not worth the agent.
                logger.exception("message=<%d> | the mapper failed, the message stays", index)
                continue
            # A mapper may say None for what it would leave out; a call would lose its result.
            if mapped is not None and mapped is not messages[index]:
                changed[index] = mapped
        if changed:
            logger.info("LAYER 2 COMPRESSION: Compressing %d tool result(s)", len(changed))
            messages[:] = [changed.get(index, message) for index, message in enumerate(messages)]
        known.look_at(by, messages[start:end])

    def _windowed(self, agent: Any, engines: Engines) -> Steps[None]:
        """Layer 2: the oldest messages between the zones leave, if there are too many."""
        if len(agent.messages) > WINDOW_OVERFLOW_THRESHOLD * self.window:
            # A budget without end: this is about their number.
            yield from compaction(engines.window, agent.messages, budget=_ENDLESS)

    def _down(self, agent: Any, engine: ContextManager, spared: int) -> Steps[Report]:
        """Layer 3: down to the low mark of the limit."""
        messages, fill = agent.messages, fill_of(agent, self.settings)
        pins = self._zones(messages, spared)
        if fill is None or fill.tokens <= fill.beside:
            return (yield from compaction(engine, messages, hard=True, pins=pins, **fixed(agent)))
        # Where what stands beside the messages leaves little room, a reduction leaves half of it:
        # going for the low mark would drain the conversation and still not get there.
        most = fill.threshold if fill.beside < fill.threshold else fill.limit
        target = max(self.low * fill.limit, (fill.beside + most) / 2)
        # The thresholds are shares of an estimate, and the engine counts: the share is the same.
        share = (target - fill.beside) / (fill.tokens - fill.beside)
        status = engine.status(messages, **fixed(agent))
        budget = min(int(status.tokens * min(max(share, 0.0), 1.0)), status.available)
        options = {"budget": max(1, budget), "hard": True, "pins": pins}
        return (yield from compaction(engine, messages, **options))

    def _nearly_down(self, agent: Any, engine: ContextManager, spared: int) -> Steps[Report]:
        """The same, or as near to it as it goes, with room for what says what left."""
        try:
            return (yield from self._down(agent, engine, spared))
        except BudgetError as error:
            room = _NOTE + engine.policy.summary_tokens + engine.policy.summary_lines
            pins = self._zones(agent.messages, spared)
            options = {"budget": error.floor + room, "hard": True, "pins": pins}
            return (yield from compaction(engine, agent.messages, **options))

    def _zones(self, messages: list[Any], last: int) -> list[int]:
        """The messages of the zones."""
        end = max(self.first, len(messages) - last)
        return [*range(min(self.first, len(messages))), *range(end, len(messages))]

    def _is_due(self, agent: Any) -> bool:
        fill = fill_of(agent, self.settings)
        return fill is not None and fill.is_due


def manage(agent: Any, known: AgentState, engine: ContextManager, cascade: Cascade) -> Steps[None]:
    """Layers 1 and 2; or, where an engine decides all, what that finds due."""
    if known.engines is None:
        yield from compact_if_due(agent, engine)
        return
    before = len(agent.messages)
    yield from cascade.manage(agent, known, known.engines[1])
    if len(agent.messages) < before:
        _note(agent, "sliding", "window", before, None)


def compact_if_due(agent: Any, engine: ContextManager) -> Steps[None]:
    """What the engine finds due, which counts better than the estimate of the thresholds."""
    before = len(agent.messages)
    report = yield from compaction(engine, agent.messages, **fixed(agent))
    if report.stages:
        _note(agent, _stage_of(report), "due", before, None)


def reduce(
    agent: Any,
    error: Exception | None,
    escalation: int,
    *,
    known: AgentState,
    engine: ContextManager,
    cascade: Cascade,
) -> Steps[None]:
    """One reduction: after a refusal it must make progress, otherwise it may.

    Args:
        agent: Whose messages are reduced.
        error: The refusal.
        escalation: How many reductions were not enough before this one.
        known: What is known of the agent.
        engine: What decides.
        cascade: The layers, where no engine decides all.

    Raises:
        ContextWindowOverflowException: If there is a refusal and nothing can be made smaller, or
            nothing is left between the zones.
    """
    reason, before, tokens = reason_of(agent, error), len(agent.messages), _tokens(agent)
    if error is not None:
        # A large result goes first, also one that has just come.
        compress = partial(cascade.compress, agent.messages, known, 0) if known.engines else None
        stage = _stage_of((yield from _recover(agent, error, known, engine, compress)))
    elif known.engines is None:
        stage = _stage_of(
            (yield from compaction(engine, agent.messages, hard=True, **fixed(agent)))
        )
    else:
        stage = yield from cascade.reduce(agent, known, known.engines[1], escalation)
    if (len(agent.messages), _tokens(agent)) != (before, tokens):
        _note(agent, stage, reason, before, tokens)
    elif known.engines is not None and before <= cascade.first + cascade.last + 1:
        raise ContextWindowOverflowException(
            f"nothing is left to remove: {before} messages remain, of which the first"
            f" {cascade.first} and the last {cascade.last} stay"
        ) from error


def _recover(
    agent: Any,
    error: Exception,
    known: AgentState,
    engine: ContextManager,
    compress: Callable[[], object] | None,
) -> Steps[Report]:
    """Makes refused messages well smaller."""
    known.overflows += 1
    if known.overflows > _MOST_REFUSALS:
        raise ContextWindowOverflowException(
            f"the provider refused {known.overflows} prompts in a row, each smaller than the one"
            " before"
        ) from error
    try:
        report = yield from compaction_after_refusal(
            engine, agent.messages, _SHARE, first=compress, **fixed(agent)
        )
    except UllageError as problem:
        raise ContextWindowOverflowException(
            f"the history cannot be made smaller: {problem}"
        ) from error
    if report is None:
        raise ContextWindowOverflowException(
            "the history cannot be made smaller: nothing in it may be shortened or removed"
        ) from error
    return report


def _note(agent: Any, stage: Stage, reason: str, before: int, tokens: int | None) -> None:
    """Says what was reduced: from so many messages and, where it was looked at, so many tokens."""
    after = len(agent.messages)
    removed = max(0, before - after)
    remember(agent, Reduction(stage, reason, before, after, tokens, _tokens(agent), removed))


def _stage_of(report: Report) -> Stage:
    return "sliding" if report.summary is None else "summarizing"


def _tokens(agent: Any) -> int | None:
    try:
        return _estimate_prompt_tokens(agent)
    except UllageError:
        return None
