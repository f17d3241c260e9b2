"""Sessions in the AI SDK's form, a judge of them, and an agent that summarizes."""

from __future__ import annotations

import asyncio
from typing import Any

from ullage.valis import ContextConfig, ContextManagementMiddleware


def middleware(tmp_path, limit=20_000, **config):
    limits = {"small": limit}
    return ContextManagementMiddleware(
        ContextConfig(model_context_limits=limits, **config), tmp_path / "files"
    )


def conversation(turns, *, parallel=2, lines=60):
    """Turns of parallel calls in the AI SDK's form: one runs a command, the others write files."""
    messages: list[dict[str, Any]] = [
        {"role": "system", "content": "You are an agent"},
        {"role": "user", "content": "Build the app"},
    ]
    for turn in range(turns):
        ids = [f"toolu_01{turn:04}{n}" for n in range(parallel)]
        names = ["run_tests", *["write_file"] * (parallel - 1)]
        text = f"def f{turn}(): return {turn}\n" * lines
        calls = [
            {
                "type": "tool-call",
                "toolCallId": i,
                "toolName": name,
                "args": {"path": f"src/m{turn}.py", "content": text},
            }
            for i, name in zip(ids, names, strict=True)
        ]
        results = [
            {"type": "tool-result", "toolCallId": i, "toolName": name, "result": f"ok {turn}"}
            for i, name in zip(ids, names, strict=True)
        ]
        messages.append(
            {"role": "assistant", "content": [{"type": "text", "text": f"Step {turn}"}, *calls]}
        )
        messages.append({"role": "tool", "content": results})
        messages.append({"role": "user", "content": f"Go on with {turn}"})
    return messages


def parted(messages):
    """Calls and results of the AI SDK's form that do not stand together."""
    waiting: set[str] = set()
    found = []
    for index, message in enumerate(messages):
        parts = message["content"] if isinstance(message["content"], list) else []
        ids = {p["toolCallId"] for p in parts if p.get("type") in ("tool-call", "tool-result")}
        if message["role"] == "tool":
            if ids != waiting:
                found.append(f"message {index} answers {ids}, asked were {waiting}")
            waiting = set()
        else:
            if waiting:
                found.append(f"message {index} stands where {waiting} wait")
            waiting = ids
    return found


def run(coroutine):
    return asyncio.run(coroutine)


class Kept:
    """A backend that keeps files in memory, and only writes."""

    def __init__(self) -> None:
        self.files: dict[str, str] = {}

    def write_file(self, path, content):
        self.files[path] = content


class Agent:
    def __init__(self, answer="## Session Intent\nBuild the app"):
        self.answer = answer
        self.prompts: list[str] = []

    async def run(self, given, *, stateless):
        assert stateless
        assert [m["role"] for m in given["messages"]] == ["system", "user"]
        self.prompts.append(given["messages"][1]["content"])
        return self.answer
