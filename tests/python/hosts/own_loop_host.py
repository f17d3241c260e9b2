"""Loops over the SDKs of OpenAI and Anthropic, which append the SDKs' objects as they come.

The clients are real. A local server stands for the provider.
"""

from __future__ import annotations

import asyncio
import json
import threading
from http.server import ThreadingHTTPServer
from typing import Any

import anthropic
import openai

import ullage

from .provider import SYSTEM, Provider, read_log
from .server import Server

MODEL = "gpt-5-mini"
PARAMETERS = {"type": "object", "properties": {"part": {"type": "integer"}}}


class Chat:
    """OpenAI's Chat Completions."""

    format = "openai"

    def client(self, address: str, *, is_async: bool) -> Any:
        kind = openai.AsyncOpenAI if is_async else openai.OpenAI
        return kind(base_url=f"{address}/v1", api_key="-", max_retries=0)

    def tool(self) -> dict[str, Any]:
        return {"type": "function", "function": {"name": "read_log", "parameters": PARAMETERS}}

    def call(self, client: Any, messages: list[Any], tools: list[Any]) -> Any:
        return client.chat.completions.create(model=MODEL, messages=messages, tools=tools)

    def said(self, answer: Any) -> list[Any]:
        return [answer.choices[0].message]

    def text(self, answer: Any) -> str:
        return str(answer.choices[0].message.content)

    def calls(self, answer: Any) -> list[tuple[str, str, Any]]:
        found = answer.choices[0].message.tool_calls or []
        return [(c.id, c.function.name, json.loads(c.function.arguments)) for c in found]

    def results(self, outputs: list[tuple[str, str]]) -> list[Any]:
        return [{"role": "tool", "tool_call_id": i, "content": text} for i, text in outputs]

    def used(self, answer: Any) -> int:
        return int(answer.usage.prompt_tokens)

    def past(self, messages: Any) -> list[Any]:
        return list(messages)


class Responses(Chat):
    """OpenAI's Responses."""

    format = "openai-responses"

    def tool(self) -> dict[str, Any]:
        return {"type": "function", "name": "read_log", "parameters": PARAMETERS, "strict": False}

    def call(self, client: Any, messages: list[Any], tools: list[Any]) -> Any:
        return client.responses.create(model=MODEL, input=messages, tools=tools)

    def said(self, answer: Any) -> list[Any]:
        return list(answer.output)

    def text(self, answer: Any) -> str:
        return str(answer.output_text)

    def calls(self, answer: Any) -> list[tuple[str, str, Any]]:
        found = [item for item in answer.output if item.type == "function_call"]
        return [(c.call_id, c.name, json.loads(c.arguments)) for c in found]

    def results(self, outputs: list[tuple[str, str]]) -> list[Any]:
        return [
            {"type": "function_call_output", "call_id": i, "output": text} for i, text in outputs
        ]

    def used(self, answer: Any) -> int:
        return int(answer.usage.input_tokens)

    def past(self, messages: Any) -> list[Any]:
        items: list[Any] = []
        for message in messages:
            if message["role"] == "tool":
                items += self.results([(message["tool_call_id"], message["content"])])
                continue
            items.append({"role": message["role"], "content": message["content"]})
            for call in message.get("tool_calls", ()):
                known = call["function"]
                items.append({"type": "function_call", "call_id": call["id"], **known})
        return items


class Messages(Chat):
    """Anthropic's Messages."""

    format = "anthropic"

    def client(self, address: str, *, is_async: bool) -> Any:
        kind = anthropic.AsyncAnthropic if is_async else anthropic.Anthropic
        return kind(base_url=address, api_key="-", max_retries=0)

    def tool(self) -> dict[str, Any]:
        return {"name": "read_log", "input_schema": PARAMETERS}

    def call(self, client: Any, messages: list[Any], tools: list[Any]) -> Any:
        return client.messages.create(model="m", max_tokens=9, messages=messages, tools=tools)

    def said(self, answer: Any) -> list[Any]:
        return [{"role": "assistant", "content": answer.content}]

    def text(self, answer: Any) -> str:
        return str(answer.content[0].text)

    def calls(self, answer: Any) -> list[tuple[str, str, Any]]:
        found = [block for block in answer.content if block.type == "tool_use"]
        return [(c.id, c.name, c.input) for c in found]

    def results(self, outputs: list[tuple[str, str]]) -> list[Any]:
        blocks = [{"type": "tool_result", "tool_use_id": i, "content": t} for i, t in outputs]
        return [{"role": "user", "content": blocks}]

    def used(self, answer: Any) -> int:
        return int(answer.usage.input_tokens)

    def past(self, messages: Any) -> list[Any]:
        turns: list[Any] = []
        for message in messages:
            if message["role"] == "tool":
                turns += self.results([(message["tool_call_id"], message["content"])])
                continue
            blocks: list[Any] = [{"type": "text", "text": message["content"]}]
            for call in message.get("tool_calls", ()):
                known = {"id": call["id"], "name": call["function"]["name"]}
                given = json.loads(call["function"]["arguments"])
                blocks.append({"type": "tool_use", **known, "input": given})
            turns.append({"role": message["role"], "content": blocks})
        return turns


class Loop:
    """The loop of docs/your-own-loop.md."""

    def __init__(
        self, api: Chat, provider: Provider, engine: Any, history: list[Any], *, is_async: bool
    ) -> None:
        self._api, self._provider, self._is_async = api, provider, is_async
        self._engine = engine
        self._history = history
        self._retrieve = ullage.RetrievalTool(engine.store)
        self._tools = [api.tool(), self._retrieve.definition(api.format)]
        self._state: Any = None

    def ask(self, text: str) -> str:
        self._history.append({"role": "user", "content": text})
        handler = type("Handler", (Server,), {"script": self._provider})
        server = ThreadingHTTPServer(("127.0.0.1", 0), handler)
        threading.Thread(target=server.serve_forever, daemon=True).start()
        client = self._api.client(f"http://127.0.0.1:{server.server_port}", is_async=self._is_async)
        try:
            if self._is_async:
                return asyncio.run(self._run_async(client))
            with client:
                return self._run(client)
        finally:
            server.shutdown()
            server.server_close()

    def _view(self) -> ullage.View:
        # Another process has another engine with the same settings and the same store.
        own = ullage.ContextManager(self._engine.policy, store=self._engine.store, system=SYSTEM)
        return own.open(self._state)

    def _run(self, client: Any) -> str:
        view = self._view()
        while True:
            messages = view.messages(self._history, tools=self._tools)
            while True:
                self._provider.raw = messages
                try:
                    answer = self._api.call(client, messages, self._tools)
                    break
                except (openai.APIStatusError, anthropic.APIStatusError) as error:
                    if not ullage.is_overflow(error):
                        raise
                    messages = self._smaller(view, error)
            view.observe(self._api.used(answer))
            self._history += self._api.said(answer)
            if not (calls := self._api.calls(answer)):
                self._state = json.loads(json.dumps(view.state()))
                return self._api.text(answer)
            self._history += self._api.results([(i, self._output(n, a)) for i, n, a in calls])

    async def _run_async(self, client: Any) -> str:
        async with client:
            view = self._view()
            while True:
                messages = await view.amessages(self._history, tools=self._tools)
                while True:
                    self._provider.raw = messages
                    try:
                        answer = await self._api.call(client, messages, self._tools)
                        break
                    except (openai.APIStatusError, anthropic.APIStatusError) as error:
                        if not ullage.is_overflow(error):
                            raise
                        messages = self._smaller(view, error)
                view.observe(self._api.used(answer))
                self._history += self._api.said(answer)
                if not (calls := self._api.calls(answer)):
                    self._state = json.loads(json.dumps(view.state()))
                    return self._api.text(answer)
                outputs = [(i, self._output(n, a)) for i, n, a in calls]
                self._history += self._api.results(outputs)

    def _smaller(self, view: ullage.View, error: Exception) -> list[Any]:
        try:
            return view.refused()
        except ullage.BudgetError as nothing_left:
            raise error from nothing_left

    def _output(self, name: str, arguments: Any) -> str:
        if name == self._retrieve.name:
            return self._retrieve.call(arguments)
        shortened: str = self._engine.shrink(name, read_log(**arguments))
        return shortened

    def stored(self) -> list[Any]:
        return list(self._history)

    def restarted(self) -> Loop:
        written = json.dumps(self._history, default=lambda o: o.model_dump(exclude_unset=True))
        history = json.loads(written)
        other = Loop(self._api, self._provider, self._engine, history, is_async=self._is_async)
        other._state = self._state
        return other


class ChatLoopHost:
    module = "openai"
    api: Chat = Chat()
    restarts = True
    adapter = None

    @property
    def format(self) -> str:
        return self.api.format

    def agent(
        self, provider: Provider, engine: ullage.ContextManager, *, is_async: bool, past: Any = ()
    ) -> Loop:
        return Loop(self.api, provider, engine, self.api.past(past), is_async=is_async)


class ResponsesLoopHost(ChatLoopHost):
    api = Responses()


class AnthropicLoopHost(ChatLoopHost):
    api = Messages()
