"""The conversation of this folder in every wire format."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

from .conversations import history

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

Entry = dict[str, Any]


def anthropic(message: Entry) -> Iterator[Entry]:
    """A message with typed blocks."""
    content = []
    for block in message["content"]:
        if "text" in block:
            content.append({"type": "text", "text": block["text"]})
        elif "toolUse" in block:
            use = block["toolUse"]
            content.append(
                {
                    "type": "tool_use",
                    "id": use["toolUseId"],
                    "name": use["name"],
                    "input": use["input"],
                }
            )
        else:
            identity, text = answered(block)
            content.append({"type": "tool_result", "tool_use_id": identity, "content": text})
    yield {"role": message["role"], "content": content}


def openai(message: Entry) -> Iterator[Entry]:
    """A message with its calls beside the content; each result is one."""
    entry: Entry = {"role": message["role"], "content": None}
    for block in message["content"]:
        if "text" in block:
            entry["content"] = block["text"]
        elif "toolUse" in block:
            use = block["toolUse"]
            function = {"name": use["name"], "arguments": json.dumps(use["input"])}
            call = {"id": use["toolUseId"], "type": "function", "function": function}
            entry.setdefault("tool_calls", []).append(call)
        else:
            identity, text = answered(block)
            yield {"role": "tool", "tool_call_id": identity, "content": text}
            return
    yield entry


def responses(message: Entry) -> Iterator[Entry]:
    """An item for every block."""
    for block in message["content"]:
        if "text" in block:
            kind = "output_text" if message["role"] == "assistant" else "input_text"
            said = [{"type": kind, "text": block["text"]}]
            yield {"type": "message", "role": message["role"], "content": said}
        elif "toolUse" in block:
            use = block["toolUse"]
            arguments = json.dumps(use["input"])
            yield {
                "type": "function_call",
                "call_id": use["toolUseId"],
                "name": use["name"],
                "arguments": arguments,
            }
        else:
            identity, text = answered(block)
            yield {"type": "function_call_output", "call_id": identity, "output": text}


def gemini(message: Entry) -> Iterator[Entry]:
    """A content of parts."""
    parts: list[Entry] = []
    for block in message["content"]:
        if "text" in block:
            parts.append({"text": block["text"]})
        elif "toolUse" in block:
            use = block["toolUse"]
            call = {"id": use["toolUseId"], "name": use["name"], "args": use["input"]}
            parts.append({"function_call": call})
        else:
            identity, text = answered(block)
            response = {"id": identity, "name": "read_file", "response": {"result": text}}
            parts.append({"function_response": response})
    yield {"role": "model" if message["role"] == "assistant" else "user", "parts": parts}


def ai_sdk(message: Entry) -> Iterator[Entry]:
    """A message with parts whose types have a hyphen."""
    role, parts = message["role"], []
    for block in message["content"]:
        if "text" in block:
            parts.append({"type": "text", "text": block["text"]})
        elif "toolUse" in block:
            use = block["toolUse"]
            parts.append(
                {
                    "type": "tool-call",
                    "toolCallId": use["toolUseId"],
                    "toolName": use["name"],
                    "input": use["input"],
                }
            )
        else:
            identity, text = answered(block)
            output = {"type": "text", "value": text}
            role = "tool"
            parts.append(
                {
                    "type": "tool-result",
                    "toolCallId": identity,
                    "toolName": "read_file",
                    "output": output,
                }
            )
    yield {"role": role, "content": parts}


def answered(block: Entry) -> tuple[str, str]:
    """Id and text of a result."""
    result = block["toolResult"]
    return result["toolUseId"], result["content"][0]["text"]


WRITERS: dict[str, Callable[[Entry], Iterator[Entry]]] = {
    "bedrock": lambda message: iter([message]),
    "anthropic": anthropic,
    "openai": openai,
    "openai-responses": responses,
    "gemini": gemini,
    "ai-sdk": ai_sdk,
}


def conversations(count: int) -> dict[str, list[Entry]]:
    """The conversation by the name of the format."""
    messages = history(count)
    return {
        name: [entry for message in messages for entry in write(message)]
        for name, write in WRITERS.items()
    }
