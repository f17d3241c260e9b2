"""Hermes Agent, with a scripted model behind a local server.

The plugin is found by its entry point, as Hermes finds it where ullage is installed.
"""

from __future__ import annotations

import asyncio
import contextlib
import functools
import json
import os
import sys
import tempfile
import threading
from http.server import ThreadingHTTPServer
from pathlib import Path
from typing import Any, ClassVar

import ullage

from .listed import write_entry_points
from .provider import SYSTEM, Provider
from .server import GatewayServer

ROOT = Path(__file__).parents[3]
CONFIGURATION = {
    "model": {"context_length": 64_000},
    "plugins": {"enabled": ["ullage", "logs"]},
    "context": {"engine": "ullage"},
}
LOGS = """
from tests.python.hosts.provider import read_log

PARAMETERS = {"type": "object", "properties": {"part": {"type": "integer"}}}

def register(ctx):
    ctx.register_tool(
        name="read_log", toolset="logs", handler=lambda given, **_: read_log(given["part"]),
        schema={"name": "read_log", "description": "Reads.", "parameters": PARAMETERS},
    )
"""


def write_home(folder: Path) -> None:
    """Writes the configuration, the plugin with the tool, and what pip notes of ullage."""
    (folder / "config.yaml").write_text(json.dumps(CONFIGURATION), encoding="utf-8")
    plugin = folder / "plugins/logs"
    plugin.mkdir(parents=True)
    (plugin / "plugin.yaml").write_text('name: logs\nversion: "1"\n', encoding="utf-8")
    (plugin / "__init__.py").write_text(LOGS, encoding="utf-8")
    write_entry_points(folder / "site")


HOME = Path(tempfile.mkdtemp())
write_home(HOME)
# Hermes reads both when it is imported.
os.environ["HERMES_HOME"] = str(HOME)
sys.path[:0] = [str(HOME / "site"), str(ROOT)]

import hermes_cli.plugins  # noqa: E402 - after the configuration
import run_agent  # noqa: E402
from hermes_state import SessionDB  # noqa: E402

from ullage.hermes import CompactionEngine  # noqa: E402


def sent(message: dict[str, Any]) -> dict[str, Any]:
    """Returns the part of a message that a provider gets."""
    calls = [(call["id"], call["function"]) for call in message.get("tool_calls") or ()]
    return {key: message.get(key) for key in ("role", "content", "tool_call_id")} | {"calls": calls}


class Upstream(GatewayServer):
    """The provider: what the scripted model says."""

    # The last one is asked. Tests run one after another in a process.
    scripts: ClassVar[list[Provider]] = []

    def do_POST(self) -> None:  # noqa: N802 - of the handler
        self.script = self.scripts[-1]
        if self.path.endswith("/chat/completions"):
            super().do_POST()
        else:
            self.rfile.read(int(self.headers["Content-Length"]))
            self.do_GET()

    def do_GET(self) -> None:  # noqa: N802 - of the handler
        # Hermes asks servers of several kinds for the window, which its configuration has.
        self.refuse(404, {"message": "no such page"})

    def parts(self, body: Any) -> tuple[list[Any], str]:
        rows, system = super().parts(body)
        # Its own prompt is left out: it takes a fifth of the small windows of these tests.
        assert system.endswith(SYSTEM), system[-200:]
        # Hermes does not name the tools of results that it has read from its database.
        return [{key: row[key] for key in row if key != "name"} for row in rows], SYSTEM

    def raw(self, rows: list[Any]) -> list[Any]:
        return list(map(sent, rows))


@functools.cache
def upstream() -> str:
    """The address of the provider."""
    server = ThreadingHTTPServer(("127.0.0.1", 0), Upstream)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    return f"http://127.0.0.1:{server.server_port}/v1"


@contextlib.contextmanager
def plugin(engine: CompactionEngine) -> Any:
    """Puts an engine in the place of the one that the entry point has registered."""
    manager = hermes_cli.plugins._ensure_plugins_discovered()
    own, manager._context_engine = manager._context_engine, engine
    try:
        yield
    finally:
        manager._context_engine = own


class HermesAgent:
    def __init__(self, provider: Provider, engine: Any, messages: list[Any], **more: Any) -> None:
        self._given = (provider, engine)
        self._provider = provider
        self._is_async = more.pop("is_async")
        self._messages = messages
        # Another process has another engine with the same settings and the same store.
        own = CompactionEngine(ullage.ContextManager(engine.policy, store=engine.store))
        with plugin(own):
            self.agent = run_agent.AIAgent(
                base_url=upstream(),
                api_key="-",
                model="some-model",
                provider="custom",
                api_mode="chat_completions",
                enabled_toolsets=["logs", "context_engine"],
                max_iterations=1_000,
                quiet_mode=True,
                skip_context_files=True,
                skip_memory=True,
                tool_delay=0,
                ephemeral_system_prompt=SYSTEM,
                session_db=SessionDB(HOME / "state.db"),
                **more,
            )
        # Hermes waits two seconds before it sends a refused request again.
        self.agent._print_fn = lambda *_, **__: None

    def ask(self, text: str) -> str:
        Upstream.scripts[:] = [self._provider]
        ask = functools.partial(self.agent.run_conversation, text, None, self._messages)
        # Hermes itself has no coroutines: its gateway runs agents in threads.
        result = asyncio.run(asyncio.to_thread(ask)) if self._is_async else ask()
        self._messages = result["messages"]
        if result.get("failed"):
            raise RuntimeError(result["error"])
        return str(result["final_response"])

    def stored(self) -> list[Any]:
        """The messages that Hermes keeps, from before each compaction too."""
        database = SessionDB(HOME / "state.db")
        kept = database.get_messages_as_conversation(
            self.agent.session_id, include_ancestors=True, include_inactive=True
        )
        return list(map(sent, kept))

    def restarted(self) -> HermesAgent:
        database = SessionDB(HOME / "state.db")
        past = database.get_messages_as_conversation(self.agent.session_id)
        more = {"is_async": self._is_async, "session_id": self.agent.session_id}
        return HermesAgent(*self._given, past, **more)


class HermesHost:
    module = "run_agent"
    format = "openai"
    restarts = True
    # A compaction takes the place of the transcript.
    replaces = True
    # Hermes has a word of its own for a refusal that stays.
    refusal = "Context length exceeded"

    def adapter(self, engine: Any = None, **more: Any) -> Any:
        return CompactionEngine(engine, **more)

    def agent(
        self, provider: Provider, engine: ullage.ContextManager, *, is_async: bool, past: Any = ()
    ) -> HermesAgent:
        return HermesAgent(provider, engine, list(past), is_async=is_async)
