"""Haystack, with a scripted model."""

from __future__ import annotations

import asyncio
import json
from typing import Any

from haystack import component
from haystack.components.agents import Agent
from haystack.dataclasses import ChatMessage, ToolCall
from haystack.tools import tool

import ullage
from ullage.haystack import ContextGenerator, retrieval_tool

from .provider import SYSTEM, Provider, read_log


def rows_of(messages: Any) -> list[Any]:
    """The messages in Chat's form, written apart from the adapter."""
    rows: list[Any] = []
    for message in messages:
        rows += [
            {"role": "tool", "tool_call_id": result.origin.id, "content": result.result}
            for result in message.tool_call_results
        ]
        if message.tool_call_results:
            continue
        row: Any = {"role": message.role.value, "content": message.text}
        calls = [
            {
                "id": call.id,
                "type": "function",
                "function": {"name": call.tool_name, "arguments": json.dumps(call.arguments)},
            }
            for call in message.tool_calls
        ]
        rows.append({**row, "tool_calls": calls} if calls else row)
    return rows


@component
class Generator:
    """A chat generator that asks a scripted model."""

    def __init__(self, provider: Provider) -> None:
        self.provider = provider

    @component.output_types(replies=list[ChatMessage])
    def run(self, messages: list[ChatMessage], tools: list[Any] | None = None) -> dict[str, Any]:
        system = messages[0].text if messages[0].is_from("system") else ""
        rows = rows_of(messages)
        defined = [(one.name, one.parameters) for one in tools or ()]
        turn = self.provider.answer(rows[1:] if system else rows, messages, system or "", defined)
        usage = {"prompt_tokens": self.provider.tokens[-1], "completion_tokens": 9}
        calls = [ToolCall(name, arguments, id=i) for i, name, arguments in turn.calls]
        reply = ChatMessage.from_assistant(turn.text, tool_calls=calls, meta={"usage": usage})
        return {"replies": [reply]}


class AsyncGenerator(Generator):
    @component.output_types(replies=list[ChatMessage])
    async def run_async(
        self, messages: list[ChatMessage], tools: list[Any] | None = None
    ) -> dict[str, Any]:
        answer: dict[str, Any] = self.run(messages, tools)
        return answer


class HaystackAgent:
    def __init__(self, provider: Provider, engine: Any, past: list[Any], *, is_async: bool) -> None:
        self._given, self._is_async = (provider, engine), is_async
        # Another process has another engine with the same settings and the same store.
        own = ullage.ContextManager(engine.policy, store=engine.store)
        generator = (AsyncGenerator if is_async else Generator)(provider)
        self._agent = Agent(
            chat_generator=ContextGenerator(generator, own),
            system_prompt=SYSTEM,
            tools=[tool(read_log), retrieval_tool(engine.store)],
            max_agent_steps=1_000,
        )
        self._messages = past

    def ask(self, text: str) -> str:
        given = [*self._messages, ChatMessage.from_user(text)]
        if self._is_async:
            result = asyncio.run(self._agent.run_async(messages=given))
        else:
            result = self._agent.run(messages=given)
        # Without the system prompt, which the agent puts in front of them again.
        self._messages = result["messages"][1:]
        return str(self._messages[-1].text)

    def stored(self) -> list[Any]:
        return self._messages

    def restarted(self) -> HaystackAgent:
        written = json.dumps([message.to_dict() for message in self._messages])
        past = list(map(ChatMessage.from_dict, json.loads(written)))
        return HaystackAgent(*self._given, past, is_async=self._is_async)


def messages_of(past: Any) -> list[Any]:
    """Messages in Chat's form as Haystack's."""
    messages = []
    for message in past:
        if message["role"] == "tool":
            origin = ToolCall("read_log", {"part": 1}, id=message["tool_call_id"])
            messages.append(ChatMessage.from_tool(message["content"], origin))
        elif message["role"] == "assistant":
            calls = [ToolCall("read_log", {"part": 1}, id=c["id"]) for c in message["tool_calls"]]
            messages.append(ChatMessage.from_assistant(message["content"], tool_calls=calls))
        else:
            messages.append(ChatMessage.from_user(message["content"]))
    return messages


class HaystackHost:
    module = "haystack"
    format = "openai"
    restarts = True

    def adapter(self, engine: Any = None, **more: Any) -> Any:
        return ContextGenerator(Generator(Provider()), engine, **more)

    def agent(
        self, provider: Provider, engine: ullage.ContextManager, *, is_async: bool, past: Any = ()
    ) -> HaystackAgent:
        return HaystackAgent(provider, engine, messages_of(past), is_async=is_async)
