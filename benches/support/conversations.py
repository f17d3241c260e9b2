"""A long conversation with an agent that calls tools, in Bedrock's format."""

from __future__ import annotations

from typing import Any

RESULT_CHARACTERS = 2_000
# A turn is a request, these calls with their results, and an answer: ten messages.
CALLS_A_TURN = 4


def history(count: int, characters: int = RESULT_CHARACTERS) -> list[dict[str, Any]]:
    """A history of ``count`` messages or a few more, each result different."""
    messages: list[dict[str, Any]] = []
    turn = 0
    while len(messages) < count:
        turn += 1
        messages.append(said("user", f"Look into part {turn} next."))
        for step in range(CALLS_A_TURN):
            call = f"call-{turn}-{step}"
            path = f"src/{turn}/{step}.rs"
            use = {"toolUseId": call, "name": "read_file", "input": {"path": path}}
            content = [{"text": text(turn, step, characters)}]
            result = {"toolUseId": call, "status": "success", "content": content}
            messages.append(
                {"role": "assistant", "content": [{"text": "Reading."}, {"toolUse": use}]}
            )
            messages.append({"role": "user", "content": [{"toolResult": result}]})
        messages.append(said("assistant", f"Part {turn} is in order."))
    return messages


def said(role: str, words: str) -> dict[str, Any]:
    """A message of words."""
    return {"role": role, "content": [{"text": words}]}


def text(turn: int, step: int, characters: int) -> str:
    """Log lines of so many characters or a few more, different for each call."""
    lines: list[str] = []
    size = 0
    while size < characters:
        number = len(lines)
        line = (
            f"2026-11-21T09:{number % 60:02}:{step:02} INFO worker-{turn} handled request"
            f" id={turn * 7919 + number * 31:06x} status={200 + number % 5} in {number * 3 % 97} ms"
        )
        lines.append(line)
        size += len(line) + 1
    return "\n".join(lines)
