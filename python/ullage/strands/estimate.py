"""Estimates the size of an agent's next prompt, by the formula of Cyber-AutoAgent.

8,000 tokens for the system prompt, 3,000 for the tools, 50 for each message, and the characters of
the messages over a ratio that depends on the model. It needs no tokenizer and is low for Claude;
:class:`~ullage.ContextManager` counts better. It is what the thresholds of the cascade are shares
of.
"""

from __future__ import annotations

import json
import logging
from dataclasses import dataclass
from functools import lru_cache
from typing import TYPE_CHECKING, Any

from ullage import MessageError, TokenCounter
from ullage._core import known_limits
from ullage.strands.agents import PerAgent, model_id, model_window, prompt_tokens, tool_specs
from ullage.strands.caching import is_prompt_cached
from ullage.strands.settings import NO_REDUCTION_WARNING_RATIO, PROMPT_OVERHEAD_TOKENS
from ullage.strands.snapshot import is_same

if TYPE_CHECKING:
    from ullage.strands.settings import CascadeSettings

logger = logging.getLogger(__name__)

# If the constants of the estimate take more than this share of the limit, they hide the size of the
# prompt. Then the real system prompt and tools are counted in their place.
_MOST_OVERHEAD = 0.25

# Messages that are added are estimated by themselves, and each estimate is rounded down.
_ROUNDING = 1


@dataclass(frozen=True)
class Fill:
    """The fill level of an agent's prompt.

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
        """True if it is to be reduced."""
        return self.tokens >= self.threshold


def _estimate_prompt_tokens(agent: Any) -> int:
    """Tokens of the next prompt of an agent by the formula. O(messages).

    Raises:
        MessageError: If the messages are no list.
    """
    return PROMPT_OVERHEAD_TOKENS + _estimate(agent, agent.messages)


def _safe_estimate_tokens(agent: Any) -> int | None:
    """The same, or None with a line in the log where it cannot be said; 0 without messages."""
    messages = getattr(agent, "messages", None)
    if messages is None:
        logger.warning("TOKEN ESTIMATION FAILED: agent.messages is None")
        return None
    if not isinstance(messages, list):
        logger.warning("TOKEN ESTIMATION FAILED: agent.messages is not a list")
        return None
    if not messages:
        logger.info("TOKEN ESTIMATION: agent.messages is empty")
        return 0
    try:
        return _estimate_prompt_tokens(agent)
    except Exception:
        logger.exception("TOKEN ESTIMATION ERROR: Exception during estimation")
        return None


def reported_tokens(agent: Any) -> int | None:
    """The size of the last prompt as the provider reported it, where the agent noted that."""
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
    """The tokens that an agent's prompt may have.

    What the agent says (``_prompt_token_limit``), what its model says, what is known of the model
    by its id, and else the limit of the settings.
    """
    said = getattr(agent, "_prompt_token_limit", None)
    if isinstance(said, int) and not isinstance(said, bool) and said > 0:
        return said
    model = getattr(agent, "model", None)
    window = model_window(model)
    if window is None and (known := known_limits(model_id(model) or "")) is not None:
        # The limit of a request, which some providers set below the window.
        window = known[1]
    return settings.context_limit if window is None else window


def fill_of(agent: Any, settings: CascadeSettings) -> Fill | None:
    """Returns the fill level: by the estimate, else by the last report, else None."""
    limit, threshold, beside = _bounds(agent, settings)
    tokens = _safe_estimate_tokens(agent)
    if tokens is None:
        tokens = reported_tokens(agent)
        if tokens is None:
            logger.error("BUDGET CHECK ABORT: No estimation and no telemetry")
            return None
        logger.info("BUDGET CHECK FALLBACK: Using telemetry tokens")
    elif tokens:
        tokens += beside - PROMPT_OVERHEAD_TOKENS
        _PROMPTS.of(agent).note(agent, tokens, limit, beside)
        return Fill(tokens, beside, limit, threshold)
    return Fill(tokens, PROMPT_OVERHEAD_TOKENS, limit, threshold)


def is_surely_low(agent: Any, settings: CascadeSettings) -> bool:
    """True if the prompt is surely below all marks, so that the estimate need not be made."""
    if not isinstance(getattr(agent, "messages", None), list) or not agent.messages:
        return False
    limit, threshold, beside = _bounds(agent, settings)
    try:
        tokens = _PROMPTS.of(agent).upper_bound(agent, limit, beside)
    except MessageError:
        # The estimate of all of it says so in the words of the document.
        return False
    return tokens is not None and tokens < min(threshold, NO_REDUCTION_WARNING_RATIO * limit)


def _bounds(agent: Any, settings: CascadeSettings) -> tuple[int, int, int]:
    """The limit of the prompt, from what on it is reduced, and what stands beside the messages.

    Those are the constants, or what is really sent.
    """
    limit = prompt_token_limit(agent, settings)
    threshold = int(limit * settings.relaxed_threshold(cached=is_prompt_cached(agent)))
    if _MOST_OVERHEAD * limit >= PROMPT_OVERHEAD_TOKENS:
        return limit, threshold, PROMPT_OVERHEAD_TOKENS
    system, tools = getattr(agent, "system_prompt", None) or "", tool_specs(agent) or []
    return limit, threshold, _PROMPTS.of(agent).beside(system, tools)


class _Prompt:
    """The known sizes of one agent's prompts, so that a look costs only what is new.

    After any other change than new messages at the end, nothing is known. The last message is
    estimated anew each time, since hooks add to it.
    """

    def __init__(self, _: Any) -> None:
        # All messages but the last, when the prompt was estimated, and under what conditions.
        self._messages: list[Any] = []
        self._conditions: Any = None
        self._tokens = 0
        # A system prompt, tools, and their tokens.
        self._beside: tuple[Any, Any, int] = (None, None, 0)
        # The accumulated usage, of which the last prompt is the last growth.
        self._total, self._last = 0, 0

    def note(self, agent: Any, tokens: int, *conditions: int) -> None:
        """The prompt has so many tokens."""
        self._messages, self._conditions = (
            agent.messages[:-1],
            (getattr(agent, "model", None), *conditions),
        )
        self._tokens = tokens - _estimate(agent, agent.messages[-1:]) + _ROUNDING

    def upper_bound(self, agent: Any, *conditions: int) -> int | None:
        """Returns the upper bound of the prompt now, if that is known."""
        known, messages = self._messages, agent.messages
        if (
            self._conditions != (getattr(agent, "model", None), *conditions)
            or len(known) >= len(messages)
            or not is_same(known, messages[: len(known)])
        ):
            return None
        if new := messages[len(known) : -1]:
            self._tokens += _estimate(agent, new) + _ROUNDING
            known += new
        return self._tokens + _estimate(agent, messages[-1:]) + _ROUNDING

    def beside(self, system: Any, tools: list[Any]) -> int:
        """Tokens of a system prompt and tools, counted once for as long as they are the same."""
        of, with_tools, tokens = self._beside
        if of is not system or with_tools is not tools:
            counter = _counter(None)
            tokens = counter.count(str(system)) + counter.count(json.dumps(tools, default=str))
            self._beside = (system, tools, tokens)
        return tokens

    def last_prompt(self, usage: Any) -> int | None:
        """The tokens of the last prompt, or None if nothing was reported."""
        total = prompt_tokens(usage) if isinstance(usage, dict) else None
        if total is not None and total != self._total:
            # A smaller total is a new sum.
            self._last = total - self._total if total > self._total else total
            self._total = total
        return self._last or None


_PROMPTS: PerAgent[_Prompt] = PerAgent(_Prompt)


def _estimate(agent: Any, messages: list[Any]) -> int:
    """Returns the formula's tokens for messages by themselves.

    Raises:
        MessageError: If they cannot be read.
    """
    counter = _counter(model_id(getattr(agent, "model", None)))
    return counter.count_messages(messages, "bedrock") - PROMPT_OVERHEAD_TOKENS


@lru_cache(maxsize=64)
def _counter(model: str | None) -> TokenCounter:
    return TokenCounter.preset("cyber-autoagent", model)
