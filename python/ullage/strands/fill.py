"""How full an agent's prompt is, beside the thresholds of the cascade."""

from __future__ import annotations

import json
from dataclasses import dataclass
from functools import partial
from itertools import islice
from operator import is_
from typing import TYPE_CHECKING, Any

from ullage import MessageError, TokenCounter
from ullage._engine.logger import Logger
from ullage.strands.agents import PerAgent, tool_specs
from ullage.strands.caching import is_prompt_cached
from ullage.strands.estimate import (
    _safe_estimate_tokens,
    estimate_messages,
    prompt_token_limit,
    reported_tokens,
)
from ullage.strands.settings import NO_REDUCTION_WARNING_RATIO, PROMPT_OVERHEAD_TOKENS

if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import TypeAlias

    from ullage.strands.settings import CascadeSettings

    _Estimate: TypeAlias = Callable[[list[Any]], int]

logger = Logger(__name__)

# Where the constants of the estimate take more than this share of the limit, they say more about
# themselves than about the prompt: what the agent really sends stands in for them.
_MOST_OVERHEAD = 0.25

# What is added is estimated by itself, and each estimate is rounded down.
_ROUNDING = 1


@dataclass(frozen=True)
class Fill:
    """How full the prompt of an agent is.

    Attributes:
        tokens: Tokens of the prompt.
        beside: Those of them that are not of the messages.
        limit: Tokens that it may have.
        threshold: From so many on it is reduced.
    """

    tokens: int
    beside: int
    limit: int
    threshold: int

    @property
    def is_due(self) -> bool:
        """Whether it is to be reduced."""
        return self.tokens >= self.threshold


def fill_of(agent: Any, settings: CascadeSettings) -> Fill | None:
    """How full the prompt is: by the estimate, else by what was reported last, else None."""
    limit, threshold = _bounds(agent, settings)
    tokens, beside = _safe_estimate_tokens(agent), PROMPT_OVERHEAD_TOKENS
    if tokens is None:
        tokens = reported_tokens(agent)
        if tokens is None:
            logger.error("BUDGET CHECK ABORT: No estimation and no telemetry")
            return None
        logger.info("BUDGET CHECK FALLBACK: Using telemetry tokens")
    elif tokens:
        beside = _beside(agent, limit)
        tokens += beside - PROMPT_OVERHEAD_TOKENS
        estimate = partial(estimate_messages, agent)
        _SPARE.of(agent).note(agent.messages, _conditions(agent, limit), tokens, estimate)
    return Fill(tokens, beside, limit, threshold)


def is_far(agent: Any, settings: CascadeSettings) -> bool:
    """Whether the prompt is surely below all that is looked for; the estimate need not be made."""
    messages = getattr(agent, "messages", None)
    if not isinstance(messages, list) or not messages:
        return False
    limit, threshold = _bounds(agent, settings)
    try:
        estimate = partial(estimate_messages, agent)
        tokens = _SPARE.of(agent).at_most(messages, _conditions(agent, limit), estimate)
    except MessageError:
        # The estimate of all of it says so in the words of the document.
        return False
    return tokens is not None and tokens < min(threshold, NO_REDUCTION_WARNING_RATIO * limit)


def _bounds(agent: Any, settings: CascadeSettings) -> tuple[int, int]:
    """The limit of the prompt, and the tokens from which on it is reduced."""
    limit = prompt_token_limit(agent, settings)
    return limit, int(limit * settings.relaxed_threshold(cached=is_prompt_cached(agent)))


def _conditions(agent: Any, limit: int) -> tuple[Any, ...]:
    """What an estimate depends on beside the messages."""
    return (getattr(agent, "model", None), limit, _beside(agent, limit))


def _beside(agent: Any, limit: int) -> int:
    """What stands beside the messages: the constants, or what is really sent."""
    if _MOST_OVERHEAD * limit >= PROMPT_OVERHEAD_TOKENS:
        return PROMPT_OVERHEAD_TOKENS
    system, tools = getattr(agent, "system_prompt", None) or "", tool_specs(agent) or []
    return _SENT.of(agent).tokens(system, tools)


class _Sent:
    """What an agent sends beside its messages, counted once for as long as it is the same."""

    def __init__(self, _: Any) -> None:
        self._counted: tuple[Any, Any, int] = (None, None, 0)

    def tokens(self, system: Any, tools: list[Any]) -> int:
        """Tokens of a system prompt and tools."""
        of, with_tools, tokens = self._counted
        if of is not system or with_tools is not tools:
            counter = TokenCounter.preset("cyber-autoagent")
            tokens = counter.count(str(system)) + counter.count(json.dumps(tools, default=str))
            self._counted = (system, tools, tokens)
        return tokens


class _Spare:
    """How far one prompt was below the size that matters, when it was estimated.

    A look at a long conversation then costs what is new in it. Messages are compared as objects,
    as the engine compares them: after any other change than new messages at the end, nothing is
    known. The last message is estimated anew each time, since hooks add to it.
    """

    def __init__(self) -> None:
        # All but the last.
        self._messages: list[Any] = []
        self._of: Any = None
        self._tokens = 0

    def note(self, messages: list[Any], of: Any, tokens: int, estimate: _Estimate) -> None:
        """The prompt has so many tokens, under the conditions ``of``."""
        self._messages, self._of = messages[:-1], of
        self._tokens = tokens - estimate(messages[-1:]) + _ROUNDING

    def at_most(self, messages: list[Any], of: Any, estimate: _Estimate) -> int | None:
        """What the prompt has at most now, if that is known; ``estimate`` is that of messages."""
        known = self._messages
        if (
            self._of != of
            or len(known) >= len(messages)
            or not all(map(is_, known, islice(messages, len(known))))
        ):
            return None
        if new := messages[len(known) : -1]:
            self._tokens += estimate(new) + _ROUNDING
            known += new
        return self._tokens + estimate(messages[-1:]) + _ROUNDING


_SENT: PerAgent[_Sent] = PerAgent(_Sent)
_SPARE: PerAgent[_Spare] = PerAgent(lambda _: _Spare())
