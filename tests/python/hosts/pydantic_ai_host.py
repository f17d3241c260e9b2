"""Pydantic AI, with a scripted model."""

from __future__ import annotations

import asyncio
import json
from typing import Any

from pydantic_ai import Agent, UsageLimits
from pydantic_ai.messages import (
    ModelMessagesTypeAdapter,
    ModelRequest,
    ModelResponse,
    TextPart,
    ToolCallPart,
    ToolReturnPart,
    UserPromptPart,
)
from pydantic_ai.models.function import DeltaToolCall, FunctionModel
from pydantic_ai.usage import RequestUsage

import ullage
from ullage.pydantic_ai import ContextCapability

from .provider import SYSTEM, Provider, Turn, read_log

UNLIMITED = UsageLimits(request_limit=None)


def rows_of(messages: Any) -> list[Any]:
    """The messages as Anthropic's, written apart from the adapter."""
    rows: list[Any] = []
    for message in messages:
        blocks: list[Any] = []
        for part in message.parts:
            if isinstance(part, ToolCallPart):
                known = {"id": part.tool_call_id, "name": part.tool_name}
                blocks.append({"type": "tool_use", **known, "input": part.args_as_dict()})
            elif isinstance(part, ToolReturnPart):
                known = {"tool_use_id": part.tool_call_id, "content": part.model_response_str()}
                blocks.append({"type": "tool_result", **known})
            else:
                blocks.append({"type": "text", "text": part.content})
        role = "user" if isinstance(message, ModelRequest) else "assistant"
        if rows and rows[-1]["role"] == role:
            rows[-1]["content"] += blocks
        else:
            rows.append({"role": role, "content": blocks})
    return rows


def scripted(provider: Provider) -> FunctionModel:
    def turn_of(messages: Any, info: Any) -> Turn:
        tools = [(tool.name, tool.parameters_json_schema) for tool in info.function_tools]
        return provider.answer(rows_of(messages), messages, info.instructions or "", tools)

    def answer(messages: Any, info: Any) -> ModelResponse:
        turn = turn_of(messages, info)
        calls: Any = [
            ToolCallPart(name, arguments, tool_call_id=i) for i, name, arguments in turn.calls
        ]
        usage = RequestUsage(input_tokens=provider.tokens[-1], output_tokens=9)
        return ModelResponse(parts=[TextPart(turn.text), *calls], usage=usage)

    async def stream(messages: Any, info: Any) -> Any:
        turn = turn_of(messages, info)
        yield turn.text
        for place, (i, name, arguments) in enumerate(turn.calls, start=1):
            yield {place: DeltaToolCall(name, json.dumps(arguments), tool_call_id=i)}

    return FunctionModel(answer, stream_function=stream)


async def _consume(_: Any, events: Any) -> None:
    """With a handler of events, Pydantic AI streams every request."""
    async for _event in events:
        pass


class PydanticAgent:
    def __init__(
        self, provider: Provider, engine: Any, history: Any, *, is_async: bool, is_streamed: bool
    ) -> None:
        self._given = (provider, engine)
        self._is_async, self._is_streamed = is_async, is_streamed
        # Another process has another engine with the same settings and the same store.
        own = ullage.ContextManager(engine.policy, store=engine.store)
        self._agent: Any = Agent(
            scripted(provider),
            instructions=SYSTEM,
            tools=[read_log],
            capabilities=[ContextCapability(own)],
        )
        self._history = history

    def ask(self, text: str) -> str:
        more: Any = {"message_history": self._history, "usage_limits": UNLIMITED}
        if self._is_streamed:
            more["event_stream_handler"] = _consume
        if self._is_async:
            run = asyncio.run(self._agent.run(text, **more))
        else:
            loop = asyncio.new_event_loop()
            asyncio.set_event_loop(loop)
            try:
                run = self._agent.run_sync(text, **more)
            finally:
                loop.close()
                asyncio.set_event_loop(None)
        self._history = run.all_messages()
        return str(run.output)

    def stored(self) -> list[Any]:
        return list(self._history)

    def restarted(self) -> PydanticAgent:
        written = ModelMessagesTypeAdapter.dump_json(self._history)
        history = ModelMessagesTypeAdapter.validate_json(written)
        return PydanticAgent(
            *self._given, history, is_async=self._is_async, is_streamed=self._is_streamed
        )


def messages_of(past: Any) -> list[Any]:
    """Messages in Chat's form as Pydantic AI's."""
    messages: list[Any] = []
    for message in past:
        if message["role"] == "tool":
            part = ToolReturnPart("read_log", message["content"], message["tool_call_id"])
            messages.append(ModelRequest([part]))
        elif message["role"] == "user":
            messages.append(ModelRequest([UserPromptPart(message["content"])]))
        else:
            calls = [
                ToolCallPart(
                    c["function"]["name"], c["function"]["arguments"], tool_call_id=c["id"]
                )
                for c in message.get("tool_calls", ())
            ]
            messages.append(ModelResponse([TextPart(message["content"]), *calls]))
    return messages


class PydanticAIHost:
    module = "pydantic_ai"
    format = "anthropic"
    restarts = True
    # No call of the last answer may have a result yet.
    refuses = ("not-answered",)
    is_streamed = False

    def adapter(self, engine: Any = None, **more: Any) -> Any:
        return ContextCapability(engine, **more)

    def agent(
        self, provider: Provider, engine: ullage.ContextManager, *, is_async: bool, past: Any = ()
    ) -> PydanticAgent:
        return PydanticAgent(
            provider, engine, messages_of(past), is_async=is_async, is_streamed=self.is_streamed
        )


class StreamedPydanticAIHost(PydanticAIHost):
    is_streamed = True
