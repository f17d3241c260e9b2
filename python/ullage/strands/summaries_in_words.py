"""Summaries that a model is asked for with words alone, in the words of Strands."""

from __future__ import annotations

import contextvars
from typing import Any

from strands.agent.conversation_manager.summarizing_conversation_manager import (
    DEFAULT_SUMMARIZATION_PROMPT,
)

from ullage import SummaryRequest
from ullage.strands.agents import model_window
from ullage.strands.settings import UNKNOWN_WINDOW
from ullage.strands.summaries import AgentSummarizer
from ullage.strands.transcript import transcript

# Characters that a summary is made from, for each token of the window: even text of which a token
# is two characters leaves half of the window free.
_INPUT = 1

# The agents whose summaries are being made in this context; a summary makes no summary in turn.
_summarized: contextvars.ContextVar[tuple[int, ...]] = contextvars.ContextVar(
    "ullage_summarized", default=()
)


def is_being_summarized(agent: Any) -> bool:
    """Whether a summary of this agent, or by it, is being made in this context."""
    return id(agent) in _summarized.get()


async def summary_of(agent: Any, messages: list[Any], by: Any, prompt: str | None) -> str:
    """The summary of some messages of an agent.

    Args:
        agent: Whose messages they are, and whose model is asked where nobody else is.
        messages: The messages.
        by: The agent that summarizes, or None.
        prompt: What the model is told in place of Strands' own prompt.

    Raises:
        RuntimeError: If the model does not answer in words.
    """
    window = model_window(agent.model) or UNKNOWN_WINDOW
    text = transcript(messages, window * _INPUT)
    request = SummaryRequest(
        prompt=f"{text}\n\nPlease summarize this conversation.",
        system=DEFAULT_SUMMARIZATION_PROMPT,
        text=text,
        previous="",
        messages=messages,
        max_tokens=window,
        max_words=window,
    )
    token = _summarized.set((*_summarized.get(), id(agent), id(by)))
    try:
        return await AgentSummarizer(agent, by, prompt)(request)
    finally:
        _summarized.reset(token)
