"""LangChain and LangGraph, with a scripted model."""

from __future__ import annotations

import asyncio
import pickle
from functools import partial
from typing import Any

from langchain.agents import create_agent
from langchain_core.language_models.chat_models import BaseChatModel
from langchain_core.messages import AIMessage, BaseMessage, convert_to_openai_messages
from langchain_core.messages.utils import convert_to_messages
from langchain_core.outputs import ChatGeneration, ChatResult
from langchain_core.utils.function_calling import convert_to_openai_tool
from langgraph.checkpoint.memory import InMemorySaver

import ullage
from ullage.langchain import ContextMiddleware

from .provider import SYSTEM, Provider, read_log

THREAD: Any = {"configurable": {"thread_id": "t"}, "recursion_limit": 10_000}


class ScriptedModel(BaseChatModel):
    provider: Any
    tools: Any = ()

    @property
    def _llm_type(self) -> str:
        return "scripted"

    def bind_tools(self, tools, **_more):
        return self.model_copy(update={"tools": tools})

    def _generate(self, messages, stop=None, run_manager=None, **_more):
        system = [message.text for message in messages if message.type == "system"]
        others = [message for message in messages if message.type != "system"]
        tools = [convert_to_openai_tool(tool)["function"] for tool in self.tools]
        rows: Any = convert_to_openai_messages(others)
        turn = self.provider.answer(
            rows, others, "\n".join(system), [(tool["name"], tool) for tool in tools]
        )
        tokens = self.provider.tokens[-1]
        answer = AIMessage(
            turn.text,
            tool_calls=[{"id": i, "name": name, "args": args} for i, name, args in turn.calls],
            usage_metadata={"input_tokens": tokens, "output_tokens": 9, "total_tokens": tokens + 9},
        )
        return ChatResult(generations=[ChatGeneration(message=answer)])


class LangChainAgent:
    def __init__(self, make: Any, saver: InMemorySaver, *, is_async: bool, past: Any) -> None:
        self._make, self._saver, self._is_async = make, saver, is_async
        self._agent = make(saver)
        self._past: list[BaseMessage] = convert_to_messages(past)

    def ask(self, text: str) -> str:
        given: Any = {"messages": [*self._past, ("user", text)]}
        self._past = []
        if self._is_async:
            state = asyncio.run(self._agent.ainvoke(given, THREAD))
        else:
            state = self._agent.invoke(given, THREAD)
        assert set(state) == {"messages"}
        answer: str = state["messages"][-1].text
        return answer

    def stored(self) -> list[Any]:
        return list(self._agent.get_state(THREAD).values["messages"])

    def restarted(self) -> LangChainAgent:
        written = pickle.dumps((dict(self._saver.blobs), dict(self._saver.writes)))
        storage = {
            thread: {ns: dict(points) for ns, points in of.items()}
            for thread, of in self._saver.storage.items()
        }
        saver = InMemorySaver()
        for thread, of in pickle.loads(pickle.dumps(storage)).items():
            saver.storage[thread].update(of)
        blobs, writes = pickle.loads(written)
        saver.blobs.update(blobs)
        saver.writes.update(writes)
        return LangChainAgent(self._make, saver, is_async=self._is_async, past=[])


class LangChainHost:
    module = "langchain"
    format = "openai"
    restarts = True

    def adapter(self, engine: Any = None, **more: Any) -> Any:
        return ContextMiddleware(engine, **more)

    def agent(
        self, provider: Provider, engine: ullage.ContextManager, *, is_async: bool, past: Any = ()
    ) -> LangChainAgent:
        return LangChainAgent(
            partial(_made, provider, engine), InMemorySaver(), is_async=is_async, past=list(past)
        )


def _made(provider: Provider, engine: ullage.ContextManager, saver: InMemorySaver) -> Any:
    # Another process has another engine with the same settings and the same store.
    other = ullage.ContextManager(engine.policy, store=engine.store)
    return create_agent(
        ScriptedModel(provider=provider),
        [read_log],
        system_prompt=SYSTEM,
        middleware=[ContextMiddleware(other)],
        checkpointer=saver,
    )
