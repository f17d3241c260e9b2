"""The LiteLLM proxy under uvicorn, with real clients that know nothing of ullage.

A local server stands for the providers behind the proxy.
"""

from __future__ import annotations

import asyncio
import functools
import json
import os
import re
import socket
import tempfile
import threading
import time
from http.server import ThreadingHTTPServer
from pathlib import Path
from typing import Any, ClassVar

# Its table of models is fetched otherwise.
os.environ["LITELLM_LOCAL_MODEL_COST_MAP"] = "True"

import httpx
import litellm
import uvicorn

import ullage
from ullage.litellm import ContextCallback

from .own_loop_host import Chat, Messages, Responses
from .provider import SYSTEM, Provider, TooLongError, read_log
from .server import GatewayServer

KEY = "sk-local"
# The proxy takes ten seconds to start, and more on a busy machine.
PATIENCE = 200


class Upstream(GatewayServer):
    """The providers: what the scripted model says, in the form of the path."""

    # The last one is asked. Tests run one after another in a process.
    scripts: ClassVar[list[Provider]] = []

    def do_POST(self) -> None:  # noqa: N802 - of the handler
        self.script = self.scripts[-1]
        super().do_POST()

    def refusal(self, error: TooLongError) -> dict[str, Any]:
        if self.path.endswith("/messages"):
            return {"type": "invalid_request_error", "message": str(error)}
        return {**super().refusal(error), "message": openai_text(error)}


def openai_text(error: TooLongError) -> str:
    """The text of a refusal in the words of OpenAI, by which LiteLLM recognizes it."""
    tokens, limit = re.findall(r"\d+", str(error))
    return (
        f"This model's maximum context length is {limit} tokens. However, your messages resulted"
        f" in {tokens} tokens; prompt is too long. Please reduce the length of the messages."
    )


@functools.cache
def upstream() -> str:
    """The address of the providers."""
    server = ThreadingHTTPServer(("127.0.0.1", 0), Upstream)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    return f"http://127.0.0.1:{server.server_port}"


def configuration(callback: str | None = None) -> str:
    """A configuration with a model of each provider, as JSON, which is YAML."""
    models = {
        "gpt": {"model": "openai/gpt-5-mini", "api_base": f"{upstream()}/v1", "api_key": "-"},
        "claude": {"model": "anthropic/claude-sonnet-4-5", "api_base": upstream(), "api_key": "-"},
    }
    rows = [{"model_name": name, "litellm_params": known} for name, known in models.items()]
    settings = {"callbacks": callback} if callback else {}
    general = {"master_key": KEY}
    whole = {"model_list": rows, "litellm_settings": settings, "general_settings": general}
    return json.dumps(whole)


def free_port() -> int:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        return int(taken.getsockname()[1])


def wait_for(address: str) -> None:
    """Waits until a proxy answers."""
    end = time.monotonic() + PATIENCE
    while True:
        try:
            httpx.get(f"{address}/health/liveliness", timeout=PATIENCE).raise_for_status()
        except httpx.HTTPError:  # noqa: PERF203 - it waits
            if time.monotonic() > end:
                raise
            time.sleep(0.1)
        else:
            return


@functools.cache
def proxy() -> str:
    """The address of a proxy in this process, which is started once."""
    folder = Path(tempfile.mkdtemp())
    (folder / "config.yaml").write_text(configuration(), encoding="utf-8")
    os.environ["CONFIG_FILE_PATH"] = str(folder / "config.yaml")
    from litellm.proxy.proxy_server import app

    port = free_port()
    config = uvicorn.Config(app, host="127.0.0.1", port=port, log_level="error")
    threading.Thread(target=uvicorn.Server(config).run, daemon=True).start()
    wait_for(f"http://127.0.0.1:{port}")
    return f"http://127.0.0.1:{port}"


def use(callback: ContextCallback) -> None:
    """Lets the proxy in this process call this callback and no other one of ours."""
    known = litellm.logging_callback_manager
    # LiteLLM keeps the first of each class in lists of its own, and reports to no other.
    for one in known.get_custom_loggers_for_type(ContextCallback):
        known.remove_callback_from_all_lists(one)
    litellm.callbacks = [*litellm.callbacks, callback]


class ProxiedChat(Chat):
    """OpenAI's Chat Completions."""

    model = "gpt"

    def call(self, client: Any, messages: list[Any], tools: list[Any]) -> Any:
        whole = [{"role": "system", "content": SYSTEM}, *messages]
        return client.chat.completions.create(model=self.model, messages=whole, tools=tools)


class ProxiedResponses(Responses):
    """OpenAI's Responses."""

    model = "gpt"

    def call(self, client: Any, messages: list[Any], tools: list[Any]) -> Any:
        return client.responses.create(
            model=self.model, input=messages, tools=tools, instructions=SYSTEM
        )


class ProxiedMessages(Messages):
    """Anthropic's Messages."""

    model = "claude"

    def call(self, client: Any, messages: list[Any], tools: list[Any]) -> Any:
        return client.messages.create(
            model=self.model, max_tokens=99, messages=messages, tools=tools, system=SYSTEM
        )


class Client:
    """A loop over an SDK, as it would be written without ullage."""

    def __init__(
        self, api: Any, provider: Provider, engine: Any, history: list[Any], *, is_async: bool
    ) -> None:
        self._given = (api, provider, engine)
        self._api, self._provider, self._is_async = api, provider, is_async
        self._history = history
        # Another process has another engine with the same settings and the same store.
        own = ullage.ContextManager(engine.policy, store=engine.store)
        self._callback = ContextCallback(own)

    def ask(self, text: str) -> str:
        self._history.append({"role": "user", "content": text})
        use(self._callback)
        Upstream.scripts[:] = [self._provider]
        client = self._api.client(proxy(), is_async=self._is_async)
        client.api_key = KEY
        return asyncio.run(self._run(client))

    async def _run(self, client: Any) -> str:
        while True:
            answer = self._api.call(client, self._history, [self._api.tool()])
            if self._is_async:
                answer = await answer
            await self._settled()
            self._history += self._api.said(answer)
            if not (calls := self._api.calls(answer)):
                close = client.close()
                if self._is_async:
                    await close
                return str(self._api.text(answer))
            results = [(call, read_log(**given)) for call, _, given in calls]
            self._history += self._api.results(results)

    async def _settled(self) -> None:
        """Waits until LiteLLM has reported the usage, which it does in the background."""
        end = time.monotonic() + PATIENCE
        # LiteLLM gives no event to wait for.
        while self._callback._calls and time.monotonic() < end:  # noqa: ASYNC110
            await asyncio.sleep(0.001)

    def stored(self) -> list[Any]:
        return [_plain(message) for message in self._history]

    def restarted(self) -> Client:
        history = json.loads(json.dumps(self.stored()))
        return Client(*self._given, history, is_async=self._is_async)


def _plain(value: Any) -> Any:
    if hasattr(value, "model_dump"):
        return value.model_dump(exclude_none=True)
    if isinstance(value, dict):
        return {key: _plain(one) for key, one in value.items()}
    return [_plain(one) for one in value] if isinstance(value, list) else value


class LiteLLMChatHost:
    module = "litellm"
    api: Any = ProxiedChat()
    restarts = False

    @property
    def format(self) -> str:
        return str(self.api.format)

    def adapter(self, engine: Any = None, **more: Any) -> Any:
        return ContextCallback(engine, **more)

    def agent(
        self, provider: Provider, engine: ullage.ContextManager, *, is_async: bool, past: Any = ()
    ) -> Client:
        return Client(self.api, provider, engine, self.api.past(past), is_async=is_async)


class LiteLLMResponsesHost(LiteLLMChatHost):
    api = ProxiedResponses()


class LiteLLMMessagesHost(LiteLLMChatHost):
    api = ProxiedMessages()
