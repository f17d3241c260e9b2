"""Summaries by an agent's own model, or by an agent of its own."""

from __future__ import annotations

import contextvars
import threading
from typing import Any

from strands.agent.conversation_manager.summarizing_conversation_manager import (
    DEFAULT_SUMMARIZATION_PROMPT,
)
from strands.event_loop.streaming import process_stream

from ullage import SummaryRequest, TokenCounter
from ullage._core import quoted_summary, summary_request
from ullage.strands.agents import PerAgent, model_id, model_window, reference
from ullage.strands.settings import UNKNOWN_WINDOW

# The agents for which a summary is being made in this context, threads begun in it included.
_summarizing: contextvars.ContextVar[tuple[int, ...]] = contextvars.ContextVar(
    "ullage_summarizing", default=()
)

# Held while an agent summarizes.
_BUSY: PerAgent[threading.Lock] = PerAgent(lambda _: threading.Lock())


class AgentSummarizer:
    """Asks for the summaries of one agent.

    Without an agent for summaries the model of the agent is asked directly (``agent.aux_model``
    where there is one): the agent itself is in the midst of a request. For the same reason an agent
    for summaries that is the agent itself, or that is busy, lends its model only.

    Args:
        agent: The agent whose messages are summarized; it is not kept alive.
        by: The agent that summarizes, with its own tools and hooks. Its messages are afterwards
            what they were before.
        system_prompt: The system prompt of the request, in place of ullage's.
    """

    def __init__(self, agent: Any, by: Any = None, system_prompt: str | None = None) -> None:
        self._agent = reference(agent)
        self._by = by
        self._system_prompt = system_prompt

    async def __call__(self, request: SummaryRequest) -> str:
        """Returns the summary.

        Raises:
            RuntimeError: If the agent is gone, or the model does not answer in words.
        """
        agent = self._agent()
        if agent is None:
            raise RuntimeError("the agent whose messages are to be summarized is gone")
        by = agent if self._by is None else self._by
        prompt: Any = [{"text": request.prompt}]
        if by is not agent:
            busy = _BUSY.of(by)
            if not _is_invoked(by) and busy.acquire(blocking=False):
                try:
                    return _text_of(await _answer_of_agent(by, prompt))
                finally:
                    busy.release()
        system = request.system if self._system_prompt is None else self._system_prompt
        model = getattr(by, "aux_model", None) or by.model
        chunks = model.stream(
            [{"role": "user", "content": prompt}], tool_specs=None, system_prompt=system
        )
        message: Any = None
        async for event in process_stream(chunks):
            if "stop" in event:
                message = event["stop"][1]
        return _text_of(message)


async def summary_of(agent: Any, messages: list[Any], by: Any, prompt: str | None) -> str:
    """Returns a summary of some messages of an agent, asked for by Strands' own prompt.

    The request has text only. Providers refuse a request with calls in it and no tools beside them.
    ``by`` is asked in place of the agent's own model; ``prompt`` replaces Strands' system prompt.

    Raises:
        RuntimeError: If the model does not answer in words.
    """
    window = model_window(agent.model) or UNKNOWN_WINDOW
    values = summary_request(
        [_without_citations(message) for message in messages],
        TokenCounter.for_model(model_id(agent.model) or ""),
        format="bedrock",
        previous="",
        prompt="ullage",
        max_tokens=window,
        input=window // 2,
    )
    values["prompt"] = f"{values['text']}\n\nPlease summarize this conversation."
    values.update(system=DEFAULT_SUMMARIZATION_PROMPT, messages=messages)
    # So the request for a summary does not ask for a summary itself.
    token = _summarizing.set((*_summarizing.get(), id(agent), id(by)))
    try:
        return quoted_summary(await AgentSummarizer(agent, by, prompt)(SummaryRequest(**values)))
    finally:
        _summarizing.reset(token)


def is_summarizing(agent: Any) -> bool:
    """Returns True if a summary is being made for this agent, or by it, in this context."""
    return id(agent) in _summarizing.get()


def _text_of(message: Any) -> str:
    """Returns the text of an answer, that of citations included."""
    content = _without_citations(message or {"content": []})["content"]
    texts = [block["text"] for block in content if block.get("text")]
    if not texts:
        raise RuntimeError("the model answered without a word")
    return "\n".join(texts)


def _without_citations(message: Any) -> Any:
    """Returns the message with the words of its citations as texts."""
    blocks = [
        part
        for block in message["content"]
        for part in block.get("citationsContent", {}).get("content", (block,))
    ]
    return {**message, "content": blocks}


async def _answer_of_agent(agent: Any, prompt: Any) -> Any:
    kept = list(agent.messages)
    # A summary is words; a structured answer would be a tool call.
    structured = getattr(agent, "_default_structured_output_model", None)
    agent.messages[:] = []
    if structured is not None:
        agent._default_structured_output_model = None  # noqa: SLF001 - as Strands' own manager
    try:
        return (await agent.invoke_async(prompt)).message
    finally:
        agent.messages[:] = kept
        if structured is not None:
            agent._default_structured_output_model = structured  # noqa: SLF001


def _is_invoked(agent: Any) -> bool:
    """Returns True if another invocation of the agent runs."""
    # The agent has it itself in older versions of Strands.
    lock = getattr(getattr(agent, "_concurrency", agent), "_invocation_lock", None)
    return bool(lock is not None and lock.locked())
