"""How large an agent's next prompt is, by the formula of Cyber-AutoAgent.

8,000 tokens for the system prompt, 3,000 for the tools, 50 for each message, and the characters of
the messages over a ratio that depends on the model. It needs no tokenizer and is low for Claude;
:class:`~ullage.ContextManager` counts better. It is what the thresholds of the cascade are shares
of.
"""

from __future__ import annotations

import logging
from functools import lru_cache
from typing import TYPE_CHECKING, Any

from ullage import TokenCounter
from ullage._core import known_limits
from ullage.strands.agents import PerAgent, model_id, model_window, prompt_tokens
from ullage.strands.settings import PROMPT_OVERHEAD_TOKENS

if TYPE_CHECKING:
    from ullage.strands.settings import CascadeSettings

logger = logging.getLogger(__name__)


def _estimate_prompt_tokens(agent: Any) -> int:
    """Tokens of the next prompt of an agent by the formula. O(messages).

    Raises:
        MessageError: If the messages are no list.
    """
    counter = _counter(model_id(getattr(agent, "model", None)))
    return counter.count_messages(agent.messages, "bedrock")


def estimate_messages(agent: Any, messages: list[Any]) -> int:
    """What the formula puts on messages by themselves.

    Raises:
        MessageError: If they cannot be read.
    """
    counter = _counter(model_id(getattr(agent, "model", None)))
    return counter.count_messages(messages, "bedrock") - PROMPT_OVERHEAD_TOKENS


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
    last = _ACCUMULATED.of(agent).last_prompt(getattr(metrics, "accumulated_usage", None))
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
        # What a request may take, which some providers limit below the window.
        window = known[1]
    return settings.context_limit if window is None else window


class _Accumulated:
    """The accumulated usage of an agent, of which the last prompt is the last growth."""

    def __init__(self) -> None:
        self._total = 0
        self._last: int | None = None

    def last_prompt(self, usage: Any) -> int | None:
        """Returns the tokens of the last prompt, or None if nothing was reported."""
        total = prompt_tokens(usage) if isinstance(usage, dict) else None
        if total is not None and total != self._total:
            # A smaller total is a new sum.
            self._last = total - self._total if total > self._total else total
            self._total = total
        return self._last or None


_ACCUMULATED: PerAgent[_Accumulated] = PerAgent(lambda _: _Accumulated())


@lru_cache(maxsize=64)
def _counter(model: str | None) -> TokenCounter:
    return TokenCounter.preset("cyber-autoagent", model)
