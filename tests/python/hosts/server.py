"""A local server that answers in the place of a provider what a scripted model says."""

from __future__ import annotations

import importlib.util
import json
from pathlib import Path
from typing import Any

from .provider import SYSTEM, Provider, TooLongError

_LOCAL = Path(__file__).parents[3] / "examples/local_provider.py"
_spec: Any = importlib.util.spec_from_file_location("local_provider", _LOCAL)
local_provider: Any = importlib.util.module_from_spec(_spec)
_spec.loader.exec_module(local_provider)


class Server(local_provider.Provider):
    """Answers what the scripted model says, in the form of the path."""

    script: Provider
    text = ""

    def do_POST(self) -> None:  # noqa: N802 - of the handler
        body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        rows, system = self.parts(body)
        known = [tool.get("function", tool) for tool in body.get("tools", ())]
        tools = [(tool["name"], tool) for tool in known]
        try:
            turn = self.script.answer(rows, self.raw(rows), system, tools)
        except TooLongError as error:
            self.refuse(400, self.refusal(error))
            return
        except Exception as error:  # noqa: BLE001 - the client hears of it
            self.refuse(self.failed, {"message": str(error)})
            return
        self.text, size = turn.text, self.script.tokens[-1]
        calls, streamed = list(turn.calls), body.get("stream", False)
        if self.path.endswith("/responses"):
            number = len(self.script.requests)
            self.openai_responses(calls, size, number, is_streamed=streamed)
        elif self.path.endswith("/chat/completions"):
            self.openai(calls, size, is_streamed=streamed)
        else:
            self.anthropic(calls, size, is_streamed=streamed)

    # The status of an error that is no refusal.
    failed = 500

    def parts(self, body: Any) -> tuple[list[Any], str]:
        """The messages of a request, and its system prompt."""
        return body.get("messages") or body["input"], SYSTEM

    def raw(self, rows: list[Any]) -> list[Any]:
        """The messages as objects of the host."""
        return self.script.raw

    def refusal(self, error: TooLongError) -> dict[str, Any]:
        """Returns the error about a request that is too long."""
        return {"message": str(error), "code": "context_length_exceeded"}

    def refuse(self, status: int, error: dict[str, Any]) -> None:
        super().send(status, json.dumps({"type": "error", "error": error}))

    def send(self, status: int, text: str, kind: str = "application/json") -> None:
        super().send(status, text.replace('"done"', json.dumps(self.text)), kind)


class GatewayServer(Server):
    """The same for clients that send a system prompt, and send a failed request again."""

    failed = 400

    def parts(self, body: Any) -> tuple[list[Any], str]:
        rows = body.get("messages") or body["input"]
        system = body.get("system") or body.get("instructions")
        if system is None and rows[0]["role"] == "system":
            system, rows = rows[0]["content"], rows[1:]
        if isinstance(system, list):
            system = "".join(block["text"] for block in system)
        return rows, system or ""

    def raw(self, rows: list[Any]) -> list[Any]:
        return rows
