"""An abstract conversation in the four formats that `conversations` does not write, and where its messages stand."""

from __future__ import annotations

import base64
import json
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from .conversations import PNG, Call, Conversation, Image, Message, Result, Text, Thinking, render

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

Entry = dict[str, Any]
DATA = base64.b64encode(PNG).decode()
URL = f"data:image/png;base64,{DATA}"
SIGNATURE = "c2lnbmVk"


def of_kind(message: Message, *kinds: type) -> list[Any]:
    return [block for block in message.blocks if isinstance(block, kinds)]


def _openai(message: Message) -> Iterator[Entry]:
    def said(block: Any) -> Entry:
        if isinstance(block, Text):
            return {"type": "text", "text": block.text}
        return {"type": "image_url", "image_url": {"url": URL}}

    results: list[Result] = of_kind(message, Result)
    for result in results:
        content = [said(item) for item in result.items]
        yield {"role": "tool", "tool_call_id": result.id, "content": content}
    if len(results) == len(message.blocks):
        return
    entry: Entry = {"role": message.role}
    if thoughts := of_kind(message, Thinking):
        entry["thinking_blocks"] = [
            {"type": "thinking", "thinking": thought.text, "signature": SIGNATURE}
            for thought in thoughts
        ]
    entry["content"] = [said(block) for block in of_kind(message, Text, Image)]
    if calls := of_kind(message, Call):
        entry["tool_calls"] = [
            {
                "id": call.id,
                "type": "function",
                # As Python writes it: with spaces, and escapes for what is not ASCII.
                "function": {"name": call.name, "arguments": json.dumps(call.input)},
            }
            for call in calls
        ]
    yield entry


def _responses(message: Message) -> Iterator[Entry]:
    def item(block: Any, kind: str = "input_text") -> Entry:
        if isinstance(block, Text):
            return {"type": kind, "text": block.text}
        return {"type": "input_image", "image_url": URL}

    kind = "output_text" if message.role == "assistant" else "input_text"
    said: list[Entry] = []
    for block in message.blocks:
        match block:
            case Thinking(text):
                summary = [{"type": "summary_text", "text": text}]
                yield {"type": "reasoning", "id": "rs_1", "summary": summary}
            case Call():
                arguments = json.dumps(block.input)
                yield {
                    "type": "function_call",
                    "call_id": block.id,
                    "name": block.name,
                    "arguments": arguments,
                }
            case Result():
                output = [item(each) for each in block.items]
                yield {"type": "function_call_output", "call_id": block.id, "output": output}
            case _:
                if not said:
                    yield {"type": "message", "role": message.role, "content": said}
                said.append(item(block, kind))


def _gemini(message: Message, tools: dict[str, str]) -> Iterator[Entry]:
    def part(block: Any) -> Entry:
        match block:
            case Text(text):
                return {"text": text}
            case Thinking(text):
                return {"text": text, "thought": True, "thoughtSignature": SIGNATURE}
            case Call():
                return {"functionCall": {"id": block.id, "name": block.name, "args": block.input}}
            case Result():
                returned, *images = block.items
                answer = {
                    "id": block.id,
                    "name": tools[block.id],
                    "response": {"result": returned.text},  # type: ignore[union-attr]
                    "parts": [part(image) for image in images],
                }
                return {"functionResponse": answer}
            case _:
                return {"inlineData": {"mimeType": "image/png", "data": DATA}}

    role = "model" if message.role == "assistant" else "user"
    yield {"role": role, "parts": [part(block) for block in message.blocks]}


def _ai_sdk(message: Message, tools: dict[str, str]) -> Iterator[Entry]:
    def item(block: Any) -> Entry:
        if isinstance(block, Text):
            return {"type": "text", "text": block.text}
        return {"type": "media", "data": DATA, "mediaType": "image/png"}

    def part(block: Any) -> Entry:
        match block:
            case Text(text):
                return {"type": "text", "text": text}
            case Thinking(text):
                options = {"anthropic": {"signature": SIGNATURE}}
                return {"type": "reasoning", "text": text, "providerOptions": options}
            case Call():
                named = {"toolCallId": block.id, "toolName": block.name}
                return {"type": "tool-call", **named, "input": block.input}
            case Result():
                named = {"toolCallId": block.id, "toolName": tools[block.id]}
                output = {"type": "content", "value": [item(each) for each in block.items]}
                return {"type": "tool-result", **named, "output": output}
            case _:
                return {"type": "image", "image": DATA, "mediaType": "image/png"}

    results: list[Any] = of_kind(message, Result)
    others = [block for block in message.blocks if block not in results]
    for role, blocks in (("tool", results), (message.role, others)):
        if blocks:
            yield {"role": role, "content": [part(block) for block in blocks]}


def _writers(tools: dict[str, str]) -> dict[str, Callable[[Message], Iterator[Entry]]]:
    return {
        "bedrock": lambda message: iter(render((message,), "bedrock")),
        "anthropic": lambda message: iter(render((message,), "anthropic")),
        "openai": _openai,
        "openai-responses": _responses,
        "gemini": lambda message: _gemini(message, tools),
        "ai-sdk": lambda message: _ai_sdk(message, tools),
    }


FORMATS = tuple(_writers({}))


def written(conversation: Conversation, format: str) -> tuple[list[Entry], list[int]]:
    """The entries of the conversation in a format, and for each the number of its message."""
    calls = [block for message in conversation for block in of_kind(message, Call)]
    write = _writers({call.id: call.name for call in calls})[format]
    entries, numbers = [], []
    for number, message in enumerate(conversation):
        for entry in write(message):
            entry["x_host"] = {"number": number}
            if message.pinned:
                entry["metadata"] = {"custom": {"pinned": True, "by": "the user"}}
            entries.append(entry)
            numbers.append(number)
    return entries, numbers


def common(conversation: Conversation) -> Conversation:
    """The same with results that every format can say: a text, and pictures behind it."""

    def block(of: Any) -> Any:
        if not isinstance(of, Result):
            return of
        texts = [item for item in of.items if isinstance(item, Text)]
        pictures = [item for item in of.items if isinstance(item, Image)]
        return replace(of, items=(*texts[:1], *pictures) if texts else (Text(""), *pictures))

    return tuple(replace(m, blocks=tuple(map(block, m.blocks))) for m in conversation)
