"""Microsoft's Agent Framework, with a scripted model."""

from __future__ import annotations

import asyncio
import json
from typing import Any

from agent_framework import (
    Agent,
    AgentSession,
    BaseChatClient,
    ChatMiddlewareLayer,
    ChatResponse,
    Content,
    FunctionInvocationLayer,
    Message,
    UsageDetails,
    tool,
)

import ullage
from ullage.agent_framework import ContextMiddleware, retrieval_tool

from .provider import SYSTEM, Provider, read_log


def rows_of(messages: Any) -> list[Any]:
    """The messages in Chat's form, written apart from the adapter."""
    rows: list[Any] = []
    for message in messages:
        row: Any = {"role": str(message.role), "content": message.text}
        for content in message.contents:
            if content.type == "function_call":
                known = {"name": content.name, "arguments": json.dumps(content.parse_arguments())}
                call = {"id": content.call_id, "type": "function", "function": known}
                row.setdefault("tool_calls", []).append(call)
        results = [content for content in message.contents if content.type == "function_result"]
        rows += [
            {"role": "tool", "tool_call_id": result.call_id, "content": result.result}
            for result in results
        ]
        if not results or message.text:
            rows.append(row)
    return rows


class RawClient(BaseChatClient):
    provider: Provider

    def _inner_get_response(self, *, messages, stream, options, **_more):
        return self._answered(messages, options)

    async def _answered(self, messages: Any, options: Any) -> Any:
        tools = [(one.name, one.parameters()) for one in options.get("tools") or ()]
        system = options.get("instructions") or ""
        turn = self.provider.answer(rows_of(messages), messages, system, tools)
        contents = [Content.from_text(turn.text)]
        contents += [
            Content.from_function_call(i, name, arguments=json.dumps(arguments))
            for i, name, arguments in turn.calls
        ]
        usage = UsageDetails(input_token_count=self.provider.tokens[-1], output_token_count=9)
        return ChatResponse(messages=[Message("assistant", contents)], usage_details=usage)


class Client(FunctionInvocationLayer, ChatMiddlewareLayer, RawClient):
    pass


class FrameworkAgent:
    def __init__(self, provider: Provider, engine: Any, session: AgentSession) -> None:
        self._given = (provider, engine)
        # Another process has another engine with the same settings and the same store.
        own = ullage.ContextManager(engine.policy, store=engine.store)
        client: Any = Client()
        client.provider = provider
        client.function_invocation_configuration["max_iterations"] = 1_000
        self._agent = Agent(
            client=client,
            instructions=SYSTEM,
            tools=[tool(read_log, approval_mode="never_require"), retrieval_tool(engine.store)],
            middleware=[ContextMiddleware(own)],
        )
        self._session = session

    def ask(self, text: str) -> str:
        answer = asyncio.run(self._agent.run(text, session=self._session))
        return str(answer.messages[-1].text)

    def stored(self) -> list[Any]:
        return list(self._session.state["in_memory"]["messages"])

    def restarted(self) -> FrameworkAgent:
        written = json.dumps(self._session.to_dict())
        return FrameworkAgent(*self._given, AgentSession.from_dict(json.loads(written)))


def messages_of(past: Any) -> list[Any]:
    """Messages in Chat's form as the framework's."""
    messages = []
    for message in past:
        if message["role"] == "tool":
            call, text = message["tool_call_id"], message["content"]
            messages.append(Message("tool", [Content.from_function_result(call, result=text)]))
            continue
        contents = [Content.from_text(message["content"])]
        contents += [
            Content.from_function_call(c["id"], c["function"]["name"], arguments='{"part": 1}')
            for c in message.get("tool_calls", ())
        ]
        messages.append(Message(message["role"], contents))
    return messages


class AgentFrameworkHost:
    module = "agent_framework"
    format = "openai"
    restarts = True

    def adapter(self, engine: Any = None, **more: Any) -> Any:
        return ContextMiddleware(engine, **more)

    def agent(
        self, provider: Provider, engine: ullage.ContextManager, *, is_async: bool, past: Any = ()
    ) -> FrameworkAgent:
        session = AgentSession()
        if past:
            session.state["in_memory"] = {"messages": messages_of(past)}
        return FrameworkAgent(provider, engine, session)
