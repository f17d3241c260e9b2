"""Estimates an agent's next prompt by the formula of Cyber-AutoAgent.

The formula: 8,000 tokens for the system prompt, 3,000 for the tools, 50 for each message, and the
characters of the messages divided by a ratio that depends on the model. It needs no tokenizer, and
is too low for Claude. :class:`~ullage.ContextManager` counts better, but the thresholds of the
cascade are shares of this estimate.
"""

from __future__ import annotations

import json
import logging
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import TYPE_CHECKING, Any

from ullage import MessageError, TokenCounter
from ullage._core import known_limits
from ullage.strands.agents import (
    PerAgent,
    is_prompt_cached,
    model_id,
    model_window,
    prompt_tokens,
    tool_specs,
)
from ullage.strands.settings import NO_REDUCTION_WARNING_RATIO, PROMPT_OVERHEAD_TOKENS
from ullage.strands.snapshot import is_same

if TYPE_CHECKING:
    from ullage.strands.settings import CascadeSettings

logger = logging.getLogger(__name__)

# If the constants of the formula are more than this share of the limit, the tokens of the agent's
# own system prompt and tools replace them.
_MOST_OVERHEAD = 0.25

# New messages are estimated by themselves, and each estimate is rounded down.
_ROUNDING = 1


@dataclass(frozen=True)
class Fill:
    """The size of an agent's prompt, and its limits.

    Attributes:
        tokens: Tokens of the prompt.
        beside: The part of them for the system prompt and the tools.
        limit: The most tokens of the prompt.
        threshold: Tokens from which on the prompt is reduced.
    """

    tokens: int
    beside: int
    limit: int
    threshold: int

    @property
    def is_due(self) -> bool:
        """True if the prompt is to be reduced."""
        return self.tokens >= self.threshold


def _estimate_prompt_tokens(agent: Any) -> int:
    """Returns the tokens of the next prompt of an agent by the formula. O(messages).

    Raises:
        MessageError: If the messages are no list.
    """
    return PROMPT_OVERHEAD_TOKENS + _estimate(agent, agent.messages)


def reported_tokens(agent: Any) -> int | None:
    """Returns the size of the last prompt that the provider reported, if the agent noted it."""
    metrics = getattr(agent, "event_loop_metrics", None)
    for name in ("projected_context_size", "latest_context_size"):
        size = getattr(metrics, name, None)
        if isinstance(size, int) and size > 0:
            return size
    last = _PROMPTS.of(agent).last_prompt(getattr(metrics, "accumulated_usage", None))
    if last is not None:
        return last
    seen = getattr(getattr(agent, "callback_handler", None), "sdk_input_tokens", None)
    return seen if isinstance(seen, int) and seen > 0 else None


def prompt_token_limit(agent: Any, settings: CascadeSettings) -> int:
    """Returns the tokens that an agent's prompt may have.

    It is the first known one of the agent's ``_prompt_token_limit``, the model's window, the limits
    of the model's id, and the limit of the settings.
    """
    own = getattr(agent, "_prompt_token_limit", None)
    if isinstance(own, int) and not isinstance(own, bool) and own > 0:
        return own
    model = getattr(agent, "model", None)
    window = model_window(model)
    if window is None and (known := known_limits(model_id(model) or "")) is not None:
        # The limit of a request; some providers set it below the window.
        window = known[1]
    return settings.context_limit if window is None else window


def fill_of(agent: Any, settings: CascadeSettings) -> Fill | None:
    """Returns the size by the estimate, else by the last reported usage, else None."""
    empty, messages = _empty(agent, settings), getattr(agent, "messages", None)
    try:
        if messages is None:
            logger.warning("TOKEN ESTIMATION FAILED: agent.messages is None")
        elif not isinstance(messages, list):
            logger.warning("TOKEN ESTIMATION FAILED: agent.messages is not a list")
        elif not messages:
            logger.info("TOKEN ESTIMATION: agent.messages is empty")
            return replace(empty, beside=PROMPT_OVERHEAD_TOKENS)
        else:
            fill = replace(empty, tokens=empty.beside + _estimate(agent, messages))
            _PROMPTS.of(agent).note(agent, fill)
            return fill
    except Exception:
        logger.exception("TOKEN ESTIMATION ERROR: Exception during estimation")
    tokens = reported_tokens(agent)
    if tokens is None:
        logger.error("BUDGET CHECK ABORT: No estimation and no telemetry")
        return None
    logger.info("BUDGET CHECK FALLBACK: Using telemetry tokens")
    return replace(empty, tokens=tokens, beside=PROMPT_OVERHEAD_TOKENS)


def is_surely_low(agent: Any, settings: CascadeSettings) -> bool:
    """Returns True if the prompt is surely below each threshold, so no estimate is needed."""
    if not isinstance(getattr(agent, "messages", None), list) or not agent.messages:
        return False
    empty = _empty(agent, settings)
    try:
        tokens = _PROMPTS.of(agent).upper_bound(agent, empty)
    except MessageError:
        # The estimate of all of it says so in the words of the document.
        return False
    return tokens is not None and tokens < min(
        empty.threshold, NO_REDUCTION_WARNING_RATIO * empty.limit
    )


def _empty(agent: Any, settings: CascadeSettings) -> Fill:
    """Returns a prompt without messages, and its limits.

    The system prompt and the tools have the constants of the formula. They are counted if the
    constants are too large a part of the limit.
    """
    limit, beside = prompt_token_limit(agent, settings), PROMPT_OVERHEAD_TOKENS
    threshold = int(limit * settings.relaxed_threshold(cached=is_prompt_cached(agent)))
    if beside > _MOST_OVERHEAD * limit:
        system, tools = getattr(agent, "system_prompt", None) or "", tool_specs(agent) or []
        beside = _counter(None).count(str(system) + json.dumps(tools, default=str))
    return Fill(0, beside, limit, threshold)


class _Prompt:
    """The last estimate of one agent's prompt, so that the next check costs O(new messages).

    Any change other than new messages at the end voids it. The last message is estimated each time,
    because hooks add to it.
    """

    def __init__(self, _: Any) -> None:
        # All messages but the last, when the prompt was estimated, and under what conditions.
        self._messages: list[Any] = []
        self._conditions: Any = None
        self._tokens = 0
        # The accumulated usage, of which the last prompt is the last growth.
        self._total, self._last = 0, 0

    def note(self, agent: Any, fill: Fill) -> None:
        """Remembers the size of the prompt."""
        self._messages, self._conditions = agent.messages[:-1], _conditions(agent, fill)
        self._tokens = fill.tokens - _estimate(agent, agent.messages[-1:]) + _ROUNDING

    def upper_bound(self, agent: Any, empty: Fill) -> int | None:
        """Returns the most tokens that the prompt can have now, or None if that is not known."""
        known, messages = self._messages, agent.messages
        if (
            self._conditions != _conditions(agent, empty)
            or len(known) >= len(messages)
            or not is_same(known, messages[: len(known)])
        ):
            return None
        if new := messages[len(known) : -1]:
            self._tokens += _estimate(agent, new) + _ROUNDING
            known += new
        return self._tokens + _estimate(agent, messages[-1:]) + _ROUNDING

    def last_prompt(self, usage: Any) -> int | None:
        """Returns the tokens of the last prompt, or None if nothing was reported."""
        total = prompt_tokens(usage) if isinstance(usage, dict) else None
        if total is not None and total != self._total:
            # A smaller total is a new sum.
            self._last = total - self._total if total > self._total else total
            self._total = total
        return self._last or None


_PROMPTS: PerAgent[_Prompt] = PerAgent(_Prompt)


def _conditions(agent: Any, fill: Fill) -> Any:
    return getattr(agent, "model", None), fill.limit, fill.beside


def _estimate(agent: Any, messages: list[Any]) -> int:
    """Returns the tokens of the messages by the formula, without its constants.

    Raises:
        MessageError: If they cannot be read.
    """
    counter = _counter(model_id(getattr(agent, "model", None)))
    return counter.count_messages(messages, "bedrock") - PROMPT_OVERHEAD_TOKENS


@lru_cache(maxsize=64)
def _counter(model: str | None) -> TokenCounter:
    return TokenCounter.preset("cyber-autoagent", model)
