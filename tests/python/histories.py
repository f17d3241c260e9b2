"""Histories in OpenAI's format, a judge of them, and a client that answers as litellm's do."""

from __future__ import annotations

import json
import random
from types import SimpleNamespace
from typing import Any

PICTURE = {"type": "image_url", "image_url": {"url": "https://example.com/plan.png"}}


def history(turns: int, *, words: int = 60, parallel: int = 2) -> list[dict[str, Any]]:
    """A task, and turns of parallel calls, an answer and a request."""
    messages: list[dict[str, Any]] = [{"role": "user", "content": "First task: audit app.py"}]
    for turn in range(turns):
        ids = [f"call-{turn}-{n}" for n in range(parallel)]
        messages.append(
            {"role": "assistant", "content": None, "tool_calls": [call(i) for i in ids]}
        )
        messages += [result(i, f"config{turn} has ERROR code=E{turn}77\n" * words) for i in ids]
        messages.append({"role": "assistant", "content": f"Step {turn} is done."})
        messages.append({"role": "user", "content": f"Go on with part {turn}."})
    return messages


def call(identifier: str, name: str = "read_file", **arguments: Any) -> dict[str, Any]:
    function = {"name": name, "arguments": json.dumps(arguments or {"path": f"{identifier}.py"})}
    return {"id": identifier, "type": "function", "function": function}


def result(identifier: str, content: Any) -> dict[str, Any]:
    return {"role": "tool", "tool_call_id": identifier, "content": content}


def random_history(seed: int, length: int) -> list[dict[str, Any]]:
    """A valid history of about so many messages, of every size."""
    chance = random.Random(seed)
    messages: list[dict[str, Any]] = []
    while len(messages) < length:
        words = chance.choice((1, 5, 40, 400, 2_000))
        text = " ".join(f"w{chance.randrange(999)}" for _ in range(words))
        kind = chance.random()
        if kind < 0.3 or not messages:
            picture = [PICTURE] if chance.random() < 0.2 else []
            content: Any = [{"type": "text", "text": text}, *picture] if picture else text
            messages.append({"role": "user", "content": content})
        elif kind < 0.5:
            messages.append({"role": "assistant", "content": text})
        else:
            ids = [f"c{len(messages)}-{n}" for n in range(chance.choice((1, 1, 2, 3)))]
            calls = [call(identifier) for identifier in ids]
            messages.append({"role": "assistant", "content": None, "tool_calls": calls})
            messages += [result(identifier, text) for identifier in ids]
    return messages


def broken_pairs(messages: list[Any]) -> list[str]:
    """Calls and results that do not stand together."""
    found = []
    waiting: set[str] = set()
    for index, message in enumerate(messages):
        if message["role"] == "tool":
            if message["tool_call_id"] not in waiting:
                found.append(f"message {index} answers nothing")
            waiting.discard(message["tool_call_id"])
            continue
        if waiting:
            found.append(f"message {index} stands where {sorted(waiting)} wait")
        waiting = {call["id"] for call in message.get("tool_calls") or ()}
    return found + [f"{identifier} was never answered" for identifier in sorted(waiting)]


def answer(text: Any) -> Any:
    return SimpleNamespace(choices=[SimpleNamespace(message=SimpleNamespace(content=text))])


class Client:
    """Says what it is given to say, the last of it for ever, and notes what it was asked."""

    def __init__(self, *texts: str) -> None:
        self.texts = list(texts) or ["## Current State\n- all is well"]
        self.prompts: list[str] = []

    def chat(self, messages: list[dict[str, Any]]) -> Any:
        self.prompts.append(messages[0]["content"])
        return answer(self.texts.pop(0) if len(self.texts) > 1 else self.texts[0])


class AsyncClient(Client):
    async def chat(self, messages: list[dict[str, Any]]) -> Any:
        return super().chat(messages)


class BrokenClient:
    def chat(self, messages: list[dict[str, Any]]) -> Any:
        raise OSError("the model is away")
