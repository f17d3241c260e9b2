"""CrewAI, with a scripted model."""

from __future__ import annotations

import asyncio
import json
import os
from typing import Any

# Before the import: CrewAI sends what it counts to its makers.
os.environ["CREWAI_DISABLE_TELEMETRY"] = "true"
os.environ["CREWAI_TRACING_ENABLED"] = "false"

from crewai import Agent, BaseLLM, Crew, Task
from crewai.tools import tool

import ullage
from ullage.crewai import ContextLLM, retrieval_tool

from .provider import Provider, read_log

# Keys of messages that providers know.
FIELDS = {"role", "content", "tool_calls", "tool_call_id", "name"}


class Model(BaseLLM):
    """A model of CrewAI that asks a scripted one."""

    provider_of_tests: Any = None

    def supports_function_calling(self) -> bool:
        return True

    def get_context_window_size(self) -> int:
        return 1_000_000

    def get_input_tokens_count(self, messages: Any, *_: Any, **__: Any) -> int:
        return len(str(messages)) // 4

    def call(self, messages: Any, tools: Any = None, **_more: Any) -> Any:
        provider: Provider = self.provider_of_tests
        rows = [{key: value for key, value in m.items() if key in FIELDS} for m in messages]
        defined = [(t["function"]["name"], t["function"]["parameters"]) for t in tools or ()]
        (system, *rows) = rows
        turn = provider.answer(rows, messages[1:], system["content"], defined)
        self._token_usage["prompt_tokens"] += provider.tokens[-1]
        self._token_usage["successful_requests"] += 1
        if not turn.calls:
            return turn.text
        return [
            {
                "id": i,
                "type": "function",
                "function": {"name": name, "arguments": json.dumps(arguments)},
            }
            for i, name, arguments in turn.calls
        ]

    async def acall(self, messages: Any, tools: Any = None, **_more: Any) -> Any:
        return self.call(messages, tools)


class CrewAgent:
    def __init__(self, provider: Provider, engine: Any, *, is_async: bool) -> None:
        own = ullage.ContextManager(engine.policy, store=engine.store)
        self._llm = ContextLLM(Model(model="scripted", provider_of_tests=provider), own)
        self._agent = Agent(
            role="auditor",
            goal="audit the logs of a shop",
            backstory="An auditor.",
            llm=self._llm,
            tools=[tool("read_log")(read_log), retrieval_tool(engine.store)],
            max_iter=1_000,
            # Otherwise a task that failed begins again.
            max_retry_limit=0,
        )
        self._is_async = is_async

    def ask(self, text: str) -> str:
        task = Task(description=text, expected_output="a text", agent=self._agent)
        crew = Crew(agents=[self._agent], tasks=[task])
        out = asyncio.run(crew.akickoff()) if self._is_async else crew.kickoff()
        return str(out.raw)

    def stored(self) -> list[Any]:
        return list(self._agent.agent_executor.messages)


class CrewAIHost:
    module = "crewai"
    format = "openai"
    restarts = False
    # A task begins with messages of its own.
    goes_on = False
    system = "You are auditor. An auditor.\nYour personal goal is: audit the logs of a shop"

    def adapter(self, engine: Any = None, **more: Any) -> Any:
        return ContextLLM(Model(model="scripted"), engine, **more)

    def agent(
        self, provider: Provider, engine: ullage.ContextManager, *, is_async: bool, past: Any = ()
    ) -> CrewAgent:
        assert not past
        return CrewAgent(provider, engine, is_async=is_async)
