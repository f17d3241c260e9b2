"""The OpenAI Agents SDK, with a scripted model."""

from __future__ import annotations

import asyncio
import json
import tempfile
from pathlib import Path
from typing import Any

from agents import (
    Agent,
    ModelResponse,
    Runner,
    SQLiteSession,
    Usage,
    function_tool,
    set_tracing_disabled,
)
from agents.models.interface import Model
from openai.types.responses import (
    Response,
    ResponseCompletedEvent,
    ResponseFunctionToolCall,
    ResponseOutputMessage,
    ResponseOutputText,
    ResponseUsage,
)

import ullage
from ullage.openai_agents import ContextModel, ContextProvider, ContextSession, retrieval_tool

from .provider import SYSTEM, Provider, read_log

set_tracing_disabled(disabled=True)


class ScriptedModel(Model):
    def __init__(self, provider: Provider) -> None:
        self.provider = provider

    async def get_response(self, system_instructions, input, model_settings, tools, *_args, **_ids):
        output, tokens = self._output(system_instructions, input, tools)
        usage = Usage(requests=1, input_tokens=tokens, output_tokens=9, total_tokens=tokens + 9)
        return ModelResponse(output=output, usage=usage, response_id=None)

    async def stream_response(
        self, system_instructions, input, model_settings, tools, *_args, **_ids
    ):
        output, tokens = self._output(system_instructions, input, tools)
        details: Any = {"cached_tokens": 0, "cache_write_tokens": 0}
        thoughts: Any = {"reasoning_tokens": 0}
        usage = ResponseUsage(
            input_tokens=tokens,
            output_tokens=9,
            total_tokens=tokens + 9,
            input_tokens_details=details,
            output_tokens_details=thoughts,
        )
        response = Response(
            id="r",
            created_at=0,
            model="scripted",
            object="response",
            output=output,
            parallel_tool_calls=True,
            tool_choice="auto",
            tools=[],
            usage=usage,
        )
        yield ResponseCompletedEvent(
            response=response, type="response.completed", sequence_number=0
        )

    def _output(self, system: str | None, given: Any, tools: Any) -> tuple[list[Any], int]:
        rows = [{"role": "user", "content": given}] if isinstance(given, str) else given
        named = [(tool.name, tool.params_json_schema) for tool in tools]
        turn = self.provider.answer(rows, rows, system or "", named)
        text = ResponseOutputText(type="output_text", text=turn.text, annotations=[])
        output: list[Any] = [
            ResponseOutputMessage(
                id=f"m{len(self.provider.requests)}",
                type="message",
                role="assistant",
                status="completed",
                content=[text],
            )
        ]
        output += [
            ResponseFunctionToolCall(
                type="function_call", call_id=call, name=name, arguments=json.dumps(arguments)
            )
            for call, name, arguments in turn.calls
        ]
        return output, self.provider.tokens[-1]


def items_of(past: Any) -> list[Any]:
    """Messages in Chat's form as items."""
    items: list[Any] = []
    for message in past:
        if message["role"] == "tool":
            call, text = message["tool_call_id"], message["content"]
            items.append({"type": "function_call_output", "call_id": call, "output": text})
            continue
        items.append({"role": message["role"], "content": message["content"]})
        for call in message.get("tool_calls", ()):
            known = call["function"]
            items.append({"type": "function_call", "call_id": call["id"], **known})
    return items


class OpenAIAgent:
    def __init__(
        self, provider: Provider, engine: Any, folder: Path, *, is_async: bool, is_streamed: bool
    ) -> None:
        self._given = (provider, engine, folder)
        self._is_async, self._is_streamed = is_async, is_streamed
        # Another process has another engine with the same settings and the same store.
        own = ullage.ContextManager(engine.policy, store=engine.store)
        self.session: Any = ContextSession(
            SQLiteSession("s", folder / "sessions.db"), own, folder / "views" / "s.json"
        )
        model = ContextModel(ScriptedModel(provider), own)
        tools = [function_tool(read_log), retrieval_tool(engine.store)]
        self._agent = Agent(name="A", instructions=SYSTEM, model=model, tools=tools)

    def ask(self, text: str) -> str:
        more: Any = {"session": self.session, "max_turns": 1_000}
        if self._is_streamed:
            return asyncio.run(self._streamed(text, more))
        if self._is_async:
            return str(asyncio.run(Runner.run(self._agent, text, **more)).final_output)
        # The SDK leaves the loop that it makes open.
        loop = asyncio.new_event_loop()
        asyncio.set_event_loop(loop)
        try:
            return str(Runner.run_sync(self._agent, text, **more).final_output)
        finally:
            loop.close()
            asyncio.set_event_loop(None)

    async def _streamed(self, text: str, more: Any) -> str:
        run = Runner.run_streamed(self._agent, text, **more)
        async for _ in run.stream_events():
            pass
        return str(run.final_output)

    def stored(self) -> list[Any]:
        return list(asyncio.run(self.session.get_items()))

    def restarted(self) -> OpenAIAgent:
        return OpenAIAgent(*self._given, is_async=self._is_async, is_streamed=self._is_streamed)


class OpenAIAgentsHost:
    module = "agents"
    format = "openai-responses"
    restarts = True
    is_streamed = False

    def adapter(self, engine: Any = None, **more: Any) -> Any:
        return ContextProvider(None, engine, **more)

    def agent(
        self, provider: Provider, engine: ullage.ContextManager, *, is_async: bool, past: Any = ()
    ) -> OpenAIAgent:
        folder = Path(tempfile.mkdtemp())
        agent = OpenAIAgent(
            provider, engine, folder, is_async=is_async, is_streamed=self.is_streamed
        )
        if past:
            asyncio.run(agent.session.add_items(items_of(past)))
        return agent


class StreamedOpenAIAgentsHost(OpenAIAgentsHost):
    """Its runs are asynchronous in either case."""

    is_streamed = True
