"""Layer 3 of the cascade: summaries by the agent's own model, or by an agent of its own."""

from __future__ import annotations

import threading
from typing import TYPE_CHECKING, Any
from weakref import ref

from strands.event_loop.streaming import process_stream

from ullage.strands.agents import PerAgent

if TYPE_CHECKING:
    from collections.abc import Callable

    from ullage import SummaryRequest


class AgentSummarizer:
    """Asks for the summaries of one agent.

    Without an agent for summaries the model of the agent is asked directly (``agent.aux_model``
    where there is one): the agent itself is in the midst of a request. For the same reason an agent
    for summaries that is the agent itself, or that is busy, lends its model only.

    Args:
        agent: The agent whose messages are summarized; it is not kept alive.
        by: The agent that summarizes, with its own tools and hooks. Its messages are afterwards
            what they were before.
        system_prompt: What stands above the request, in place of ullage's words.
    """

    def __init__(self, agent: Any, by: Any = None, system_prompt: str | None = None) -> None:
        self._agent: Callable[[], Any]
        try:
            self._agent = ref(agent)
        except TypeError:
            self._agent = lambda: agent
        self._by = by
        self._system_prompt = system_prompt

    async def __call__(self, request: SummaryRequest) -> str:
        """The summary.

        Raises:
            RuntimeError: If the agent is gone, or the model does not answer in words.
        """
        agent = self._agent()
        if agent is None:
            raise RuntimeError("the agent whose messages are to be summarized is gone")
        if self._by is not None and self._by is not agent:
            busy = _BUSY.of(self._by)
            if not _is_invoked(self._by) and busy.acquire(blocking=False):
                try:
                    return await self._by_agent(self._by, request)
                finally:
                    busy.release()
        asked = agent if self._by is None else self._by
        model = getattr(asked, "aux_model", None) or asked.model
        return await self._by_model(model, request)

    async def _by_model(self, model: Any, request: SummaryRequest) -> str:
        system = request.system if self._system_prompt is None else self._system_prompt
        chunks = model.stream([_asking(request)], tool_specs=None, system_prompt=system)
        message: Any = None
        async for event in process_stream(chunks):
            if "stop" in event:
                message = event["stop"][1]
        return _words(message)

    async def _by_agent(self, agent: Any, request: SummaryRequest) -> str:
        kept = list(agent.messages)
        # A summary is words; a structured answer would be a tool call.
        structured = getattr(agent, "_default_structured_output_model", None)
        agent.messages[:] = []
        if structured is not None:
            agent._default_structured_output_model = None  # noqa: SLF001 - as Strands' own manager
        try:
            result = await agent.invoke_async(_asking(request)["content"])
        finally:
            agent.messages[:] = kept
            if structured is not None:
                agent._default_structured_output_model = structured  # noqa: SLF001
        return _words(result.message)


_BUSY: PerAgent[threading.Lock] = PerAgent(lambda _: threading.Lock())


def _is_invoked(agent: Any) -> bool:
    """Whether somebody else has the agent at work."""
    # The agent has it itself in older versions of Strands.
    lock = getattr(getattr(agent, "_concurrency", agent), "_invocation_lock", None)
    return bool(lock is not None and lock.locked())


def _asking(request: SummaryRequest) -> Any:
    return {"role": "user", "content": [{"text": request.prompt}]}


def _words(message: Any) -> str:
    """The text of an answer, that of citations included."""
    texts: list[str] = []
    for block in (message or {}).get("content", ()):
        cited = block.get("citationsContent", {}).get("content", ())
        texts += [part["text"] for part in (block, *cited) if part.get("text")]
    if not texts:
        raise RuntimeError("the model answered without a word")
    return "\n".join(texts)
